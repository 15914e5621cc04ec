/* heat equation, one dimension, all time levels kept */
void kernel_heat_1d(int T, int N, double A[T + 1][N])
{
#pragma scop
  for (int t = 0; t < T; t++)
    for (int i = 1; i < N - 1; i++)
      A[t + 1][i] = 0.25 * (A[t][i - 1] + 2.0 * A[t][i] + A[t][i + 1]);
#pragma endscop
}
