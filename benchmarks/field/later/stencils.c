// T=20,N=600
void adi_heat(int T, int N, double u[N][N], double w[N][N], double c[N], double d[N][N], double r) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++) {
      d[i][0] = 0;
      for (int j = 1; j < N - 1; j++)
        d[i][j] = (r * (u[i - 1][j] + u[i + 1][j]) + (1 - 2 * r) * u[i][j] + r * d[i][j - 1]) * c[j];
      for (int j = N - 2; j >= 1; j--)
        w[i][j] = d[i][j] + r * c[j] * w[i][j + 1];
    }
    for (int j = 1; j < N - 1; j++) {
      d[0][j] = 0;
      for (int i = 1; i < N - 1; i++)
        d[i][j] = (r * (w[i][j - 1] + w[i][j + 1]) + (1 - 2 * r) * w[i][j] + r * d[i - 1][j]) * c[i];
      for (int i = N - 2; i >= 1; i--)
        u[i][j] = d[i][j] + r * c[i] * u[i + 1][j];
    }
  }
}

// T=60,N=500
void boltzmann_plane(int T, int N, double f0[N][N], double f1[N][N], double f2[N][N], double f3[N][N], double f4[N][N], double g0[N][N], double g1[N][N], double g2[N][N], double g3[N][N], double g4[N][N], double w) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) {
        double r = f0[i][j] + f1[i - 1][j] + f2[i + 1][j] + f3[i][j - 1] + f4[i][j + 1];
        g0[i][j] = f0[i][j] + w * (r / 3 - f0[i][j]);
        g1[i][j] = f1[i - 1][j] + w * (r / 6 - f1[i - 1][j]);
        g2[i][j] = f2[i + 1][j] + w * (r / 6 - f2[i + 1][j]);
        g3[i][j] = f3[i][j - 1] + w * (r / 6 - f3[i][j - 1]);
        g4[i][j] = f4[i][j + 1] + w * (r / 6 - f4[i][j + 1]);
      }
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) {
        f0[i][j] = g0[i][j];
        f1[i][j] = g1[i][j];
        f2[i][j] = g2[i][j];
        f3[i][j] = g3[i][j];
        f4[i][j] = g4[i][j];
      }
  }
}

// A=60,N=300
void helmholtz_sweep(int A, int N, double psi[A][N + 1][N + 1], double mu[A], double eta[A], double sig[N][N], double q[N][N]) {
  for (int a = 0; a < A; a++)
    for (int i = 1; i <= N; i++)
      for (int j = 1; j <= N; j++)
        psi[a][i][j] = (q[i - 1][j - 1] + mu[a] * psi[a][i - 1][j] + eta[a] * psi[a][i][j - 1]) / (sig[i - 1][j - 1] + mu[a] + eta[a]);
}

// T=100,N=1000
void multigrid_smoother(int T, int N, double u[N][N], double w[N][N], double f[N][N], double k[N][N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        w[i][j] = u[i][j] + 0.8 * (f[i][j] - k[i][j] * (4 * u[i][j] - u[i - 1][j] - u[i + 1][j] - u[i][j - 1] - u[i][j + 1])) / (4 * k[i][j]);
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        u[i][j] = w[i][j];
  }
}

// T=200,N=1000
void seismic(int T, int N, float p[N][N], float q[N][N], float v[N][N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        q[i][j] = 2 * p[i][j] - q[i][j] + v[i][j] * (p[i - 1][j] + p[i + 1][j] + p[i][j - 1] + p[i][j + 1] - 4 * p[i][j]);
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        p[i][j] = 2 * q[i][j] - p[i][j] + v[i][j] * (q[i - 1][j] + q[i + 1][j] + q[i][j - 1] + q[i][j + 1] - 4 * q[i][j]);
  }
}

// T=3000,N=9000
void shock_tube(int T, int N, double r[N + 1], double m[N + 1], double e[N + 1], double fr[N + 1], double fm[N + 1], double fe[N + 1], double c) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++) {
      double u = 0.5 * (m[i] / r[i] + m[i + 1] / r[i + 1]);
      fr[i] = 0.5 * (m[i] + m[i + 1]) - (r[i + 1] - r[i]);
      fm[i] = 0.5 * u * (m[i] + m[i + 1]) - (m[i + 1] - m[i]);
      fe[i] = 0.5 * u * (e[i] + e[i + 1]) - (e[i + 1] - e[i]);
    }
    for (int i = 1; i < N; i++) {
      r[i] -= c * (fr[i] - fr[i - 1]);
      m[i] -= c * (fm[i] - fm[i - 1]);
      e[i] -= c * (fe[i] - fe[i - 1]);
    }
  }
}

// T=100,N=2000
void upwind_advection(int T, int N, double c[2][N][N], double a, double b) {
  for (int t = 0; t < T; t++)
    for (int i = 1; i < N; i++)
      for (int j = 1; j < N; j++)
        c[(t + 1) % 2][i][j] = c[t % 2][i][j] - a * (c[t % 2][i][j] - c[t % 2][i - 1][j]) - b * (c[t % 2][i][j] - c[t % 2][i][j - 1]);
}

// T=150,N=800
void maxwell(int T, int N, double ez[N][N], double hx[N][N], double hy[N][N], double c) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < N - 1; i++)
      for (int j = 0; j < N - 1; j++) {
        hx[i][j] -= c * (ez[i][j + 1] - ez[i][j]);
        hy[i][j] += c * (ez[i + 1][j] - ez[i][j]);
      }
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        ez[i][j] += c * (hy[i][j] - hy[i - 1][j] - hx[i][j] + hx[i][j - 1]);
  }
}

// T=200,N=500
void maxwell_materials(int T, int N, double Ez[N][N], double Hx[N][N], double Hy[N][N]) {
#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N - 1; j++)
        Hx[i][j] -= 0.5 * (Ez[i][j+1] - Ez[i][j]);
    for (int i = 0; i < N - 1; i++)
      for (int j = 0; j < N; j++)
        Hy[i][j] += 0.5 * (Ez[i+1][j] - Ez[i][j]);
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        Ez[i][j] += 0.5 * (Hy[i][j] - Hy[i-1][j] - Hx[i][j] + Hx[i][j-1]);
  }
#pragma endscop
}

// T=100,N=120
void heat_coef(int T, int N, double u[N][N][N], double v[N][N][N], double k[N][N][N]) {
#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        for (int l = 1; l < N - 1; l++)
          v[i][j][l] = u[i][j][l] + k[i][j][l] * (u[i+1][j][l] + u[i-1][j][l] + u[i][j+1][l] + u[i][j-1][l] + u[i][j][l+1] + u[i][j][l-1] - 6.0 * u[i][j][l]);
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        for (int l = 1; l < N - 1; l++)
          u[i][j][l] = v[i][j][l];
  }
#pragma endscop
}

// E=2000,P=10
void spectral_elements(int E, int P, double u[E][P][P][P], double D[P][P], double ux[E][P][P][P], double uy[E][P][P][P], double uz[E][P][P][P]) {
  for (int e = 0; e < E; e++)
    for (int i = 0; i < P; i++)
      for (int j = 0; j < P; j++)
        for (int k = 0; k < P; k++) {
          double a = 0, b = 0, c = 0;
          for (int l = 0; l < P; l++) {
            a += D[i][l] * u[e][l][j][k];
            b += D[j][l] * u[e][i][l][k];
            c += D[k][l] * u[e][i][j][l];
          }
          ux[e][i][j][k] = a;
          uy[e][i][j][k] = b;
          uz[e][i][j][k] = c;
        }
}
