/* direct convolution of B images, C channels into K, filters R x Q */
void kernel_convolution(int B, int C, int K, int H, int W, int R, int Q, float in[B][C][H + R][W + Q], float weight[K][C][R][Q],
  float out[B][K][H][W])
{
#pragma scop
  for (int b = 0; b < B; b++)
    for (int k = 0; k < K; k++)
      for (int h = 0; h < H; h++)
        for (int w = 0; w < W; w++) {
          out[b][k][h][w] = 0.0f;
          for (int c = 0; c < C; c++)
            for (int r = 0; r < R; r++)
              for (int q = 0; q < Q; q++)
                out[b][k][h][w] += in[b][c][h + r][w + q] * weight[k][c][r][q];
        }
#pragma endscop
}
