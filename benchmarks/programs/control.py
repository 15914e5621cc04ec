# attention: f Q:d[5,3] K:d[4,3] V:d[4,3]
import numpy as np
def f(Q, K, V):
    S = Q @ K.T / np.sqrt(Q.shape[1])
    P = np.exp(S - S.max(axis=1)[:, None])
    P = P / P.sum(axis=1)[:, None]
    O = P @ V
    return O

# aug_slices: f u:d[7,6] v:d[7,6]
def f(u, v):
    v[1:-1, 1:-1] += 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    u[:, 0] *= 2
    u[-1, :] = v[0, :]

# bcast: f A:d[5,4] x:d[4] y:d[5]
def f(A, x, y):
    A += x
    A *= y[:, None]

# break_py: f a:d[7]
def f(a):
    for i in range(len(a)):
        if i == 4:
            break
        a[i] = 0.0

# brk_py2: f a:d[7] b:d[7] m:i=3
def f(a, b, m):
    for i in range(len(a)):
        for j in range(len(b)):
            if j > i + m:
                break
            a[i] += b[j]
        if i >= m:
            break

# capital_vec: f X:d[5] Y:d[5]
def f(X, Y):
    s = 0.0
    for i in range(len(X)):
        s += X[i] * Y[i]
    for i in range(len(X)):
        Y[i] = s * X[i]

# chained: f a:d[6,6]
def f(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            if 0 < i < j <= 4:
                a[i, j] = 1.0
            elif i == j and not i == 2:
                a[i, j] = 2.0

# clip_call: f a:d[7] b:d[7]
import numpy as np
def f(a, b):
    n = a.size
    for i in range(n):
        b[i] = np.clip(a[i], 0.6, 1.1)
    b[1:] += a[1:].clip(0.7, 1.0)

# clip_m: f a:d[7] b:d[7]
def f(a, b):
    b[:] = a.clip(0.6, 1.2)

# conv1d: f x:d[9] w:d[3]
import numpy as np
def f(x, w):
    n, k = x.shape[0], w.shape[0]
    y = np.empty(n - k + 1)
    for i in range(n - k + 1):
        acc = 0.0
        for j in range(k):
            acc += x[i + j] * w[j]
        y[i] = acc
    return y

# dist: f X:d[5,3] D:d[5,5]
import numpy as np
def f(X, D):
    n = len(X)
    for i in range(n):
        for j in range(n):
            D[i, j] = np.sqrt(np.sum((X[i] - X[j]) ** 2))

# dot_outer: f A:d[5,4] x:d[4] y:d[5]
import numpy as np
def f(A, x, y):
    y[:] = np.dot(A, x)
    A += np.outer(y, x)

# einsum_fn: f A:d[5,4] B:d[4,6] C:d[5,6]
import numpy as np
def f(A, B, C):
    C[:] = np.einsum("ik,kj->ij", A, B)

# einsum_fn2: f Q:d[2,5,3] K:d[2,4,3]
import numpy as np
def f(Q, K):
    S = np.einsum('bqd,bkd->bqk', Q, K)
    return S

# ezip: f a:d[7] b:d[7] c:d[7]
def f(a, b, c):
    for i, (u, v) in enumerate(zip(a, b)):
        if i == 5:
            break
        c[i] = u * v

# fdiv: f a:d[9] b:d[9]
def f(a, b):
    for i in range(len(a)):
        b[i] = a[i] if i // 3 == 1 else (2.0 if (i - 5) % 4 == 1 else i // 2)

# floyd: f D:d[6,6]
import numpy as np
def f(D):
    n = len(D)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])

# floyd_np: f D:d[6,6]
import numpy as np
def f(D):
    for k in range(D.shape[0]):
        D[:] = np.minimum(D, D[:, k, None] + D[None, k, :])

# gauss_lists: f A:d[5,5]
def f(A):
    n = len(A)
    for k in range(n):
        for i in range(k + 1, n):
            m = A[i][k] / A[k][k]
            for j in range(k, n):
                A[i][j] -= m * A[k][j]

# gauss_rows: f A:d[5,5] b:d[5]
def f(A, b):
    n = len(b)
    for k in range(n):
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            A[i] -= m * A[k]
            b[i] -= m * b[k]

# helper_arr: f a:d[7] b:d[7]
def smooth(u, i):
    left = u[i - 1]
    right = u[i + 1]
    return 0.5 * (left + right)
def f(a, b):
    for i in range(1, len(a) - 1):
        b[i] = smooth(a, i)

# helper_default: f a:d[7] b:d[7]
def scale(x, k=2.0, off=1.0):
    return k * x + off
def f(a, b):
    for i in range(len(a)):
        b[i] = scale(a[i]) + scale(a[i], off=0.5) + scale(k=3, x=a[i])

# helper_locals_py: f a:d[7] b:d[7]
def poly(x, p=2.0, *, q=1.0):
    w = x * x
    w += p
    z = w - q
    if z > 2:
        return z
    elif z > 1.5:
        z = z * 2
    return w * z
def f(a, b):
    for i in range(len(a)):
        b[i] = poly(a[i]) + poly(p=0.5, x=b[i], q=0.25)

# helper_stmt: f a:d[7] b:d[7]
def axpy(n, c, x, y):
    for i in range(n):
        y[i] += c * x[i]
def f(a, b):
    axpy(len(a), 2.0, a, b)
    axpy(len(a), -1.0, b, a)

# ifexp: f a:d[6] b:d[6]
def f(a, b):
    for i in range(len(a)):
        b[i] = a[i] if a[i] > 1 else -a[i]
        b[i] += 1.0 if i % 2 == 0 else 2.0

# jacobi_roll: f u:d[7] T:i=3
def f(u, T):
    for t in range(T):
        v = u.copy()
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (v[i - 1] + v[i + 1])

# layernorm: f X:d[5,4] g:d[4] b:d[4]
import numpy as np
def f(X, g, b, eps=1e-5):
    mu = X.mean(axis=-1, keepdims=True)
    var = X.var(axis=-1, keepdims=True)
    Y = (X - mu) / np.sqrt(var + eps) * g + b
    return Y

# listcomp: f a:d[7] b:d[7]
def f(a, b):
    b[:] = [2 * v for v in a]

# matmul: f A:d[5,4] B:d[4,6]
import numpy as np
def f(A, B):
    C = A @ B
    return C

# mean_rows: f X:d[5,4] y:d[5]
import numpy as np
def f(X, y):
    for i in range(len(y)):
        y[i] = np.mean(X[i])

# mlp: f X:d[5,4] W:d[4,3] b:d[3]
import numpy as np
def f(X, W, b):
    H = np.maximum(X @ W + b[:], 0)
    return H

# mm_bare: f A:d[5,4] B:d[4,6]
import numpy as np
def f(A, B):
    n, m = A.shape
    k = B.shape[1]
    C = np.zeros((n, k))
    for i in range(n):
        for j in range(k):
            for l in range(m):
                C[i, j] += A[i, l] * B[l, j]
    return C

# neg_step: f L:d[5,5] b:d[5] x:d[5]
def f(L, b, x):
    n = len(b)
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= L[i, j] * x[j]
        x[i] = s / L[i, i]

# nested_def_helper: f a:d[7] b:d[7]
def relu(x):
    if x > 1:
        return x
    return 0.0
def f(a, b):
    for i in range(len(a)):
        b[i] = relu(a[i])

# row_axpy_m: f A:d[5,4] c:d=0.5
def f(A, c):
    n, m = A.shape
    for i in range(1, n):
        A[i] += c * A[i - 1]

# row_axpy_v: f A:d[5] c:d=0.5
def f(A, c):
    (n,) = A.shape
    for i in range(1, n):
        A[i] += c * A[i - 1]

# row_dot: f A:d[5,4] x:d[4] y:d[5]
import numpy as np
def f(A, x, y):
    for i in range(A.shape[0]):
        y[i] = np.dot(A[i], x)

# row_dot2: f A:d[5,4] x:d[4] y:d[5]
def f(A, x, y):
    for i in range(len(y)):
        y[i] = A[i] @ x

# row_only_m: f A:d[5,4] B:d[5,4]
def f(A, B):
    n, m = A.shape
    for i in range(n):
        B[i] = 2 * A[i]

# row_sum: f A:d[5,4] y:d[5]
def f(A, y):
    for i in range(len(y)):
        y[i] = A[i].sum()

# row_swap_copy: f A:d[5,4]
def f(A):
    n, m = A.shape
    for i in range(n // 2):
        t = A[i].copy()
        A[i] = A[n - 1 - i]
        A[n - 1 - i] = t

# row_swap_m: f A:d[5,4]
def f(A):
    n, m = A.shape
    for i in range(n // 2):
        for j in range(m):
            A[i, j], A[n - 1 - i, j] = A[n - 1 - i, j], A[i, j]

# softmax: f X:d[5,4]
import numpy as np
def f(X):
    m = X.max(axis=1, keepdims=True)
    e = np.exp(X - m)
    Y = e / e.sum(axis=1, keepdims=True)
    return Y

# strides: f a:d[9] b:d[9]
def f(a, b):
    b[::2] = a[::2]
    b[1::2] = -a[1::2]

# sum_axis: f A:d[5,4] r:d[5] c:d[4]
def f(A, r, c):
    r[:] = A.sum(axis=1)
    c[:] = A.sum(axis=0) / A.shape[0]

# transpose: f A:d[5,4] B:d[4,5]
def f(A, B):
    B[:] = A.T
    B += 2 * A.T

# trisolve: f L:d[5,5] b:d[5]
import numpy as np
def f(L, b):
    x = np.zeros_like(b)
    for i in range(b.size):
        x[i] = (b[i] - np.dot(L[i, :i], x[:i])) / L[i, i]
    return x

# unpack: f a:d[5,4] n:i=5 m:i=4
def f(a, n, m):
    for i in range(n):
        lo, hi = max(0, i - 1), min(m, i + 2)
        for j in range(lo, hi):
            a[i, j] = 0.0

# while_loop: f a:d[7]
def f(a):
    i = 1
    n = len(a)
    while i < n:
        a[i] += a[i - 1]
        i += 1

# zeros_like: f a:d[5,4]
import numpy as np
def f(a):
    b = np.zeros_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = a[i, j] ** 2
    return b

# zip3: f a:d[7] b:d[7] c:d[7]
def f(a, b, c):
    for i, (u, v) in enumerate(zip(a, b)):
        c[i] = u * v

# zip_told: f a:d[7] b:d[5] y:d[9]
def f(a, b, y):
    n = len(b)
    m = a.shape[0]
    s = 0.0
    for u, v in zip(a, b):
        s += u * v
    y[0] = s + n + m

# zip_unlike: f a:d[7] b:d[5] y:d[9]
def f(a, b, y):
    s = 0.0
    for u, v in zip(a, b):
        s += u * v
    y[0] = s

# loops_10: f x:d[9] y:d[9]
def f(x, y):
    n = len(x)
    i = 0
    while i < n:
        i += 1
        if i % 3 == 0:
            continue
        y[i - 1] = x[i - 1]

# loops_11: f x:d[9] y:d[9]
def f(x, y):
    n = len(x)
    k = 0
    for i in range(0, n, 2):
        y[k] = x[i]
        k += 1
    y[k] = 7
    for i in range(n):
        i += 1
        x[i - 1] = 2

# loops_12: f A:d[5,6] y:d[30]
def f(A, y):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            y[i * m + j] = A[i, j]

# loops_13: f u:d[9] v:d[9] n:i=9
def f(u, v, n):
    i = 0
    while i < n - 2:
        j = i + 1
        while j < n:
            u[i] = u[i] + v[j]
            j = j + 2
        i = i + 1

# loops_14: f u:d[9] n:i=9
def f(u, n: int):
    i = 0
    s = 0.0
    while i < n:
        s += u[i]
        i += 1
    u[0] = s * i

# loops_15: f u:d[9]
def f(u):
    n = len(u)
    i = 0
    x = 1.0
    while i < n and x > 0.5:
        x = 0.9 * x
        u[i] = x
        i += 1

# loops_16: f u:d[9] v:d[9]
def f(u, v):
    n = len(u)
    i = 0
    while True:
        u[i] = v[i]
        i += 1
        if i >= n:
            break

# loops_17: f u:d[9] v:d[9]
def f(u, v):
    i = 0
    while i < len(u):
        v[i] = 0
        for i in range(2):
            u[i] = 1
        i += 2

# loops_2: f A:d[5,6] y:d[5]
def f(A, y):
    n, m = A.shape
    i = 0
    while i < n:
        j = 0
        s = 0.0
        while j < m:
            s += A[i, j]
            j += 1
        y[i] = s
        i = i + 1

# loops_3: f A:d[5,6] y:d[30]
def f(A, y):
    n, m = A.shape
    k = 0
    for i in range(n):
        for j in range(m):
            y[k] = A[i, j]
            k += 1

# loops_4: f x:d[11] y:d[11]
def f(x, y):
    n = len(x)
    i = 0
    while i + 4 <= n:
        y[i] += x[i]
        y[i + 1] += x[i + 1]
        y[i + 2] += x[i + 2]
        y[i + 3] += x[i + 3]
        i += 4
    while i < n:
        y[i] += x[i]
        i += 1

# loops_5: f x:d[9]
def f(x):
    lo = 0
    hi = len(x) - 1
    while lo < hi:
        x[lo], x[hi] = x[hi], x[lo]
        lo += 1
        hi -= 1

# loops_6: f x:d[9]
def f(x):
    n = len(x)
    for i in range(n):
        x[i] += 1
    x[i] = 5

# loops_7: f x:d[9] y:d[9]
def f(x, y):
    n = len(x)
    i = n - 1
    while i >= 0:
        if i % 2 == 0:
            y[i] = x[i]
        i -= 1

# loops_8: f x:d[9] tol:d=0.1
def f(x, tol):
    err = 1.0
    k = 0
    while err > tol:
        err = err * 0.5
        k += 1
        x[0] += err

# loops_9: f u:d[9] v:d[9] T:i=3
def f(u, v, T: int):
    n = u.shape[0]
    t = 0
    while t < T:
        for i in range(1, n - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        for i in range(1, n - 1):
            u[i] = v[i]
        t += 1

# views_1: f A:d[5,6] b:d[5]
import numpy as np
def f(A, b):
    n, m = A.shape
    i = 1
    while i < n:
        A[i, :] -= 0.5 * A[i - 1, :]
        b[i] = np.dot(A[i, :], A[0, :])
        i += 1

# views_2: f u:d[9] T:i=3
import numpy as np
def f(u, T: int):
    n = len(u)
    t = 0
    while t < T:
        un = u.copy()
        u[1:-1] = un[1:-1] + 0.1 * (un[2:] - 2 * un[1:-1] + un[:-2])
        t += 1

# views_3: f A:d[6,6]
def f(A):
    n = A.shape[0]
    k = 0
    while k < n - 1:
        A[k + 1:, k] /= A[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
        k += 1

# views_4: f a:d[9] b:d[9]
def f(a, b):
    n = len(a)
    i = 0
    while i < 3:
        t = a[1:]
        b[1:] = t
        a[2] = 5 + b[i]
        b[1:] = t
        i += 1

# calls_10: f x:d[7] y:d[7]
def dbl(y, x):
    for k in range(len(y)):
        y[k] = x[k] * 2
def f(x, y):
    for k in range(3):
        dbl(y, x)
        x[k] = y[k]
        dbl(x, x)

# calls_2: run u:d[9] v:d[9] T:i=3
def step(u, v):
    n = len(u)
    for i in range(1, n - 1):
        v[i] = (u[i - 1] + u[i] + u[i + 1]) / 3
def run(u, v, T: int):
    for t in range(T):
        step(u, v)
        step(v, u)

# calls_3: f A:d[5,5] x:d[5] y:d[5]
import numpy as np
def scale(y, n, *, by=0.5):
    """Scale."""
    i = 0
    while i < n:
        y[i] *= by
        i += 1
    return y
def mv(A, x, y, n):
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += A[i, j] * x[j]
        y[i] = s
    scale(y, n)
def f(A, x, y):
    n = A.shape[0]
    s = 2.0
    mv(A, x, y, n)
    for i in range(n - 1):
        mv(A, y, x, n - 1)
        x[i] *= s
    scale(x, n, by=s)

# calls_4: f a:d[7] b:d[7]
def chg(a):
    a[2] = 100.0
    for i in range(1):
        a[3] = 5.0
def f(a, b):
    t = a[1:]
    chg(a)
    b[1:] = t

# calls_5: f a:d[7] b:d[7]
def g(x, n):
    n = n - 1
    for i in range(n):
        x[i] = 1
def f(a, b):
    for k in range(3):
        g(a, 5)

# calls_6: f a:d[7] b:d[7]
def g(x, y):
    t = x[1:]
    x[2] = 9.0
    y[1:] = t
def f(a, b):
    for k in range(2):
        g(a, b)

# calls_7: run A:d[5,6] B:d[5,6] T:i=2
import numpy as np
def sweep(A, B, w=0.25):
    n, m = A.shape
    for i in range(1, n - 1):
        B[i, 1:m - 1] = w * (A[i - 1, 1:m - 1] + A[i + 1, 1:-1] + A[i, :-2] + A[i, 2:])
def run(A, B, T: int):
    for t in range(T):
        sweep(A, B)
        sweep(B, A, w=0.2)
        B[0, :] = A[1, :]

# calls_8: f x:d[7] y:d[7]
def add(x, y):
    x += y
def f(x, y):
    for i in range(len(x)):
        y[i] = 2 * x[i]
    add(x, y)

# calls_9: f x:d[7] y:d[7]
s = 3.0
def dbl(y):
    for i in range(len(y)):
        y[i] = s * y[i]
def f(x, y):
    s = 2.0
    for i in range(len(x)):
        y[i] = s * x[i]
    dbl(y)
