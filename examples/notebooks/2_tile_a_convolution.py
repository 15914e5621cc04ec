# %% [markdown]
# # Tile a convolution
#
# A layer of a network as C: eight loops, of which a compiler has to choose order and tile sizes. What is the least that
# any order loads from the memory outside, and how near does a tiled order come?

# %%
import shorthaul

layer = shorthaul.affine.program_from_text("""
void layer(int K, int C, int P, double O[K][P], double I[C][P + 2], double W[K][C][3]) {
#pragma scop
  for (int k = 0; k < K; k++)
    for (int c = 0; c < C; c++)
      for (int p = 0; p < P; p++)
        for (int r = 0; r < 3; r++)
          O[k][p] += I[c][p + r] * W[k][c][r];
#pragma endscop
}
""")

# %% [markdown]
# The bound holds for every order of these instances, with `S` words of fast memory. It is a formula; here are its value
# for one layer; `bound.bound.proof` says how it was derived.

# %%
layer_sizes = {"K": 128, "C": 128, "P": 512, "S": 16384}
bound = shorthaul.affine.bound(layer, size=layer_sizes, upper=False)
print("at large sizes:", bound.bound.details["leading"], "words")
bound

# %% [markdown]
# At small sizes the tiled order is replayed operation by operation; the loads are counted, not estimated.

# %%
plan = shorthaul.affine.plan(layer, size={"K": 8, "C": 8, "P": 16, "S": 96}, effort=0.5)
print(f"{plan.cost['loads_words']:,.0f} words loaded, no order loads fewer than {plan.bound.value:,.0f}")
plan
