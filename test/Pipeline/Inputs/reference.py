"""Inputs and expected outputs for test/Pipeline, computed with the definitions of the ops and nothing
else: plain Python loops over small whole numbers, so that f32 sums are exact in any order.

Usage: reference.py CASE FOLDER      writes FOLDER/<input>.npy for each input and FOLDER/y.npy
"""

import itertools
import pathlib
import random
import struct
import sys


class Tensor:
    """A dense row-major tensor of floats."""

    def __init__(self, shape, values=None):
        self.shape = tuple(shape)
        size = 1
        for extent in self.shape:
            size *= extent
        self.values = [0.0] * size if values is None else list(values)

    def position(self, index):
        at = 0
        for i, extent in zip(index, self.shape):
            at = at * extent + i
        return at

    def __getitem__(self, index):
        return self.values[self.position(index)]

    def __setitem__(self, index, value):
        self.values[self.position(index)] = value

    def indices(self):
        return itertools.product(*map(range, self.shape))

    def save(self, path):
        shape = ", ".join(map(str, self.shape)) + ("," if len(self.shape) == 1 else "")
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        data = struct.pack(f"<{len(self.values)}f", *self.values)
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def whole(*shape):
    """Whole numbers from -3 to 3, the same ones in every run."""
    made = Tensor(shape)
    made.values = [float(random.randint(-3, 3)) for _ in made.values]
    return made


def filled(shape, element):
    made = Tensor(shape)
    for index in made.indices():
        made[index] = element(*index)
    return made


def matmul(m, k, n, transpose_b=False):
    a, b = whole(m, k), whole(n, k) if transpose_b else whole(k, n)
    y = filled((m, n), lambda i, j: sum(a[i, p] * (b[j, p] if transpose_b else b[p, j]) for p in range(k)))
    return {"a": a, "b": b, "y": y}


def epilogue(m, k, n):
    case = matmul(m, k, n)
    bias, product = whole(n), case["y"]
    case["bias"] = bias
    case["y"] = filled((m, n), lambda i, j: max(product[i, j] + bias[j,], 0.0))
    return case


def conv(channels, height, width, filters, window, stride, pad):
    x, w = whole(1, channels, height, width), whole(filters, channels, window, window)

    def element(_, f, i, j):
        total = 0.0
        for c, p, q in itertools.product(range(channels), range(window), range(window)):
            row, column = i * stride + p - pad, j * stride + q - pad
            if 0 <= row < height and 0 <= column < width:
                total += x[0, c, row, column] * w[f, c, p, q]
        return total

    rows, columns = ((size + 2 * pad - window) // stride + 1 for size in (height, width))
    return {"x": x, "w": w, "y": filled((1, filters, rows, columns), element)}


def row_sum(rows, columns):
    x = whole(rows, columns)
    return {"x": x, "y": filled((rows,), lambda i: sum(x[i, j] for j in range(columns)))}


def column_max(rows, columns):
    x = whole(rows, columns)
    return {"x": x, "y": filled((columns,), lambda j: max(x[i, j] for i in range(rows)))}


CASES = {
    "columns": lambda: matmul(7, 17, 37),
    "thin": lambda: matmul(5, 3, 2),
    "vector": lambda: matmul(1, 129, 67),
    "dots": lambda: matmul(6, 67, 9, transpose_b=True),
    "items": lambda: matmul(97, 32, 80),
    "epilogue": lambda: epilogue(13, 24, 45),
    "conv": lambda: conv(3, 9, 11, 5, 3, 1, 1),
    "strided": lambda: conv(4, 13, 10, 6, 3, 2, 1),
    "pointwise": lambda: conv(5, 6, 7, 9, 1, 1, 0),
    "row_sum": lambda: row_sum(11, 131),
    "column_max": lambda: column_max(29, 43),
}


def main():
    random.seed(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, tensor in CASES[sys.argv[1]]().items():
        tensor.save(folder / f"{name}.npy")


if __name__ == "__main__":
    main()
