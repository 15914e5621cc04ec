/* longest common subsequence by dynamic programming */
void kernel_lcs(int N, int M, char x[N], char y[M], int L[N + 1][M + 1])
{
#pragma scop
  for (int i = 1; i <= N; i++)
    for (int j = 1; j <= M; j++)
      L[i][j] = x[i - 1] == y[j - 1] ? L[i - 1][j - 1] + 1 : max(L[i - 1][j], L[i][j - 1]);
#pragma endscop
}
