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
// hamming_weighted: hamming_weighted n:i=11 m:i=9 d:i=6 a:d[n,d] b:d[m,d] w:d[d] o:d[n,m]
void hamming_weighted(int n, int m, int d, double a[n][d], double b[m][d], double w[d], double o[n][m]) {
  double t, u, acc;
  int i, j, q;
  for (i = 0; i < n; i++) {
    for (j = 0; j < m; j++) {
      acc = 0.0;
      for (q = 0; q < d; q++) {
        t = a[i][q] - b[j][q];
        if (t < 0) t = -t;
        u = w[q] * t;
        acc = acc + u;
      }
      o[i][j] = acc;
    }
  }
}

// quat: quat n:i=13 q:d[n,4] p:d[n,4] r:d[n,n,4]
void quat(int n, double q[n][4], double p[n][4], double r[n][n][4]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double a[4], b[4];
      for (int c = 0; c < 4; c++) {
        a[c] = q[i][c];
        b[c] = p[j][c];
      }
      r[i][j][0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
      r[i][j][1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
      r[i][j][2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
      r[i][j][3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    }
}

// heat_local: heat_local t:i=5 n:i=12 u:d[n,n] v:d[n,n] c:d=0.1
void heat_local(int t, int n, double u[n][n], double v[n][n], double c) {
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++) {
        const double mid = u[i][j];
        const double lap = u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1] - 4.0 * mid;
        v[i][j] = mid + c * lap;
      }
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++) {
        double keep = v[i][j];
        u[i][j] = keep;
      }
  }
}

// softmax_rows: softmax_rows n:i=10 m:i=8 d:i=5 Q:d[n,d] K:d[m,d] V:d[m,d] O:d[n,d]
#include <math.h>
void softmax_rows(int n, int m, int d, double Q[n][d], double K[m][d], double V[m][d], double O[n][d]) {
  double score[m];
  double top, total;
  for (int i = 0; i < n; i++) {
    top = -1e30;
    for (int j = 0; j < m; j++) {
      double s = 0;
      for (int q = 0; q < d; q++) s += Q[i][q] * K[j][q];
      score[j] = s;
      top = s > top ? s : top;
    }
    total = 0;
    for (int j = 0; j < m; j++) {
      score[j] = exp(score[j] - top);
      total += score[j];
    }
    for (int q = 0; q < d; q++) {
      double s = 0;
      for (int j = 0; j < m; j++) s += score[j] * V[j][q];
      O[i][q] = s / total;
    }
  }
}

// cholesky_tmp: cholesky_tmp n:i=11 A:d[n,n]
void cholesky_tmp(int n, double A[n][n]) {
  int i, j, k;
  double x;
  for (i = 0; i < n; i++) {
    x = A[i][i];
    for (k = 0; k < i; k++) x = x - A[i][k] * A[i][k];
    A[i][i] = sqrt(x);
    for (j = i + 1; j < n; j++) {
      x = A[j][i];
      for (k = 0; k < i; k++) x = x - A[j][k] * A[i][k];
      A[j][i] = x / A[i][i];
    }
  }
}

// conv_acc: conv_acc c:i=3 k:i=4 h:i=7 w:i=6 I:d[c,h+2,w+2] F:d[k,c,3,3] O:d[k,h,w] b:d[k]
void conv_acc(int c, int k, int h, int w, double I[c][h + 2][w + 2], double F[k][c][3][3], double O[k][h][w], double b[k]) {
  for (int o = 0; o < k; o++)
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++) {
        double sum = b[o];
        for (int i = 0; i < c; i++)
          for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++) {
              double pixel = I[i][y + r][x + s];
              double weight = F[o][i][r][s];
              sum += pixel * weight;
            }
        double act = sum > 0 ? sum : 0;
        O[o][y][x] = act;
      }
}

// pair_hist: pair_hist n:i=17 x:d[n,3] e:d[n] s:d[1]
void pair_hist(int n, double x[n][3], double e[n], double s[1]) {
  double total = 0.0;
  double d0, d1, d2, r2, r;
  int i, j;
  for (i = 0; i < n - 1; i++)
    for (j = i + 1; j < n; j++) {
      d0 = x[i][0] - x[j][0];
      d1 = x[i][1] - x[j][1];
      d2 = x[i][2] - x[j][2];
      r2 = d0 * d0 + d1 * d1 + d2 * d2;
      r = sqrt(r2);
      e[i] += r;
      e[j] += r;
      total += r2;
    }
  s[0] = total;
}

// lastrow: lastrow n:i=9 m:i=7 A:d[n,m] B:d[n,m] c:d[m]
void lastrow(int n, int m, double A[n][m], double B[n][m], double c[m]) {
  double row[m];
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < m; j++) row[j] = A[i][j] * A[i][j];
    for (int j = 0; j < m; j++) B[i][j] = row[j] - row[m - 1 - j];
  }
  for (int j = 0; j < m; j++) c[j] = row[j];
}

// guarded_tmp: guarded_tmp n:i=10 m:i=9 A:d[n,m] B:d[n,m]
void guarded_tmp(int n, int m, double A[n][m], double B[n][m]) {
  double t = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      if (j < i) t = A[i][j];
      B[i][j] = t + A[i][j];
    }
}

// gs_tmp: gs_tmp n:i=9 m:i=12 Q:d[n,m] R:d[n,n]
void gs_tmp(int n, int m, double Q[n][m], double R[n][n]) {
  double dot, nrm, q;
  for (int k = 0; k < n; k++) {
    nrm = 0;
    for (int i = 0; i < m; i++) {
      q = Q[k][i];
      nrm += q * q;
    }
    R[k][k] = sqrt(nrm);
    for (int i = 0; i < m; i++) Q[k][i] = Q[k][i] / R[k][k];
    for (int j = k + 1; j < n; j++) {
      dot = 0;
      for (int i = 0; i < m; i++) dot += Q[k][i] * Q[j][i];
      R[k][j] = dot;
      for (int i = 0; i < m; i++) {
        q = dot * Q[k][i];
        Q[j][i] = Q[j][i] - q;
      }
    }
  }
}

// lu_acc4: lu_acc4 n:i=12 m:i=10 p:i=8 A:d[n,p] B:d[p,m] C:d[n,m]
void lu_acc4(int n, int m, int p, double A[n][p], double B[p][m], double C[n][m]) {
  for (int i = 0; i < n / 2; i++)
    for (int j = 0; j < m / 2; j++) {
      double c00 = 0, c01 = 0, c10 = 0, c11 = 0;
      for (int k = 0; k < p; k++) {
        double a0 = A[2 * i][k], a1 = A[2 * i + 1][k], b0 = B[k][2 * j], b1 = B[k][2 * j + 1];
        c00 += a0 * b0;
        c01 += a0 * b1;
        c10 += a1 * b0;
        c11 += a1 * b1;
      }
      C[2 * i][2 * j] = c00;
      C[2 * i][2 * j + 1] = c01;
      C[2 * i + 1][2 * j] = c10;
      C[2 * i + 1][2 * j + 1] = c11;
    }
}

// levels_tmp: levels_tmp n:i=8 m:i=7 p:i=6 A:d[n,m] B:d[m,p] x:d[p] y:d[n] z:d[m]
void levels_tmp(int n, int m, int p, double A[n][m], double B[m][p], double x[p], double y[n], double z[m]) {
  double t;
  for (int j = 0; j < m; j++) {
    t = 0;
    for (int k = 0; k < p; k++) t += B[j][k] * x[k];
    z[j] = t;
  }
  for (int i = 0; i < n; i++) {
    t = 1;
    for (int j = 0; j < m; j++) {
      double u = A[i][j] * z[j];
      t += u;
    }
    y[i] = t;
  }
}

// windowed: windowed n:i=24 k:i=5 x:d[n] h:d[k] y:d[n]
void windowed(int n, int k, double x[n], double h[k], double y[n]) {
  for (int i = 0; i + k <= n; i++) {
    double win[k];
    double lo = 1e30, acc = 0;
    for (int j = 0; j < k; j++) win[j] = x[i + j] * h[j];
    for (int j = 0; j < k; j++) lo = win[j] < lo ? win[j] : lo;
    for (int j = 0; j < k; j++) acc += win[j] - lo;
    y[i] = acc;
  }
}

// float_tmp: float_tmp n:i=10 m:i=9 d:i=6 x:f[n,d] y:f[m,d] o:f[n,m]
void float_tmp(int n, int m, int d, float x[n][d], float y[m][d], float o[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      float na = 0.f, nb = 0.f, ab = 0.f;
      for (int q = 0; q < d; q++) {
        const float a = x[i][q], b = y[j][q];
        na += a * a;
        nb += b * b;
        ab += a * b;
      }
      o[i][j] = ab / sqrtf(na * nb);
    }
}

// struct_tmp: struct_tmp n:i=14 X_x:d[n] X_y:d[n] F_x:d[n] F_y:d[n]
typedef struct { double x, y; } vec;
void struct_tmp(int n, vec X[n], vec F[n]) {
  for (int i = 0; i < n; i++) {
    vec sum;
    sum.x = 0;
    sum.y = 0;
    for (int j = 0; j < n; j++) {
      vec d;
      d.x = X[j].x - X[i].x;
      d.y = X[j].y - X[i].y;
      double r = d.x * d.x + d.y * d.y + 0.5;
      sum.x += d.x / r;
      sum.y += d.y / r;
    }
    F[i].x = sum.x;
    F[i].y = sum.y;
  }
}
//@@wrap
void struct_tmp_wrap(int n, double *X_x, double *X_y, double *F_x, double *F_y) {
  vec X[n], F[n];
  for (int i = 0; i < n; i++) X[i] = (vec){X_x[i], X_y[i]};
  struct_tmp(n, X, F);
  for (int i = 0; i < n; i++) {
    F_x[i] = F[i].x;
    F_y[i] = F[i].y;
  }
}
