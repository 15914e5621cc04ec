// argmax: f n:i=8 x:d[n] r:i[1]
void f(int n, double *x, int *r) {
  int best = 0;
  for (int i = 1; i < n; i++) if (x[i] > x[best]) best = i;
  *r = best;
}

// brk_cond: f n:i=8 m:i=3 x:d[n]
void f(int n, int m, double *x) {
  for (int i = 0; i < n; i++) {
    if (i < m) { if (i == 2) break; x[i] = 1; } else x[i] = 2;
    x[i] += 5;
  }
}

// brk_const: f n:i=9 x:d[n] y:d[n]
void f(int n, double *restrict x, double *restrict y) {
  for (int i = 0; i < n; i++) {
    if (i >= 5) break;
    y[i] += x[i] * 2.0;
  }
}

// brk_data: f n:i=11 x:d[n] y:d[n]
void f(int n, double *x, double *y) {
  for (int i = 0; i < n; i++) {
    if (x[i] < 0.1) break;
    y[i] = x[i];
  }
}

// brk_inner: f n:i=7 m:i=4 A:d[n,n] y:d[n]
void f(int n, int m, double A[n][n], double *y) {
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      if (j > i + 1 || j == m) break;
      y[i] += A[i][j];
    }
    if (i == m + 1) break;
    y[i] *= 2;
  }
}

// brk_mid: f n:i=9 m:i=5 x:d[n] y:d[n]
void f(int n, int m, double *x, double *y) {
  for (int i = 0; i < n; i++) {
    x[i] += 1;
    if (i * 2 > m) { y[i] = 7; break; }
    y[i] = x[i];
  }
  y[0] += x[n-1];
}

// brk_nonmono: f n:i=12 x:d[n] y:d[n]
void f(int n, double *x, double *y) {
  for (int i = n - 1; i >= 0; i--) {
    if (i % 4 == 2) break;
    y[i] = x[i];
  }
}

// brk_param: f n:i=9 m:i=4 x:d[n] y:d[n]
void f(int n, int m, const double *x, double *y) {
  for (int i = 0; ; i++) {
    if (i == n) break;
    if (i > m) continue;
    y[i] = x[i] + 1;
  }
}

// brk_parity: f n:i=8 T:i=5 A:d[2,n]
void f(int n, int T, double A[2][n]) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < n - 1; i++) A[(t+1)%2][i] = A[t%2][i-1] + A[t%2][i+1];
    if (t == 3) break;
    A[t%2][0] = 1;
  }
}

// brk_swap: f n:i=8 T:i=5 m:i=3 a:d[n] b:d[n]
void f(int n, int T, int m, double *a, double *b) {
  for (int t = 0; t < T; t++) {
    if (t == m) break;
    for (int i = 1; i < n - 1; i++) b[i] = 0.33 * (a[i-1] + a[i] + a[i+1]);
    double *tmp = a; a = b; b = tmp;
  }
  for (int i = 0; i < n; i++) a[i] *= 2;
}

// brk_tri: f n:i=9 A:d[n,n] y:d[n]
void f(int n, double A[restrict n][n], double y[static restrict n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      y[i] += A[i][j];
      if (j == i) break;
    }
}

// brk_while: f n:i=11 x:d[n] y:d[n]
void f(int n, double *x, double *y) {
  int i = 0, k = 0;
  while (i < n) {
    if (i == 6) break;
    y[k++] = x[i];
    i += 2;
  }
}

// calloc_2d: f n:i=6 A:d[n,n] B:d[n,n]
#include <stdlib.h>
void f(int n, double A[n][n], double B[n][n]) {
  double (*T)[n] = calloc(n, sizeof *T);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        T[i][j] += A[i][k] * B[k][j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      B[i][j] = T[i][j];
  free(T);
}

// calloc_flat: f n:i=6 m:i=5 A:d[n,m] y:d[n]
#include <stdlib.h>
void f(int n, int m, double *A, double *y) {
  double *T; 
  T = calloc((size_t)n * m, sizeof(double));
  if (T == NULL) return;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) T[i * m + j] += A[i * m + j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) y[i] += T[i * m + m - 1 - j];
  free(T);
}

// calloc_struct: f n:i=6 y:d[n]
#include <stdlib.h>
void f(int n, double *y) {
  int *cnt = calloc(n, sizeof(*cnt)), *two = (int *)calloc(sizeof(int), n);
  for (int i = 0; i < n; i++) cnt[i / 2] += 1;
  for (int i = 0; i < n; i++) y[i] = cnt[i] + two[i];
  free(cnt); free(two);
}

// calloc_tmp: f n:i=6 m:i=5 A:d[n,m] x:d[m] y:d[n]
#include <stdlib.h>
void f(int n, int m, double (*A)[m], double *x, double *y) {
  double *t = (double *)calloc(n, sizeof(double));
  if (!t) exit(1);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      t[i] += A[i][j] * x[j];
  for (int i = 0; i < n; i++) y[i] = 0.5 * t[i];
  free(t);
}

// comma_op: f n:i=6 x:d[n] y:d[n]
void f(int n, double *x, double *y) {
  double s, t;
  for (int i = 0; i < n; i++)
    s = x[i], t = y[i], x[i] = s + t, y[i] = s - t;
}

// complex_fn: f n:i=5 A:Z[n,n] x:Z[n] y:Z[n]
#include <complex.h>
void f(int n, double complex A[n][n], double complex *x, double complex *y) {
  for (int i = 0; i < n; i++) {
    double complex s = 0;
    for (int j = 0; j < n; j++) s += A[i][j] * conj(x[j]);
    y[i] = s;
  }
}

// compound_for: f n:i=9 x:d[n] y:d[n]
void f(int n, const double *x, double *y) {
  for (int i = 0, j = n - 1; i < n; i++, j--)
    y[i] += x[j];
}

// const_locals: f nx:i=7 ny:i=6 u:d[nx,ny] v:d[nx,ny]
void f(const int nx, const int ny, const double (*restrict u)[ny], double (*restrict v)[ny]) {
  const double dx = 1.0 / (nx - 1), dy = 1.0 / (ny - 1);
  const double dx2 = dx * dx, dy2 = dy * dy;
  const int mx = nx - 1, my = ny - 1;
  for (int i = 1; i < mx; i++)
    for (int j = 1; j < my; j++)
      v[i][j] = (u[i-1][j] - 2.0 * u[i][j] + u[i+1][j]) / dx2 + (u[i][j-1] - 2.0 * u[i][j] + u[i][j+1]) / dy2;
}

// cont_diag: f n:i=7 A:d[n,n] x:d[n] y:d[n]
void f(int n, double A[n][n], double *x, double *y) {
  for (int i = 0; i < n; i++) {
    double s = 0.0;
    for (int j = 0; j < n; j++) {
      if (j == i) continue;
      s += A[i][j] * x[j];
    }
    y[i] = s / A[i][i];
  }
}

// enum_const: f n:i=7 x:d[n,3] y:d[n]
enum { DIM = 3 };
static const double w[DIM] = {0.5, 0.3, 0.2};
void f(int n, double (*x)[DIM], double *y) {
  for (int i = 0; i < n; i++) {
    y[i] = 0;
    for (int d = 0; d < DIM; d++) y[i] += w[d] * x[i][d];
  }
}

// floats: f n:i=9 x:f[n] y:f[n] a:f=1.25
void f(int n, float *x, float *y, float a) {
  for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

// goto_end: f n:i=7 x:d[n]
#include <stdlib.h>
int f(int n, double *x) {
  double *t = malloc(n * sizeof(double));
  if (t == NULL) goto fail;
  for (int i = 0; i < n; i++) t[i] = x[i];
  for (int i = 0; i < n; i++) x[i] = t[n - 1 - i];
  free(t);
  return 0;
fail:
  return -1;
}

// helper_locals: f n:i=6 x:d[n] y:d[n]
static double poly(double v) { double w = v * v; double z = w + 1; return z * w; }
void f(int n, double *x, double *y) {
  for (int i = 0; i < n; i++) y[i] = poly(x[i]) + poly(y[i]);
}

// helper_loop_ret: f n:i=6 A:d[n,n] y:d[n]
static double dot(int n, const double *a, const double *b) {
  double s = 0.0;
  for (int k = 0; k < n; k++) s += a[k] * b[k];
  return s;
}
void f(int n, double A[n][n], double *y) {
  for (int i = 0; i < n; i++) y[i] = dot(n, A[i], A[0]);
}

// helper_ret: f n:i=8 x:d[n] y:d[n]
static inline double sq(double v) { return v * v; }
static inline double clampd(double v, double lo, double hi) { if (v < lo) return lo; if (v > hi) return hi; return v; }
void f(int n, const double *x, double *y) {
  for (int i = 0; i < n; i++) y[i] = clampd(sq(x[i]) - 0.5, 0.2, 1.1);
}

// hv_cond: f n:i=8 x:d[n] y:d[n]
static double at(int n, const double *x, int i) { double v = 0; if (i >= 0 && i < n) v = x[i]; return v; }
void f(int n, double *x, double *y) {
  for (int i = 0; i < n; i++) y[i] = at(n, x, i - 1) - 2 * at(n, x, i) + at(n, x, i + 1);
}

// hv_float: f n:i=8 x:d[n] y:d[n]
static float third(int k, double v) { float t = v / 3; t = t * k; return t; }
static int half(int k) { int h = k / 2; return h; }
void f(int n, double *x, double *y) {
  for (int i = 0; i < n; i++) y[i] = third(2.9, x[i]) + half(i);
}

// hv_if: f n:i=8 x:d[n] y:d[n]
double minmod(double a, double b) {
  if (a * b <= 0) return 0.0;
  else if (a < b) return a;
  return b;
}
void f(int n, double *x, double *y) {
  for (int i = 1; i < n - 1; i++) {
    double s = minmod(x[i] - x[i-1], x[i+1] - x[i]);
    if (minmod(x[i], 1.0) > 0.9) y[i] = s;
    y[i] += s;
  }
}

// hv_impure: f n:i=8 x:d[n] y:d[n]
static double next(double *s) { *s = *s * 0.5; return *s; }
void f(int n, double *x, double *y) {
  for (int i = 0; i < n; i++) y[i] = next(&x[0]) + x[i];
}

// hv_local_arr: f n:i=8 x:d[n] y:d[n]
static double med(double a, double b, double c) { double t[3] = {a, b, c}; double m = t[0]; for (int i = 1; i < 3; i++) if (t[i] > m) m = t[i]; return m; }
void f(int n, double *x, double *y) {
  for (int i = 1; i < n - 1; i++) y[i] = med(x[i-1], x[i], x[i+1]);
}

// hv_loopret: f n:i=8 x:d[n] y:d[n]
static double first(int n, double *x) { for (int i = 0; i < n; i++) if (i == 2) return x[i]; return 0; }
void f(int n, double *x, double *y) {
  for (int i = 0; i < n; i++) y[i] = first(n, x);
}

// hv_nested_arg: f n:i=8 x:d[n] y:d[n]
static double g(double v) { double w = v + 1; return w * w; }
void f(int n, double *x, double *y) {
  for (int i = 0; i < n; i++) y[i] = g(g(x[i]) + g(y[i]));
}

// hv_overwrite: f n:i=8 x:d[n] y:d[n]
static double avg(int n, double *x, int i) { double s = x[i]; if (i > 0) s += x[i-1]; return s / 2; }
void f(int n, double *x, double *y) {
  double s = 1;
  for (int i = 0; i < n; i++) { s = avg(n, x, i) + s; x[i] = avg(n, x, i); y[i] = s; }
}

// hv_side: f n:i=8 x:d[n] y:d[n]
static double g(double v) { double w = v + 1; return w * w; }
void f(int n, double *x, double *y) {
  for (int i = 0; i < n; i++) { double a = x[i], b = g(a); x[i] = y[i] = g(b) + a; }
}

// hv_tern: f n:i=8 x:d[n] y:d[n]
static double g(double v) { double w = v + 1; return w * w; }
void f(int n, double *x, double *y) {
  for (int i = 0; i < n; i++) y[i] = i > 3 ? g(x[i]) : 0.0;
}

// hv_two: f n:i=6 A:d[n,n] x:d[n] y:d[n]
#include <math.h>
static double dot(int n, const double *a, const double *b) {
  double s = 0.0;
  for (int k = 0; k < n; k++) s += a[k] * b[k];
  return s;
}
static double norm2(int n, const double *a) { double s = dot(n, a, a); return sqrt(s); }
double sqrt(double);
void f(int n, double A[n][n], double *x, double *y) {
  double nx = norm2(n, x);
  for (int i = 0; i < n; i++) y[i] = dot(n, A[i], x) / nx + 0.5 * dot(i, A[i], y);
}

// hv_while: f n:i=8 x:d[n] y:d[n]
static double g(double v) { double w = v + 1; return w * w; }
void f(int n, double *x, double *y) {
  int i = 0;
  while (i < n) { y[i] = g(x[i]); i++; }
}

// idx_macro: f n:i=7 u:d[n,n] v:d[n,n]
#define IDX(i,j) ((i)*n+(j))
void f(int n, double *u, double *v) {
  for (int t = 0; t < 3; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        v[IDX(i,j)] = 0.25 * (u[IDX(i-1,j)] + u[IDX(i+1,j)] + u[IDX(i,j-1)] + u[IDX(i,j+1)]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        u[IDX(i,j)] = v[IDX(i,j)];
  }
}

// if_macros: f n:i=9 x:d[n] y:d[n]
#ifndef F_H
#define F_H
#ifdef USE_FLOAT
typedef float real;
#else
typedef double real;
#endif
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define RESTRICT restrict
#else
#define RESTRICT
#endif
#define LOOP(i, n) for (int i = 0; i < (n); ++i)
void f(int n, real *RESTRICT x, real *RESTRICT y) {
  LOOP(i, n) y[i] = x[i] * x[i];
}
#endif

// ints: f n:i=9 x:i[n] y:i[n] h:i[n]
#include <stdint.h>
void f(int n, const int32_t *x, int32_t *y, int32_t *h) {
  for (int i = 0; i < n; i++) { y[i] = (x[i] << 2) ^ (y[i] & 3); h[i] = x[i] / 2 + x[i] % 3; }
}

// knr_nobraces: f n:i=6 A:d[n,n] x:d[n]
void f(n, A, x) int n; double A[n][n]; double x[n];
{
  int i, j;
  for (i = 0; i < n; i++)
    for (j = 0; j < i; j++)
      if (i - j < 3)
        x[i] -= A[i][j] * x[j];
      else
        x[i] += A[j][i];
}

// long_sizes: f n:l=6 m:l=5 A:d[n,m] x:d[m] y:d[n]
void f(long n, long m, const double *A, const double *x, double *y) {
  for (long i = 0; i < n; ++i) {
    double s = 0;
    for (long j = 0; j < m; ++j) s += A[i * m + j] * x[j];
    y[i] = s;
  }
}

// macros_minmax: f n:i=9 m:i=8 A:d[n,m] B:d[n,m]
#include <math.h>
#define MIN(a,b) ((a) < (b) ? (a) : (b))
#define MAX(a,b) (((a) > (b)) ? (a) : (b))
#define ABS(x) ((x) < 0 ? -(x) : (x))
#define BS 4
void f(int n, int m, double A[n][m], double B[n][m]) {
  for (int ii = 0; ii < n; ii += BS)
    for (int jj = 0; jj < m; jj += BS)
      for (int i = ii; i < MIN(ii + BS, n); i++)
        for (int j = jj; j < MIN(jj + BS, m); j++)
          B[i][j] = MAX(A[i][j], 1.0) + ABS(A[i][j] - 1.0) + fmin(A[i][j], 0.75) + fabs(B[i][j]);
}

// maxval: f n:i=8 x:d[n] r:d[1]
#include <float.h>
void f(int n, double *x, double *r) {
  double m = -DBL_MAX;
  for (int i = 0; i < n; i++) { if (x[i] > m) m = x[i]; }
  *r = m;
}

// multi_funcs: stage2 n:i=7 x:d[n] y:d[n]
void stage1(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 2; }
void stage2(int n, double *x, double *y) {
  stage1(n, x);
  for (int i = 1; i < n; i++) y[i] = x[i] - x[i-1];
}
int main(void) { double a[10] = {0}, b[10]; stage2(10, a, b); return 0; }

// omp_pragmas: f n:i=6 A:d[n,n] B:d[n,n] C:d[n,n]
#include <omp.h>
void f(int n, double A[n][n], double B[n][n], double C[n][n]) {
  int i, j, k;
#pragma omp parallel for private(j, k) schedule(static)
  for (i = 0; i < n; i++) {
#pragma omp simd
    for (j = 0; j < n; j++) C[i][j] = 0.;
    for (k = 0; k < n; k++)
#pragma GCC ivdep
      for (j = 0; j < n; j++)
        C[i][j] += A[i][k] * B[k][j];
  }
}

// ptr_ptr: f n:i=7 A:d[n,n] B:d[n,n]
void f(int n, double **A, double **B) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      B[j][i] = A[i][j];
}
//@@wrap
void f_wrap(int n, double *A, double *B) { double *a[n], *b[n]; for (int i = 0; i < n; i++) a[i] = A + i*n, b[i] = B + i*n; f(n, a, b); }

// ret_sum: f n:i=6 x:d[n] y:d[n]
double f(int n, const double *x, double *y) {
  double s = 0;
  for (int i = 0; i < n; i++) { s += x[i]; y[i] = s; }
  return s / n;
}

// scop_pragma: f n:i=6 x:d[n] y:d[n]
#include <stdio.h>
void f(int n, double *x, double *y) {
  printf("start\n");
#pragma scop
  for (int i = 1; i < n; i++)
    y[i] = y[i-1] * 0.5 + x[i];
#pragma endscop
}

// soa: f n:i=7 p_x:d[n] p_y:d[n] p_vx:d[n] p_vy:d[n] dt:d=0.1
typedef struct { double *x, *y, *vx, *vy; int n; } Particles;
void f(Particles *p, double dt) {
  for (int i = 0; i < p->n; i++) {
    p->x[i] += dt * p->vx[i];
    p->y[i] += dt * p->vy[i];
  }
}
//@@wrap
void f_wrap(int n, double *x, double *y, double *vx, double *vy, double dt) { Particles p = {x, y, vx, vy, n}; f(&p, dt); }

// st_grid: f nx:i=7 ny:i=6 g_u:d[nx*ny] g_v:d[nx*ny]
struct grid { int nx, ny; double *u; double *v; };
void f(struct grid *g) {
  for (int i = 1; i < g->nx - 1; i++)
    for (int j = 1; j < g->ny - 1; j++)
      g->v[i * g->ny + j] = g->u[(i-1) * g->ny + j] + g->u[(i+1) * g->ny + j];
}
//@@wrap
void f_wrap(int nx, int ny, double *u, double *v) { struct grid g = {nx, ny, u, v}; f(&g); }

// st_scal: f n:i=7 p_x:d[n] p_s:d=0.5 y:d[n]
typedef struct { double *x; int n; double s; } P;
void f(const P *p, double *y) { for (int i = 0; i < p->n; i++) y[i] = p->x[i] * p->s; }
//@@wrap
void f_wrap(int n, double *x, double s, double *y) { P p = {x, n, s}; f(&p, y); }

// static_arrays: f n:i=6 A:d[n,n] B:d[n,n] C:d[n,n]
#define N 6
static double A[N][N], B[N][N];
double C[N][N];
void f(int n) {
  (void)n;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      C[i][j] = 0;
      for (int k = 0; k < N; k++) C[i][j] += A[i][k] * B[k][j];
    }
}
//@@wrap
#include <string.h>
void f_wrap(int n, double *a, double *b, double *c) {
  memcpy(A, a, sizeof A);
  memcpy(B, b, sizeof B);
  f(n);
  memcpy(c, C, sizeof C);
}

// step_loops: f n:i=11 x:d[2*n] y:d[n]
void f(int n, const double *x, double *y) {
  for (int i = 0; i < 2 * n; i += 2)
    y[i / 2] = x[i] + x[i + 1];
  for (int i = n - 1; i >= 1; i -= 2) y[i] -= y[i - 1];
}

// sw_data: f n:i=10 k:i[n] x:d[n] y:d[n]
void f(int n, const int *k, const double *x, double *y) {
  for (int i = 0; i < n; i++) {
    switch (k[i]) {
      case 0: y[i] = x[i]; break;
      case 1: y[i] = 2.0 * x[i]; break;
      default: y[i] = 0;
    }
  }
}

// sw_fall: f n:i=10 m:i=3 x:d[n] y:d[n]
void f(int n, int m, const double *x, double *y) {
  int i = 0;
  for (; i + 3 < n; i += 4) { y[i] = x[i]; y[i+1] = x[i+1]; y[i+2] = x[i+2]; y[i+3] = x[i+3]; }
  switch (n & 3) {
    case 3: y[n-3] = x[n-3] * 1.0;
    case 2: y[n-2] = x[n-2] * 1.0;
    case 1: y[n-1] = x[n-1] * 1.0;
    case 0: break;
  }
}

// sw_fn: f n:i=10 x:d[n] y:d[n]
static double bc(int side, double v) { switch (side) { case 0: return v; case 1: return -v; default: return 0; } }
static void add(int n, int mode, double *x, double *y) {
  switch (mode) { case 0: return; case 1: for (int i = 0; i < n; i++) y[i] += x[i]; break; default: y[0] = 1; }
}
void f(int n, double *x, double *y) {
  add(n, 0, x, y); add(n, 1, x, y); add(n, 2, x, y);
}

// sw_iter: f n:i=10 x:d[n] y:d[n]
void f(int n, const double *x, double *y) {
  for (int i = 0; i < n; i++) {
    switch (i % 3) {
      case 0: y[i] = x[i]; break;
      case 1: y[i] = 2.0 * x[i]; break;
      default: y[i] = -x[i];
    }
  }
}

// sw_mode: f n:i=9 mode:i=1 x:d[n] y:d[n]
void f(int n, int mode, const double *x, double *y) {
  switch (mode) {
  case 0:
    for (int i = 0; i < n; i++) y[i] = x[i];
    break;
  case 1:
  case 2:
    for (int i = 0; i < n; i++) y[i] += 2 * x[i];
    break;
  default:
    for (int i = 0; i < n; i++) y[i] = 0.0;
    break;
  }
}

// sw_nested: f n:i=10 op:i=2 x:d[n] y:d[n]
#define ADD 1
#define SUB 2
void f(int n, int op, const double *x, double *y) {
  for (int i = 0; i < n; i++) {
    if (i == 7) continue;
    switch (op) {
      case ADD: y[i] += x[i]; break;
      case SUB: {
        double t = x[i] * 2;
        for (int k = 0; k < 3; k++) { if (k == 2) break; y[i] -= t; }
        break;
      }
      case 3: if (i > 2) break; y[i] = 0; break;
      default: break;
    }
    y[i] *= 1.5;
  }
}

// swap_buffers: f n:i=8 T:i=3 a:d[n] b:d[n]
void f(int n, int T, double *a, double *b) {
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < n - 1; i++) b[i] = 0.33 * (a[i-1] + a[i] + a[i+1]);
    double *tmp = a; a = b; b = tmp;
  }
}

// ternary_bound: f n:i=9 k:i=3 x:d[n] y:d[n]
void f(int n, int k, double *x, double *y) {
  for (int i = 0; i < n; i++) {
    int lo = i - k < 0 ? 0 : i - k, hi = i + k >= n ? n - 1 : i + k;
    double s = 0;
    for (int j = lo; j <= hi; j++) s += x[j];
    y[i] = s / (hi - lo + 1);
  }
}

// unroll_nmod: f n:i=11 a:d=1.5 x:d[n] y:d[n]
void f(int n, double a, double *x, double *y) {
  int m = n % 4;
  for (int i = 0; i < m; i++) y[i] += a * x[i];
  for (int i = m; i < n; i += 4) {
    y[i] += a * x[i];
    y[i + 1] += a * x[i + 1];
    y[i + 2] += a * x[i + 2];
    y[i + 3] += a * x[i + 3];
  }
}

// unroll_rem: dot n:i=11 x:d[n] y:d[n] r:d[1]
void dot(int n, const double *x, const double *y, double *r) {
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  int i;
  for (i = 0; i <= n - 4; i += 4) {
    s0 += x[i] * y[i];
    s1 += x[i+1] * y[i+1];
    s2 += x[i+2] * y[i+2];
    s3 += x[i+3] * y[i+3];
  }
  for (; i < n; i++) s0 += x[i] * y[i];
  r[0] = s0 + s1 + s2 + s3;
}

// unsigned_down: f n:z=6 x:d[n] L:d[n,n]
#include <stddef.h>
void f(size_t n, double *x, double (*L)[n]) {
  for (size_t i = n; i > 0; i--) {
    for (size_t j = i; j < n; j++)
      x[i-1] -= L[i-1][j] * x[j];
    x[i-1] /= L[i-1][i-1];
  }
}

// vla_local: f n:i=6 A:d[n,n] y:d[n]
void f(int n, const double A[static n][n], double y[]) {
  double acc[n];
  for (int j = 0; j < n; j++) acc[j] = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      acc[j] += A[i][j];
  for (int j = 0; j < n; j++) y[j] = acc[j] / n;
}

// while1_break: f n:i=6 x:d[n] y:d[n]
void f(int n, double *x, double *y) {
  int i = 0;
  while (1) {
    if (i >= n) break;
    y[i] = x[i] * 3;
    i++;
  }
}

// while_for: f n:i=6 A:d[n,n] y:d[n]
void f(int n, double A[n][n], double *y) {
  int i = 0;
  while (i < n) {
    int j = n - 1;
    while (j >= 0) {
      y[i] -= A[i][j] * 0.5;
      --j;
    }
    i += 1;
  }
}

// unrolled_1: dot n:i=11 x:d[n] y:d[n] r:d[1]
void dot(int n, const double *x, const double *y, double *r) {
  double s0 = 0, s1 = 0;
  int i;
  for (i = 0; i + 1 < n; i += 2) { s0 += x[i] * y[i]; s1 += x[i+1] * y[i+1]; }
  for (; i < n; i++) s0 += x[i] * y[i];
  r[0] = s0 + s1;
}

// unrolled_10: tri n:i=9 L:d[n,n] b:d[n] x:d[n]
void tri(int n, double L[n][n], const double *b, double *x) {
  int i, j;
  for (i = 0; i < n; i++) {
    double s = b[i], t = 0;
    for (j = 0; j + 1 < i; j += 2) { s -= L[i][j] * x[j]; t -= L[i][j+1] * x[j+1]; }
    for (; j < i; j++) s -= L[i][j] * x[j];
    x[i] = (s + t) / L[i][i];
  }
}

// unrolled_11: copy n:i=14 x:f[n] y:f[n]
#include <stddef.h>
void copy(size_t n, const float *x, float *y) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++) y[i + k] = 2 * x[i + k];
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) y[i + k] = 2 * x[i + k];
  for (; i < n; i++) y[i] = 2 * x[i];
}
//@@wrap
void copy_wrap(int n, const float *x, float *y) { copy(n, x, y); }

// unrolled_12: last n:i=14 x:d[n] y:d[n]
void last(int n, const double *x, double *y) {
  int i;
  for (i = 0; i < n; i += 4) y[i] = x[i];
  if (i < n + 2) y[0] = 5;
  y[i - 4] += 1;
}

// unrolled_13: gm n:i=6 A:d[n,n] B:d[n,n] C:d[n,n]
void gm(int n, double A[n][n], double B[n][n], double C[n][n]) {
  for (int i = 0; i < n; i++) {
    int j;
    for (j = 0; j + 3 < n; j += 4) {
      double c0 = 0, c1 = 0, c2 = 0, c3 = 0;
      for (int k = 0; k < n; k++) {
        c0 += A[i][k]*B[k][j]; c1 += A[i][k]*B[k][j+1]; c2 += A[i][k]*B[k][j+2]; c3 += A[i][k]*B[k][j+3];
      }
      C[i][j] = c0; C[i][j+1] = c1; C[i][j+2] = c2; C[i][j+3] = c3;
    }
    for (; j < n; j++) {
      double c = 0;
      for (int k = 0; k < n; k++) c += A[i][k]*B[k][j];
      C[i][j] = c;
    }
  }
}

// unrolled_14: sm n:i=11 x:d[n] r:d[1]
void sm(int n, const double *x, double *r) {
  double s = 0; int i = 0, end = n - (n % 2);
  while (i < end) { s += x[i] + x[i+1]; i += 2; }
  if (n % 2) s += x[i];
  *r = s;
}

// unrolled_15: two n:i=11 m:i=8 x:d[n+m]
void two(int n, int m, double *x) {
  int i;
  for (i = 0; i < n; i++) x[i] += 1;
  for (; i < n + m; i++) x[i] += 2;
}

// unrolled_16: ui n:u=11 m:i=8 x:d[n] y:d[n]
#include <stdint.h>
void ui(unsigned n, int m, double *x, double *y) {
  for (int t = 0; t < m; t++) {
    unsigned i;
    for (i = 0; i < (n & ~3u); i += 4) { y[i] += x[i]; y[i+1] += x[i+1]; y[i+2] += x[i+2]; y[i+3] += x[i+3]; }
    while (i < n) { y[i] += x[i]; ++i; }
    for (i = 0; i < n; i++) x[i] = y[i];
  }
}

// unrolled_17: lp n:i=13 x:d[n] r:d[1]
#define U 4
void lp(int n, const double *x, double *r) {
  double s[U] = {0, 0, 0, 0}, t = 0;
  int i = 0;
  for (; i + U - 1 < n; i += U)
    for (int u = 0; u < U; u++) s[u] += x[i + u];
  for (int u = 0; u < U; u++) t += s[u];
  for (; i < n; i++) t += x[i];
  *r = t;
}

// unrolled_18: sw n:i=13 a:d[n] b:d[n]
void sw(int n, double *restrict a, const double *restrict b) {
  int i = 0;
  const int nb = (n / 4) * 4;
  for (i = 0; i < nb; i += 4, a += 4, b += 4) { a[0] += b[0]; a[1] += b[1]; a[2] += b[2]; a[3] += b[3]; }
  for (; i < n; ++i) *a++ += *b++;
}

// unrolled_19: du n:i=13 a:d[n] b:d[n]
void du(int n, double *a, double *b) {
  int i = 0;
  do { a[i] = b[i]; a[i+1] = 2 * b[i+1]; i += 2; } while (i + 1 < n);
  if (i < n) a[i] = 7 * b[i];
}

// unrolled_2: axpy n:i=11 a:d=1.5 x:d[n] y:d[n]
void axpy(int n, double a, const double *x, double *y) {
  int i = 0;
  for (; i < n - 3; i += 4) {
    y[i] += a * x[i]; y[i+1] += a * x[i+1]; y[i+2] += a * x[i+2]; y[i+3] += a * x[i+3];
  }
  for (; i < n; ++i) y[i] += a * x[i];
}

// unrolled_20: ij n:i=7 A:d[n,n] r:d[n]
void ij(int n, double A[n][n], double *r) {
  int i, j;
  for (i = 0; i < n; i++) {
    for (j = 0; j < i; j += 3) A[i][j] += 1;
    for (; j < n; j += 2) A[i][j] *= 3;
    r[i] = A[i][n - 1];
  }
}

// unrolled_3: axpy n:i=11 a:d=1.5 x:d[n] y:d[n]
void axpy(int n, double a, const double *x, double *y) {
  int i, n4 = n / 4 * 4;
  for (i = 0; i < n4; i += 4) {
    y[i] += a * x[i]; y[i+1] += a * x[i+1]; y[i+2] += a * x[i+2]; y[i+3] += a * x[i+3];
  }
  for (; i < n; ++i) y[i] += a * x[i];
}

// unrolled_4: axpy n:i=11 a:d=1.5 x:d[n] y:d[n]
void axpy(int n, double a, const double *x, double *y) {
  int i = 0;
  while (i + 4 <= n) {
    y[i] += a * x[i]; y[i+1] += a * x[i+1]; y[i+2] += a * x[i+2]; y[i+3] += a * x[i+3];
    i += 4;
  }
  while (i < n) { y[i] += a * x[i]; i++; }
}

// unrolled_5: mv n:i=7 m:i=9 A:d[n,m] x:d[m] y:d[n]
void mv(int n, int m, double A[n][m], const double *x, double *y) {
  int i, j;
  for (i = 0; i <= n - 2; i += 2) {
    double s0 = 0, s1 = 0;
    for (j = 0; j < (m & ~3); j += 4) {
      s0 += A[i][j]*x[j] + A[i][j+1]*x[j+1] + A[i][j+2]*x[j+2] + A[i][j+3]*x[j+3];
      s1 += A[i+1][j]*x[j] + A[i+1][j+1]*x[j+1] + A[i+1][j+2]*x[j+2] + A[i+1][j+3]*x[j+3];
    }
    for (; j < m; j++) { s0 += A[i][j]*x[j]; s1 += A[i+1][j]*x[j]; }
    y[i] = s0; y[i+1] = s1;
  }
  for (; i < n; i++) {
    double s = 0;
    for (j = 0; j < m; j++) s += A[i][j]*x[j];
    y[i] = s;
  }
}

// unrolled_6: sc n:i=11 a:d=1.5 x:d[n]
void sc(int n, double a, double *x) {
  int i;
  for (i = 0; i < n - n % 4; i += 4) { x[i] *= a; x[i+1] *= a; x[i+2] *= a; x[i+3] *= a; }
  for (; i < n; i++) x[i] *= a;
}

// unrolled_7: sc n:i=11 a:d=1.5 x:d[n]
void sc(int n, double a, double *x) {
  int i, rem = n % 4;
  for (i = 0; i < n / 4; i++) { x[0] *= a; x[1] *= a; x[2] *= a; x[3] *= a; x += 4; }
  for (i = 0; i < rem; i++) *x++ *= a;
}

// unrolled_8: st n:i=12 x:d[n] y:d[n]
void st(int n, const double *x, double *y) {
  int i;
  y[0] = x[0];
  for (i = 1; i + 2 < n - 1; i += 3) {
    y[i] = x[i-1] + x[i+1]; y[i+1] = x[i] + x[i+2]; y[i+2] = x[i+1] + x[i+3];
  }
  for (; i < n - 1; i++) y[i] = x[i-1] + x[i+1];
  y[n-1] = x[n-1];
}

// unrolled_9: rv n:i=11 x:d[n]
void rv(int n, double *x) {
  int i;
  for (i = n - 1; i >= 3; i -= 4) { x[i] *= 2; x[i-1] *= 3; x[i-2] *= 4; x[i-3] *= 5; }
  for (; i >= 0; i--) x[i] *= 7;
}

// distances: f n:i=8 w:i=2 D:d[n,n]
#include <stdlib.h>
void f(int n, int w, double D[n][n]) {
  const int s = 2, k = 3;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      if (abs(i - j) > w) continue;
      D[i][j] += k;
      if (abs(j - 3) == 2) D[i][j] *= 2;
      if (2 <= abs(j - 3)) D[i][j] *= 3;
      if (abs(j - 4) != 2 && abs(i - 1) != -1) D[i][j] *= 1.5;
    }
  for (int i = 0; i < n / k; i += s) D[i * s][0] = i;
}
