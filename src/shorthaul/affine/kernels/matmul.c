/* C = A B */
void kernel_matmul(int M, int N, int K, double A[M][K], double B[K][N], double C[M][N])
{
#pragma scop
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      C[i][j] = 0.0;
      for (int k = 0; k < K; k++)
        C[i][j] += A[i][k] * B[k][j];
    }
#pragma endscop
}
