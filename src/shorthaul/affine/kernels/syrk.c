/* C = alpha A A^T + beta C, lower triangle */
void kernel_syrk(int N, int M, double alpha, double beta, double C[N][N], double A[N][M])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    for (int j = 0; j <= i; j++)
      C[i][j] *= beta;
    for (int k = 0; k < M; k++)
      for (int j = 0; j <= i; j++)
        C[i][j] += alpha * A[i][k] * A[j][k];
  }
#pragma endscop
}
