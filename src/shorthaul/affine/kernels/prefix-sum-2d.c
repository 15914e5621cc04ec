/* summed-area table, in place */
void kernel_prefix_sum_2d(int N, int M, double A[N][M])
{
#pragma scop
  for (int i = 1; i < N; i++)
    for (int j = 1; j < M; j++)
      A[i][j] += A[i - 1][j] + A[i][j - 1] - A[i - 1][j - 1];
#pragma endscop
}
