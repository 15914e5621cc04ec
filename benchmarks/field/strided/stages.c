// H=1000,W=1500,C=3
void half_resolution(int H, int W, int C, float I[2 * H + 2][2 * W + 2][C], float T[H][2 * W + 2][C], float O[H][W][C], float g[3]) {
  for (int y = 0; y < H; y++)
    for (int x = 0; x < 2 * W + 2; x++)
      for (int c = 0; c < C; c++) {
        float s = 0;
        for (int k = 0; k < 3; k++)
          s += g[k] * I[2 * y + k][x][c];
        T[y][x][c] = s;
      }
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      for (int c = 0; c < C; c++) {
        float s = 0;
        for (int k = 0; k < 3; k++)
          s += g[k] * T[y][2 * x + k][c];
        O[y][x][c] = s;
      }
}

// H=1000,W=1500
void half_rows_last(int H, int W, float I[2 * H + 2][2 * W + 2], float T[2 * H + 2][W], float O[H][W], float g[3]) {
  for (int y = 0; y < 2 * H + 2; y++)
    for (int x = 0; x < W; x++) {
      float s = 0;
      for (int k = 0; k < 3; k++)
        s += g[k] * I[y][2 * x + k];
      T[y][x] = s;
    }
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      float s = 0;
      for (int k = 0; k < 3; k++)
        s += g[k] * T[2 * y + k][x];
      O[y][x] = s;
    }
}

// H=600,W=900,C=4
void third_resolution(int H, int W, int C, float I[3 * H + 2][3 * W + 2][C], float T[H][3 * W + 2][C], float O[H][W][C], float g[5]) {
  for (int y = 0; y < H; y++)
    for (int x = 0; x < 3 * W + 2; x++)
      for (int c = 0; c < C; c++) {
        T[y][x][c] = 0;
        for (int k = 0; k < 5; k++)
          T[y][x][c] += g[k] * I[3 * y + k][x][c];
      }
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      for (int c = 0; c < C; c++) {
        O[y][x][c] = 0;
        for (int k = 0; k < 5; k++)
          O[y][x][c] += g[k] * T[y][3 * x + k][c];
      }
}

// N=2000
void haar(int N, double A[2 * N][2 * N], double L[2 * N][N], double D[N][N]) {
  for (int i = 0; i < 2 * N; i++)
    for (int j = 0; j < N; j++) {
      double s = 0;
      for (int k = 0; k < 2; k++)
        s += A[i][2 * j + k];
      L[i][j] = s * 0.5;
    }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double s = 0;
      for (int k = 0; k < 2; k++)
        s += L[2 * i + k][j];
      D[i][j] = s * 0.5;
    }
}

// H=300,W=300
void convolution_and_pooling(int H, int W, float I[2 * H + 2][2 * W + 2], float A[2 * H][2 * W], float P[H][W], float f[3][3]) {
  for (int y = 0; y < 2 * H; y++)
    for (int x = 0; x < 2 * W; x++) {
      float s = 0;
      for (int v = 0; v < 3; v++)
        for (int u = 0; u < 3; u++)
          s += f[v][u] * I[y + v][x + u];
      A[y][x] = s;
    }
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      float m = 0;
      for (int v = 0; v < 2; v++)
        for (int u = 0; u < 2; u++)
          m = fmaxf(m, A[2 * y + v][2 * x + u]);
      P[y][x] = m;
    }
}

// H=600,W=800,C=3
void double_resolution(int H, int W, int C, float I[H + 1][W + 1][C], float T[2 * H][W + 1][C], float O[2 * H][2 * W][C]) {
  for (int y = 0; y < H; y++)
    for (int x = 0; x <= W; x++)
      for (int c = 0; c < C; c++) {
        T[2 * y][x][c] = 0.75f * I[y][x][c] + 0.25f * I[y + 1][x][c];
        T[2 * y + 1][x][c] = 0.25f * I[y][x][c] + 0.75f * I[y + 1][x][c];
      }
  for (int y = 0; y < 2 * H; y++)
    for (int x = 0; x < W; x++)
      for (int c = 0; c < C; c++) {
        O[y][2 * x][c] = 0.75f * T[y][x][c] + 0.25f * T[y][x + 1][c];
        O[y][2 * x + 1][c] = 0.25f * T[y][x][c] + 0.75f * T[y][x + 1][c];
      }
}
