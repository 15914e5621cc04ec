# np_ein: outer_sum n:i=7 A:d[n,n] B:d[n,n] C:d[n,n]
import numpy as np
def outer_sum(n, A, B, C):
    for i in range(n):
        for j in range(i, n):
            acc = 0.0
            for k in range(n):
                acc += A[i, k] * B[k, j]
            C[i, j] = acc
            if i != j:
                C[j, i] = acc
# np_slices: smooth u:d[9,10] v:d[9,10]
import numpy as np
def smooth(u: np.ndarray, v: np.ndarray):
    n, m = u.shape
    v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    v[0, :] = u[0, :]
    v[-1, :] = u[-1, :]
# np_norm: rows X:d[6,7] Y:d[6,7]
import numpy as np
def rows(X, Y):
    mu = X.mean(axis=1)
    sd = np.sqrt(((X - mu[:, None]) ** 2).mean(axis=1) + 1e-5)
    Y[:, :] = (X - mu[:, None]) / sd[:, None]
# np_attn: attn Q:d[5,4] K:d[6,4] V:d[6,3]
import numpy as np
def attn(Q, K, V):
    n, d = Q.shape
    s = Q @ K.T / np.sqrt(d)
    s = s - s.max(axis=1, keepdims=True)
    p = np.exp(s)
    p = p / p.sum(axis=1, keepdims=True)
    out = p @ V
    return out
# np_cumsum: scan x:d[12] y:d[12]
def scan(x, y):
    n = len(x)
    total = 0.0
    for i in range(n - 1, -1, -1):
        total += x[i]
        y[i] = total
    return total
# np_where: relu_grad x:d[11] g:d[11]
import numpy as np
def relu_grad(x: np.ndarray, g: np.ndarray):
    g[:] = np.where(x > 1.0, g, 0.0)
    for i in range(1, len(x)):
        if x[i] > x[i - 1]:
            g[i], g[i - 1] = g[i - 1], g[i]
# np_outer: rank1 A:d[6,7] u:d[6] v:d[7]
import numpy as np
def rank1(A: np.ndarray, u: np.ndarray, v: np.ndarray):
    A += np.outer(u, v)
# np_einsum: bmm Q:d[3,4,5] K:d[3,6,5]
import numpy as np
def bmm(Q, K):
    S_ = np.einsum("bqd,bkd->bqk", Q, K)
    return S_
# np_rev: flip x:d[9] y:d[9]
import numpy as np
def flip(x: np.ndarray, y: np.ndarray):
    y[:] = x[::-1] + y[::1]
# np_stride: evens x:d[10] y:d[5]
def evens(x, y):
    y[:] = 0.5 * (x[::2] + x[1::2])
# np_diff: grad x:d[10] y:d[9]
import numpy as np
def grad(x: np.ndarray, y: np.ndarray):
    y[:] = (x[1:] - x[:-1]) / 0.1
# np_roll: per u:d[8] v:d[8]
import numpy as np
def per(u: np.ndarray, v: np.ndarray):
    v[:] = np.roll(u, 1) + np.roll(u, -1) - 2 * u
# np_bcast: gram X:d[5,3] D:d[5,5]
import numpy as np
def gram(X, D):
    n, d = X.shape
    for i in range(n):
        for j in range(n):
            D[i, j] = np.sum((X[i, :] - X[j, :]) ** 2)
# np_fdiv: half n:i=9 x:d[n] y:d[n]
def half(n, x, y):
    for i in range(n):
        y[i] = x[i // 2] * (i // 2) + (i % 3)
# np_zeros: dyn w:i[7] c:d[7] cap:i=9
import numpy as np
def dyn(w, c, cap):
    n = len(c)
    T = np.zeros((n + 1, cap + 1))
    for i in range(1, n + 1):
        for j in range(1, cap + 1):
            T[i, j] = max(T[i - 1, j], T[i - 1, j - 1] + c[i - 1])
    return T
# np_norm2: power A:d[6,6] x:d[6] k:i=3
import numpy as np
def power(A, x, k):
    n = A.shape[0]
    for _ in range(k):
        y = A @ x
        nrm = np.sqrt(np.dot(y, y))
        x[:] = y / nrm
    return x
# np_while: cg n:i=7 A:d[n,n] b:d[n] x:d[n]
def cg(n, A, b, x):
    i = 0
    while i < n:
        s = b[i]
        for j in range(n):
            if j != i:
                s -= A[i][j] * x[j]
        x[i] = s / A[i][i]
        i += 1
# np_var: bn X:d[6,4] g:d[4] Y:d[6,4]
import numpy as np
def bn(X, g, Y):
    mu = X.mean(axis=0)
    var = X.var(axis=0)
    Y[:, :] = g[None, :] * (X - mu) / np.sqrt(var + 1e-5)
# np_clip: relu6 x:d[9] y:d[9]
import numpy as np
def relu6(x: np.ndarray, y: np.ndarray):
    y[:] = np.clip(x[:], 0.6, 1.2) + np.maximum(x[:], 1.0)
# np_enum: wsum x:d[8] w:d[8]
def wsum(x, w):
    total = 0.0
    for i, v in enumerate(x):
        total += v * w[i]
    for a, b in zip(x, w):
        total -= a * b * 0.5
    return total
# np_conv: conv2 I:d[8,9] K:d[3,3] O:d[6,7]
def conv2(I, K, O):
    h, w = O.shape
    kh, kw = K.shape
    for y in range(h):
        for x in range(w):
            O[y, x] = sum(I[y + r, x + q] * K[r, q] for r in range(kh) for q in range(kw))
# np_tri: solve L:d[7,7] b:d[7]
import numpy as np
def solve(L, b):
    n = len(b)
    for i in range(n):
        b[i] = (b[i] - L[i, :i] @ b[:i]) / L[i, i]
# np_heat: heat u:d[9,9] steps:i=4 alpha:d=0.1
import numpy as np
def heat(u: np.ndarray, steps: int, alpha: float):
    for _ in range(steps):
        u[1:-1, 1:-1] += alpha * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u
# np_swap: bubble a:d[7]
def bubble(a):
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
