// Linear algebra. The line before a function has the sizes at which it is measured.

// M=1000,N=1200,K=800
void rectangular_product(int M, int N, int K, double A[M][K], double B[K][N], double C[M][N]) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      C[i][j] = 0;
      for (int k = 0; k < K; k++)
        C[i][j] += A[i][k] * B[k][j];
    }
}

// N=1500
void ldl(int N, double A[N][N], double D[N]) {
  for (int k = 0; k < N; k++) {
    D[k] = A[k][k];
    for (int i = k + 1; i < N; i++)
      for (int j = k + 1; j <= i; j++)
        A[i][j] -= A[i][k] * A[j][k] / D[k];
    for (int i = k + 1; i < N; i++)
      A[i][k] /= D[k];
  }
}

// N=1000,M=200
void gauss_jordan(int N, int M, double A[N][N], double B[N][M]) {
  for (int k = 0; k < N; k++)
    for (int i = 0; i < N; i++)
      if (i != k) {
        double f = A[i][k] / A[k][k];
        for (int j = k + 1; j < N; j++)
          A[i][j] -= f * A[k][j];
        for (int j = 0; j < M; j++)
          B[i][j] -= f * B[k][j];
      }
}

// N=1000
void inversion_in_place(int N, double A[N][N]) {
  for (int k = 0; k < N; k++) {
    A[k][k] = 1.0 / A[k][k];
    for (int j = 0; j < N; j++)
      if (j != k)
        A[k][j] *= A[k][k];
    for (int i = 0; i < N; i++)
      if (i != k) {
        for (int j = 0; j < N; j++)
          if (j != k)
            A[i][j] -= A[i][k] * A[k][j];
        A[i][k] = -A[i][k] * A[k][k];
      }
  }
}

// M=1500,N=1000
void householder(int M, int N, double A[M][N], double tau[N]) {
  for (int k = 0; k < N; k++) {
    double norm = 0;
    for (int i = k + 1; i < M; i++)
      norm += A[i][k] * A[i][k];
    double length = sqrt(A[k][k] * A[k][k] + norm);
    A[k][k] = A[k][k] > 0 ? A[k][k] + length : A[k][k] - length;
    tau[k] = 2.0 / (1.0 + norm / (A[k][k] * A[k][k]));
    for (int i = k + 1; i < M; i++)
      A[i][k] /= A[k][k];
    for (int j = k + 1; j < N; j++) {
      double s = A[k][j];
      for (int i = k + 1; i < M; i++)
        s += A[i][k] * A[i][j];
      s = tau[k] * s;
      A[k][j] -= s;
      for (int i = k + 1; i < M; i++)
        A[i][j] -= A[i][k] * s;
    }
  }
}

// M=1500,N=1000
void classical_gram_schmidt(int M, int N, double A[M][N], double Q[M][N], double R[N][N]) {
  for (int k = 0; k < N; k++) {
    for (int j = 0; j < k; j++) {
      R[j][k] = 0;
      for (int i = 0; i < M; i++)
        R[j][k] += Q[i][j] * A[i][k];
    }
    for (int j = 0; j < k; j++)
      for (int i = 0; i < M; i++)
        A[i][k] -= R[j][k] * Q[i][j];
    R[k][k] = 0;
    for (int i = 0; i < M; i++)
      R[k][k] += A[i][k] * A[i][k];
    for (int i = 0; i < M; i++)
      Q[i][k] = A[i][k] / sqrt(R[k][k]);
  }
}

// N=1000,M=800
void triangular_solve_many(int N, int M, double L[N][N], double B[N][M]) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) {
      for (int k = 0; k < i; k++)
        B[i][j] -= L[i][k] * B[k][j];
      B[i][j] /= L[i][i];
    }
}

// N=20000,B=200
void banded_lu(int N, int B, double A[N + B][2 * B + 1]) {
  for (int k = 0; k < N; k++)
    for (int i = 1; i <= B; i++) {
      A[k + i][B - i] /= A[k][B];
      for (int j = 1; j <= B; j++)
        A[k + i][B - i + j] -= A[k + i][B - i] * A[k][B + j];
    }
}

// T=50,N=2000
void power_iteration(int T, int N, double A[N][N], double x[N], double y[N]) {
  for (int t = 0; t < T; t++) {
    double norm = 0;
    for (int i = 0; i < N; i++) {
      y[i] = 0;
      for (int j = 0; j < N; j++)
        y[i] += A[i][j] * x[j];
    }
    for (int i = 0; i < N; i++)
      norm += y[i] * y[i];
    for (int i = 0; i < N; i++)
      x[i] = y[i] / sqrt(norm);
  }
}

// T=50,N=2000
void conjugate_gradients(int T, int N, double A[N][N], double x[N], double r[N], double p[N], double q[N]) {
  for (int t = 0; t < T; t++) {
    double pq = 0, rr = 0, next = 0;
    for (int i = 0; i < N; i++)
      rr += r[i] * r[i];
    for (int i = 0; i < N; i++) {
      q[i] = 0;
      for (int j = 0; j < N; j++)
        q[i] += A[i][j] * p[j];
    }
    for (int i = 0; i < N; i++)
      pq += p[i] * q[i];
    for (int i = 0; i < N; i++) {
      x[i] += rr / pq * p[i];
      r[i] -= rr / pq * q[i];
    }
    for (int i = 0; i < N; i++)
      next += r[i] * r[i];
    for (int i = 0; i < N; i++)
      p[i] = r[i] + next / rr * p[i];
  }
}

// T=50,N=2000
void dense_jacobi(int T, int N, double A[N][N], double b[N], double x[N], double y[N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++) {
      y[i] = b[i];
      for (int j = 0; j < N; j++)
        y[i] -= A[i][j] * x[j];
    }
    for (int i = 0; i < N; i++)
      x[i] += y[i] / A[i][i];
  }
}

// T=50,N=2000
void dense_gauss_seidel(int T, int N, double A[N][N], double b[N], double x[N]) {
  for (int t = 0; t < T; t++)
    for (int i = 0; i < N; i++) {
      double s = b[i];
      for (int j = 0; j < N; j++)
        s -= A[i][j] * x[j];
      x[i] += s / A[i][i];
    }
}

// T=20,N=500
void riccati(int T, int N, double F[N][N], double Q[N][N], double P[N][N], double M[N][N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        M[i][j] = 0;
        for (int k = 0; k < N; k++)
          M[i][j] += F[i][k] * P[k][j];
      }
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        P[i][j] = Q[i][j];
        for (int k = 0; k < N; k++)
          P[i][j] += M[i][k] * F[j][k];
      }
  }
}

// N=4000
void levinson(int N, double r[N], double b[N], double f[N], double g[N], double x[N]) {
  f[0] = 1.0 / r[0];
  x[0] = b[0] / r[0];
  for (int n = 1; n < N; n++) {
    double e = 0, d = 0;
    for (int i = 0; i < n; i++)
      e += r[n - i] * f[i];
    for (int i = 0; i < n; i++)
      d += r[n - i] * x[i];
    g[0] = f[0] / (1.0 - e * e);
    g[n] = -e * f[0] / (1.0 - e * e);
    for (int i = 1; i < n; i++)
      g[i] = (f[i] - e * f[n - i]) / (1.0 - e * e);
    for (int i = 0; i <= n; i++)
      f[i] = g[i];
    for (int i = 0; i < n; i++)
      x[i] += (b[n] - d) * f[n - i];
    x[n] = (b[n] - d) * f[0];
  }
}
