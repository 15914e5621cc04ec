// Dynamic programs and graphs. The line before a function has the sizes at which it is measured.

// M=5000,N=4000
void edit_distance(int M, int N, int a[M], int b[N], int D[M + 1][N + 1]) {
  for (int i = 0; i <= M; i++)
    D[i][0] = i;
  for (int j = 1; j <= N; j++)
    D[0][j] = j;
  for (int i = 1; i <= M; i++)
    for (int j = 1; j <= N; j++)
      D[i][j] = fmin(fmin(D[i - 1][j] + 1, D[i][j - 1] + 1), D[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
}

// M=5000,N=4000
void affine_gaps(int M, int N, int s[M], int t[N], int H[M + 1][N + 1], int E[M + 1][N + 1], int F[M + 1][N + 1]) {
  for (int i = 1; i <= M; i++)
    for (int j = 1; j <= N; j++) {
      E[i][j] = fmax(E[i][j - 1] - 1, H[i][j - 1] - 5);
      F[i][j] = fmax(F[i - 1][j] - 1, H[i - 1][j] - 5);
      H[i][j] = fmax(fmax(0, H[i - 1][j - 1] + s[i - 1] * t[j - 1]), fmax(E[i][j], F[i][j]));
    }
}

// N=20000,B=500
void banded_time_warping(int N, int B, double x[N], double y[N + B], double D[N + 1][B + 2]) {
  for (int i = 1; i <= N; i++)
    for (int k = 1; k <= B; k++)
      D[i][k] = (x[i - 1] - y[i + k - 2]) * (x[i - 1] - y[i + k - 2]) +
                fmin(D[i - 1][k], fmin(D[i - 1][k + 1], D[i][k - 1]));
}

// T=500,N=1000
void viterbi(int T, int N, double P[N][N], double O[T][N], double V[T][N]) {
  for (int t = 1; t < T; t++)
    for (int j = 0; j < N; j++) {
      double best = -1e30;
      for (int i = 0; i < N; i++)
        best = fmax(best, V[t - 1][i] + P[i][j]);
      V[t][j] = best + O[t][j];
    }
}

// T=200,N=500
void forward_backward(int T, int N, double P[N][N], double E[T][N], double a[T][N], double b[T][N], double g[T][N]) {
  for (int j = 0; j < N; j++) {
    a[0][j] = E[0][j];
    b[T - 1][j] = 1;
  }
  for (int t = 1; t < T; t++)
    for (int j = 0; j < N; j++) {
      a[t][j] = 0;
      for (int i = 0; i < N; i++)
        a[t][j] += a[t - 1][i] * P[i][j];
      a[t][j] *= E[t][j];
    }
  for (int t = T - 2; t >= 0; t--)
    for (int i = 0; i < N; i++) {
      b[t][i] = 0;
      for (int j = 0; j < N; j++)
        b[t][i] += P[i][j] * E[t + 1][j] * b[t + 1][j];
    }
  for (int t = 0; t < T; t++)
    for (int j = 0; j < N; j++)
      g[t][j] = a[t][j] * b[t][j];
}

// N=1000
void search_trees(int N, double w[N][N], double C[N][N]) {
  for (int i = N - 1; i >= 0; i--) {
    C[i][i] = w[i][i];
    for (int j = i + 1; j < N; j++) {
      double best = 1e30;
      for (int k = i + 1; k < j; k++)
        best = fmin(best, C[i][k - 1] + C[k + 1][j]);
      C[i][j] = best + w[i][j];
    }
  }
}

// N=1500
void widest_paths(int N, double D[N][N]) {
  for (int k = 0; k < N; k++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        D[i][j] = fmax(D[i][j], fmin(D[i][k], D[k][j]));
}

// T=100,N=1500
void bellman_ford(int T, int N, double w[N][N], double d[N], double e[N]) {
  for (int t = 0; t < T; t++) {
    for (int j = 0; j < N; j++) {
      e[j] = d[j];
      for (int i = 0; i < N; i++)
        e[j] = fmin(e[j], d[i] + w[i][j]);
    }
    for (int j = 0; j < N; j++)
      d[j] = e[j];
  }
}

// T=50,N=2000
void pagerank(int T, int N, double A[N][N], double r[N], double q[N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++) {
      q[i] = 0.15 / N;
      for (int j = 0; j < N; j++)
        q[i] += 0.85 * A[j][i] * r[j];
    }
    for (int i = 0; i < N; i++)
      r[i] = q[i];
  }
}

// N=1500
void triangles(int N, double A[N][N], double c[N]) {
  for (int i = 0; i < N; i++) {
    c[i] = 0;
    for (int j = 0; j < i; j++)
      for (int k = 0; k < j; k++)
        c[i] += A[i][j] * A[j][k] * A[i][k];
  }
}
