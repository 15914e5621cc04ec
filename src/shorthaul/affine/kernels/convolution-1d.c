/* a filter of R taps over N points */
void kernel_convolution_1d(int N, int R, double in[N + R], double weight[R], double out[N])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    out[i] = 0.0;
    for (int r = 0; r < R; r++)
      out[i] += in[i + r] * weight[r];
  }
#pragma endscop
}
