"""Generators of random ONNX nodes and graphs, each with what NumPy makes of it; a file per family."""
