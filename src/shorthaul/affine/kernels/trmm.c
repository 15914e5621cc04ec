/* B = alpha A^T B for unit lower triangular A */
void kernel_trmm(int M, int N, double alpha, double A[M][M], double B[M][N])
{
#pragma scop
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      for (int k = i + 1; k < M; k++)
        B[i][j] += A[k][i] * B[k][j];
      B[i][j] = alpha * B[i][j];
    }
#pragma endscop
}
