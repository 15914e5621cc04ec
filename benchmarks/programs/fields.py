# gauss_blur: blur img:d[6,7] out:d[6,7]
import numpy as np
def blur(img, out):
    h, w = img.shape
    tmp = np.zeros((h, w))
    for y in range(h):
        for x in range(1, w - 1):
            tmp[y, x] = 0.25 * img[y, x - 1] + 0.5 * img[y, x] + 0.25 * img[y, x + 1]
    for y in range(1, h - 1):
        for x in range(w):
            out[y, x] = 0.25 * tmp[y - 1, x] + 0.5 * tmp[y, x] + 0.25 * tmp[y + 1, x]

# black_scholes_fd: explicit V:d[8] S:d[8] nt:i=3 r:d=0.05 sigma:d=0.2 dt:d=0.01 ds:d=0.5
import numpy as np
def explicit(V, S, nt: int, r: float, sigma: float, dt: float, ds: float):
    n = V.shape[0]
    for k in range(nt):
        Vn = V.copy()
        for i in range(1, n - 1):
            delta = (Vn[i + 1] - Vn[i - 1]) / (2 * ds)
            gamma = (Vn[i + 1] - 2 * Vn[i] + Vn[i - 1]) / ds ** 2
            V[i] = Vn[i] + dt * (0.5 * sigma ** 2 * S[i] ** 2 * gamma + r * S[i] * delta - r * Vn[i])
        V[0] = V[0] * (1 - r * dt)
        V[n - 1] = 2 * V[n - 2] - V[n - 3]

# heat_slices: heat u:d[7,6] nt:i=3 alpha:d=0.1
def heat(u, nt: int, alpha: float):
    for _ in range(nt):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + alpha * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])

# rnn: rnn X:d[4,3] Wx:d[5,3] Wh:d[5,5] b:d[5] H:d[5,5]
import numpy as np
def rnn(X, Wx, Wh, b, H):
    T, d = X.shape
    for t in range(T):
        H[t + 1, :] = np.tanh(Wx @ X[t, :] + Wh @ H[t, :] + b)

# kalman: predict F:d[3,3] P:d[3,3] Q:d[3,3] x:d[3]
import numpy as np
def predict(F, P, Q, x):
    xn = F @ x
    Pn = F @ P @ F.T + Q
    return xn, Pn

# qr_mgs: mgs A:d[6,4] Q:d[6,4] R:d[4,4]
import numpy as np
def mgs(A, Q, R):
    m, n = A.shape
    for k in range(n):
        R[k, k] = np.sqrt(np.sum(A[:, k] ** 2))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, n):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= R[k, j] * Q[:, k]

# autocorr: autocorr x:d[9] r:d[4]
def autocorr(x, r):
    n, lags = len(x), len(r)
    mean = sum(x) / n
    for k in range(lags):
        s = 0.0
        for i in range(n - k):
            s += (x[i] - mean) * (x[i + k] - mean)
        r[k] = s / n

# linear_relu: forward X:d[5,4] W1:d[4,6] b1:d[6] W2:d[6,3] b2:d[3]
import numpy as np
def forward(X, W1, b1, W2, b2):
    h = np.maximum(X @ W1 + b1, 0.0)
    return h @ W2 + b2

# ising_energy: energy s:d[5,6] E:d[5,6] J:d=1.0
def energy(s, E, J: float):
    n, m = s.shape
    for i in range(n):
        for j in range(m):
            e = 0.0
            if i > 0:
                e += s[i - 1][j]
            if i < n - 1:
                e += s[i + 1][j]
            if j > 0:
                e += s[i][j - 1]
            if j < m - 1:
                e += s[i][j + 1]
            E[i][j] = -J * s[i][j] * e

# lcs_dp: edit a:d[5] b:d[6] D:d[6,7]
def edit(a, b, D):
    n = len(a)
    m = len(b)
    for i in range(n + 1):
        D[i, 0] = i
    for j in range(m + 1):
        D[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)

# leapfrog: leapfrog x:d[4,2] v:d[4,2] a:d[4,2] m:d[4] dt:d=0.01 steps:i=2
def leapfrog(x, v, a, m, dt: float, steps: int):
    n = x.shape[0]
    for s in range(steps):
        for i in range(n):
            for d in range(2):
                a[i, d] = 0.0
                for j in range(n):
                    if i != j:
                        a[i, d] += m[j] * (x[j, d] - x[i, d])
        for i in range(n):
            for d in range(2):
                v[i, d] += dt * a[i, d]
                x[i, d] += dt * v[i, d]

# moving_avg: moving x:d[10] y:d[10] w:i=3
import numpy as np
def moving(x, y, w: int):
    n = x.size
    for i in range(w - 1, n):
        y[i] = np.mean(x[i - w + 1:i + 1])

# attention_mask: causal Q:d[5,3] K:d[5,3] P:d[5,5]
import math
def causal(Q, K, P):
    n = len(Q)
    d = len(Q[0])
    for i in range(n):
        z = 0.0
        for j in range(i + 1):
            s = 0.0
            for k in range(d):
                s += Q[i][k] * K[j][k]
            P[i][j] = math.exp(s / math.sqrt(d))
            z += P[i][j]
        for j in range(i + 1):
            P[i][j] /= z
        for j in range(i + 1, n):
            P[i][j] = 0.0

# standardize: standardize X:d[6,4]
import numpy as np
def standardize(X):
    mu = np.mean(X, axis=0)
    sd = np.sqrt(np.mean((X - mu) ** 2, axis=0))
    Z = (X - mu) / sd
    return Z

# fresh2_pairwise_p06: pairwise X:d[5,3] Y:d[4,3]
import numpy as np
def pairwise(X, Y):
    M, D = X.shape
    N = Y.shape[0]
    out = np.empty((M, N))
    for i in range(M):
        for j in range(N):
            acc = 0.0
            for k in range(D):
                diff = X[i, k] - Y[j, k]
                acc += diff * diff
            out[i, j] = np.sqrt(acc)
    return out

# fem_1d: assemble K:d[6,6] F:d[6] h:d[5]
import numpy as np
def assemble(K, F, h):
    ne = h.shape[0]
    for e in range(ne):
        k = 1.0 / h[e]
        K[e, e] += k
        K[e, e + 1] -= k
        K[e + 1, e] -= k
        K[e + 1, e + 1] += k
        F[e] += h[e] / 2
        F[e + 1] += h[e] / 2

# block_sparse: bsr vals:d[4,2,3,3] x:d[5,3] y:d[4,3]
import numpy as np
def bsr(vals, x, y):
    nb, nk, bs, _ = vals.shape
    for i in range(nb):
        acc = np.zeros(bs)
        for k in range(nk):
            acc += vals[i, k] @ x[i + k]
        y[i, :] = acc

# kalman_full: update x:d[3] P:d[3,3] H:d[2,3] K:d[3,2] z:d[2]
import numpy as np
def update(x, P, H, K, z):
    y = z - H @ x
    x = x + K @ y
    P = (np.eye(3) - K @ H) @ P
    return x, P

# lattice_put: put S:d=1.0 K:d=1.1 u:d=1.05 p:d=0.5 disc:d=0.99 n:i=6 V:d[7]
def put(S: float, K: float, u: float, p: float, disc: float, n: int, V):
    for i in range(n + 1):
        V[i] = max(K - S * u ** (2 * i - n), 0.0)
    for step in range(n - 1, -1, -1):
        for i in range(step + 1):
            V[i] = disc * (p * V[i + 1] + (1 - p) * V[i])

# erosion: erode img:d[7,8]
import numpy as np
def erode(img):
    out = img.copy()
    h, w = img.shape
    for dy in range(3):
        for dx in range(3):
            out[1:-1, 1:-1] = np.minimum(out[1:-1, 1:-1], img[dy:h - 2 + dy, dx:w - 2 + dx])
    return out

# haar2d: haar x:d[6,8]
import numpy as np
def haar(x):
    n, m = x.shape
    lo = np.zeros((n, m // 2))
    hi = np.zeros((n, m // 2))
    for i in range(n):
        for j in range(m // 2):
            lo[i, j] = (x[i, 2 * j] + x[i, 2 * j + 1]) / np.sqrt(2)
            hi[i, j] = (x[i, 2 * j] - x[i, 2 * j + 1]) / np.sqrt(2)
    return lo, hi

# dft: dft xr:d[8] xi:d[8] C:d[8,8] S:d[8,8]
import numpy as np
def dft(xr, xi, C, S):
    yr = C @ xr + S @ xi
    yi = C @ xi - S @ xr
    return yr, yi

# ols_stats: stats X:d[7,3]
import numpy as np
def stats(X):
    mu = X.mean(axis=0)
    sd = X.std(axis=0)
    Z = (X - mu) / sd
    C = Z.T @ Z / X.shape[0]
    return C

# cholesky_np: chol A:d[5,5]
import numpy as np
def chol(A):
    n = A.shape[0]
    L = np.zeros_like(A)
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j] - np.dot(L[i, :j], L[j, :j])
            if i == j:
                L[i, j] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return L

# lstm_cell: lstm x:d[4,3] W:d[3,4,3] U:d[3,4,4] b:d[3,4] h:d[4] c:d[4]
import numpy as np
def sigmoid(v):
    return 1 / (1 + np.exp(-v))
def lstm(x, W, U, b, h, c):
    for t in range(x.shape[0]):
        f = sigmoid(W[0] @ x[t] + U[0] @ h + b[0])
        i = sigmoid(W[1] @ x[t] + U[1] @ h + b[1])
        g = np.tanh(W[2] @ x[t] + U[2] @ h + b[2])
        c[:] = f * c + i * g
        h[:] = np.tanh(c)

# layer_norm: layer_norm x:d[4,5] gamma:d[5] beta:d[5]
import numpy as np
def layer_norm(x, gamma, beta, eps=1e-5):
    mean = np.mean(x, axis=-1, keepdims=True)
    var = np.var(x, axis=-1, keepdims=True)
    y = gamma * (x - mean) / np.sqrt(var + eps) + beta
    return y

# maxpool: maxpool x:d[2,6,6] y:d[2,3,3]
import numpy as np
def maxpool(x, y):
    C, H, W = y.shape
    for c in range(C):
        for i in range(H):
            for j in range(W):
                y[c, i, j] = np.max(x[c, 2 * i:2 * i + 2, 2 * j:2 * j + 2])

# dtw: dtw a:d[6] b:d[5]
import numpy as np
def dtw(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = abs(a[i - 1] - b[j - 1])
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D

# poisson_sor: solve u:d[6,6] f:d[6,6] iters:i=3
def solve(u, f, iters: int, omega=1.5):
    n, m = u.shape
    for _ in range(iters):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
                u[i, j] = (1 - omega) * u[i, j] + omega * new

# upwind: upwind q:d[9] flux:d[10] steps:i=3
import numpy as np
def upwind(q, flux, steps: int, c=0.4):
    for _ in range(steps):
        flux[1:-1] = c * np.maximum(q[:-1], 0.1)
        flux[0] = flux[1]
        flux[-1] = flux[-2]
        q -= flux[1:] - flux[:-1]
