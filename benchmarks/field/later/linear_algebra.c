// B=200,N=48,M=100
void batched_cholesky(int B, int N, int M, double A[B][N][N], double R[B][N][M]) {
  for (int b = 0; b < B; b++) {
    for (int j = 0; j < N; j++) {
      for (int k = 0; k < j; k++)
        A[b][j][j] -= A[b][j][k] * A[b][j][k];
      A[b][j][j] = sqrt(A[b][j][j]);
      for (int i = j + 1; i < N; i++) {
        for (int k = 0; k < j; k++)
          A[b][i][j] -= A[b][i][k] * A[b][j][k];
        A[b][i][j] /= A[b][j][j];
      }
    }
    for (int m = 0; m < M; m++)
      for (int i = 0; i < N; i++) {
        for (int k = 0; k < i; k++)
          R[b][i][m] -= A[b][i][k] * R[b][k][m];
        R[b][i][m] /= A[b][i][i];
      }
  }
}

// B=20,N=600,D=32
void batch_gram(int B, int N, int D, double X[B][N][D], double G[B][N][N]) {
#pragma scop
  for (int b = 0; b < B; b++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        G[b][i][j] = 0.0;
        for (int k = 0; k < D; k++)
          G[b][i][j] += X[b][i][k] * X[b][j][k];
      }
#pragma endscop
}

// N=800,M=600,P=700,Q=500
void chain(int N, int M, int P, int Q, double A[N][M], double B[M][P], double C[P][Q], double T[N][P], double R[N][Q]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < P; j++) {
      T[i][j] = 0.0;
      for (int k = 0; k < M; k++)
        T[i][j] += A[i][k] * B[k][j];
    }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < Q; j++) {
      R[i][j] = 0.0;
      for (int k = 0; k < P; k++)
        R[i][j] += T[i][k] * C[k][j];
    }
#pragma endscop
}

// N=1500,D=32
void gram(int N, int D, double A[N][D], double G[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = i; j < N; j++) {
      G[i][j] = 0.0;
      for (int k = 0; k < D; k++)
        G[i][j] += A[i][k] * A[j][k];
    }
#pragma endscop
}

// N=600,D=3000
void gram_wide(int N, int D, double A[N][D], double G[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      G[i][j] = 0.0;
      for (int k = 0; k < D; k++)
        G[i][j] += A[i][k] * A[j][k];
    }
#pragma endscop
}

// N=400
void kalman(int N, double F[N][N], double P[N][N], double Q[N][N], double T[N][N], double R[N][N]) {
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      T[i][j] = 0.0;
      for (int k = 0; k < N; k++)
        T[i][j] += F[i][k] * P[k][j];
    }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      R[i][j] = Q[i][j];
      for (int k = 0; k < N; k++)
        R[i][j] += T[i][k] * F[j][k];
    }
#pragma endscop
}

// I=200,J=180,K=160,R=32
void mttkrp(int I, int J, int K, int R, double X[I][J][K], double B[J][R], double C[K][R], double M[I][R]) {
  for (int i = 0; i < I; i++)
    for (int j = 0; j < J; j++)
      for (int k = 0; k < K; k++)
        for (int r = 0; r < R; r++)
          M[i][r] += X[i][j][k] * B[j][r] * C[k][r];
}

// T=40,N=2000
void radiosity(int T, int N, float F[N][N], float rho[N], float e[N], float B[N], float C[N]) {
  for (int i = 0; i < N; i++)
    B[i] = e[i];
  for (int t = 0; t < T; t++) {
    for (int i = 0; i < N; i++) {
      float s = 0;
      for (int j = 0; j < N; j++)
        s += F[i][j] * B[j];
      C[i] = e[i] + rho[i] * s;
    }
    for (int i = 0; i < N; i++)
      B[i] = C[i];
  }
}

// R=40,I=80,N=900
void tensor_train_step(int R, int I, int N, double L[N][R], double G[R][I][R], double x[N][I], double T[N][R][R], double M[N][R]) {
  for (int n = 0; n < N; n++)
    for (int a = 0; a < R; a++)
      for (int b = 0; b < R; b++) {
        double s = 0;
        for (int i = 0; i < I; i++)
          s += G[a][i][b] * x[n][i];
        T[n][a][b] = s;
      }
  for (int n = 0; n < N; n++)
    for (int b = 0; b < R; b++) {
      double s = 0;
      for (int a = 0; a < R; a++)
        s += L[n][a] * T[n][a][b];
      M[n][b] = s;
    }
}
