/* y = A x */
void kernel_matvec(int M, int N, double A[M][N], double x[N], double y[M])
{
#pragma scop
  for (int i = 0; i < M; i++) {
    y[i] = 0.0;
    for (int j = 0; j < N; j++)
      y[i] += A[i][j] * x[j];
  }
#pragma endscop
}
