"""add_many.py make FOLDER: sum.mlir, which adds 400 values, and in.npz, values of very different sizes.
add_many.py compare FOLDER: whether out.npz has the bits of adding them from left to right."""

import pathlib
import sys

import numpy as np

COUNT, TYPE = 400, "tensor<8xf32>"
mode, folder = sys.argv[1], pathlib.Path(sys.argv[2])
if mode == "make":
    names = [f"a{i}" for i in range(COUNT)]
    arguments = ", ".join(f'%{name}: {TYPE} {{gantry.name = "{name}"}}' for name in names)
    (folder / "sum.mlir").write_text(
        f'func.func @main({arguments}) -> ({TYPE} {{gantry.name = "sum"}}) {{\n'
        f"%r = gantry.add_n {', '.join('%' + name for name in names)} : ({', '.join([TYPE] * COUNT)}) -> {TYPE}\n"
        f"return %r : {TYPE}\n}}\n")
    draw = np.random.default_rng(0)
    np.savez(folder / "in.npz", **{name: (draw.standard_normal(8) * 10.0 ** draw.integers(-6, 6, 8)).astype(np.float32)
                                   for name in names})
else:
    values = np.load(folder / "in.npz")
    expected = values["a0"]
    for i in range(1, COUNT):
        expected = expected + values[f"a{i}"]
    got = np.load(folder / "out.npz")["sum"]
    if got.tobytes() != expected.tobytes():
        sys.exit(f"add_many: {got} instead of {expected}")
