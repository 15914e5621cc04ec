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
