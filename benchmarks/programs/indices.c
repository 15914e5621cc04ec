// cl2: cl2 n:i=13 u:d[n] v:d[n]
void cl2(int n, double u[n], double v[n]) {
  for (int i = 0; i < n; i++) {
    int l = i - 1;
    if (l < 0) l = 0;
    int r = i + 1;
    if (r >= n) r = n - 1;
    v[i] = u[l] + u[r];
  }
}

// cl4: cl4 n:i=13 u:d[n] v:d[n]
static int wrap(int i, int n) {
  if (i < 0) i += n;
  if (i >= n) i -= n;
  return i;
}
void cl4(int n, double u[n], double v[n]) {
  for (int i = 0; i < n; i++) v[i] = u[wrap(i - 1, n)] + u[wrap(i + 1, n)];
}

// colmajor: colmajor n:i=8 m:i=7 k:i=6 lda:i=9 A:d[lda*k] B:d[k*m] C:d[n*m]
#define A_(i, j) A[(i) + (j) * lda]
#define B_(i, j) B[(i) + (j) * k]
#define C_(i, j) C[(i) + (j) * n]
void colmajor(const int n, const int m, const int k, const int lda, const double *A, const double *B, double *C) {
  int i, j, l;
  for (j = 0; j < m; j++)
    for (l = 0; l < k; l++) {
      const double b = B_(l, j);
      for (i = 0; i < n; i++) C_(i, j) += A_(i, l) * b;
    }
}

// unroll2rest: unroll2rest n:i=13 x:d[n] y:d[n] z:d[n]
void unroll2rest(int n, double *x, double *y, double *z) {
  int i = 0;
  for (; i + 1 < n; i += 2) {
    z[i] = x[i] * y[i];
    z[i + 1] = x[i + 1] * y[i + 1];
  }
  if (i < n) z[i] = x[i] * y[i];
}

// rowptr: rowptr n:i=8 m:i=7 A:d[n,m] x:d[m] y:d[n]
void rowptr(int n, int m, double *A, double *x, double *y) {
  for (int i = 0; i < n; i++) {
    double *row = A + i * m;
    double *px = x;
    double s = 0;
    for (int j = m; j > 0; j--) s += *row++ * *px++;
    *y++ = s;
  }
}

// swapbuf: swapbuf t:i=4 n:i=12 u:d[n] v:d[n]
void swapbuf(int t, int n, double *u, double *v) {
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n - 1; i++) v[i] = 0.5 * (u[i - 1] + u[i + 1]);
    double *tmp = u;
    u = v;
    v = tmp;
  }
}
// dot4: dot4 n:i=16 m:i=12 A:d[n,m] x:d[m] y:d[n]
void dot4(int n, int m, const double *restrict A, const double *restrict x, double *restrict y) {
  for (int i = 0; i < n; i++) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int j;
    for (j = 0; j + 3 < m; j += 4) {
      s0 += A[i * m + j] * x[j];
      s1 += A[i * m + j + 1] * x[j + 1];
      s2 += A[i * m + j + 2] * x[j + 2];
      s3 += A[i * m + j + 3] * x[j + 3];
    }
    double s = (s0 + s1) + (s2 + s3);
    for (; j < m; j++) s += A[i * m + j] * x[j];
    y[i] = s;
  }
}

// walkrow: walkrow n:i=9 m:i=8 p:i=7 A:d[n,p] B:d[p,m] C:d[n,m]
#include <stddef.h>
void walkrow(size_t n, size_t m, size_t p, const double *A, const double *B, double *C) {
  const double *a = A;
  double *c = C;
  for (size_t i = 0; i < n; ++i, a += p, c += m) {
    for (size_t j = 0; j < m; ++j) {
      const double *b = B + j;
      double sum = 0.0;
      for (size_t k = 0; k < p; ++k, b += m) sum += a[k] * *b;
      c[j] = sum;
    }
  }
}

// clampstencil: clampstencil n:i=13 m:i=11 u:d[n,m] v:d[n,m]
static double at(const double *u, int n, int m, int i, int j) {
  i = i < 0 ? 0 : i >= n ? n - 1 : i;
  j = j < 0 ? 0 : j >= m ? m - 1 : j;
  return u[i * m + j];
}
void clampstencil(int n, int m, const double *u, double *v) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) v[i * m + j] = at(u, n, m, i - 1, j) + at(u, n, m, i + 1, j) + at(u, n, m, i, j - 1) + at(u, n, m, i, j + 1) - 4 * at(u, n, m, i, j);
}

// mirrored: mirrored n:i=14 k:i=3 u:d[n] w:d[2*k+1] v:d[n]
void mirrored(int n, int k, const double *u, const double *w, double *v) {
  for (int i = 0; i < n; i++) {
    v[i] = 0;
    for (int j = -k; j <= k; j++) {
      int at = i + j;
      if (at < 0) at = -at;
      else if (at >= n) at = 2 * (n - 1) - at;
      v[i] += w[j + k] * u[at];
    }
  }
}

// unsigned_wrap: unsigned_wrap n:z=13 u:d[n] v:d[n]
#include <stddef.h>
void unsigned_wrap(size_t n, const double *u, double *v) {
  for (size_t i = 0; i < n; i++) {
    size_t l = i - 1;
    if (l >= n) l = 0;
    v[i] = u[l] + u[i];
  }
}

// periodic2: periodic2 n:i=9 m:i=8 u:d[n,m] v:d[n,m]
static int index_of(int i, int j, int n, int m) {
  if (i < 0) i = n - 1;
  if (i == n) i = 0;
  if (j < 0) j = m - 1;
  if (j == m) j = 0;
  return i * m + j;
}
void periodic2(int n, int m, double *u, double *v) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      v[index_of(i, j, n, m)] = 0.25 * (u[index_of(i - 1, j, n, m)] + u[index_of(i + 1, j, n, m)] + u[index_of(i, j - 1, n, m)] + u[index_of(i, j + 1, n, m)]);
}

// used_between: used_between n:i=12 u:d[n] v:d[n+2] w:d[n+2]
void used_between(int n, double *u, double *v, double *w) {
  int at;
  for (int i = 0; i < n; i++) {
    at = i;
    v[at] = u[i];
    at = at + 2;
    w[at] = u[i] * 2;
    at -= 1;
    w[at] = v[i];
  }
}

// kept_on: kept_on n:i=12 u:d[n] v:d[n]
void kept_on(int n, double *u, double *v) {
  int last = 0;
  for (int i = 0; i < n; i++) {
    if (i > 2) last = i - 2;
    v[i] = u[last];
  }
}

// band_ends: band_ends n:i=13 b:i=3 A:d[n,n] x:d[n] y:d[n]
void band_ends(int n, int b, double A[n][n], double x[n], double y[n]) {
  int i, j, lo, hi;
  double s;
  for (i = 0; i < n; i++) {
    lo = i - b;
    if (lo < 0) lo = 0;
    hi = i + b + 1;
    if (hi > n) hi = n;
    s = 0;
    for (j = lo; j < hi; j++) s += A[i][j] * x[j];
    y[i] = s;
  }
}

// both_ways: both_ways n:i=11 u:d[n] v:d[n]
void both_ways(int n, double *u, double *v) {
  for (int i = 0; i < n; i++) {
    int a = i, b = n - 1 - i;
    if (a > b) {
      a = n - 1 - i;
      b = i;
    }
    v[i] = u[a] - 2 * u[b];
  }
}

// tile_ends: tile_ends n:i=13 A:d[n,n] B:d[n,n]
void tile_ends(int n, double A[n][n], double B[n][n]) {
  for (int ii = 0; ii < n; ii += 4)
    for (int jj = 0; jj < n; jj += 4) {
      int ie = ii + 4, je = jj + 4;
      if (ie > n) ie = n;
      if (je > n) je = n;
      for (int i = ii; i < ie; i++)
        for (int j = jj; j < je; j++) B[j][i] = A[i][j];
    }
}
