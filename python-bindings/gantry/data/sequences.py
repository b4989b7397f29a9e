"""Rows of one length, of sequences of several."""

import numpy as np

from ..errors import InvalidArgumentError


def pad_sequences(sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre", value=0):
    """An array [n, maxlen, ...] of n sequences: longer ones are cut, shorter ones filled with `value`, at the front ("pre") or at the
    end ("post"), as Keras's function of that name does. The array is the caller's.

    maxlen  the longest's length, where it is None

    InvalidArgumentError for sequences that are none, and for elements of several shapes.
    """
    for name, given in (("padding", padding), ("truncating", truncating)):
        if given not in ("pre", "post"):
            raise InvalidArgumentError(f"{name} is 'pre' or 'post', got {given!r}")
    if maxlen is not None and (not isinstance(maxlen, (int, np.integer)) or maxlen < 0):
        raise InvalidArgumentError(f"maxlen is a length, got {maxlen!r}")
    try:
        rows = [np.asarray(each, dtype) for each in sequences]
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"pad_sequences takes sequences of {dtype}: {error}") from None
    if any(not row.ndim for row in rows):
        raise InvalidArgumentError("pad_sequences takes sequences, and one is a number")
    rest = {row.shape[1:] for row in rows if len(row)}
    if len(rest) > 1:
        raise InvalidArgumentError(f"elements of sequences have one shape, got {' and '.join(map(str, map(list, sorted(rest))))}")
    length = max(map(len, rows), default=0) if maxlen is None else int(maxlen)
    made = np.full((len(rows), length, *(rest.pop() if rest else ())), value, dtype)
    for place, row in zip(made, rows):
        row = row[max(0, len(row) - length):] if truncating == "pre" else row[:length]
        begin = length - len(row) if padding == "pre" else 0
        if len(row):
            place[begin:begin + len(row)] = row
    return made
