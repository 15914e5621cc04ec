"""Attention by head as other nodes of ONNX: over softmax, and linear."""
