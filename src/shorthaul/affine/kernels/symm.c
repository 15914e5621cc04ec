/* C = alpha A B + beta C for symmetric A, its lower triangle stored */
void kernel_symm(int M, int N, double alpha, double beta, double C[M][N], double A[M][M], double B[M][N])
{
#pragma scop
  double temp2;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      temp2 = 0;
      for (int k = 0; k < i; k++) {
        C[k][j] += alpha * B[i][j] * A[i][k];
        temp2 += B[k][j] * A[i][k];
      }
      C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * temp2;
    }
#pragma endscop
}
