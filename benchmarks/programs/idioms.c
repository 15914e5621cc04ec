// idiom_macro: stencil n:i=17 m:i=13 in:d[n,m] out:d[n,m]
#define IDX(i, j) ((i) * m + (j))
#define SQR(x) ((x) * (x))
#define CLAMP(v, lo, hi) ((v) < (lo) ? (lo) : (v) > (hi) ? (hi) : (v))
void stencil(int n, int m, const double *restrict in, double *restrict out) {
  for (int i = 1; i < n - 1; ++i)
    for (int j = 1; j < m - 1; ++j) {
      const double c = in[IDX(i, j)];
      const double g = SQR(in[IDX(i + 1, j)] - c) + SQR(in[IDX(i, j + 1)] - c);
      out[IDX(i, j)] = CLAMP(c - 0.1 * g, 0.6, 1.4);
    }
}
// idiom_typedef: axpy2 n:u=19 a:d=0.5 x:f[n] y:f[n]
typedef float real_t;
typedef unsigned int index_t;
static inline real_t madd(real_t a, real_t x, real_t y) { return a * x + y; }
void axpy2(index_t n, double a, const real_t *x, real_t *y) {
  for (index_t i = 0; i < n; i++) y[i] = madd((real_t)a, x[i], y[i]);
}
// idiom_rowptr: mm n:i=9 m:i=8 p:i=7 A:d[n,m] B:d[m,p] C:d[n,p]
void mm(int n, int m, int p, const double *A, const double *B, double *C) {
  for (int i = 0; i < n; i++) {
    const double *Ai = A + i * m;
    double *Ci = &C[i * p];
    for (int j = 0; j < p; j++) Ci[j] = 0.0;
    for (int k = 0; k < m; k++) {
      const double aik = Ai[k];
      const double *Bk = B + k * p;
      for (int j = 0; j < p; j++) Ci[j] += aik * Bk[j];
    }
  }
}
// idiom_vla: trmm n:i=11 A:d[n,n] B:d[n,n]
void trmm(int n, double A[restrict n][n], double B[restrict n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      for (int k = i + 1; k < n; k++) B[i][j] += A[k][i] * B[k][j];
      B[i][j] *= 0.25;
    }
}
// idiom_soa: push n:i=23 dt:d=0.25 p_x:d[n] p_y:d[n] p_vx:d[n] p_vy:d[n]
struct parts { double *x, *y, *vx, *vy; };
void push(int n, double dt, struct parts p) {
  for (int i = 0; i < n; i++) {
    p.vx[i] -= dt * p.x[i];
    p.vy[i] -= dt * p.y[i];
    p.x[i] += dt * p.vx[i];
    p.y[i] += dt * p.vy[i];
  }
}
//@@wrap
void push_wrap(int n, double dt, double *x, double *y, double *vx, double *vy) { struct parts p = {x, y, vx, vy}; push(n, dt, p); }
// idiom_continue: lower n:i=12 A:d[n,n] s:d[n]
void lower(int n, double A[n][n], double *s) {
  for (int i = 0; i < n; i++) {
    if (i % 3 == 1) continue;
    for (int j = 0; j < n; j++) {
      if (j >= i) continue;
      s[i] += A[i][j] * s[j];
    }
  }
}
// idiom_band: bmv n:i=20 w:i=4 A:d[n,n] x:d[n] y:d[n]
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
void bmv(int n, int w, double A[n][n], double *x, double *y) {
  for (int i = 0; i < n; i++) {
    int lo = MAX(0, i - w), hi = MIN(n - 1, i + w);
    double acc = 0;
    for (int j = lo; j <= hi; j++) acc += A[i][j] * x[j];
    y[i] = acc;
  }
}
// idiom_while: prefix n:i=21 x:d[n] y:d[n]
void prefix(int n, double *x, double *y) {
  int i = 1;
  y[0] = x[0];
  while (i < n) {
    y[i] = y[i - 1] + x[i];
    i++;
  }
  i = n - 2;
  while (i >= 0) { x[i] += x[i + 1]; --i; }
}
// idiom_reduce: stats n:i=25 x:d[n] out:d[4]
void stats(int n, const double *x, double *out) {
  double s = 0.0, q = 0.0, lo = x[0], hi = x[0];
  for (int i = 0; i < n; i++) {
    s += x[i];
    q += x[i] * x[i];
    if (x[i] < lo) lo = x[i];
    if (x[i] > hi) hi = x[i];
  }
  out[0] = s / n; out[1] = q / n - out[0] * out[0]; out[2] = lo; out[3] = hi;
}
// idiom_inplace: revscale n:i=14 x:d[n]
void revscale(int n, double *x) {
  for (int i = 0, j = n - 1; i < j; i++, j--) {
    double t = x[i];
    x[i] = 2 * x[j];
    x[j] = 2 * t;
  }
}
// idiom_pingpong: heat n:i=17 steps:i=5 a:d[n] b:d[n]
void heat(int n, int steps, double *a, double *b) {
  double *src = a, *dst = b;
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++) dst[i] = 0.25 * src[i - 1] + 0.5 * src[i] + 0.25 * src[i + 1];
    dst[0] = src[0]; dst[n - 1] = src[n - 1];
    double *tmp = src; src = dst; dst = tmp;
  }
}
// idiom_periodic: ring n:i=18 u:d[n] v:d[n]
void ring(int n, double *u, double *v) {
  for (int i = 0; i < n; i++) {
    int im = (i == 0) ? n - 1 : i - 1;
    int ip = (i == n - 1) ? 0 : i + 1;
    v[i] = 0.5 * (u[im] + u[ip]) - u[i];
  }
}
// idiom_lut: filt n:i=19 x:d[n] y:d[n]
static const double coef[5] = {0.1, 0.2, 0.4, 0.2, 0.1};
void filt(int n, const double x[], double y[]) {
  for (int i = 0; i < n; i++) {
    double acc = 0;
    for (int k = -2; k <= 2; k++) {
      int p = i + k;
      if (p < 0 || p >= n) continue;
      acc += coef[k + 2] * x[p];
    }
    y[i] = acc;
  }
}
// idiom_fixed: q15 n:i=16 m:i=5 x:s[n+m] h:s[m] y:s[n]
#include <stdint.h>
void q15(int n, int m, const int16_t *x, const int16_t *h, int16_t *y) {
  for (int i = 0; i < n; i++) {
    int32_t acc = 1 << 3;
    for (int k = 0; k < m; k++) acc += (int32_t)x[i + k] * h[k];
    acc >>= 4;
    if (acc > 32767) acc = 32767;
    if (acc < -32768) acc = -32768;
    y[i] = (int16_t)acc;
  }
}
// idiom_complexfix: cmul n:i=15 a:d[2*n] b:d[2*n] c:d[2*n]
void cmul(int n, const double *a, const double *b, double *c) {
  for (int i = 0; i < n; i++) {
    double ar = a[2 * i], ai = a[2 * i + 1];
    double br = b[2 * i], bi = b[2 * i + 1];
    c[2 * i] = ar * br - ai * bi;
    c[2 * i + 1] = ar * bi + ai * br;
  }
}
// idiom_helper: jac n:i=12 u:d[n,n] v:d[n,n] f:d[n,n] out:d[1]
static double lap(int n, double a[n][n], int i, int j) { return a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]; }
static void sweep(int n, double s[n][n], double d[n][n], double f[n][n]) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++) d[i][j] = 0.25 * (lap(n, s, i, j) - f[i][j]);
}
void jac(int n, double u[n][n], double v[n][n], double f[n][n], double *out) {
  for (int it = 0; it < 3; it++) { sweep(n, u, v, f); sweep(n, v, u, f); }
  double r = 0;
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) r = fmax(r, fabs(u[i][j] - v[i][j]));
  *out = r;
}
// idiom_2ptr: rows n:i=8 m:i=9 A:d[n,m] s:d[n]
void rows(int n, int m, double **A, double *s) {
  for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s[i] += A[i][j] * A[(i + 1) % n][j];
}
//@@wrap
void rows_wrap(int n, int m, double *A, double *s) { double *p[n]; for (int i = 0; i < n; i++) p[i] = A + i * m; rows(n, m, p, s); }
// idiom_unroll: dot4 n:i=22 x:d[n] y:d[n] r:d[1]
void dot4(int n, const double *x, const double *y, double *r) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  int i = 0;
  for (; i + 3 < n; i += 4) {
    s0 += x[i] * y[i]; s1 += x[i + 1] * y[i + 1]; s2 += x[i + 2] * y[i + 2]; s3 += x[i + 3] * y[i + 3];
  }
  for (; i < n; i++) s0 += x[i] * y[i];
  r[0] = (s0 + s1) + (s2 + s3);
}
// idiom_ucount: deint n:i=12 x:d[2*n] l:d[n] r:d[n]
void deint(int n, const double *x, double *l, double *r) {
  unsigned k = 0;
  for (int i = 0; i < n; i++, k += 2) { l[i] = x[k]; r[i] = x[k + 1]; }
}
// idiom_idxpp: pack n:i=9 A:d[n,n] p:d[n*(n+1)//2]
void pack(int n, double A[n][n], double *p) {
  int idx = 0;
  for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++) p[idx++] = A[i][j];
}
// idiom_condswap: sort2 n:i=13 x:d[n]
void sort2(int n, double *x) {
  for (int pass = 0; pass < n; pass++)
    for (int i = pass & 1; i + 1 < n; i += 2)
      if (x[i] > x[i + 1]) { double t = x[i]; x[i] = x[i + 1]; x[i + 1] = t; }
}
// idiom_urev: usum n:u=15 x:d[n] y:d[n]
#include <stddef.h>
void usum(size_t n, double *x, double *y) {
  for (size_t i = n; i-- > 0;) y[i] = x[i] + (i + 1 < n ? y[i + 1] : 0.0);
}
// idiom_uwrap: shiftl n:u=15 x:d[n] y:d[n]
void shiftl(unsigned n, const double *x, double *y) {
  for (unsigned i = 0; i < n; i++) {
    unsigned prev = i ? i - 1 : n - 1;
    y[i] = x[prev];
  }
}
// idiom_typed: gemv n:i=12 m:z=9 A:f[n,m] x:f[m] y:f[n] s:d[1]
#include <stddef.h>
typedef struct { float *restrict data; size_t ld; } mat;
#define AT(M, r, c) ((M)[(size_t)(r) * ld + (c)])
void gemv(int n, size_t m, const float *A, const float *x, float *y, double *s) {
  const size_t ld = m;
  double total = 0.0;
  for (int r = 0; r < n; ++r) {
    float acc = 0.0f;
    for (size_t c = 0; c < m; ++c) acc += AT(A, r, c) * x[c];
    y[r] = acc;
    total += (double)acc;
  }
  *s = total;
}
// idiom_ring: echo n:u=24 x:d[n] y:d[n] buf:d[8]
#define LEN 8u
void echo(unsigned n, const double *x, double *y, double *buf) {
  for (unsigned i = 0; i < n; i++) {
    unsigned head = i & (LEN - 1);
    y[i] = x[i] + 0.5 * buf[(i - 3) & (LEN - 1)];
    buf[head] = y[i];
  }
}
// idiom_blocksize: blk n:i=16 A:d[n,n] B:d[n,n]
enum { BS = 4 };
void blk(int n, double A[n][n], double B[n][n]) {
  for (int ii = 0; ii < n; ii += BS)
    for (int jj = 0; jj < n; jj += BS)
      for (int i = ii; i < (ii + BS < n ? ii + BS : n); i++)
        for (int j = jj; j < (jj + BS < n ? jj + BS : n); j++) B[j][i] += A[i][j];
}
// idiom_chol: chol n:i=9 A:d[n,n]
void chol(int n, double A[n][n]) {
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < j; k++) A[j][j] -= A[j][k] * A[j][k];
    A[j][j] = sqrt(A[j][j]);
    for (int i = j + 1; i < n; i++) {
      for (int k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k];
      A[i][j] /= A[j][j];
    }
  }
}
// idiom_clampidx: box3 h:i=9 w:i=11 src:b[h,w] dst:b[h,w]
#include <stdint.h>
static inline int clampi(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }
void box3(int h, int w, uint8_t src[h][w], uint8_t dst[h][w]) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      uint32_t acc = 4;
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) acc += src[clampi(y + dy, 0, h - 1)][clampi(x + dx, 0, w - 1)];
      dst[y][x] = (uint8_t)(acc / 9u);
    }
}
// idiom_castbound: conv n:i=13 m:i=5 x:d[n] h:d[m] y:d[n]
void conv(int n, int m, const double *x, const double *h, double *y) {
  for (int i = 0; i < n; i++) {
    double a = 0;
    for (int k = 0; k < m; k++)
      if ((unsigned)(i - k) < (unsigned)n) a += h[k] * x[i - k];
    y[i] = a;
  }
}
// idiom_softmax: softmax b:i=5 n:i=9 x:f[b,n] y:f[b,n]
void softmax(int b, int n, float x[b][n], float y[b][n]) {
  for (int r = 0; r < b; r++) {
    float m = x[r][0];
    for (int i = 1; i < n; i++) m = fmaxf(m, x[r][i]);
    float z = 0.f;
    for (int i = 0; i < n; i++) z += (y[r][i] = expf(x[r][i] - m));
    const float inv = 1.f / z;
    for (int i = 0; i < n; i++) y[r][i] *= inv;
  }
}
// idiom_argmax2: amax n:i=7 m:i=8 A:d[n,m] v:d[n] at:i[n]
void amax(int n, int m, double A[n][m], double *v, int *at) {
  for (int i = 0; i < n; i++) {
    int best = 0;
    double bv = A[i][0];
    for (int j = 1; j < m; j++)
      if (A[i][j] > bv) { bv = A[i][j]; best = j; }
    v[i] = bv;
    at[i] = best;
  }
}
// idiom_dowhile: jacobi n:i=12 sweeps:i=3 u:d[n] v:d[n]
void jacobi(int n, int sweeps, double *u, double *v) {
  int s = 0;
  do {
    for (int i = 1; i < n - 1; i++) v[i] = (u[i - 1] + u[i + 1]) / 2;
    for (int i = 1; i < n - 1; i++) u[i] = v[i];
    s++;
  } while (s < sweeps);
}
// idiom_sat: mulsat n:i=14 a:s[n] b:s[n] c:s[n]
#include <stdint.h>
static int16_t sat16(int32_t v) { if (v > 32767) return 32767; if (v < -32768) return -32768; return (int16_t)v; }
void mulsat(int n, const int16_t *a, const int16_t *b, int16_t *c) {
  for (int i = 0; i < n; i++) c[i] = sat16(((int32_t)a[i] * b[i] + (1 << 1)) >> 2);
}
// idiom_idxcarry: gather n:i=8 m:i=5 A:d[n,m] B:d[n*m] out:d[n*m]
void gather(int n, int m, double A[n][m], double *B, double *out) {
  int k = 0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < m; j++) {
      out[k] = A[i][j] + B[k];
      k += 1;
    }
  }
  for (int i = n - 1; i >= 0; i--) {
    k -= m;
    for (int j = 0; j < m; j++) out[k + j] *= A[i][j];
  }
}
// idiom_strides: resample n:i=9 x:d[2*n+1] y:d[n] z:d[3*n]
void resample(int n, const double *x, double *y, double *z) {
  const double *p = x;
  for (int i = 0; i < n; i++, p += 2) y[i] = 0.25 * p[0] + 0.5 * p[1] + 0.25 * p[2];
  double *q = z;
  for (int i = 0; i < n; i++) { *q++ = y[i]; *q++ = 2 * y[i]; *q++ = -y[i]; }
}
// idiom_multi: hist2 n:i=10 A:d[n,n] row:d[n] col:d[n] tr:d[1]
void hist2(int n, double A[n][n], double row[n], double col[n], double *tr) {
  tr[0] = 0;
  for (int i = 0; i < n; i++) {
    row[i] = col[i] = 0;
    for (int j = 0; j < n; j++) { row[i] += A[i][j]; col[i] += A[j][i]; if (i == j) tr[0] += A[i][j]; }
  }
}
// idiom_adi: adi n:i=9 t:i=2 u:d[n,n] a:d[n] b:d[n]
void adi(int n, int t, double u[n][n], double *a, double *b) {
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n - 1; i++) {
      double p[n], q[n];
      p[0] = 0; q[0] = 1;
      for (int j = 1; j < n - 1; j++) {
        double den = a[j] * p[j - 1] + b[j] + 2;
        p[j] = -a[j] / den;
        q[j] = (u[i][j] - a[j] * q[j - 1]) / den;
      }
      for (int j = n - 2; j >= 1; j--) u[i][j] = p[j] * u[i][j + 1] + q[j];
    }
  }
}
// idiom_bits: par n:i=16 x:u[n] y:u[n]
#include <stdint.h>
void par(int n, const uint32_t *x, uint32_t *y) {
  for (int i = 0; i < n; i++) {
    uint32_t v = x[i] * 2654435761u;
    v ^= v >> 16; v ^= v << 3; v = (v << 7) | (v >> 25);
    y[i] = v - (uint32_t)i;
  }
}
// idiom_unsval: ramp n:u=9 x:d[n]
void ramp(unsigned n, double *x) { for (unsigned i = 0; i < n; i++) x[i] += (double)(i - 2) * 0.5 + (int)(i - 1); }
// idiom_goto: cl n:i=9 A:d[n,n] s:d[n]
#define FOR(i, a, b) for (int i = (a); i < (b); ++i)
void cl(int n, double A[n][n], double *s) {
  FOR(i, 0, n) { s[i] = 1; FOR(j, 0, n) { if (i == j) continue; s[i] *= A[i][j]; if (s[i] < 1e-3) s[i] = 1e-3; } }
}
// idiom_layer: mlp b:i=4 d:i=6 h:i=5 x:f[b,d] w1:f[d,h] b1:f[h] w2:f[h,d] y:f[b,d]
static float relu(float v) { return v > 0 ? v : 0; }
void mlp(int b, int d, int h, const float *x, const float *w1, const float *b1, const float *w2, float *y) {
  for (int r = 0; r < b; r++) {
    float hid[h];
    for (int k = 0; k < h; k++) {
      float a = b1[k];
      for (int c = 0; c < d; c++) a += x[r * d + c] * w1[c * h + k];
      hid[k] = relu(a);
    }
    for (int c = 0; c < d; c++) {
      float a = 0;
      for (int k = 0; k < h; k++) a += hid[k] * w2[k * d + c];
      y[r * d + c] = a + x[r * d + c];
    }
  }
}
// idiom_clash: f c0:i=9 c0_:d[c0] c2:d[c0] T0_0:d=0.5
void f(int c0, double *c0_, double *c2, double T0_0) { for (int c1 = 0; c1 < c0; c1++) c2[c1] += T0_0 * c0_[c1]; }
// idiom_extents: g n:i=7 m:i=5 A:d[n+1,2*m] B:d[n+1,m]
void g(int n, int m, double A[n + 1][2 * m], double B[n + 1][m]) {
  const int half = n / 2;
  for (int i = 0; i <= n; i++) for (int j = 0; j < m; j++) B[i][j] = i < half ? A[i][2 * j] : A[i][2 * j + 1];
}
// idiom_global: h n:i=12 out:d[n]
#define MAXN 64
static double table[MAXN];
void h(int n, double *out) {
  for (int i = 0; i < n; i++) table[i] = 0.5 * i;
  for (int i = 0; i < n; i++) out[i] += table[i] * table[n - 1 - i];
}
// idiom_vec3: aos n:i=11 p:d[n,3] q:d[n,3] e:d[n]
typedef double vec3[3];
void aos(int n, vec3 *p, const vec3 *q, double *e) {
  for (int i = 0; i < n; i++) {
    double d2 = 0.0;
    for (int k = 0; k < 3; k++) { double d = p[i][k] - q[i][k]; d2 += d * d; }
    e[i] = d2 > 0.25 ? 1.0 / (d2 * sqrt(d2)) : 0.0;
    for (int k = 0; k < 3; k++) p[i][k] += e[i] * (q[i][k] - p[i][k]);
  }
}
// idiom_i64: acc n:l=10 x:l[n] y:l[n]
#include <stdint.h>
void acc(int64_t n, const int64_t *x, int64_t *y) {
  int64_t s = 0;
  for (int64_t i = 0; i < n; ++i) { s += x[i] * i; y[i] = (s & 1) ? s >> 1 : -s; }
}
// idiom_char: cmpc n:i=13 a:b[n] b:b[n] o:b[n]
void cmpc(int n, const unsigned char *a, const unsigned char *b, unsigned char *o) {
  for (int i = 0; i < n; i++) { unsigned char d = a[i] - b[i]; o[i] = d > 128 ? 255 - d : d; }
}
// idiom_omp: omp n:i=8 A:d[n,n] B:d[n,n]
void omp(int n, double A[n][n], double B[n][n]) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
#pragma omp simd
      for (int k = 0; k < n; k++) B[i][j] += A[i][k] * A[k][j];
    }
}
// idiom_chain: ch n:i=10 a:d[n] b:d[n] c:d[n]
void ch(int n, double *a, double *b, double *c) {
  int i, j;
  for (i = 0, j = n - 1; i < n; ++i, --j) a[i] = b[j] = c[i] > c[j] ? c[i] : c[j] > 1 ? 1 : c[i] + c[j];
}
// idiom_alpha: scal n:i=9 alpha:d=0.5 beta:f=0.25 k:i=3 x:d[n] y:d[n]
void scal(int n, double alpha, float beta, int k, double *x, double *y) {
  if (beta < 0.1f) alpha = 1.0; else alpha *= beta;
  k = k * 2 + 1;
  for (int i = 0; i < n; i++) { y[i] = alpha * x[i] + k; beta += 0.5f; x[i] = beta; }
}
// idiom_nwrite: halves n:i=13 x:d[n] y:d[n]
void halves(int n, double *x, double *y) {
  n /= 2;
  for (int i = 0; i < n; i++) y[i] = x[2 * i] + x[2 * i + 1];
}
// idiom_ptrparam: tail n:i=12 x:d[n] y:d[n]
void tail(int n, const double *x, double *y) {
  while (n-- > 0) { *y += *x * 0.5; y++; x++; }
}
// idiom_elif: cls n:i=12 x:d[n] c:i[n] s:d[3]
void cls(int n, const double *x, int *c, double *s) {
  for (int i = 0; i < n; i++) {
    if (x[i] < 0.8) { c[i] = 0; s[0] += x[i]; }
    else if (x[i] < 1.2) { c[i] = 1; s[1] += x[i]; }
    else { c[i] = 2; s[2] += x[i]; }
  }
}
// idiom_gs: gsort n:i=9 a:d[n]
void gsort(int n, double *a) {
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0; j--)
      if (a[j - 1] > a[j]) { double t = a[j - 1]; a[j - 1] = a[j]; a[j] = t; }
}
// idiom_pivot: lu n:i=8 A:d[n,n] x:d[n]
void lu(int n, double A[n][n], double *x) {
  for (int k = 0; k < n; k++) {
    double inv = 1.0 / A[k][k];
    for (int i = k + 1; i < n; i++) {
      double l = A[i][k] *= inv;
      for (int j = k + 1; j < n; j++) A[i][j] -= l * A[k][j];
      x[i] -= l * x[k];
    }
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int j = i + 1; j < n; ++j) x[i] -= A[i][j] * x[j];
    x[i] /= A[i][i];
  }
}
// idiom_two: two n:i=9 m:i=6 x:d[n] y:d[m] o:d[n+m]
static void add(double *dst, const double *src, int n) { for (int i = 0; i < n; i++) dst[i] += src[i]; }
void two(int n, int m, double *x, double *y, double *o) { add(o, x, n); add(o + n, y, m); add(x, o, n); }
// idiom_sizeT: mov n:z=14 w:z=3 x:d[n] y:d[n]
#include <stddef.h>
void mov(size_t n, size_t w, const double *x, double *y) {
  for (size_t i = w; i + w < n; i++) {
    double s = 0;
    for (size_t j = i - w; j <= i + w; j++) s += x[j];
    y[i] = s / (double)(2 * w + 1);
  }
}
// idiom_swapi: perm n:i=10 a:i[n] b:i[n]
void perm(int n, int *a, int *b) {
  for (int i = 0; i < n; i++) {
    if (a[i] > b[i]) { int t = a[i]; a[i] = b[i]; b[i] = t; }
    if (i > 0 && a[i] == a[i - 1]) { a[i] += 1; b[i] -= a[i]; a[i - 1] = b[i]; }
  }
}
// idiom_castwindow: conv w:i=12 h:i=9 src:f[h,w] dst:f[h,w]
void conv(int w, int h, const float *src, float *dst) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      float acc = 0;
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
          if ((unsigned)(x + dx) < (unsigned)w && (unsigned)(y + dy) < (unsigned)h) acc += src[(y + dy) * w + x + dx];
      dst[y * w + x] = acc;
    }
}
// idiom_delayline: ring n:u=16 x:d[n] y:d[n]
void ring(unsigned n, double *x, double *y) {
  for (unsigned i = 0; i < n; i++) x[i] = y[(i - 3) % 8];
  for (unsigned i = n - 1; i < n; --i) if (i - 1 < n - 2) x[i] += y[i - 1];
}
// idiom_window: win n:i=9 w:i=4 a:d=0.5 A:d[n,n] y:d[n]
void win(int n, int w, double a, double A[n][n], double *y) {
  if (w > n) w = n;
  w = w - 1;
  for (int i = w; i < n; i++) for (int j = i - w; j <= i; j++) y[i] += a * A[i][j];
  n--;
  for (int i = 0; i < n; i++) y[i] -= y[i + 1];
}
