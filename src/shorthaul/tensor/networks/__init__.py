"""Networks of tensors on machines with memories: operators as iteration dimensions, fused groups, seconds and bytes."""
