"""RNN, GRU and LSTM, step by step."""

import numpy as np

from .draw import Node


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def run(cell, x, initial, backward):
    """Outputs of all steps in the order of time, and the last state."""
    states, outputs = initial, []
    order = range(len(x))[::-1] if backward else range(len(x))
    for t in order:
        states = cell(x[t], *states)
        outputs.append(states[0])
    return np.stack(outputs[::-1] if backward else outputs), states


def rnn_cell(w, r, b, _):
    hidden = r.shape[1]
    return lambda x, h: (np.tanh(x @ w.T + h @ r.T + b[:hidden] + b[hidden:]),)


def gru_cell(w, r, b, linear_before_reset):
    hidden = r.shape[1]
    part = lambda v, i: v[i * hidden:(i + 1) * hidden]
    def cell(x, h):
        z = sigmoid(x @ part(w, 0).T + h @ part(r, 0).T + part(b, 0) + part(b, 3))
        reset = sigmoid(x @ part(w, 1).T + h @ part(r, 1).T + part(b, 1) + part(b, 4))
        if linear_before_reset:
            new = np.tanh(x @ part(w, 2).T + reset * (h @ part(r, 2).T + part(b, 5)) + part(b, 2))
        else:
            new = np.tanh(x @ part(w, 2).T + (reset * h) @ part(r, 2).T + part(b, 5) + part(b, 2))
        return ((1 - z) * new + z * h,)
    return cell


def lstm_cell(w, r, b, _):
    hidden = r.shape[1]
    def cell(x, h, c):
        gates = x @ w.T + h @ r.T + b[:4 * hidden] + b[4 * hidden:]
        i, o, f, g = (gates[:, k * hidden:(k + 1) * hidden] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    return cell


CELLS = {"RNN": (1, 1, rnn_cell), "GRU": (3, 1, gru_cell), "LSTM": (4, 2, lstm_cell)}


def recurrent(draw):
    op = draw.one(sorted(CELLS))
    gates, states, make_cell = CELLS[op]
    steps, batch, inputs, hidden = draw.one((1, 2, 3, 5)), draw.one((1, 2, 3)), draw.one((1, 3, 8)), draw.one((1, 2, 4, 7))
    direction = draw.one(("forward", "reverse", "bidirectional"))
    count = 2 if direction == "bidirectional" else 1
    x = draw.array((steps, batch, inputs), np.float32, -1, 1)
    w, r = (draw.array((count, gates * hidden, columns), np.float32, -1, 1) for columns in (inputs, hidden))
    b = draw.array((count, 2 * gates * hidden), np.float32, -1, 1)
    given = [draw.array((count, batch, hidden), np.float32, -1, 1) for _ in range(states)] if draw.chance(0.5) else None
    linear = draw.integer(0, 1) if op == "GRU" else 0
    outputs, last = [], []
    for d in range(count):
        cell = make_cell(*(v[d].astype(np.float64) for v in (w, r, b)), linear)
        initial = tuple(s[d].astype(np.float64) for s in given) if given else (np.zeros((batch, hidden)),) * states
        y, final = run(cell, x.astype(np.float64), initial, direction == "reverse" or d == 1)
        outputs.append(y)
        last.append(final)
    expected = [np.stack(outputs, 1)] + [np.stack([final[s] for final in last]) for s in range(states)]
    attributes = {"hidden_size": hidden, "direction": direction} | ({"linear_before_reset": linear} if linear else {})
    operands = [x, w, r, b] + ([None, *given] if given else [])
    return Node(op, operands, [e.astype(np.float32) for e in expected], attributes, 14)


FAMILY = [recurrent]
