/* Gauss-Seidel iteration with three points, in place */
void kernel_seidel_1d(int T, int N, double A[N])
{
#pragma scop
  for (int t = 0; t < T; t++)
    for (int i = 1; i < N - 1; i++)
      A[i] = (A[i - 1] + A[i] + A[i + 1]) / 3.0;
#pragma endscop
}
