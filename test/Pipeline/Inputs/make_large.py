"""Writes a graph of tools/dev/bench_scale.py. Usage: make_large.py KIND SIZE FILE.mlir"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "dev"))
sys.dont_write_bytecode = True
import bench_scale  # noqa: E402

kind, size, path = sys.argv[1:]
pathlib.Path(path).write_text(bench_scale.KINDS[kind](int(size)))
