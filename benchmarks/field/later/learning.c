// B=4,C=32,K=64,H=28,W=28
void conv_bn_pool(int B, int C, int K, int H, int W, float X[B][C][2 * H + 2][2 * W + 2], float F[K][C][3][3], float s[K], float Z[B][K][2 * H][2 * W], float Y[B][K][H][W]) {
  for (int b = 0; b < B; b++)
    for (int k = 0; k < K; k++) {
      for (int h = 0; h < 2 * H; h++)
        for (int w = 0; w < 2 * W; w++) {
          float a = 0;
          for (int c = 0; c < C; c++)
            for (int r = 0; r < 3; r++)
              for (int q = 0; q < 3; q++)
                a += X[b][c][h + r][w + q] * F[k][c][r][q];
          Z[b][k][h][w] = fmaxf(a * s[k], 0);
        }
      for (int h = 0; h < H; h++)
        for (int w = 0; w < W; w++)
          Y[b][k][h][w] = fmaxf(fmaxf(Z[b][k][2 * h][2 * w], Z[b][k][2 * h][2 * w + 1]), fmaxf(Z[b][k][2 * h + 1][2 * w], Z[b][k][2 * h + 1][2 * w + 1]));
    }
}

// G=24,N=700,M=900,D=48
void cross_attention_scores(int G, int N, int M, int D, float Q[G][N][D], float K[G][M][D], float V[G][M][D], float mask[N][M], float S[G][N][M], float Z[G][N], float O[G][N][D]) {
  for (int g = 0; g < G; g++) {
    for (int i = 0; i < N; i++) {
      Z[g][i] = 0;
      for (int j = 0; j < M; j++) {
        float s = 0;
        for (int d = 0; d < D; d++)
          s += Q[g][i][d] * K[g][j][d];
        S[g][i][j] = expf(s + mask[i][j]);
        Z[g][i] += S[g][i][j];
      }
    }
    for (int i = 0; i < N; i++)
      for (int d = 0; d < D; d++) {
        float o = 0;
        for (int j = 0; j < M; j++)
          o += S[g][i][j] * V[g][j][d];
        O[g][i][d] = o / Z[g][i];
      }
  }
}

// B=16,C=128,H=56,W=56
void depthwise(int B, int C, int H, int W, float X[B][C][H + 2][W + 2], float F[C][3][3], float s[C], float m[C], float Y[B][C][H][W]) {
  for (int b = 0; b < B; b++)
    for (int c = 0; c < C; c++)
      for (int h = 0; h < H; h++)
        for (int w = 0; w < W; w++) {
          float a = 0;
          for (int r = 0; r < 3; r++)
            for (int q = 0; q < 3; q++)
              a += X[b][c][h + r][w + q] * F[c][r][q];
          Y[b][c][h][w] = fmaxf(a * s[c] + m[c], 0);
        }
}

// N=20000,K=40,D=16
void expectation_maximisation(int N, int K, int D, double X[N][D], double mu[K][D], double s[K][D], double R[N][K], double Z[N], double nk[K], double mn[K][D]) {
  for (int n = 0; n < N; n++) {
    Z[n] = 0;
    for (int k = 0; k < K; k++) {
      double q = 0;
      for (int d = 0; d < D; d++)
        q += (X[n][d] - mu[k][d]) * (X[n][d] - mu[k][d]) * s[k][d];
      R[n][k] = exp(-0.5 * q);
      Z[n] += R[n][k];
    }
    for (int k = 0; k < K; k++)
      R[n][k] /= Z[n];
  }
  for (int k = 0; k < K; k++) {
    nk[k] = 0;
    for (int n = 0; n < N; n++)
      nk[k] += R[n][k];
    for (int d = 0; d < D; d++) {
      mn[k][d] = 0;
      for (int n = 0; n < N; n++)
        mn[k][d] += R[n][k] * X[n][d];
      mn[k][d] /= nk[k];
    }
  }
}

// T=50,H=400
void gru_scalars(int T, int H, float x[T][H], float Wz[H][H], float Uz[H][H], float Wr[H][H], float Ur[H][H], float Wh[H][H], float Uh[H][H], float h[H], float z[H], float r[H], float n[H]) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < H; i++) {
      float a = 0, b = 0;
      for (int j = 0; j < H; j++) {
        a += Wz[i][j] * x[t][j] + Uz[i][j] * h[j];
        b += Wr[i][j] * x[t][j] + Ur[i][j] * h[j];
      }
      z[i] = 1 / (1 + expf(-a));
      r[i] = 1 / (1 + expf(-b));
    }
    for (int i = 0; i < H; i++) {
      float a = 0;
      for (int j = 0; j < H; j++)
        a += Wh[i][j] * x[t][j] + Uh[i][j] * (r[j] * h[j]);
      n[i] = tanhf(a);
    }
    for (int i = 0; i < H; i++)
      h[i] = (1 - z[i]) * n[i] + z[i] * h[i];
  }
}

// T=50,H=400,I=300
void gru_cell(int T, int H, int I, double x[T][I], double Wz[H][I], double Uz[H][H], double Wr[H][I], double Ur[H][H], double Wh[H][I], double Uh[H][H], double h[T+1][H], double z[T][H], double r[T][H], double c[T][H]) {
#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < H; i++) {
      z[t][i] = 0.0; r[t][i] = 0.0;
      for (int j = 0; j < I; j++) {
        z[t][i] += Wz[i][j] * x[t][j];
        r[t][i] += Wr[i][j] * x[t][j];
      }
      for (int j = 0; j < H; j++) {
        z[t][i] += Uz[i][j] * h[t][j];
        r[t][i] += Ur[i][j] * h[t][j];
      }
      z[t][i] = 1.0 / (1.0 + exp(-z[t][i]));
      r[t][i] = 1.0 / (1.0 + exp(-r[t][i]));
    }
    for (int i = 0; i < H; i++) {
      c[t][i] = 0.0;
      for (int j = 0; j < I; j++)
        c[t][i] += Wh[i][j] * x[t][j];
      for (int j = 0; j < H; j++)
        c[t][i] += Uh[i][j] * r[t][j] * h[t][j];
      c[t][i] = tanh(c[t][i]);
      h[t+1][i] = (1.0 - z[t][i]) * h[t][i] + z[t][i] * c[t][i];
    }
  }
#pragma endscop
}

// T=100,M=5000,N=400
void logistic_regression(int T, int M, int N, float X[M][N], float y[M], float w[N], float g[N], float rate) {
  for (int t = 0; t < T; t++) {
    for (int j = 0; j < N; j++)
      g[j] = 0;
    for (int i = 0; i < M; i++) {
      float s = 0;
      for (int j = 0; j < N; j++)
        s += X[i][j] * w[j];
      float e = 1 / (1 + expf(-s)) - y[i];
      for (int j = 0; j < N; j++)
        g[j] += e * X[i][j];
    }
    for (int j = 0; j < N; j++)
      w[j] -= rate * g[j] / M;
  }
}

// T=30,H=300,I=200
void lstm(int T, int H, int I, double x[T][I], double Wi[H][I], double Ui[H][H], double Wf[H][I], double Uf[H][H], double Wg[H][I], double Ug[H][H], double Wo[H][I], double Uo[H][H], double h[T+1][H], double c[T+1][H], double gi[H], double gf[H], double gg[H], double go[H]) {
#pragma scop
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < H; i++) {
      gi[i] = 0.0; gf[i] = 0.0; gg[i] = 0.0; go[i] = 0.0;
      for (int j = 0; j < I; j++) {
        gi[i] += Wi[i][j] * x[t][j];
        gf[i] += Wf[i][j] * x[t][j];
        gg[i] += Wg[i][j] * x[t][j];
        go[i] += Wo[i][j] * x[t][j];
      }
      for (int j = 0; j < H; j++) {
        gi[i] += Ui[i][j] * h[t][j];
        gf[i] += Uf[i][j] * h[t][j];
        gg[i] += Ug[i][j] * h[t][j];
        go[i] += Uo[i][j] * h[t][j];
      }
    }
    for (int i = 0; i < H; i++) {
      c[t+1][i] = gf[i] * c[t][i] + gi[i] * tanh(gg[i]);
      h[t+1][i] = go[i] * tanh(c[t+1][i]);
    }
  }
#pragma endscop
}

// B=8,H=8,N=1024,D=64
void multi_head_attention(int B, int H, int N, int D, float Q[B][H][N][D], float K[B][H][N][D], float V[B][H][N][D], float P[B][H][N][N], float O[B][H][N][D]) {
  for (int b = 0; b < B; b++)
    for (int h = 0; h < H; h++)
      for (int i = 0; i < N; i++) {
        float top = -1e30f;
        for (int j = 0; j < N; j++) {
          float s = 0;
          for (int d = 0; d < D; d++)
            s += Q[b][h][i][d] * K[b][h][j][d];
          P[b][h][i][j] = s * 0.125f;
          top = fmaxf(top, P[b][h][i][j]);
        }
        float sum = 0;
        for (int j = 0; j < N; j++) {
          P[b][h][i][j] = expf(P[b][h][i][j] - top);
          sum += P[b][h][i][j];
        }
        for (int d = 0; d < D; d++) {
          float o = 0;
          for (int j = 0; j < N; j++)
            o += P[b][h][i][j] * V[b][h][j][d];
          O[b][h][i][d] = o / sum;
        }
      }
}

// B=4,K=64,C=3,H=112,W=112
void resnet_first(int B, int K, int C, int H, int W, float X[B][C][2 * H + 5][2 * W + 5], float F[K][C][7][7], float Y[B][K][H][W]) {
  for (int b = 0; b < B; b++)
    for (int k = 0; k < K; k++)
      for (int h = 0; h < H; h++)
        for (int w = 0; w < W; w++) {
          float a = 0;
          for (int c = 0; c < C; c++)
            for (int r = 0; r < 7; r++)
              for (int q = 0; q < 7; q++)
                a += X[b][c][2 * h + r][2 * w + q] * F[k][c][r][q];
          Y[b][k][h][w] = a;
        }
}

// B=8,C=96,H=40,W=40,K=192
void squeeze_excite(int B, int C, int H, int W, int K, float X[B][C][H][W], float F[C][5][5], float P[K][C], float D[B][C][H][W], float Y[B][K][H][W]) {
  for (int b = 0; b < B; b++)
    for (int c = 0; c < C; c++)
      for (int h = 2; h < H - 2; h++)
        for (int w = 2; w < W - 2; w++) {
          float a = 0;
          for (int r = 0; r < 5; r++)
            for (int q = 0; q < 5; q++)
              a += X[b][c][h + r - 2][w + q - 2] * F[c][r][q];
          D[b][c][h][w] = fmaxf(a, 0);
        }
  for (int b = 0; b < B; b++)
    for (int k = 0; k < K; k++)
      for (int h = 2; h < H - 2; h++)
        for (int w = 2; w < W - 2; w++) {
          float a = 0;
          for (int c = 0; c < C; c++)
            a += P[k][c] * D[b][c][h][w];
          Y[b][k][h][w] = a;
        }
}

// T=30,N=1500,D=60
void svm_gradient(int T, int N, int D, double X[N][D], double y[N], double a[N], double b[N], double g) {
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++) {
      double f = 0;
      for (int j = 0; j < N; j++) {
        double s = 0;
        for (int d = 0; d < D; d++)
          s += (X[i][d] - X[j][d]) * (X[i][d] - X[j][d]);
        f += a[j] * y[j] * exp(-g * s);
      }
      b[i] = a[i] + 0.1 * (1 - y[i] * f);
    }
    for (int i = 0; i < N; i++)
      a[i] = b[i] > 0 ? b[i] : 0;
  }
}

// B=256,I=784,H=512,O=10
void training_step(int B, int I, int H, int O, float X[B][I], float T[B][O], float W1[I][H], float W2[H][O], float A[B][H], float Y[B][O], float E[B][O], float G[B][H], float rate) {
  for (int b = 0; b < B; b++)
    for (int h = 0; h < H; h++) {
      float s = 0;
      for (int i = 0; i < I; i++)
        s += X[b][i] * W1[i][h];
      A[b][h] = tanhf(s);
    }
  for (int b = 0; b < B; b++)
    for (int o = 0; o < O; o++) {
      float s = 0;
      for (int h = 0; h < H; h++)
        s += A[b][h] * W2[h][o];
      Y[b][o] = s;
      E[b][o] = s - T[b][o];
    }
  for (int b = 0; b < B; b++)
    for (int h = 0; h < H; h++) {
      float s = 0;
      for (int o = 0; o < O; o++)
        s += E[b][o] * W2[h][o];
      G[b][h] = s * (1 - A[b][h] * A[b][h]);
    }
  for (int h = 0; h < H; h++)
    for (int o = 0; o < O; o++)
      for (int b = 0; b < B; b++)
        W2[h][o] -= rate * A[b][h] * E[b][o];
  for (int i = 0; i < I; i++)
    for (int h = 0; h < H; h++)
      for (int b = 0; b < B; b++)
        W1[i][h] -= rate * X[b][i] * G[b][h];
}

// B=8,N=256,D=256,F=512
void transformer_block(int B, int N, int D, int F, float X[B][N][D], float G[D], float W1[D][F], float W2[F][D], float m[B][N], float v[B][N], float U[B][N][D], float A[B][N][F], float Y[B][N][D]) {
  for (int b = 0; b < B; b++)
    for (int n = 0; n < N; n++) {
      float s = 0, q = 0;
      for (int d = 0; d < D; d++) {
        s += X[b][n][d];
        q += X[b][n][d] * X[b][n][d];
      }
      m[b][n] = s / D;
      v[b][n] = 1 / sqrtf(q / D - s * s / (D * D) + 1e-5f);
      for (int d = 0; d < D; d++)
        U[b][n][d] = (X[b][n][d] - m[b][n]) * v[b][n] * G[d];
      for (int f = 0; f < F; f++) {
        float a = 0;
        for (int d = 0; d < D; d++)
          a += U[b][n][d] * W1[d][f];
        A[b][n][f] = fmaxf(a, 0);
      }
      for (int d = 0; d < D; d++) {
        float a = 0;
        for (int f = 0; f < F; f++)
          a += A[b][n][f] * W2[f][d];
        Y[b][n][d] = X[b][n][d] + a;
      }
    }
}

// M=800,N=900,K=40
void nmf_update(int M, int N, int K, float V[M][N], float W[M][K], float H[K][N], float A[K][N], float B[K][K], float C[K][N]) {
  for (int k = 0; k < K; k++)
    for (int n = 0; n < N; n++) {
      A[k][n] = 0;
      for (int m = 0; m < M; m++)
        A[k][n] += W[m][k] * V[m][n];
    }
  for (int k = 0; k < K; k++)
    for (int l = 0; l < K; l++) {
      B[k][l] = 0;
      for (int m = 0; m < M; m++)
        B[k][l] += W[m][k] * W[m][l];
    }
  for (int k = 0; k < K; k++)
    for (int n = 0; n < N; n++) {
      C[k][n] = 0;
      for (int l = 0; l < K; l++)
        C[k][n] += B[k][l] * H[l][n];
    }
  for (int k = 0; k < K; k++)
    for (int n = 0; n < N; n++)
      H[k][n] *= A[k][n] / C[k][n];
}

// N=1800,D=48
void cosine(int N, int D, double X[N][D], double q[N], double C[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    q[i] = 0.0;
    for (int k = 0; k < D; k++)
      q[i] += X[i][k] * X[i][k];
    q[i] = sqrt(q[i]);
  }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      C[i][j] = 0.0;
      for (int k = 0; k < D; k++)
        C[i][j] += X[i][k] * X[j][k];
      C[i][j] = C[i][j] / (q[i] * q[j]);
    }
#pragma endscop
}

// N=900,T=250
void pearson(int N, int T, double X[N][T], double mean[N], double sd[N], double R[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    mean[i] = 0.0;
    for (int t = 0; t < T; t++)
      mean[i] += X[i][t];
    mean[i] /= T;
    sd[i] = 0.0;
    for (int t = 0; t < T; t++)
      sd[i] += (X[i][t] - mean[i]) * (X[i][t] - mean[i]);
    sd[i] = sqrt(sd[i]);
  }
  for (int i = 0; i < N; i++)
    for (int j = i + 1; j < N; j++) {
      R[i][j] = 0.0;
      for (int t = 0; t < T; t++)
        R[i][j] += (X[i][t] - mean[i]) * (X[j][t] - mean[j]);
      R[i][j] /= sd[i] * sd[j];
      R[j][i] = R[i][j];
    }
#pragma endscop
}

// N=2500,D=16
void laplace_kernel(int N, int D, double g, double X[N][D], double K[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j <= i; j++) {
      double s = 0.0;
      for (int k = 0; k < D; k++)
        s += fabs(X[i][k] - X[j][k]);
      K[i][j] = exp(-g * s);
    }
#pragma endscop
}

// N=500,D=5000
void poly_kernel_wide(int N, int D, double X[N][D], double K[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double s = 0.0;
      for (int k = 0; k < D; k++)
        s += X[i][k] * X[j][k];
      K[i][j] = (1.0 + s) * (1.0 + s) * (1.0 + s);
    }
#pragma endscop
}

// N=1500,D=32
void rbf_full(int N, int D, double g, double X[N][D], double K[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      K[i][j] = 0.0;
      for (int k = 0; k < D; k++)
        K[i][j] += (X[i][k] - X[j][k]) * (X[i][k] - X[j][k]);
      K[i][j] = exp(-g * K[i][j]);
    }
#pragma endscop
}

// N=2000,D=24
void dist_lower(int N, int D, double X[N][D], double R[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < i; j++) {
      double s = 0.0;
      for (int k = 0; k < D; k++)
        s += (X[i][k] - X[j][k]) * (X[i][k] - X[j][k]);
      R[i][j] = sqrt(s);
      R[j][i] = R[i][j];
    }
#pragma endscop
}

// N=1500,M=1200,D=32
void dist_xy(int N, int M, int D, double X[N][D], double Y[M][D], double R[N][M]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) {
      R[i][j] = 0.0;
      for (int k = 0; k < D; k++)
        R[i][j] += (X[i][k] - Y[j][k]) * (X[i][k] - Y[j][k]);
    }
#pragma endscop
}
