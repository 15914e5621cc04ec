// sobel: sobel w:i=8 h:i=7 in:b[h*w] out:f[h*w]
#include <math.h>
void sobel(const unsigned char *in, float *out, int w, int h) {
  for (int y = 1; y < h - 1; ++y) {
    for (int x = 1; x < w - 1; ++x) {
      int gx = -in[(y-1)*w + x-1] + in[(y-1)*w + x+1]
             - 2*in[y*w + x-1] + 2*in[y*w + x+1]
             - in[(y+1)*w + x-1] + in[(y+1)*w + x+1];
      int gy = -in[(y-1)*w + x-1] - 2*in[(y-1)*w + x] - in[(y-1)*w + x+1]
             + in[(y+1)*w + x-1] + 2*in[(y+1)*w + x] + in[(y+1)*w + x+1];
      out[y*w + x] = sqrtf((float)(gx*gx + gy*gy));
    }
  }
}
//@@wrap
void sobel_wrap(int w, int h, const unsigned char *in, float *out) { sobel(in, out, w, h); }

// fir: fir n:i=12 taps:i=4 x:f[n] h:f[taps] y:f[n]
void fir(int n, int taps, const float *x, const float *h, float *y) {
  int i, k;
  for (i = 0; i < n; i++) {
    float acc = 0.0f;
    int kmax = i < taps - 1 ? i : taps - 1;
    for (k = 0; k <= kmax; k++)
      acc += h[k] * x[i - k];
    y[i] = acc;
  }
}

// biquad: biquad n:i=10 x:d[n] y:d[n] c:d[5]
void biquad(int n, const double *x, double *y, const double c[5]) {
  double z1 = 0.0, z2 = 0.0;
  for (int i = 0; i < n; i++) {
    double in = x[i];
    double out = c[0] * in + z1;
    z1 = c[1] * in - c[3] * out + z2;
    z2 = c[2] * in - c[4] * out;
    y[i] = out;
  }
}

// crank: cn nt:i=3 m:i=7 a:d=0.3 v:d[m] cp:d[m] dp:d[m]
void cn(int nt, int m, double a, double *v, double *cp, double *dp) {
  for (int t = 0; t < nt; t++) {
    cp[0] = 0; dp[0] = v[0];
    for (int i = 1; i < m - 1; i++) {
      double rhs = 0.5*a*v[i-1] + (1 - a)*v[i] + 0.5*a*v[i+1];
      double den = (1 + a) + 0.5*a*cp[i-1];
      cp[i] = -0.5*a/den;
      dp[i] = (rhs + 0.5*a*dp[i-1])/den;
    }
    for (int i = m - 2; i >= 1; i--)
      v[i] = dp[i] - cp[i]*v[i+1];
  }
}

// binomial: american n:i=6 S0:d=1.1 K:d=1.2 u:d=1.1 disc:d=0.97 p:d=0.55 V:d[n+1] out:d[1]
#include <math.h>
void american(int n, double S0, double K, double u, double disc, double p, double *V, double *out)
{
    for (int i = 0; i <= n; ++i) {
        double s = S0 * pow(u, 2.0 * i - n);
        V[i] = fmax(K - s, 0.0);
    }
    for (int step = n - 1; step >= 0; --step) {
        for (int i = 0; i <= step; ++i) {
            double hold = disc * (p * V[i + 1] + (1.0 - p) * V[i]);
            double s = S0 * pow(u, 2.0 * i - step);
            double ex = K - s;
            V[i] = hold > ex ? hold : ex;
        }
    }
    *out = V[0];
}

// fdtd2: step nx:i=6 ny:i=5 nt:i=2 ez:d[nx,ny] hx:d[nx,ny-1] hy:d[nx-1,ny]
#define CE 0.5
#define CH 0.45
static void update_h(int nx, int ny, double ez[nx][ny], double hx[nx][ny-1], double hy[nx-1][ny]) {
  for (int i = 0; i < nx; i++)
    for (int j = 0; j < ny - 1; j++)
      hx[i][j] -= CH * (ez[i][j+1] - ez[i][j]);
  for (int i = 0; i < nx - 1; i++)
    for (int j = 0; j < ny; j++)
      hy[i][j] += CH * (ez[i+1][j] - ez[i][j]);
}
static void update_e(int nx, int ny, double ez[nx][ny], double hx[nx][ny-1], double hy[nx-1][ny]) {
  for (int i = 1; i < nx - 1; i++)
    for (int j = 1; j < ny - 1; j++)
      ez[i][j] += CE * ((hy[i][j] - hy[i-1][j]) - (hx[i][j] - hx[i][j-1]));
}
void step(int nx, int ny, int nt, double ez[nx][ny], double hx[nx][ny-1], double hy[nx-1][ny]) {
  for (int n = 0; n < nt; n++) {
    update_h(nx, ny, ez, hx, hy);
    update_e(nx, ny, ez, hx, hy);
  }
}

// lj: forces n:i=6 pos:d[n,3] frc:d[n,3] pot:d[1]
void forces(int n, double (*pos)[3], double (*frc)[3], double *pot) {
  double e = 0.0;
  for (int i = 0; i < n; i++)
    for (int d = 0; d < 3; d++) frc[i][d] = 0.0;
  for (int i = 0; i < n - 1; i++) {
    for (int j = i + 1; j < n; j++) {
      double r[3], r2 = 0.0;
      for (int d = 0; d < 3; d++) {
        r[d] = pos[i][d] - pos[j][d];
        r2 += r[d] * r[d];
      }
      double ir2 = 1.0 / (r2 + 0.1);
      double ir6 = ir2 * ir2 * ir2;
      double f = 24.0 * ir6 * (2.0 * ir6 - 1.0) * ir2;
      e += 4.0 * ir6 * (ir6 - 1.0);
      for (int d = 0; d < 3; d++) {
        frc[i][d] += f * r[d];
        frc[j][d] -= f * r[d];
      }
    }
  }
  *pot = e;
}

// covar: covar n:i=7 d:i=4 X:d[n*d] mu:d[d] C:d[d*d]
#include <string.h>
#include <stddef.h>
void covar(size_t n, size_t d, const double *restrict X, double *restrict mu, double *restrict C) {
  memset(mu, 0, d * sizeof(double));
  memset(C, 0, d * d * sizeof *C);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < d; j++) mu[j] += X[i * d + j];
  for (size_t j = 0; j < d; j++) mu[j] /= (double)n;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < d; j++)
      for (size_t k = 0; k <= j; k++)
        C[j * d + k] += (X[i * d + j] - mu[j]) * (X[i * d + k] - mu[k]);
  for (size_t j = 0; j < d; j++)
    for (size_t k = 0; k <= j; k++) {
      C[j * d + k] /= (double)(n - 1);
      C[k * d + j] = C[j * d + k];
    }
}
//@@wrap
void covar_wrap(int n, int d, const double *X, double *mu, double *C) { covar(n, d, X, mu, C); }

// conv_relu: conv_relu_pool C:i=2 H:i=6 W:i=6 K:i=3 in:f[C,H,W] wt:f[K,C,3,3] bias:f[K] conv:f[K,H-2,W-2] out:f[K,(H-2)//2,(W-2)//2]
void conv_relu_pool(int C, int H, int W, int K, float in[C][H][W], float wt[K][C][3][3], float bias[K],
                    float conv[K][H-2][W-2], float out[K][(H-2)/2][(W-2)/2]) {
  for (int k = 0; k < K; k++)
    for (int y = 0; y < H - 2; y++)
      for (int x = 0; x < W - 2; x++) {
        float s = bias[k];
        for (int c = 0; c < C; c++)
          for (int r = 0; r < 3; r++)
            for (int q = 0; q < 3; q++)
              s += in[c][y + r][x + q] * wt[k][c][r][q];
        conv[k][y][x] = s > 0 ? s : 0;
      }
  for (int k = 0; k < K; k++)
    for (int y = 0; y < (H - 2) / 2; y++)
      for (int x = 0; x < (W - 2) / 2; x++) {
        float m = conv[k][2*y][2*x];
        if (conv[k][2*y][2*x+1] > m) m = conv[k][2*y][2*x+1];
        if (conv[k][2*y+1][2*x] > m) m = conv[k][2*y+1][2*x];
        if (conv[k][2*y+1][2*x+1] > m) m = conv[k][2*y+1][2*x+1];
        out[k][y][x] = m;
      }
}

// batchnorm: batchnorm N:i=3 C:i=2 HW:i=5 eps:f=0.01 x:f[N*C*HW] g:f[C] b:f[C] y:f[N*C*HW]
#include <math.h>
void batchnorm(int N, int C, int HW, float eps, const float *x, const float *g, const float *b, float *y) {
  for (int c = 0; c < C; c++) {
    float mean = 0.f, var = 0.f;
    const float inv = 1.f / (N * HW);
    for (int n = 0; n < N; n++)
      for (int i = 0; i < HW; i++) mean += x[(n * C + c) * HW + i];
    mean *= inv;
    for (int n = 0; n < N; n++)
      for (int i = 0; i < HW; i++) {
        float d = x[(n * C + c) * HW + i] - mean;
        var += d * d;
      }
    var *= inv;
    float scale = g[c] / sqrtf(var + eps);
    for (int n = 0; n < N; n++)
      for (int i = 0; i < HW; i++) {
        int idx = (n * C + c) * HW + i;
        y[idx] = (x[idx] - mean) * scale + b[c];
      }
  }
}

// ldlt: ldlt n:i=6 A:d[n,n] D:d[n]
#define N_MAX 64
void ldlt(int n, double A[n][n], double D[n]) {
  int i, j, k;
  for (j = 0; j < n; j++) {
    double s = A[j][j];
    for (k = 0; k < j; k++) s -= A[j][k] * A[j][k] * D[k];
    D[j] = s;
    for (i = j + 1; i < n; i++) {
      double t = A[i][j];
      for (k = 0; k < j; k++) t -= A[i][k] * A[j][k] * D[k];
      A[i][j] = t / D[j];
    }
  }
}

// jacobi_rot: givens n:i=6 m:i=4 R:d[n,m] cs:d[n] sn:d[n]
void givens(int n, int m, double R[n][m], const double *cs, const double *sn) {
  int i = 0, j;
  while (i < n - 1) {
    const double c = cs[i], s = sn[i];
    for (j = 0; j < m; ++j) {
      const double a = R[i][j], b = R[i + 1][j];
      R[i][j] = c * a + s * b;
      R[i + 1][j] = c * b - s * a;
    }
    i++;
  }
}

// strassen_add: quad n:i=4 A:d[2*n,2*n] B:d[2*n,2*n] C:d[2*n,2*n]
enum { TL, TR, BL, BR };
void quad(int n, double A[2*n][2*n], double B[2*n][2*n], double C[2*n][2*n]) {
  for (int bi = 0; bi < 2; bi++)
    for (int bj = 0; bj < 2; bj++)
      for (int bk = 0; bk < 2; bk++)
        for (int i = 0; i < n; i++)
          for (int j = 0; j < n; j++) {
            double acc = (bk == 0) ? 0.0 : C[bi*n + i][bj*n + j];
            for (int k = 0; k < n; k++)
              acc += A[bi*n + i][bk*n + k] * B[bk*n + k][bj*n + j];
            C[bi*n + i][bj*n + j] = acc;
          }
}

// viterbi: viterbi T:i=5 S:i=3 tr:d[S,S] em:d[T,S] dp:d[T,S]
void viterbi(int T, int S, double tr[S][S], double em[T][S], double dp[T][S]) {
  for (int s = 0; s < S; s++) dp[0][s] = em[0][s];
  for (int t = 1; t < T; t++) {
    for (int s = 0; s < S; s++) {
      double best = -1e300;
      for (int q = 0; q < S; q++) {
        double cand = dp[t-1][q] + tr[q][s];
        if (cand > best) best = cand;
      }
      dp[t][s] = best + em[t][s];
    }
  }
}

// lbm: stream nx:i=5 ny:i=4 om:d=0.6 f:d[9,nx,ny] g:d[9,nx,ny]
static const int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
void stream(int nx, int ny, double om, double f[9][nx][ny], double g[9][nx][ny]) {
  for (int i = 1; i < nx - 1; i++)
    for (int j = 1; j < ny - 1; j++) {
      double rho = 0;
      for (int q = 0; q < 9; q++) rho += f[q][i - ex[q]][j - ey[q]];
      for (int q = 0; q < 9; q++)
        g[q][i][j] = (1 - om) * f[q][i - ex[q]][j - ey[q]] + om * rho / 9;
    }
}

// integral: box w:i=7 h:i=6 r:i=1 img:d[h,w] S:d[h+1,w+1] out:d[h,w]
void box(int w, int h, int r, double img[h][w], double S[h+1][w+1], double out[h][w]) {
  for (int x = 0; x <= w; x++) S[0][x] = 0;
  for (int y = 0; y < h; y++) {
    double row = 0;
    S[y+1][0] = 0;
    for (int x = 0; x < w; x++) {
      row += img[y][x];
      S[y+1][x+1] = S[y][x+1] + row;
    }
  }
  for (int y = r; y < h - r; y++)
    for (int x = r; x < w - r; x++)
      out[y][x] = (S[y+r+1][x+r+1] - S[y-r][x+r+1] - S[y+r+1][x-r] + S[y-r][x-r]) / ((2*r+1)*(2*r+1));
}

// haar: haar n:i=8 x:d[n] y:d[n]
#define SQ 0.70710678118654752
void haar(int n, double *x, double *y) {
  int half = n / 2;
  for (int i = 0; i < half; i++) {
    y[i] = (x[2*i] + x[2*i + 1]) * SQ;
    y[half + i] = (x[2*i] - x[2*i + 1]) * SQ;
  }
  for (int i = 0; i < n; i++) x[i] = y[i];
}

// adam: adam n:i=9 lr:d=0.01 p:d[n] g:d[n] m:d[n] v:d[n]
#include <math.h>
typedef double real;
#define B1 ((real)0.9)
#define B2 ((real)0.999)
void adam(int n, real lr, real *p, const real *g, real *m, real *v) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) {
    real gi = g[i];
    m[i] = B1 * m[i] + (1 - B1) * gi;
    v[i] = B2 * v[i] + (1 - B2) * gi * gi;
    real mh = m[i] / (1 - B1), vh = v[i] / (1 - B2);
    p[i] -= lr * mh / (sqrt(vh) + 1e-8);
  }
}

// dct: dct8 bl:i=2 img:d[8*bl,8*bl] M:d[8,8] out:d[8*bl,8*bl]
void dct8(int bl, double img[8*bl][8*bl], double M[8][8], double out[8*bl][8*bl]) {
  double tmp[8][8];
  for (int by = 0; by < bl; by++)
    for (int bx = 0; bx < bl; bx++) {
      for (int u = 0; u < 8; u++)
        for (int x = 0; x < 8; x++) {
          tmp[u][x] = 0;
          for (int y = 0; y < 8; y++) tmp[u][x] += M[u][y] * img[8*by + y][8*bx + x];
        }
      for (int u = 0; u < 8; u++)
        for (int v = 0; v < 8; v++) {
          double s = 0;
          for (int x = 0; x < 8; x++) s += tmp[u][x] * M[v][x];
          out[8*by + u][8*bx + v] = s;
        }
    }
}

// ewma_vol: ewma n:i=8 k:i=3 lam:d=0.94 ret:d[n,k] cov:d[k,k] var:d[n] wts:d[k]
void ewma(const int n, const int k, const double lam, const double ret[n][k], double cov[k][k], double var[n], const double wts[k])
{
  int t, i, j;
  for (t = 0; t < n; t++) {
    for (i = 0; i < k; i++)
      for (j = i; j < k; j++) {
        cov[i][j] = lam * cov[i][j] + (1.0 - lam) * ret[t][i] * ret[t][j];
        if (i != j) cov[j][i] = cov[i][j];
      }
    var[t] = 0.0;
    for (i = 0; i < k; i++)
      for (j = 0; j < k; j++)
        var[t] += wts[i] * cov[i][j] * wts[j];
  }
}
