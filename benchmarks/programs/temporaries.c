// cproduct: cproduct n:i=9 m:i=7 p:i=8 A:d[n,p,2] B:d[p,m,2] C:d[n,m,2]
void cproduct(int n, int m, int p, double A[n][p][2], double B[p][m][2], double C[n][m][2]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      double sr = 0, si = 0;
      for (int k = 0; k < p; k++) {
        double ar = A[i][k][0], ai = A[i][k][1];
        double br = B[k][j][0], bi = B[k][j][1];
        double re = ar * br - ai * bi;
        double im = ar * bi + ai * br;
        sr += re;
        si += im;
      }
      C[i][j][0] = sr;
      C[i][j][1] = si;
    }
}

// gravity89: gravity89 n:i=21 x:d[n] y:d[n] m:d[n] ax:d[n] ay:d[n]
void gravity89(int n, double x[], double y[], double m[], double ax[], double ay[]) {
  int i, j;
  double dx, dy, r2, inv, f;
  for (i = 0; i < n; i++) {
    ax[i] = 0;
    ay[i] = 0;
    for (j = 0; j < n; j++) {
      dx = x[j] - x[i];
      dy = y[j] - y[i];
      r2 = dx * dx + dy * dy + 0.01;
      inv = 1.0 / sqrt(r2);
      f = m[j] * inv * inv * inv;
      ax[i] += f * dx;
      ay[i] += f * dy;
    }
  }
}

// rotated: rotated n:i=13 m:i=12 R:d[3,3] P:d[n,3] Q:d[m,3] D:d[n,m]
void rotated(int n, int m, double R[3][3], double P[n][3], double Q[m][3], double D[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      double d[3], e[3];
      for (int a = 0; a < 3; a++) d[a] = P[i][a] - Q[j][a];
      for (int a = 0; a < 3; a++) {
        e[a] = 0;
        for (int b = 0; b < 3; b++) e[a] += R[a][b] * d[b];
      }
      D[i][j] = sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
    }
}

// register_block: register_block n:i=16 k:i=9 A:d[n,k] B:d[k,n] C:d[n,n]
void register_block(int n, int k, double A[n][k], double B[k][n], double C[n][n]) {
  for (int i = 0; i < n / 4; i++)
    for (int j = 0; j < n; j++) {
      double acc[4];
      for (int r = 0; r < 4; r++) acc[r] = 0;
      for (int q = 0; q < k; q++) {
        double b = B[q][j];
        for (int r = 0; r < 4; r++) acc[r] += A[4 * i + r][q] * b;
      }
      for (int r = 0; r < 4; r++) C[4 * i + r][j] = acc[r];
    }
}

// kernel_diff: kernel_diff n:i=12 m:i=11 d:i=5 g:d=0.3 x:d[n,d] y:d[m,d] K:d[n,m]
void kernel_diff(int n, int m, int d, double g, const double *x, const double *y, double *K) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      double dist = 0.0;
      for (int q = 0; q < d; q++) {
        const double diff = x[i * d + q] - y[j * d + q];
        dist += diff * diff;
      }
      K[i * m + j] = exp(-g * dist);
    }
}

// lennard: lennard n:i=19 x:d[n,3] f:d[n,3] e:d[n]
void lennard(int n, double x[][3], double f[][3], double e[]) {
  double d[3], ft[3];
  for (int i = 0; i < n; i++) {
    double energy = 0;
    for (int c = 0; c < 3; c++) ft[c] = 0;
    for (int j = 0; j < n; j++) {
      double r2 = 0.1;
      for (int c = 0; c < 3; c++) {
        d[c] = x[i][c] - x[j][c];
        r2 += d[c] * d[c];
      }
      double i2 = 1 / r2, i6 = i2 * i2 * i2;
      double ff = 48 * i6 * (i6 - 0.5) * i2;
      energy += 4 * i6 * (i6 - 1);
      for (int c = 0; c < 3; c++) ft[c] += ff * d[c];
    }
    for (int c = 0; c < 3; c++) f[i][c] = ft[c];
    e[i] = energy;
  }
}

// last_value: last_value n:i=11 m:i=9 A:d[n,m] B:d[n,m] out:d[2]
void last_value(int n, int m, double A[n][m], double B[n][m], double out[2]) {
  double t = 0, u = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      t = A[i][j] * 2;
      u = t + 1;
      B[i][j] = t * u;
    }
  out[0] = t;
  out[1] = u;
}

// carried: carried n:i=11 m:i=9 A:d[n,m] B:d[n,m]
void carried(int n, int m, double A[n][m], double B[n][m]) {
  double before = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      double now = A[i][j];
      B[i][j] = now - before;
      before = now;
    }
}

// chi2rows: chi2rows n:i=10 m:i=12 d:i=7 x:d[n,d] y:d[m,d] k:d[n,m]
void chi2rows(int n, int m, int d, double x[n][d], double y[m][d], double k[n][m]) {
  int i, j, q;
  double a, b, num, den, s;
  for (i = 0; i < n; i++)
    for (j = 0; j < m; j++) {
      s = 0;
      for (q = 0; q < d; q++) {
        a = x[i][q];
        b = y[j][q];
        num = (a - b) * (a - b);
        den = a + b;
        if (den > 0) s += num / den;
      }
      k[i][j] = s;
    }
}

// stereo_tmp: stereo_tmp h:i=12 w:i=16 D:i=4 L:d[h,w] R:d[h,w] cost:d[h,w,D]
void stereo_tmp(int h, int w, int D, double L[h][w], double R[h][w], double cost[h][w][D]) {
  for (int y = 1; y < h - 1; y++)
    for (int x = 1 + D; x < w - 1; x++)
      for (int z = 0; z < D; z++) {
        double s = 0;
        for (int u = -1; u <= 1; u++)
          for (int v = -1; v <= 1; v++) {
            double e = L[y + u][x + v] - R[y + u][x + v - z];
            s += e < 0 ? -e : e;
          }
        cost[y][x][z] = s;
      }
}

// row_norms: row_norms n:i=10 m:i=8 A:d[n,m] B:d[n,m] G:d[n,n]
void row_norms(int n, int m, double A[n][m], double B[n][m], double G[n][n]) {
  for (int i = 0; i < n; i++) {
    double row[m];
    double norm = 0;
    for (int j = 0; j < m; j++) {
      row[j] = A[i][j] + B[i][j];
      norm += row[j] * row[j];
    }
    norm = sqrt(norm);
    for (int j = 0; j < m; j++) row[j] = row[j] / norm;
    for (int l = 0; l < n; l++) {
      double s = 0;
      for (int j = 0; j < m; j++) s += row[j] * A[l][j];
      G[i][l] = s;
    }
  }
}

// flux: flux n:i=14 m:i=13 u:d[n,m] v:d[n,m] k:d=0.1
void flux(int n, int m, double u[n][m], double v[n][m], double k) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++) {
      double west = u[i][j] - u[i][j - 1], east = u[i][j + 1] - u[i][j];
      double north = u[i][j] - u[i - 1][j], south = u[i + 1][j] - u[i][j];
      double div = east - west + south - north;
      v[i][j] = u[i][j] + k * div;
    }
}
