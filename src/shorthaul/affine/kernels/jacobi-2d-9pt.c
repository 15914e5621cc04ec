/* Jacobi iteration with nine points, two dimensions, two arrays */
void kernel_jacobi_2d_9pt(int T, int N, double A[N][N], double B[N][N])
{
#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        B[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] + A[i][j + 1]
                   + A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) / 9.0;
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        A[i][j] = (B[i - 1][j - 1] + B[i - 1][j] + B[i - 1][j + 1] + B[i][j - 1] + B[i][j] + B[i][j + 1]
                   + B[i + 1][j - 1] + B[i + 1][j] + B[i + 1][j + 1]) / 9.0;
  }
#pragma endscop
}
