// M=3000,N=4000
void gotoh(int M, int N, int s[M + 1][N + 1], int H[M + 1][N + 1], int E[M + 1][N + 1], int F[M + 1][N + 1], int o, int e) {
  for (int i = 1; i <= M; i++)
    for (int j = 1; j <= N; j++) {
      E[i][j] = max(E[i][j - 1] - e, H[i][j - 1] - o);
      F[i][j] = max(F[i - 1][j] - e, H[i - 1][j] - o);
      H[i][j] = max(max(E[i][j], F[i][j]), max(0, H[i - 1][j - 1] + s[i][j]));
    }
}

// N=400
void lcs_three(int N, char a[N], char b[N], char c[N], int L[N + 1][N + 1][N + 1]) {
  for (int i = 1; i <= N; i++)
    for (int j = 1; j <= N; j++)
      for (int k = 1; k <= N; k++) {
        int e = a[i - 1] == b[j - 1] && b[j - 1] == c[k - 1];
        L[i][j][k] = max(L[i - 1][j - 1][k - 1] + e, max(L[i - 1][j][k], max(L[i][j - 1][k], L[i][j][k - 1])));
      }
}

// N=800
void optimal_tree(int N, double w[N + 1][N + 1], double e[N + 1][N + 1]) {
  for (int i = N - 1; i >= 0; i--)
    for (int j = i + 1; j <= N; j++) {
      double best = 1e30;
      for (int k = i; k < j; k++)
        best = fmin(best, e[i][k] + e[k + 1][j]);
      e[i][j] = best + w[i][j];
    }
}

// R=2000,H=3000
void pair_hmm(int R, int H, double prior[R][H], double M[R + 1][H + 1], double X[R + 1][H + 1], double Y[R + 1][H + 1], double mm[R], double gm, double mx[R], double xx[R], double my[R], double yy[R]) {
  for (int i = 1; i <= R; i++)
    for (int j = 1; j <= H; j++) {
      M[i][j] = prior[i - 1][j - 1] * (mm[i - 1] * M[i - 1][j - 1] + gm * X[i - 1][j - 1] + gm * Y[i - 1][j - 1]);
      X[i][j] = M[i - 1][j] * mx[i - 1] + X[i - 1][j] * xx[i - 1];
      Y[i][j] = M[i][j - 1] * my[i - 1] + Y[i][j - 1] * yy[i - 1];
    }
}

// N=1200
void rna_folding(int N, int pair[N][N], int D[N][N]) {
  for (int i = N - 1; i >= 0; i--)
    for (int j = i + 1; j < N; j++) {
      D[i][j] = max(D[i + 1][j - 1] + pair[i][j], max(D[i + 1][j], D[i][j - 1]));
      for (int k = i + 1; k < j; k++)
        D[i][j] = max(D[i][j], D[i][k] + D[k + 1][j]);
    }
}

// M=4000,N=5000
void smith_waterman(int M, int N, char a[M], char b[N], int H[M + 1][N + 1], int gap) {
  for (int i = 1; i <= M; i++)
    for (int j = 1; j <= N; j++) {
      int s = a[i - 1] == b[j - 1] ? 2 : -1;
      int h = H[i - 1][j - 1] + s;
      h = max(h, H[i - 1][j] - gap);
      h = max(h, H[i][j - 1] - gap);
      H[i][j] = max(h, 0);
    }
}

// M=3000,N=6000
void dynamic_time_warping(int M, int N, double x[M], double y[N], double D[M + 1][N + 1]) {
  for (int i = 1; i <= M; i++)
    for (int j = 1; j <= N; j++) {
      double d = (x[i - 1] - y[j - 1]) * (x[i - 1] - y[j - 1]);
      D[i][j] = d + fmin(D[i - 1][j], fmin(D[i][j - 1], D[i - 1][j - 1]));
    }
}

// B=50,T=200,S1=120
void hidden_markov_batch(int B, int T, int S1, double E[B][T][S1], double P[S1][S1], double a[B][T][S1]) {
  for (int b = 0; b < B; b++)
    for (int t = 1; t < T; t++)
      for (int j = 0; j < S1; j++) {
        double s = 0;
        for (int i = 0; i < S1; i++)
          s += a[b][t - 1][i] * P[i][j];
        a[b][t][j] = s * E[b][t][j];
      }
}

// T=60,A=6,N=700
void value_iteration(int T, int A, int N, double P[A][N][N], double R[A][N], double v[N], double w[N], double g) {
  for (int t = 0; t < T; t++) {
    for (int s = 0; s < N; s++) {
      double best = -1e30;
      for (int a = 0; a < A; a++) {
        double q = 0;
        for (int n = 0; n < N; n++)
          q += P[a][s][n] * v[n];
        best = fmax(best, R[a][s] + g * q);
      }
      w[s] = best;
    }
    for (int s = 0; s < N; s++)
      v[s] = w[s];
  }
}

// N=20000,M=15000
void align(int N, int M, int a[N], int b[M], int H[N+1][M+1]) {
#pragma scop
  for (int i = 1; i <= N; i++)
    for (int j = 1; j <= M; j++)
      H[i][j] = max(max(H[i-1][j-1] + (a[i-1] == b[j-1] ? 2 : -1), 0), max(H[i-1][j] - 1, H[i][j-1] - 1));
#pragma endscop
}

// N=6000,M=5000
void nw_affine(int N, int M, int a[N], int b[M], int s[N+1][M+1], int e[N+1][M+1]) {
#pragma scop
  for (int i = 1; i <= N; i++)
    for (int j = 1; j <= M; j++) {
      e[i][j] = max(e[i][j-1] - 1, s[i][j-1] - 4);
      s[i][j] = max(s[i-1][j-1] + (a[i-1] == b[j-1] ? 3 : -2), max(e[i][j], s[i-1][j] - 4));
    }
#pragma endscop
}

// T=4000,N=12000
void barrier_option(int T, int N, double v[N + 2], double w[N + 2], double pu, double pm, double pd, double pay[N + 2]) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i <= N; i++)
      w[i] = fmax(pay[i], pu * v[i + 1] + pm * v[i] + pd * v[i - 1]);
    for (int i = 1; i <= N; i++)
      v[i] = w[i];
  }
}

// N=20000
void american_option(int N, double v[N + 1], double s[2 * N + 1], double K, double up, double down) {
  for (int i = 0; i <= N; i++)
    v[i] = fmax(K - s[2 * i], 0);
  for (int t = N - 1; t >= 0; t--)
    for (int i = 0; i <= t; i++)
      v[i] = fmax(up * v[i + 1] + down * v[i], K - s[2 * i - t + N]);
}

// N=2000
void trinomial(int N, double v[N + 1][2 * N + 1], double K, double pu, double pm, double pd) {
  for (int t = N - 1; t >= 0; t--)
    for (int i = 0; i <= 2 * t; i++)
      v[t][i] = pu * v[t + 1][i + 2] + pm * v[t + 1][i + 1] + pd * v[t + 1][i];
}

// N=3000
void embedding_forces(int N, float x[N], float y[N], float P[N][N], float fx[N], float fy[N]) {
  for (int i = 0; i < N; i++) {
    float a = 0, b = 0;
    for (int j = 0; j < N; j++) {
      float dx = x[i] - x[j];
      float dy = y[i] - y[j];
      float q = 1 / (1 + dx * dx + dy * dy);
      float m = (P[i][j] - q) * q;
      a += m * dx;
      b += m * dy;
    }
    fx[i] = 4 * a;
    fy[i] = 4 * b;
  }
}

// P=200000,N=3000
void spheres(int P, int N, float ox[P], float oy[P], float oz[P], float cx[N], float cy[N], float cz[N], float r[N], float hit[P]) {
  for (int p = 0; p < P; p++) {
    hit[p] = 1e30f;
    for (int n = 0; n < N; n++) {
      float dx = ox[p] - cx[n], dy = oy[p] - cy[n], dz = oz[p] - cz[n];
      float d = sqrtf(dx * dx + dy * dy + dz * dz) - r[n];
      hit[p] = fminf(hit[p], d);
    }
  }
}

// M=600,N=900,A=3
void coulomb_matrix(int M, int N, int A, double x[M][A], double y[N][A], double p[M], double q[N], double K[M][N], double f[M]) {
  for (int i = 0; i < M; i++) {
    double s = 0;
    for (int j = 0; j < N; j++) {
      double r = 0;
      for (int a = 0; a < A; a++)
        r += (x[i][a] - y[j][a]) * (x[i][a] - y[j][a]);
      K[i][j] = p[i] * q[j] / sqrt(r + 0.01);
      s += K[i][j];
    }
    f[i] = s;
  }
}

// T=5,N=3000
void yukawa(int T, int N, double x[N], double y[N], double q[N], double fx[N], double fy[N], double vx[N], double vy[N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++) {
      fx[i] = 0;
      fy[i] = 0;
      for (int j = 0; j < N; j++) {
        double dx = x[i] - x[j], dy = y[i] - y[j];
        double r = dx * dx + dy * dy + 0.1;
        double w = q[i] * q[j] * exp(-r) / r;
        fx[i] += w * dx;
        fy[i] += w * dy;
      }
    }
    for (int i = 0; i < N; i++) {
      vx[i] += fx[i];
      vy[i] += fy[i];
      x[i] += vx[i];
      y[i] += vy[i];
    }
  }
}

// N=20000
void nbody(int N, double x[N], double y[N], double z[N], double m[N], double ax[N], double ay[N], double az[N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    ax[i] = 0.0; ay[i] = 0.0; az[i] = 0.0;
    for (int j = 0; j < N; j++) {
      double dx = x[j] - x[i];
      double dy = y[j] - y[i];
      double dz = z[j] - z[i];
      double r = dx * dx + dy * dy + dz * dz + 0.01;
      double w = m[j] / (r * sqrt(r));
      ax[i] += w * dx; ay[i] += w * dy; az[i] += w * dz;
    }
  }
#pragma endscop
}
