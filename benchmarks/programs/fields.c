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

// fem_stiffness: assemble ne:i=6 nn:i=7 E:d=2.0 h:d[ne] K:d[nn,nn] F:d[nn]
#include <string.h>
/* one-dimensional linear elements */
void assemble(int ne, int nn, double E, const double h[], double K[nn][nn], double F[nn])
{
    double ke[2][2];
    for (int i = 0; i < nn; i++) {
        F[i] = 0.0;
        for (int j = 0; j < nn; j++)
            K[i][j] = 0.0;
    }
    for (int e = 0; e < ne; e++) {
        ke[0][0] = E / h[e];  ke[0][1] = -E / h[e];
        ke[1][0] = -E / h[e]; ke[1][1] = E / h[e];
        for (int a = 0; a < 2; a++) {
            F[e + a] += 0.5 * h[e];
            for (int b = 0; b < 2; b++)
                K[e + a][e + b] += ke[a][b];
        }
    }
}

// bsr_blocks: bsr_spmv nb:i=4 bs:i=3 val:d[nb,3,bs,bs] x:d[nb*bs] y:d[nb*bs]
/* block tridiagonal matrix times vector, blocks dense */
void bsr_spmv(int nb, int bs, const double val[nb][3][bs][bs], const double *x, double *y) {
  for (int ib = 0; ib < nb; ib++) {
    for (int r = 0; r < bs; r++) {
      double acc = 0.0;
      for (int k = 0; k < 3; k++) {
        int jb = ib + k - 1;
        if (jb < 0 || jb >= nb) continue;
        for (int c = 0; c < bs; c++)
          acc += val[ib][k][r][c] * x[jb * bs + c];
      }
      y[ib * bs + r] = acc;
    }
  }
}

// kalman_step: kalman n:i=4 m:i=2 F:d[n,n] P:d[n,n] Q:d[n,n] H:d[m,n] x:d[n] T:d[n,n] PHt:d[n,m]
#define NMAX 8
void kalman(int n, int m, double F[n][n], double P[n][n], double Q[n][n], double H[m][n], double x[n], double T[n][n], double PHt[n][m])
{
  double xn[NMAX];
  int i, j, k;
  for (i = 0; i < n; ++i) { xn[i] = 0; for (j = 0; j < n; ++j) xn[i] += F[i][j] * x[j]; }
  for (i = 0; i < n; ++i) x[i] = xn[i];
  for (i = 0; i < n; ++i)
    for (j = 0; j < n; ++j) {
      T[i][j] = 0;
      for (k = 0; k < n; ++k) T[i][j] += F[i][k] * P[k][j];
    }
  for (i = 0; i < n; ++i)
    for (j = 0; j < n; ++j) {
      double s = Q[i][j];
      for (k = 0; k < n; ++k) s += T[i][k] * F[j][k];
      P[i][j] = s;
    }
  for (i = 0; i < n; ++i)
    for (j = 0; j < m; ++j) {
      double s = 0;
      for (k = 0; k < n; ++k) s += P[i][k] * H[j][k];
      PHt[i][j] = s;
    }
}

// ray_march: march w:i=5 h:i=4 steps:i=3 dt:f=0.1 img:f[h,w] dens:f[h,w,steps]
#include <math.h>
typedef struct { float x, y, z; } vec3;
static inline float dot3(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
void march(int w, int h, int steps, float dt, float img[h][w], const float dens[h][w][steps])
{
  vec3 light = {0.5f, 0.3f, 0.8f};
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      float T = 1.0f, L = 0.0f;
      vec3 d = {x / (float)w - 0.5f, y / (float)h - 0.5f, 1.0f};
      for (int s = 0; s < steps; s++) {
        float a = dens[y][x][s] * dt;
        L += T * a * dot3(d, light);
        T *= expf(-a);
      }
      img[y][x] = L;
    }
}

// trinomial: trinomial N:i=5 K:d=1.1 pu:d=0.3 pm:d=0.4 pd:d=0.29 V:d[2*N+1] S:d[2*N+1]
#define MAX(a, b) ((a) > (b) ? (a) : (b))
void trinomial(int N, double K, double pu, double pm, double pd, double *V, const double *S) {
  for (int j = 0; j < 2 * N + 1; j++) V[j] = MAX(S[j] - K, 0.0);
  for (int i = N - 1; i >= 0; i--)
    for (int j = 0; j < 2 * i + 1; j++) {
      double hold = pd * V[j] + pm * V[j + 1] + pu * V[j + 2];
      double ex = S[j + N - i] - K;
      V[j] = hold > ex ? hold : ex;
    }
}

// dilate: dilate w:i=8 h:i=7 r:i=1 src:b[h*w] dst:b[h*w]
#include <stdint.h>
void dilate(int w, int h, int r, const uint8_t *restrict src, uint8_t *restrict dst) {
  for (int y = r; y < h - r; y++) {
    for (int x = r; x < w - r; x++) {
      uint8_t m = 0;
      for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++) {
          uint8_t v = src[(y + dy) * w + (x + dx)];
          if (v > m) m = v;
        }
      dst[y * w + x] = m;
    }
  }
}

// lifting53: lift n:i=12 x:i[n]
/* in-place forward 5/3 wavelet, integer, symmetric border */
void lift(int n, int *x) {
  for (int i = 1; i < n - 1; i += 2)
    x[i] -= (x[i - 1] + x[i + 1]) >> 1;
  if (n % 2 == 0)
    x[n - 1] -= x[n - 2];
  x[0] += (x[1] + x[1] + 2) >> 2;
  for (int i = 2; i < n - 1; i += 2)
    x[i] += (x[i - 1] + x[i + 1] + 2) >> 2;
}

// fft_stage: stage n:i=16 half:i=4 re:d[n] im:d[n] wr:d[half] wi:d[half]
void stage(int n, int half, double *re, double *im, const double *wr, const double *wi) {
  for (int b = 0; b < n / 8; b++)
    for (int k = 0; k < 4; k++) {
      int p = 8 * b + k, q = p + 4;
      double tr = re[q] * wr[k] - im[q] * wi[k];
      double ti = re[q] * wi[k] + im[q] * wr[k];
      re[q] = re[p] - tr; im[q] = im[p] - ti;
      re[p] += tr;        im[p] += ti;
    }
}

// fft_full: fft re:d[16] im:d[16] cw:d[8] sw:d[8]
#define N 16
void fft(double re[N], double im[N], const double cw[N / 2], const double sw[N / 2]) {
  for (int len = 2; len <= N; len <<= 1) {
    int step = N / len;
    for (int i = 0; i < N; i += len)
      for (int k = 0; k < len / 2; k++) {
        double ur = re[i + k], ui = im[i + k];
        double vr = re[i + k + len / 2] * cw[k * step] - im[i + k + len / 2] * sw[k * step];
        double vi = re[i + k + len / 2] * sw[k * step] + im[i + k + len / 2] * cw[k * step];
        re[i + k] = ur + vr; im[i + k] = ui + vi;
        re[i + k + len / 2] = ur - vr; im[i + k + len / 2] = ui - vi;
      }
  }
}

// moments: moments n:i=9 d:i=3 X:d[n,d] mean:d[d] var:d[d] skew:d[d]
#include <math.h>
void moments(int n, int d, double (*X)[d], double *mean, double *var, double *skew) {
  for (int j = 0; j < d; j++) {
    double m = 0, m2 = 0, m3 = 0;
    for (int i = 0; i < n; i++) m += X[i][j];
    m /= n;
    for (int i = 0; i < n; i++) {
      double t = X[i][j] - m;
      m2 += t * t; m3 += t * t * t;
    }
    mean[j] = m; var[j] = m2 / (n - 1);
    skew[j] = (m3 / n) / pow(m2 / n, 1.5);
  }
}

// chol_packed: cholp n:i=5 L:d[n*(n+1)//2]
#include <math.h>
#define AT(i, j) L[(i) * ((i) + 1) / 2 + (j)]
void cholp(int n, double *L) {
  for (int i = 0; i < n; i++) AT(i, i) += n;
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < j; k++) AT(j, j) -= AT(j, k) * AT(j, k);
    AT(j, j) = sqrt(AT(j, j));
    for (int i = j + 1; i < n; i++) {
      for (int k = 0; k < j; k++) AT(i, j) -= AT(i, k) * AT(j, k);
      AT(i, j) /= AT(j, j);
    }
  }
}

// batched_lu: blu nb:i=3 A:d[nb,4,4]
enum { DIM = 4 };
void blu(int nb, double A[][DIM][DIM]) {
  for (int b = 0; b < nb; b++)
    for (int i = 0; i < DIM; i++) A[b][i][i] += DIM;
  for (int b = 0; b < nb; b++) {
    double (*a)[DIM] = A[b];
    for (int k = 0; k < DIM; k++) {
      double inv = 1.0 / a[k][k];
      for (int i = k + 1; i < DIM; i++) {
        a[i][k] *= inv;
        for (int j = k + 1; j < DIM; j++) a[i][j] -= a[i][k] * a[k][j];
      }
    }
  }
}

// gru_cell: gru T:i=3 I:i=2 H:i=3 x:f[T,I] Wz:f[H,I] Uz:f[H,H] Wh:f[H,I] Uh:f[H,H] h:f[T+1,H]
#include <math.h>
static float sigm(float v) { return 1.0f / (1.0f + expf(-v)); }
void gru(int T, int I, int H, const float *x, const float *Wz, const float *Uz, const float *Wh, const float *Uh, float *h) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < H; i++) {
      float z = 0.f, c = 0.f;
      for (int j = 0; j < I; j++) { z += Wz[i * I + j] * x[t * I + j]; c += Wh[i * I + j] * x[t * I + j]; }
      for (int j = 0; j < H; j++) { z += Uz[i * H + j] * h[t * H + j]; c += Uh[i * H + j] * h[t * H + j]; }
      z = sigm(z);
      h[(t + 1) * H + i] = (1.f - z) * h[t * H + i] + z * tanhf(c);
    }
  }
}

// causal_attention: attn B:i=2 T:i=4 D:i=3 q:f[B,T,D] k:f[B,T,D] v:f[B,T,D] att:f[B,T,T] out:f[B,T,D]
#include <math.h>
#include <float.h>
void attn(int B, int T, int D, const float *q, const float *k, const float *v, float *att, float *out) {
  float scale = 1.0f / sqrtf(D);
  for (int b = 0; b < B; b++)
    for (int t = 0; t < T; t++) {
      float maxv = -FLT_MAX, sum = 0.0f;
      for (int s = 0; s <= t; s++) {
        float dot = 0.0f;
        for (int d = 0; d < D; d++) dot += q[b*T*D + t*D + d] * k[b*T*D + s*D + d];
        dot *= scale;
        if (dot > maxv) maxv = dot;
        att[b*T*T + t*T + s] = dot;
      }
      for (int s = 0; s <= t; s++) {
        float e = expf(att[b*T*T + t*T + s] - maxv);
        sum += e;
        att[b*T*T + t*T + s] = e;
      }
      for (int s = 0; s < T; s++) {
        if (s <= t) att[b*T*T + t*T + s] *= 1.0f / sum;
        else att[b*T*T + t*T + s] = 0.0f;
      }
      for (int d = 0; d < D; d++) out[b*T*D + t*D + d] = 0.0f;
      for (int s = 0; s <= t; s++)
        for (int d = 0; d < D; d++)
          out[b*T*D + t*D + d] += att[b*T*T + t*T + s] * v[b*T*D + s*D + d];
    }
}

// layernorm_fwd: ln B:i=3 C:i=5 inp:f[B,C] w:f[C] b:f[C] out:f[B,C] mean:f[B] rstd:f[B]
#include <math.h>
void ln(int B, int C, float *inp, float *w, float *b, float *out, float *mean, float *rstd) {
    float eps = 1e-5f;
    for (int r = 0; r < B; r++) {
        float *x = inp + r * C;
        float m = 0.0f;
        for (int i = 0; i < C; i++) m += x[i];
        m = m / C;
        float v = 0.0f;
        for (int i = 0; i < C; i++) {
            float xshift = x[i] - m;
            v += xshift * xshift;
        }
        v = v / C;
        float s = 1.0f / sqrtf(v + eps);
        float *o = out + r * C;
        for (int i = 0; i < C; i++) {
            float n = s * (x[i] - m);
            o[i] = n * w[i] + b[i];
        }
        mean[r] = m;
        rstd[r] = s;
    }
}

// avgpool_pad: avgpool C:i=2 H:i=6 W:i=6 in:f[C,H,W] out:f[C,(H+1)//2,(W+1)//2]
void avgpool(int C, int H, int W, float in[C][H][W], float out[C][(H + 1) / 2][(W + 1) / 2]) {
  const int k = 3, s = 2, p = 1;
  for (int c = 0; c < C; c++)
    for (int oh = 0; oh < (H + 1) / 2; oh++)
      for (int ow = 0; ow < (W + 1) / 2; ow++) {
        float acc = 0;
        int cnt = 0;
        for (int i = 0; i < k; i++)
          for (int j = 0; j < k; j++) {
            int y = oh * s - p + i, x = ow * s - p + j;
            if (y >= 0 && y < H && x >= 0 && x < W) { acc += in[c][y][x]; cnt++; }
          }
        out[c][oh][ow] = acc / cnt;
      }
}

// dtw_band: dtw n:i=7 m:i=6 w:i=3 a:d[n] b:d[m] D:d[n+1,m+1]
#include <math.h>
#include <stdlib.h>
static double min3(double a, double b, double c) { double m = a < b ? a : b; return m < c ? m : c; }
double dtw(int n, int m, int w, const double *a, const double *b, double D[n + 1][m + 1]) {
  for (int i = 0; i <= n; i++)
    for (int j = 0; j <= m; j++)
      D[i][j] = INFINITY;
  D[0][0] = 0;
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= m; j++) {
      if (abs(i - j) > w) continue;
      double cost = fabs(a[i - 1] - b[j - 1]);
      D[i][j] = cost + min3(D[i - 1][j], D[i][j - 1], D[i - 1][j - 1]);
    }
  return D[n][m];
}

// smith_waterman: sw n:i=6 m:i=7 s:c[n] t:c[m] H:i[n+1,m+1] best:i[1]
#define MATCH 2
#define MISMATCH (-1)
#define GAP 1
static inline int imax(int a, int b) { return a > b ? a : b; }
void sw(int n, int m, const char *s, const char *t, int H[n + 1][m + 1], int *best) {
  int top = 0;
  for (int i = 0; i <= n; i++) H[i][0] = 0;
  for (int j = 0; j <= m; j++) H[0][j] = 0;
  for (int i = 1; i <= n; i++) {
    for (int j = 1; j <= m; j++) {
      int diag = H[i-1][j-1] + (s[i-1] == t[j-1] ? MATCH : MISMATCH);
      int v = imax(0, imax(diag, imax(H[i-1][j] - GAP, H[i][j-1] - GAP)));
      H[i][j] = v;
      top = imax(top, v);
    }
  }
  *best = top;
}

// sor_redblack: sor nx:i=7 ny:i=6 it:i=2 omega:d=1.5 u:d[nx,ny] f:d[nx,ny]
void sor(int nx, int ny, int it, double omega, double u[nx][ny], double f[nx][ny]) {
  for (int t = 0; t < it; t++)
    for (int color = 0; color < 2; color++)
      for (int i = 1; i < nx - 1; i++)
        for (int j = 1 + (i + color) % 2; j < ny - 1; j += 2) {
          double r = u[i-1][j] + u[i+1][j] + u[i][j-1] + u[i][j+1] - 4.0 * u[i][j] - f[i][j];
          u[i][j] += 0.25 * omega * r;
        }
}

// restriction: transfer nc:i=4 fine:d[2*nc+1,2*nc+1] coarse:d[nc+1,nc+1]
void transfer(int nc, double fine[2*nc+1][2*nc+1], double coarse[nc+1][nc+1]) {
  static const double wgt[3][3] = {{0.0625, 0.125, 0.0625}, {0.125, 0.25, 0.125}, {0.0625, 0.125, 0.0625}};
  for (int I = 1; I < nc; I++)
    for (int J = 1; J < nc; J++) {
      double s = 0.0;
      for (int di = -1; di <= 1; di++)
        for (int dj = -1; dj <= 1; dj++)
          s += wgt[di + 1][dj + 1] * fine[2 * I + di][2 * J + dj];
      coarse[I][J] = s;
    }
  for (int i = 0; i <= 2 * nc; i++)
    for (int j = 0; j <= 2 * nc; j++) {
      if (i % 2 == 0 && j % 2 == 0) fine[i][j] += coarse[i / 2][j / 2];
      else if (i % 2 == 0) fine[i][j] += 0.5 * (coarse[i / 2][j / 2] + coarse[i / 2][j / 2 + 1]);
      else if (j % 2 == 0) fine[i][j] += 0.5 * (coarse[i / 2][j / 2] + coarse[i / 2 + 1][j / 2]);
      else fine[i][j] += 0.25 * (coarse[i / 2][j / 2] + coarse[i / 2 + 1][j / 2] + coarse[i / 2][j / 2 + 1] + coarse[i / 2 + 1][j / 2 + 1]);
    }
}

// lbm_collide: collide nx:i=5 ny:i=4 tau:d=0.8 f:d[nx,ny,9] g:d[nx,ny,9]
#define Q 9
static const int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const double w[Q] = {4./9, 1./9, 1./9, 1./9, 1./9, 1./36, 1./36, 1./36, 1./36};
void collide(int nx, int ny, double tau, double f[nx][ny][Q], double g[nx][ny][Q]) {
  for (int x = 0; x < nx; x++)
    for (int y = 0; y < ny; y++) {
      double rho = 0, ux = 0, uy = 0;
      for (int q = 0; q < Q; q++) {
        rho += f[x][y][q];
        ux += cx[q] * f[x][y][q];
        uy += cy[q] * f[x][y][q];
      }
      ux /= rho; uy /= rho;
      double u2 = ux * ux + uy * uy;
      for (int q = 0; q < Q; q++) {
        double cu = 3.0 * (cx[q] * ux + cy[q] * uy);
        double feq = w[q] * rho * (1.0 + cu + 0.5 * cu * cu - 1.5 * u2);
        int xn = (x + cx[q] + nx) % nx, yn = (y + cy[q] + ny) % ny;
        g[xn][yn][q] = f[x][y][q] - (f[x][y][q] - feq) / tau;
      }
    }
}

// ising_sweep: sweep L:i=6 nsw:i=2 beta:d=0.4 s:i[L,L] rnd:d[nsw,L,L]
#include <math.h>
void sweep(int L, int nsw, double beta, int s[L][L], double rnd[nsw][L][L]) {
  for (int k = 0; k < nsw; k++)
    for (int i = 0; i < L; i++)
      for (int j = 0; j < L; j++) {
        int nb = s[(i + 1) % L][j] + s[(i + L - 1) % L][j] + s[i][(j + 1) % L] + s[i][(j + L - 1) % L];
        int dE = 2 * s[i][j] * nb;
        if (dE <= 0 || rnd[k][i][j] < exp(-beta * dE))
          s[i][j] = -s[i][j];
      }
}

// expm_taylor: expm n:i=4 terms:i=5 A:d[n,n] E:d[n,n] P:d[n,n] T:d[n,n]
void expm(int n, int terms, double A[n][n], double E[n][n], double P[n][n], double T[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      E[i][j] = (i == j);
      P[i][j] = (i == j) ? 1.0 : 0.0;
    }
  for (int k = 1; k <= terms; k++) {
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        T[i][j] = 0.0;
        for (int l = 0; l < n; l++) T[i][j] += P[i][l] * A[l][j] / k;
      }
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        P[i][j] = T[i][j];
        E[i][j] += P[i][j];
      }
  }
}

// euler_fv: euler n:i=8 nt:i=3 dtdx:d=0.05 rho:d[n] mom:d[n] ene:d[n]
#include <math.h>
#include <stdlib.h>
void euler(int n, int nt, double dtdx, double *rho, double *mom, double *ene) {
  const double gam = 1.4;
  double *f0 = malloc((n + 1) * sizeof *f0);
  double *f1 = malloc((n + 1) * sizeof *f1);
  double *f2 = malloc((n + 1) * sizeof *f2);
  for (int t = 0; t < nt; t++) {
    for (int i = 1; i < n; i++) {
      double ul = mom[i-1] / rho[i-1], ur = mom[i] / rho[i];
      double pl = (gam - 1) * (ene[i-1] - 0.5 * mom[i-1] * ul);
      double pr = (gam - 1) * (ene[i] - 0.5 * mom[i] * ur);
      double a = fmax(fabs(ul) + sqrt(fabs(gam * pl / rho[i-1])), fabs(ur) + sqrt(fabs(gam * pr / rho[i])));
      f0[i] = 0.5 * (mom[i-1] + mom[i]) - 0.5 * a * (rho[i] - rho[i-1]);
      f1[i] = 0.5 * (mom[i-1] * ul + pl + mom[i] * ur + pr) - 0.5 * a * (mom[i] - mom[i-1]);
      f2[i] = 0.5 * ((ene[i-1] + pl) * ul + (ene[i] + pr) * ur) - 0.5 * a * (ene[i] - ene[i-1]);
    }
    for (int i = 1; i < n - 1; i++) {
      rho[i] -= dtdx * (f0[i+1] - f0[i]);
      mom[i] -= dtdx * (f1[i+1] - f1[i]);
      ene[i] -= dtdx * (f2[i+1] - f2[i]);
    }
  }
  free(f0); free(f1); free(f2);
}

// thomas_lines: adi_lines nx:i=5 ny:i=6 r:d=0.2 u:d[nx,ny] c:d[nx,ny]
void adi_lines(int nx, int ny, double r, double u[restrict nx][ny], double c[restrict nx][ny]) {
  for (int i = 0; i < nx; i++) {
    double den = 1 + 2 * r;
    c[i][0] = -r / den;
    u[i][0] /= den;
    for (int j = 1; j < ny; j++) {
      den = 1 + 2 * r + r * c[i][j - 1];
      c[i][j] = -r / den;
      u[i][j] = (u[i][j] + r * u[i][j - 1]) / den;
    }
    for (int j = ny - 2; j >= 0; --j)
      u[i][j] -= c[i][j] * u[i][j + 1];
  }
}

// magnus_sym: symmetric n:i=5 m:i=4 A:d[n,m] G:d[n,n] x:d[n]
/* BLAS-like syrk, upper, then symmetric product, in one translation unit */
static void syrk(int n, int m, double A[n][m], double G[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++) {
      double s = 0;
      for (int k = 0; k < m; k++) s += A[i][k] * A[j][k];
      G[i][j] = s;
    }
}
static void mirror(int n, double G[n][n]) {
  for (int i = 1; i < n; i++)
    for (int j = 0; j < i; j++) G[i][j] = G[j][i];
}
void symmetric(int n, int m, double A[n][m], double G[n][n], double x[n]) {
  syrk(n, m, A, G);
  mirror(n, G);
  double nrm = 0.0;
  for (int i = 0; i < n; i++) nrm += G[i][i];
  for (int i = 0; i < n; i++) x[i] /= nrm;
}
