/* A separable blur in the manner of PolyBench: rows, then columns. */
#define N 1000
#define M 1000

void blur(double in[N][M], double tmp[N][M], double out[N][M])
{
  int i, j;
#pragma scop
  for (i = 0; i < N; i++)
    for (j = 1; j < M - 1; j++)
      tmp[i][j] = 0.25 * in[i][j - 1] + 0.5 * in[i][j] + 0.25 * in[i][j + 1];
  for (i = 1; i < N - 1; i++)
    for (j = 1; j < M - 1; j++)
      out[i][j] = 0.25 * tmp[i - 1][j] + 0.5 * tmp[i][j] + 0.25 * tmp[i + 1][j];
#pragma endscop
}
