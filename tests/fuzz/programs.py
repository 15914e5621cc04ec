"""Programs in C and Python that are damaged: short ones, as each is read whole and what is wrong first ends it."""

BLUR_IN_C = """#define N 1000
void blur(double in[N][N], double out[N][N])
{
  int i, j;
#pragma scop
  for (i = 0; i < N; i++)
    for (j = 1; j < N - 1; j++)
      out[i][j] = 0.25 * in[i][j - 1] + 0.5 * in[i][j];
#pragma endscop
}
"""
#: Pointers that change places, calls that are statements, memory, returns.
STEPS_IN_C = """static void step(int n, const double *u, double *v) { for (int i = 1; i < n; i++) v[i] = u[i - 1]; }
int f(int n, int T, double *u) {
  double *v = malloc(n * sizeof(double)), *w;
  if (!v) return -1;
  for (int t = 0; t < T; t++) { step(n, u, v); w = u; u = v; v = w; }
  free(v);
  return 0;
}
"""
#: Calls that set and copy memory, strides that are macros, bounds with factors.
COPIES_IN_C = """#define STRIDE 2
void g(int n, double *u, double A[n][n]) {
  double v[n];
  memset(v, 0, n * sizeof *v);
  for (int i = 0; 2 * i + 1 < n; i++) v[i * STRIDE + 1] += u[i];
  for (int i = 0; i < n; i++) memcpy(A[i], v, n * sizeof(double));
}
"""
PRODUCT_IN_PYTHON = """def matmul(A, B, C, n, m):
    for i in range(n):
        for j in range(m):
            C[i, j] = 0.0
            for k in range(1, n - 1):
                C[i, j] += A[i, k] * B[k + 1, j]
"""
#: Elements and arrays that change places, choices, rolls, functions of the file.
STEPS_IN_PYTHON = """def half(x):
    return x / 2
def f(u, v, x, T):
    w = u.copy()
    for t in range(T):
        v[:] = np.where(u > 1, np.roll(u, 1), half(w))
        u, v = v, u
    x[0], x[1] = x[1], x[0]
"""
#: Loops over elements, pairs of them, differences of all.
ELEMENTS_IN_PYTHON = """def f(u, x, w):
    for i, e in enumerate(x):
        u[i] += np.clip(e, 0, 1)
    for a, b in zip(x, w):
        x[0] += a * b
    x[1:] = np.diff(u)
"""
