"""What the Python package's generated files are made of."""
