// Stencils and images. The line before a function has the sizes at which it is measured.

// T=500,N=1500
void heat_copied_back(int T, int N, double A[N][N], double B[N][N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        B[i][j] = A[i][j] + 0.1 * (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1] - 4 * A[i][j]);
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        A[i][j] = B[i][j];
  }
}

// T=100,N=200
void stencil_7_points(int T, int N, double A[2][N][N][N]) {
  for (int t = 0; t < T; t++)
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        for (int k = 1; k < N - 1; k++)
          A[(t + 1) % 2][i][j][k] = A[t % 2][i][j][k] +
            0.1 * (A[t % 2][i - 1][j][k] + A[t % 2][i + 1][j][k] + A[t % 2][i][j - 1][k] +
                   A[t % 2][i][j + 1][k] + A[t % 2][i][j][k - 1] + A[t % 2][i][j][k + 1]);
}

// T=400,N=1000
void wave_equation(int T, int N, double u[N][N], double v[N][N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        v[i][j] += 0.1 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4 * u[i][j]);
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        u[i][j] += v[i][j];
  }
}

// T=2000,N=100000
void red_black_line(int T, int N, double x[2 * N + 2], double b[2 * N + 2]) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i <= N; i++)
      x[2 * i] = 0.5 * (x[2 * i - 1] + x[2 * i + 1] - b[2 * i]);
    for (int i = 0; i < N; i++)
      x[2 * i + 1] = 0.5 * (x[2 * i] + x[2 * i + 2] - b[2 * i + 1]);
  }
}

// T=300,N=1000
void reaction_diffusion(int T, int N, double u[N][N], double v[N][N], double p[N][N], double q[N][N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) {
        p[i][j] = u[i][j] + 0.1 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) - u[i][j] * v[i][j] * v[i][j];
        q[i][j] = v[i][j] + 0.05 * (v[i - 1][j] + v[i + 1][j] + v[i][j - 1] + v[i][j + 1]) + u[i][j] * v[i][j] * v[i][j];
      }
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) {
        u[i][j] = p[i][j];
        v[i][j] = q[i][j];
      }
  }
}

// T=200,N=800
void shallow_water(int T, int N, double h[N][N], double u[N][N], double v[N][N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) {
        u[i][j] -= 0.1 * (h[i + 1][j] - h[i][j]);
        v[i][j] -= 0.1 * (h[i][j + 1] - h[i][j]);
      }
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        h[i][j] -= 0.1 * (u[i][j] - u[i - 1][j] + v[i][j] - v[i][j - 1]);
  }
}

// T=1000,N=100000
void lattice_boltzmann_line(int T, int N, double f[N], double g[N], double r[N], double a[N], double b[N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++) {
      a[i] = f[i] + g[i] + r[i];
      b[i] = f[i] - g[i];
    }
    for (int i = 1; i < N - 1; i++) {
      r[i] = 0.3 * r[i] + 0.4 * a[i];
      f[i] = 0.3 * f[i - 1] + 0.1 * a[i - 1] + 0.5 * b[i - 1];
    }
    for (int i = N - 2; i >= 1; i--)
      g[i] = 0.3 * g[i + 1] + 0.1 * a[i + 1] - 0.5 * b[i + 1];
  }
}

// H=2160,W=3840
void harris_corners(int H, int W, float I[H][W], float X[H][W], float Y[H][W], float R[H][W]) {
  for (int i = 1; i < H - 1; i++)
    for (int j = 1; j < W - 1; j++) {
      X[i][j] = I[i - 1][j + 1] + 2 * I[i][j + 1] + I[i + 1][j + 1] - I[i - 1][j - 1] - 2 * I[i][j - 1] - I[i + 1][j - 1];
      Y[i][j] = I[i + 1][j - 1] + 2 * I[i + 1][j] + I[i + 1][j + 1] - I[i - 1][j - 1] - 2 * I[i - 1][j] - I[i - 1][j + 1];
    }
  for (int i = 2; i < H - 2; i++)
    for (int j = 2; j < W - 2; j++) {
      float a = 0, b = 0, c = 0;
      for (int r = -1; r <= 1; r++)
        for (int s = -1; s <= 1; s++) {
          a += X[i + r][j + s] * X[i + r][j + s];
          b += X[i + r][j + s] * Y[i + r][j + s];
          c += Y[i + r][j + s] * Y[i + r][j + s];
        }
      R[i][j] = a * c - b * b - 0.04f * (a + c) * (a + c);
    }
}

// H=2160,W=3840
void integral_image_blur(int H, int W, float I[H][W], float S[H + 1][W + 1], float O[H][W]) {
  for (int i = 0; i <= H; i++)
    S[i][0] = 0;
  for (int j = 1; j <= W; j++)
    S[0][j] = 0;
  for (int i = 0; i < H; i++)
    for (int j = 0; j < W; j++)
      S[i + 1][j + 1] = I[i][j] + S[i][j + 1] + S[i + 1][j] - S[i][j];
  for (int i = 4; i < H - 4; i++)
    for (int j = 4; j < W - 4; j++)
      O[i][j] = (S[i + 5][j + 5] - S[i - 4][j + 5] - S[i + 5][j - 4] + S[i - 4][j - 4]) / 81;
}
