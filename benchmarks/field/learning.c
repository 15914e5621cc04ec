// Machine learning. The line before a function has the sizes at which it is measured.

// B=512,I=1024,H=2048,O=512
void perceptron(int B, int I, int H, int O, float X[B][I], float V[I][H], float W[H][O], float a[B][H], float Y[B][O]) {
  for (int b = 0; b < B; b++)
    for (int h = 0; h < H; h++) {
      a[b][h] = 0;
      for (int i = 0; i < I; i++)
        a[b][h] += X[b][i] * V[i][h];
      a[b][h] = fmaxf(a[b][h], 0);
    }
  for (int b = 0; b < B; b++)
    for (int o = 0; o < O; o++) {
      Y[b][o] = 0;
      for (int h = 0; h < H; h++)
        Y[b][o] += a[b][h] * W[h][o];
    }
}

// N=4096,D=64
void attention(int N, int D, float Q[N][D], float K[N][D], float V[N][D], float O[N][D], float P[N][N]) {
  for (int i = 0; i < N; i++) {
    float most = -1e30f, sum = 0;
    for (int j = 0; j < N; j++) {
      P[i][j] = 0;
      for (int d = 0; d < D; d++)
        P[i][j] += Q[i][d] * K[j][d];
      most = fmaxf(most, P[i][j]);
    }
    for (int j = 0; j < N; j++) {
      P[i][j] = expf(P[i][j] - most);
      sum += P[i][j];
    }
    for (int d = 0; d < D; d++) {
      O[i][d] = 0;
      for (int j = 0; j < N; j++)
        O[i][d] += P[i][j] * V[j][d];
      O[i][d] /= sum;
    }
  }
}

// N=8192,D=64
void linear_attention(int N, int D, float Q[N][D], float K[N][D], float V[N][D], float O[N][D], float s[D][D]) {
  for (int n = 0; n < N; n++) {
    for (int d = 0; d < D; d++)
      for (int e = 0; e < D; e++)
        s[d][e] += K[n][d] * V[n][e];
    for (int e = 0; e < D; e++) {
      O[n][e] = 0;
      for (int d = 0; d < D; d++)
        O[n][e] += Q[n][d] * s[d][e];
    }
  }
}

// B=4096,D=1024
void layer_norm(int B, int D, float X[B][D], float g[D], float h[D], float Y[B][D]) {
  for (int b = 0; b < B; b++) {
    float mean = 0, square = 0;
    for (int d = 0; d < D; d++)
      mean += X[b][d];
    for (int d = 0; d < D; d++)
      square += (X[b][d] - mean / D) * (X[b][d] - mean / D);
    for (int d = 0; d < D; d++)
      Y[b][d] = g[d] * (X[b][d] - mean / D) / sqrtf(square / D) + h[d];
  }
}

// K=128,C=64,H=56,W=56
void convolution_3x3(int K, int C, int H, int W, float I[C][H + 2][W + 2], float F[K][C][3][3], float O[K][H][W]) {
  for (int k = 0; k < K; k++)
    for (int h = 0; h < H; h++)
      for (int w = 0; w < W; w++) {
        O[k][h][w] = 0;
        for (int c = 0; c < C; c++)
          for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++)
              O[k][h][w] += F[k][c][r][s] * I[c][h + r][w + s];
      }
}

// C=128,K=256,H=28,W=28
void separable_convolution(int C, int K, int H, int W, float I[C][H + 2][W + 2], float D[C][3][3], float P[K][C],
                           float T[C][H][W], float O[K][H][W]) {
  for (int c = 0; c < C; c++)
    for (int h = 0; h < H; h++)
      for (int w = 0; w < W; w++) {
        T[c][h][w] = 0;
        for (int r = 0; r < 3; r++)
          for (int s = 0; s < 3; s++)
            T[c][h][w] += D[c][r][s] * I[c][h + r][w + s];
      }
  for (int k = 0; k < K; k++)
    for (int h = 0; h < H; h++)
      for (int w = 0; w < W; w++) {
        O[k][h][w] = 0;
        for (int c = 0; c < C; c++)
          O[k][h][w] += P[k][c] * T[c][h][w];
      }
}

// T=64,H=1024,I=512
void recurrent_network(int T, int H, int I, float U[H][H], float W[H][I], float x[T][I], float h[T + 1][H]) {
  for (int t = 0; t < T; t++)
    for (int i = 0; i < H; i++) {
      float s = 0;
      for (int j = 0; j < I; j++)
        s += W[i][j] * x[t][j];
      for (int j = 0; j < H; j++)
        s += U[i][j] * h[t][j];
      h[t + 1][i] = tanhf(s);
    }
}

// T=32,B=16,H=512
void batched_lstm(int T, int B, int H, float W[4][H][H], float x[T][4][B][H], float h[T + 1][B][H], float c[B][H],
                  float g[4][B][H]) {
  for (int t = 0; t < T; t++) {
    for (int q = 0; q < 4; q++)
      for (int b = 0; b < B; b++)
        for (int i = 0; i < H; i++) {
          g[q][b][i] = x[t][q][b][i];
          for (int j = 0; j < H; j++)
            g[q][b][i] += W[q][i][j] * h[t][b][j];
        }
    for (int b = 0; b < B; b++)
      for (int i = 0; i < H; i++) {
        c[b][i] = g[0][b][i] * c[b][i] + g[1][b][i] * tanhf(g[2][b][i]);
        h[t + 1][b][i] = g[3][b][i] * tanhf(c[b][i]);
      }
  }
}

// T=30,M=3000,N=1000
void least_squares_gradient(int T, int M, int N, float A[M][N], float b[M], float x[N], float r[M], float g[N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < M; i++) {
      r[i] = -b[i];
      for (int j = 0; j < N; j++)
        r[i] += A[i][j] * x[j];
    }
    for (int j = 0; j < N; j++)
      g[j] = 0;
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++)
        g[j] += A[i][j] * r[i];
    for (int j = 0; j < N; j++)
      x[j] -= 0.001f * g[j];
  }
}

// T=10,N=20000,K=100,D=30
void soft_k_means(int T, int N, int K, int D, float X[N][D], float c[K][D], float w[N][K], float s[K]) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++)
      for (int k = 0; k < K; k++) {
        float q = 0;
        for (int d = 0; d < D; d++)
          q += (X[i][d] - c[k][d]) * (X[i][d] - c[k][d]);
        w[i][k] = expf(-q);
      }
    for (int k = 0; k < K; k++) {
      s[k] = 0;
      for (int d = 0; d < D; d++)
        c[k][d] = 0;
    }
    for (int i = 0; i < N; i++)
      for (int k = 0; k < K; k++) {
        s[k] += w[i][k];
        for (int d = 0; d < D; d++)
          c[k][d] += w[i][k] * X[i][d];
      }
    for (int k = 0; k < K; k++)
      for (int d = 0; d < D; d++)
        c[k][d] /= s[k];
  }
}

// T=50,M=2000,N=1500
void sinkhorn(int T, int M, int N, float K[M][N], float a[M], float b[N], float u[M], float v[N]) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < M; i++) {
      float s = 0;
      for (int j = 0; j < N; j++)
        s += K[i][j] * v[j];
      u[i] = a[i] / s;
    }
    for (int j = 0; j < N; j++) {
      float s = 0;
      for (int i = 0; i < M; i++)
        s += K[i][j] * u[i];
      v[j] = b[j] / s;
    }
  }
}

// M=2000,N=1500,D=128
void pairwise_distances(int M, int N, int D, float X[M][D], float Y[N][D], float R[M][N]) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      R[i][j] = 0;
      for (int d = 0; d < D; d++)
        R[i][j] += (X[i][d] - Y[j][d]) * (X[i][d] - Y[j][d]);
      R[i][j] = sqrtf(R[i][j]);
    }
}
