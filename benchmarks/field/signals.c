// Signal processing. The line before a function has the sizes at which it is measured.

// C=64,N=20000,K=128
void filter_bank(int C, int N, int K, double x[N + K], double h[C][K], double y[C][N]) {
  for (int c = 0; c < C; c++)
    for (int n = 0; n < N; n++) {
      y[c][n] = 0;
      for (int k = 0; k < K; k++)
        y[c][n] += h[c][k] * x[n + k];
    }
}

// C=64,L=8,N=50000
void biquad_cascade(int C, int L, int N, double x[C][L + 1][N], double a[L][2], double b[L][3]) {
  for (int c = 0; c < C; c++)
    for (int l = 0; l < L; l++)
      for (int n = 2; n < N; n++)
        x[c][l + 1][n] = b[l][0] * x[c][l][n] + b[l][1] * x[c][l][n - 1] + b[l][2] * x[c][l][n - 2] -
                         a[l][0] * x[c][l + 1][n - 1] - a[l][1] * x[c][l + 1][n - 2];
}

// N=4000,M=1000
void discrete_fourier_rows(int N, int M, double x[M][N], double c[N][N], double s[N][N], double p[M][N], double q[M][N]) {
  for (int m = 0; m < M; m++)
    for (int k = 0; k < N; k++) {
      p[m][k] = 0;
      q[m][k] = 0;
      for (int n = 0; n < N; n++) {
        p[m][k] += c[k][n] * x[m][n];
        q[m][k] += s[k][n] * x[m][n];
      }
    }
}

// N=40000,L=500
void autocorrelation(int N, int L, double x[N + L], double r[L]) {
  for (int l = 0; l < L; l++) {
    r[l] = 0;
    for (int n = 0; n < N; n++)
      r[l] += x[n] * x[n + l];
  }
}

// N=20000,K=256
void adaptive_filter(int N, int K, double x[N + K], double d[N], double w[K], double e[N]) {
  for (int n = 0; n < N; n++) {
    double y = 0;
    for (int k = 0; k < K; k++)
      y += w[k] * x[n + k];
    e[n] = d[n] - y;
    for (int k = 0; k < K; k++)
      w[k] += 0.01 * e[n] * x[n + k];
  }
}
