"""Recurrent forms for the test of gradients: an LSTM, a GRU and the loss of sequences without places (CTC), each a loop over steps
in text, with PyTorch's words for it; and loops that end by what they compute."""

import numpy as np

from gradient_forms import LOOP, SOME, Form, F, repeated, torch, whole

STEPS = 4


def loop(carried, body):
    """A loop over steps that carries `carried`, (name, type, what it begins with); `body` is lines that make NAME_next of each."""
    names, kinds = [name for name, _, _ in carried], [kind for _, kind, _ in carried]
    begins = ", ".join(begin for _, _, begin in carried)
    arguments = lambda suffix: ", ".join(f"%{name}{suffix}: {kind}" for name, kind in zip(names, kinds))
    results = ", ".join(f"%{name}_last" for name in names)
    types = ", ".join(kinds)
    return f"""
%zero = gantry.constant dense<0> : tensor<i64>
%one = gantry.constant dense<1> : tensor<i64>
%most = gantry.constant dense<{STEPS}> : tensor<i64>
%number_last, {results} = gantry.while (%zero, {begins}) : (tensor<i64>, {types}) -> (tensor<i64>, {types}) {{
^bb0(%number_seen: tensor<i64>, {arguments("_seen")}):
  %goes = gantry.compare lt, %number_seen, %most : (tensor<i64>, tensor<i64>) -> tensor<i1>
  gantry.yield %goes : tensor<i1>
}} do {{
^bb0(%number: tensor<i64>, {arguments("")}):
{body}
  %number_next = gantry.add %number, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  gantry.yield %number_next, {", ".join(f"%{name}_next" for name in names)} : tensor<i64>, {types}
}}"""


def ops(text, kind):
    """Lines `name = op operand ...` of one type."""
    lines = []
    for line in text.strip().splitlines():
        made, words = line.split(" = ")
        op, *operands = words.split()
        lines.append(f"  %{made.strip()} = gantry.{op} {', '.join(f'%{each}' for each in operands)} : "
                     f"{'(' + ', '.join([kind] * len(operands)) + ')'} -> {kind}")
    return "\n".join(lines)


def gates(of, names, units):
    """Slices of [n, gates * units]."""
    own, whole_kind = f"tensor<$nx{units}x$T>", f"tensor<$nx{len(names) * units}x$T>"
    return "\n".join(f"  %{name} = gantry.slice %{of} {{starts = array<i64: 0, {i * units}>, sizes = array<i64: $n, {units}>, "
                     f"steps = array<i64: 1, 1>}} : ({whole_kind}) -> {own}" for i, name in enumerate(names))


def row(kind, of, whole_kind):
    return f"  %row = gantry.gather %{of}, %number {{axis = 0 : i64}} : ({whole_kind}, tensor<i64>) -> {kind}"


def lstm():
    state, all_gates, rows = "tensor<$nx2x$T>", "tensor<$nx8x$T>", f"tensor<{STEPS}x$nx2x$T>"
    body = "\n".join([
        row(all_gates, "p", f"tensor<{STEPS}x$nx8x$T>"),
        f"  %u = gantry.matmul %h, %x2 : ({state}, tensor<2x8x$T>) -> {all_gates}",
        f"  %z = gantry.add %row, %u : ({all_gates}, {all_gates}) -> {all_gates}",
        gates("z", ("zi", "zf", "zg", "zo"), 2),
        ops("i = sigmoid zi\nf = sigmoid zf\ng = tanh zg\no = sigmoid zo\nfc = mul f c\nig = mul i g\nc_next = add fc ig\n"
            "tc = tanh c_next\nh_next = mul o tc", state),
        f"  %y_next = gantry.set_slice %y, %h_next, %number {{axis = 0 : i64}} : ({rows}, {state}, tensor<i64>) -> {rows}"])
    return f"""
%h0 = gantry.constant dense<0.0> : {state}
%y0 = gantry.constant dense<0.0> : {rows}
%xw = gantry.matmul %x0, %x1 : (tensor<{STEPS}x$nx3x$T>, tensor<3x8x$T>) -> tensor<{STEPS}x$nx8x$T>
%p = gantry.add %xw, %x3 : (tensor<{STEPS}x$nx8x$T>, tensor<8x$T>) -> tensor<{STEPS}x$nx8x$T>""" + \
        loop([("h", state, "%h0"), ("c", state, "%h0"), ("y", rows, "%y0")], body).replace("%y_last", "%r0").replace("%c_last", "%r1")


def their_lstm(x, w, r, b):
    h = c = torch.zeros(x.shape[1], 2, dtype=torch.float64)
    ys = []
    for step in x:
        i, f, g, o = (step @ w + b + h @ r).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        ys.append(h)
    return torch.stack(ys), c


def gru():
    state, all_gates = "tensor<$nx2x$T>", "tensor<$nx6x$T>"
    body = "\n".join([
        row(all_gates, "p", f"tensor<{STEPS}x$nx6x$T>"),
        f"  %hw = gantry.matmul %h, %x2 : ({state}, tensor<2x6x$T>) -> {all_gates}",
        f"  %u = gantry.add %hw, %x4 : ({all_gates}, tensor<6x$T>) -> {all_gates}",
        gates("row", ("xz", "xr", "xg"), 2), gates("u", ("hz", "hr", "hg"), 2),
        ops("az = add xz hz\nar = add xr hr\nz = sigmoid az\nr = sigmoid ar\nrg = mul r hg\nag = add xg rg\ng = tanh ag\n"
            "hd = sub h g\nzd = mul z hd\nh_next = add zd g", state)])
    return f"""
%xw = gantry.matmul %x0, %x1 : (tensor<{STEPS}x$nx3x$T>, tensor<3x6x$T>) -> tensor<{STEPS}x$nx6x$T>
%p = gantry.add %xw, %x3 : (tensor<{STEPS}x$nx6x$T>, tensor<6x$T>) -> tensor<{STEPS}x$nx6x$T>""" + \
        loop([("h", state, "%x5")], body).replace("%h_last", "%r0")


def their_gru(x, w, r, b, c, h):
    for step in x:
        (xz, xr, xg), (hz, hr, hg) = (step @ w + b).chunk(3, 1), (h @ r + c).chunk(3, 1)
        z, r_ = torch.sigmoid(xz + hz), torch.sigmoid(xr + hr)
        g = torch.tanh(xg + r_ * hg)
        h = z * h + (1 - z) * g
    return h


def ctc():
    """Two labels: the path is blank, first, blank, second, blank. Operand 1 has the path, operand 2 what may not be skipped."""
    state, rows = "tensor<$nx5x$T>", f"tensor<{STEPS}x$nx5x$T>"
    logits = f"tensor<{STEPS}x$nx4x$T>"
    moved = lambda name, count: "\n".join([
        f"  %{name}_cut = gantry.slice %a {{starts = array<i64: 0, 0>, sizes = array<i64: $n, {5 - count}>, steps = array<i64: 1, 1>}} : "
        f"({state}) -> tensor<$nx{5 - count}x$T>",
        f"  %{name} = gantry.pad %{name}_cut, %never {{low = array<i64: 0, {count}>, high = array<i64: 0, 0>, mode = #gantry<pad_mode constant>}} : "
        f"(tensor<$nx{5 - count}x$T>, tensor<$T>) -> {state}"])
    body = "\n".join([
        row(state, "p", rows), moved("b", 1), moved("c0", 2),
        f"  %c = gantry.add %c0, %x2 : ({state}, tensor<$nx5x$T>) -> {state}",
        ops("ab = maximum a b\ntop0 = maximum ab c", state),
        f"  %top = gantry.stop_gradient %top0 : {state}",
        ops("da = sub a top\ndb = sub b top\ndc = sub c top\nea = exp da\neb = exp db\nec = exp dc\nsab = add ea eb\nsum = add sab ec\n"
            "log = log sum\nall = add top log\na_next = add all row", state)])
    return f"""
%never = gantry.constant dense<-1.0e30> : tensor<$T>
%lp = gantry.log_softmax %x0 {{axis = 2 : i64}} : ({logits}) -> {logits}
%path = gantry.broadcast %x1 : (tensor<$nx5xi64>) -> tensor<{STEPS}x$nx5xi64>
%p = gantry.gather_elements %lp, %path {{axis = 2 : i64}} : ({logits}, tensor<{STEPS}x$nx5xi64>) -> {rows}""" + \
        loop([("a", state, "%x3")], body) + f"""
%ends = gantry.slice %a_last {{starts = array<i64: 0, 3>, sizes = array<i64: $n, 2>, steps = array<i64: 1, 1>}} : ({state}) -> tensor<$nx2x$T>
%ways = gantry.exp %ends : (tensor<$nx2x$T>) -> tensor<$nx2x$T>
%way = gantry.reduce_sum %ways {{axes = array<i64: 1>}} : (tensor<$nx2x$T>) -> tensor<$nx$T>
%r0 = gantry.log %way : (tensor<$nx$T>) -> tensor<$nx$T>"""


def draw_path(numbers, shape):
    labels = numbers.integers(1, 4, (shape[0], 2))
    return np.stack([0 * labels[:, 0], labels[:, 0], 0 * labels[:, 0], labels[:, 1], 0 * labels[:, 1]], 1).astype(np.int64)


class Path:
    """The same path for the operands that are made of it."""

    def __init__(self):
        self.path = None

    def draw(self, numbers, shape):
        self.path = draw_path(numbers, shape)
        return self.path

    def skips(self, _, shape):
        """Two places on, where both are labels that differ."""
        added = np.full(shape, -1e30)
        added[:, 3] = np.where(self.path[:, 3] != self.path[:, 1], 0, -1e30)
        return added

    @staticmethod
    def begin(_, shape):
        made = np.full(shape, -1e30)
        made[:, 0] = 0
        return made


def their_ctc(x, path, _, __):
    return -F.ctc_loss(torch.log_softmax(x, 2), path[:, 1::2], [STEPS] * x.shape[1], [2] * x.shape[1], reduction="none")


def bounded(rounds):
    """LOOP, whose rounds come with the input."""
    return LOOP.replace("%most = gantry.constant dense<ROUNDS> : tensor<i64>\n", "").replace("%most", "%x2").replace(
        "(%zero, %x0) :", f"(%zero, %x0) at_most {max(rounds, 1) + rounds % 2} :")


def step_forms():
    for form in _step_forms():
        form.family = "recurrent"
        yield form


def _step_forms():
    yield Form("while lstm", f"T:{STEPS} n 3, T:3 8, T:2 8, T:8", f"T:{STEPS} n 2, T:n 2", their_lstm, body=lstm(), sizes=SOME, types=("f64", "f32"))
    yield Form("while gru", f"T:{STEPS} n 3, T:3 6, T:2 6, T:6, T:6, T:n 2", "T:n 2", their_gru, body=gru(), sizes=SOME, types=("f64", "f32"))
    drawn = Path()
    yield Form("while ctc", f"T:{STEPS} n 4, i64:n 5, T:n 5, T:n 5", "T:n", their_ctc, body=ctc(), sizes=SOME, wrt=(0,), twice=False,
               draws={1: drawn.draw, 2: drawn.skips, 3: drawn.begin})
    for rounds in (0, 1, 3):
        yield Form("while at_most", "T:n, T:n, i64:", "T:n", lambda x, w, _, n=rounds: repeated(n)(x, w), body=bounded(rounds), sizes=SOME,
                   draws={2: whole(rounds, rounds + 1)})
