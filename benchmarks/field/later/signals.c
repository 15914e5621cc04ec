// F=64,T=2000,M=32
void beamformer_covariances(int F, int T, int M, float xr[F][T][M], float xi[F][T][M], float Rr[F][M][M], float Ri[F][M][M]) {
  for (int f = 0; f < F; f++)
    for (int m = 0; m < M; m++)
      for (int n = 0; n < M; n++) {
        float re = 0, im = 0;
        for (int t = 0; t < T; t++) {
          re += xr[f][t][m] * xr[f][t][n] + xi[f][t][m] * xi[f][t][n];
          im += xi[f][t][m] * xr[f][t][n] - xr[f][t][m] * xi[f][t][n];
        }
        Rr[f][m][n] = re / T;
        Ri[f][m][n] = im / T;
      }
}

// H=600,W=800,R=5
void bilateral(int H, int W, int R, float I[H + 2 * R][W + 2 * R], float g[2 * R + 1][2 * R + 1], float O[H][W]) {
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      float s = 0, n = 0;
      for (int v = 0; v <= 2 * R; v++)
        for (int u = 0; u <= 2 * R; u++) {
          float d = I[y + v][x + u] - I[y + R][x + R];
          float w = g[v][u] * expf(-d * d);
          s += w * I[y + v][x + u];
          n += w;
        }
      O[y][x] = s / n;
    }
}

// H=60,W=80,R=16
void block_matching(int H, int W, int R, int cur[16 * H][16 * W], int ref[16 * H + 2 * R][16 * W + 2 * R], int sad[H][W][2 * R][2 * R]) {
  for (int i = 0; i < H; i++)
    for (int j = 0; j < W; j++)
      for (int u = 0; u < 2 * R; u++)
        for (int v = 0; v < 2 * R; v++) {
          int s = 0;
          for (int y = 0; y < 16; y++)
            for (int x = 0; x < 16; x++)
              s += abs(cur[16 * i + y][16 * j + x] - ref[16 * i + y + u][16 * j + x + v]);
          sad[i][j][u][v] = s;
        }
}

// N=100000,K=64
void decimating_filter(int N, int K, float x[4 * N + K], float h[K], float y[N]) {
  for (int i = 0; i < N; i++) {
    float s = 0;
    for (int k = 0; k < K; k++)
      s += x[4 * i + k] * h[k];
    y[i] = s;
  }
}

// H=1080,W=1920
void edges(int H, int W, float I[H][W], float T[H][W], float G[H][W], float D[H][W]) {
  for (int i = 0; i < H; i++)
    for (int j = 2; j < W - 2; j++)
      T[i][j] = (I[i][j - 2] + 4 * I[i][j - 1] + 6 * I[i][j] + 4 * I[i][j + 1] + I[i][j + 2]) / 16;
  for (int i = 2; i < H - 2; i++)
    for (int j = 2; j < W - 2; j++)
      G[i][j] = (T[i - 2][j] + 4 * T[i - 1][j] + 6 * T[i][j] + 4 * T[i + 1][j] + T[i + 2][j]) / 16;
  for (int i = 3; i < H - 3; i++)
    for (int j = 3; j < W - 3; j++) {
      float dx = G[i - 1][j + 1] + 2 * G[i][j + 1] + G[i + 1][j + 1] - G[i - 1][j - 1] - 2 * G[i][j - 1] - G[i + 1][j - 1];
      float dy = G[i + 1][j - 1] + 2 * G[i + 1][j] + G[i + 1][j + 1] - G[i - 1][j - 1] - 2 * G[i - 1][j] - G[i - 1][j + 1];
      D[i][j] = sqrtf(dx * dx + dy * dy);
    }
}

// V=60,O=20
void ladder(int V, int O, double W[V][V][V][V], double T[V][V][O][O], double R[V][V][O][O]) {
  for (int a = 0; a < V; a++)
    for (int b = 0; b < V; b++)
      for (int i = 0; i < O; i++)
        for (int j = 0; j < O; j++) {
          double s = 0;
          for (int c = 0; c < V; c++)
            for (int d = 0; d < V; d++)
              s += W[a][b][c][d] * T[c][d][i][j];
          R[a][b][i][j] = 0.5 * s;
        }
}

// H=480,W=640,D=64
void stereo_costs(int H, int W, int D, float L[H][W + D], float R[H][W], float c[D][H][W], float a[D][H][W]) {
  for (int d = 0; d < D; d++)
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++)
        c[d][y][x] = fabsf(L[y][x + d] - R[y][x]);
  for (int d = 0; d < D; d++)
    for (int y = 2; y < H - 2; y++)
      for (int x = 2; x < W - 2; x++) {
        float s = 0;
        for (int v = -2; v <= 2; v++)
          for (int u = -2; u <= 2; u++)
            s += c[d][y + v][x + u];
        a[d][y][x] = s;
      }
}

// F=48,T=1500,A=40
void stokes_parameters(int F, int T, int A, float xr[F][T][A], float xi[F][T][A], float yr[F][T][A], float yi[F][T][A], float XX[F][A][A], float XY[F][A][A], float YY[F][A][A]) {
  for (int f = 0; f < F; f++)
    for (int a = 0; a < A; a++)
      for (int b = 0; b < A; b++) {
        float xx = 0, xy = 0, yy = 0;
        for (int t = 0; t < T; t++) {
          xx += xr[f][t][a] * xr[f][t][b] + xi[f][t][a] * xi[f][t][b];
          xy += xr[f][t][a] * yr[f][t][b] + xi[f][t][a] * yi[f][t][b];
          yy += yr[f][t][a] * yr[f][t][b] + yi[f][t][a] * yi[f][t][b];
        }
        XX[f][a][b] = xx;
        XY[f][a][b] = xy;
        YY[f][a][b] = yy;
      }
}

// N=400,M=500
void two_dimensional_dft(int N, int M, float x[N][M], float c[N][N], float s[N][N], float C[M][M], float Z[M][M], float tr[N][M], float ti[N][M], float yr[N][M], float yi[N][M]) {
  for (int k = 0; k < N; k++)
    for (int m = 0; m < M; m++) {
      float re = 0, im = 0;
      for (int n = 0; n < N; n++) {
        re += c[k][n] * x[n][m];
        im -= s[k][n] * x[n][m];
      }
      tr[k][m] = re;
      ti[k][m] = im;
    }
  for (int k = 0; k < N; k++)
    for (int l = 0; l < M; l++) {
      float re = 0, im = 0;
      for (int m = 0; m < M; m++) {
        re += tr[k][m] * C[m][l] + ti[k][m] * Z[m][l];
        im += ti[k][m] * C[m][l] - tr[k][m] * Z[m][l];
      }
      yr[k][l] = re;
      yi[k][l] = im;
    }
}

// T=100,N=400
void gauss_blur_grid(int T, int N, double u[N][N], double w[N][N], double a[N][N]) {
#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        w[i][j] = u[i][j] + a[i][j] * (u[i-1][j] - 2.0 * u[i][j] + u[i+1][j]) + a[i][j] * (u[i][j-1] - 2.0 * u[i][j] + u[i][j+1]);
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        u[i][j] = w[i][j];
  }
#pragma endscop
}

// P=5000,T=50,A=64
void correlated_paths(int P, int T, int A, double L[A][A], double Z[P][T][A], double X[P][T + 1][A], double drift[A]) {
  for (int p = 0; p < P; p++)
    for (int t = 0; t < T; t++)
      for (int a = 0; a < A; a++) {
        double w = 0;
        for (int b = 0; b <= a; b++)
          w += L[a][b] * Z[p][t][b];
        X[p][t + 1][a] = X[p][t][a] * exp(drift[a] + w);
      }
}
