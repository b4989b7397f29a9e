"""add_many.py make FOLDER f32|f16: sum.mlir, which adds 400 values, and in.npz, values of very different sizes.
add_many.py compare FOLDER f32|f16: whether out.npz has the bits of adding them from left to right in f32, and
rounding to f16 once."""

import pathlib
import sys

import numpy as np

mode, folder, element = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
COUNT, TYPE, DTYPE = 400, f"tensor<8x{element}>", {"f32": np.float32, "f16": np.float16}[element]
SIZES = {"f32": (-6, 6), "f16": (-3, 3)}[element]
if mode == "make":
    names = [f"a{i}" for i in range(COUNT)]
    arguments = ", ".join(f'%{name}: {TYPE} {{gantry.name = "{name}"}}' for name in names)
    (folder / "sum.mlir").write_text(
        f'func.func @main({arguments}) -> ({TYPE} {{gantry.name = "sum"}}) {{\n'
        f"%r = gantry.add_n {', '.join('%' + name for name in names)} : ({', '.join([TYPE] * COUNT)}) -> {TYPE}\n"
        f"return %r : {TYPE}\n}}\n")
    draw = np.random.default_rng(0)
    np.savez(folder / "in.npz", **{name: (draw.standard_normal(8) * 10.0 ** draw.integers(*SIZES, 8)).astype(DTYPE)
                                   for name in names})
else:
    values = np.load(folder / "in.npz")
    expected = values["a0"].astype(np.float32)
    for i in range(1, COUNT):
        expected = expected + values[f"a{i}"].astype(np.float32)
    expected = expected.astype(DTYPE)
    got = np.load(folder / "out.npz")["sum"]
    if got.tobytes() != expected.tobytes():
        sys.exit(f"add_many: {got} instead of {expected}")
