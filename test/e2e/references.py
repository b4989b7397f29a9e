"""Whether a reference can tell a right answer from a wrong one.

The head of a network that is zero, or a softmax over equal sums, makes one answer of whatever came before; so does a
tolerance that is wider than what is compared. Suites refuse such references, lest they pass by comparing zeros.
"""

import numpy as np

LEAST = 1e-3  # of the largest input; and, between the values of an output, of the largest of them


def largest(arrays):
    """The largest finite value of float arrays; None where there is none."""
    floats = [array[np.isfinite(array)] for array in arrays if array.dtype.kind == "f"]
    return max((float(np.abs(array).max()) for array in floats if array.size), default=None)


def weakness(expected, inputs):
    """Why an output that a whole network has to give for `inputs`, arrays, says nothing; or None."""
    own, given = largest([expected]), largest(inputs)
    if own is None:
        return None
    if own < LEAST * (1 if given is None else given):
        return f"the reference says nothing: its largest value is {own:.3g}, that of its inputs {given or 1:.3g}"
    spread = float(expected.max() - expected.min())
    if expected.size > 1 and spread <= LEAST * own:
        return f"the reference says nothing: its {expected.size} values are all {own:.3g}, as far as {spread:.1g}"
    return None


def accepts_zeros(expected, rtol, atol):
    """Whether an array of zeros would be taken for these arrays with this tolerance. Exact comparisons are of their own
    kind: zeros may be what is asked for."""
    some = [array for array in expected if array is not None and array.size]
    return bool(some) and (rtol, atol) != (0, 0) and all(
        array.dtype.kind == "f" and np.isclose(np.zeros_like(array), array, rtol, atol, equal_nan=True).all() for array in some)
