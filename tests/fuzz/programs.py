"""Programs in C and Python that are damaged."""

PRODUCT_IN_PYTHON = """def matmul(A, B, C, n, m):
    for i in range(n):
        for j in range(m):
            C[i, j] = 0.0
            for k in range(1, n - 1):
                C[i, j] += A[i, k] * B[k + 1, j]
"""
#: Pointers that change places, calls that are statements, memory, returns, strides that are macros.
STEPS_IN_C = """#define STRIDE 2
static void step(int n, const double *u, double *v) { for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + u[i + 1]; }
int f(int n, int T, double *u, double A[n][n]) {
  double *v = malloc(n * sizeof(double)), *w;
  if (!v) return -1;
  memset(v, 0, n * sizeof *v);
  for (int t = 0; t < T; t++) { step(n, u, v); w = u; u = v; v = w; }
  for (int i = 0; i < n; i++) memcpy(A[i], u, n * sizeof(double));
  for (int i = 0; 2 * i + 1 < n; i++) v[i * STRIDE + 1] += u[i];
  free(v);
  return 0;
}
"""
#: Elements and arrays that change places, loops over elements, choices, rolls, functions of the file.
STEPS_IN_PYTHON = """def half(x):
    return x / 2
def f(u, v, x, T):
    w = u.copy()
    for t in range(T):
        v[:] = np.where(u > 1, np.roll(u, 1), half(w))
        u, v = v, u
    for i, e in enumerate(x):
        u[i] += np.clip(e, 0, 1)
    for a, b in zip(x, w):
        x[0] += a * b
    x[0], x[1] = x[1], x[0]
    x[1:] = np.diff(u)
"""
