// T=20,N=120
void star_25_points(int T, int N, float u[2][N + 8][N + 8][N + 8], float c[5]) {
  for (int t = 0; t < T; t++)
    for (int i = 4; i < N + 4; i++)
      for (int j = 4; j < N + 4; j++)
        for (int k = 4; k < N + 4; k++)
          u[(t + 1) % 2][i][j][k] =
            c[0] * u[t % 2][i][j][k] +
            c[1] * (u[t % 2][i - 1][j][k] + u[t % 2][i + 1][j][k] + u[t % 2][i][j - 1][k] + u[t % 2][i][j + 1][k] +
                    u[t % 2][i][j][k - 1] + u[t % 2][i][j][k + 1]) +
            c[2] * (u[t % 2][i - 2][j][k] + u[t % 2][i + 2][j][k] + u[t % 2][i][j - 2][k] + u[t % 2][i][j + 2][k] +
                    u[t % 2][i][j][k - 2] + u[t % 2][i][j][k + 2]) +
            c[3] * (u[t % 2][i - 3][j][k] + u[t % 2][i + 3][j][k] + u[t % 2][i][j - 3][k] + u[t % 2][i][j + 3][k] +
                    u[t % 2][i][j][k - 3] + u[t % 2][i][j][k + 3]) +
            c[4] * (u[t % 2][i - 4][j][k] + u[t % 2][i + 4][j][k] + u[t % 2][i][j - 4][k] + u[t % 2][i][j + 4][k] +
                    u[t % 2][i][j][k - 4] + u[t % 2][i][j][k + 4]);
}
