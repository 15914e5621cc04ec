// rolling_1: f n:i=8 A:d[n,n] x:d[n] y:d[n]
void f(int n, double A[n][n], double x[n], double y[n]) {
  for (int i = 0; i + 1 < n; i += 2)
    for (int k = 0; k < n; k++) { x[i] += A[i][k] * x[k]; x[i + 1] += A[i + 1][k] * x[k]; }
}
// rolling_2: f n:i=9 x:d[n] y:d[n]
void f(int n, double x[n], double y[n]) {
  int i;
  for (i = 0; i + 1 < n; i += 2) { y[i] = x[i] + y[i + 1]; y[i + 1] = x[i + 1] + y[i]; }
  for (; i < n; i++) y[i] = x[i];
}
// rolling_3: f n:i=9 x:d[n+4] y:d[n+4]
void f(int n, double x[n + 4], double y[n + 4]) {
  int i;
  for (i = 0; i + 2 < n; i += 3) { x[i + 1] = x[i] * 0.5; x[i + 2] = x[i + 1] * 0.5; x[i + 3] = x[i + 2] * 0.5; }
  for (; i < n; i++) x[i + 1] = x[i] * 0.5;
}
// rolling_4: f n:i=9 x:d[n+4] y:d[n+4]
void f(int n, double x[n + 4], double y[n + 4]) {
  int i;
  for (i = 0; i + 2 < n; i += 3) { x[i + 2] = x[i + 3] * 0.5; x[i + 1] = x[i + 2] * 0.5; x[i] = x[i + 1] * 0.5; }
  for (; i < n; i++) x[i] = x[i + 1] * 0.5;
}
// rolling_5: f n:i=8 A:d[n,n] B:d[n,n] C:d[n,n]
void f(int n, double A[n][n], double B[n][n], double C[n][n]) {
  for (int i = 0; i < n; i += 2)
    for (int j = 0; j < n; j += 2) {
      double c00 = 0, c01 = 0, c10 = 0, c11 = 0;
      for (int k = 0; k < n; k++) { double a0 = A[i][k], a1 = A[i + 1][k], b0 = B[k][j], b1 = B[k][j + 1];
        c00 += a0 * b0; c01 += a0 * b1; c10 += a1 * b0; c11 += a1 * b1; }
      C[i][j] = c00; C[i][j + 1] = c01; C[i + 1][j] = c11; C[i + 1][j + 1] = c10;
    }
}
// rolling_6: f n:i=8 A:d[n,n] B:d[n,n]
void f(int n, double A[n][n], double B[n][n]) {
  for (int i = 0; i < n; i += 2)
    for (int j = 0; j < n; j += 2)
      for (int k = 0; k < n; k++) {
        A[i][j] += A[i][k] * A[k][j]; A[i][j + 1] += A[i][k] * A[k][j + 1];
        A[i + 1][j] += A[i + 1][k] * A[k][j]; A[i + 1][j + 1] += A[i + 1][k] * A[k][j + 1]; }
}
// rolling_7: f n:i=10 x:d[n] s:d[2]
void f(int n, double x[n], double s[2]) {
  double s0 = 0, s1 = 0;
  for (int i = 0; i < n; i += 2) { s0 += x[i]; s1 += x[i + 1] * s0; }
  s[0] = s0; s[1] = s1;
}
// rolling_8: f n:i=11 x:d[n] y:d[n] s:d[1]
void f(int n, double x[n], double y[n], double s[1]) {
  double t = 1; int i;
  for (i = 0; i + 1 < n; i += 2) { t = t * x[i]; y[i] = t; t = t * x[i + 1]; y[i + 1] = t; }
  for (; i < n; i++) { t = t * x[i]; y[i] = t; }
  s[0] = t;
}
// rolling_9: f n:i=11 m:i=3 x:d[n] y:d[n]
void f(int n, int m, double x[n], double y[n]) {
  int i;
  for (i = m; i + 3 < n; i += 4) { y[i] = x[i]; y[i + 1] = x[i + 1]; y[i + 2] = x[i + 2]; y[i + 3] = x[i + 3]; }
  for (; i < n; i++) y[i] = x[i];
}
// rolling_10: f n:i=11 x:d[n] y:d[n]
void f(int n, double x[n], double y[n]) {
  int i;
  for (i = 0; i + 1 < n; i += 2) { y[i] = 2 * x[i]; y[i + 1] = 2 * x[i + 1]; }
  for (; i < n; i++) y[i] = 3 * x[i];
}
// rolling_11: f n:i=12 x:d[n] y:d[n]
void f(int n, double x[n], double y[n]) {
  for (int i = 0; i < n - 1; i += 2) {
    double t = x[i]; double u = x[i + 1];
    x[i + 1] = t + y[i]; x[i] = u + y[i + 1];
  }
}
// rolling_12: f n:i=9 A:d[n,n] x:d[n] y:d[n]
void f(int n, double A[n][n], double x[n], double y[n]) {
  for (int i = 0; i + 1 < n; i += 2) {
    for (int k = 0; k < i; k++) { x[i] -= A[i][k] * x[k]; x[i + 1] -= A[i + 1][k] * x[k]; }
    x[i + 1] -= A[i + 1][i] * x[i];
  }
}
// rolling_13: f n:i=9 A:d[n,n] x:d[n] y:d[n]
void f(int n, double A[n][n], double x[n], double y[n]) {
  for (int i = 0; i + 1 < n; i += 2) {
    for (int k = 0; k < n; k++) { y[i] += A[i][k]; y[i + 1] += A[i + 1][k]; }
    for (int k = 0; k < n; k++) { A[i][k] += y[i]; A[i + 1][k] += y[i + 1]; }
  }
}
// rolling_14: f n:i=9 A:d[n,n] x:d[n] y:d[n]
void f(int n, double A[n][n], double x[n], double y[n]) {
  for (int i = 0; i + 1 < n; i += 2) {
    for (int k = 0; k < n; k++) { y[k] += A[i][k]; x[k] = y[k] * A[i][k]; y[k] += A[i + 1][k]; x[k] = y[k] * A[i + 1][k]; }
  }
}
// rolling_15: f n:i=9 A:d[n,n] x:d[n] y:d[n]
void f(int n, double A[n][n], double x[n], double y[n]) {
  for (int i = 0; i + 1 < n; i += 2)
    for (int k = 1; k < n; k++) { y[k] = y[k - 1] + A[i][k]; y[k] = y[k - 1] + y[k] * A[i + 1][k]; }
}
// rolling_16: f n:i=9 A:d[n,n] x:d[n] y:d[n]
void f(int n, double A[n][n], double x[n], double y[n]) {
  for (int i = 0; i + 1 < n; i += 2)
    for (int k = 1; k < n; k++) { y[k] = y[k - 1] * A[i][k]; y[k] = y[k - 1] * A[i + 1][k]; }
}
