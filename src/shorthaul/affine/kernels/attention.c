/* softmax(Q K^T) V of one head, N tokens of D features */
void kernel_attention(int N, int D, float Q[N][D], float K[N][D], float V[N][D], float S[N][N], float O[N][D], float m[N], float l[N])
{
#pragma scop
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < N; j++) {
      S[i][j] = 0.0f;
      for (int d = 0; d < D; d++)
        S[i][j] += Q[i][d] * K[j][d];
    }
    m[i] = S[i][0];
    for (int j = 1; j < N; j++)
      m[i] = fmaxf(m[i], S[i][j]);
    l[i] = 0.0f;
    for (int j = 0; j < N; j++) {
      S[i][j] = expf(S[i][j] - m[i]);
      l[i] += S[i][j];
    }
    for (int d = 0; d < D; d++) {
      O[i][d] = 0.0f;
      for (int j = 0; j < N; j++)
        O[i][d] += S[i][j] * V[j][d];
      O[i][d] /= l[i];
    }
  }
#pragma endscop
}
