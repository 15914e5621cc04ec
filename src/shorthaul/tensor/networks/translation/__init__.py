"""ONNX models as networks."""
