#!/usr/bin/python3
"""Replicas and variables through the tool `gantry`, on simulated devices (spec section 5, P8, G1).

Expected values come from NumPy, or from one device where the same kernels run and the bytes must be
the same. Models: graphs written here, and layers of bert_base of make_models.py where PyTorch is there
to export them.

Usage: replicate_test.py --build-dir BUILD [--filter TEXT] [--json FILE] [-v]
"""

import io
import sys

import numpy as np

import cases
from cases import Skip, shared

VOCABULARY = 1000


def r3_loop_of_tasks(runner):
    """Tasks go through a loop together: whether it goes on is sent to each of them in every round."""
    x = numbers(6, 4)
    tasks_are_one_task(runner, 3, LOOP.replace("BATCH", "6"), *runner.arrays(
        x=x, y=x @ numbers(4, 2, seed=1) / 4, most=np.int64(3), limit=np.float32(0), wanted=np.bool_(True)))


def r3_add_rows(runner, rows, columns, dtype=np.float32):
    """Row by row, whatever the kernel does to be fast; the first is not added to a zero. Halves are rounded once, at the end."""
    element = {"float32": "f32", "float64": "f64", "float16": "f16", "int32": "i32"}[np.dtype(dtype).name]
    x = (numbers(rows, columns) * 100).astype(dtype)
    x[:, -1] = -0.0
    model = runner.write("rows.mlir", f"""
func.func @main(%x: tensor<{rows}x{columns}x{element}> {{gantry.name = "x"}}) -> (tensor<{columns}x{element}> {{gantry.name = "y"}}) {{
  %y = gantry.add_rows %x : (tensor<{rows}x{columns}x{element}>) -> tensor<{columns}x{element}>
  return %y : tensor<{columns}x{element}>
}}
""")
    total = x[0].astype(np.float32) if dtype == np.float16 else x[0].copy()
    for row in x[1:]:
        total = (total + row).astype(total.dtype)
    same(runner.run(model, *runner.arrays(x=x))["y"], total.astype(dtype), f"{rows} rows of {columns} {element}")


class Trainer(cases.Runner):
    """Runs graphs on arrays, and reads what they leave in outputs and variables."""

    def arrays(self, **given):
        """--input flags for arrays."""
        flags = []
        for name, array in given.items():
            np.save(self.scratch / f"{name}.npy", array)
            flags += ["--input", f"{name}={name}.npy"]
        return flags

    def run(self, *arguments):
        """Outputs by name."""
        self.gantry("run", *arguments, "--output", "out.npz")
        with np.load(self.scratch / "out.npz") as archive:
            return dict(archive)

    def train(self, *arguments):
        """Variables after a run, by name."""
        self.gantry("run", *arguments, "--save-state", "state.npz", "--output", "out.npz")
        with np.load(self.scratch / "state.npz") as archive:
            return dict(archive)


def gpus(count):
    """Flags for so many simulated GPUs, and their names in a list."""
    names = ",".join(f"GPU:{i}" for i in range(count))
    return [f"--devices=CPU:0,{names}", "--simulate"], names


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def same(actual, expected, what):
    assert actual.shape == expected.shape, f"{what}: {actual.shape}, expected {expected.shape}"
    assert actual.tobytes() == expected.tobytes(), (
        f"{what} differs by up to {np.abs(actual.astype(np.float64) - expected).max()}")


def close(actual, expected, what, relative=1e-5):
    assert actual.shape == expected.shape, f"{what}: {actual.shape}, expected {expected.shape}"
    allowed = relative * max(1e-30, np.abs(expected).max())
    difference = np.abs(actual.astype(np.float64) - expected).max(initial=0)
    assert difference <= allowed, f"{what} differs by {difference}, allowed are {allowed}"


#===------------------------------------------------------------------------===#
# Whole functions
#===------------------------------------------------------------------------===#

DENSE = """
func.func @main(%x: tensor<?x32xf32> {gantry.name = "x", gantry.dims = ["batch", "width"]},
                %w: tensor<32x16xf32> {gantry.name = "w"})
    -> (tensor<?x16xf32> {gantry.name = "y"}, tensor<32x16xf32> {gantry.name = "twice"}) {
  %0 = gantry.matmul %x, %w : (tensor<?x32xf32>, tensor<32x16xf32>) -> tensor<?x16xf32>
  %1 = gantry.softmax %0 {axis = 1 : i64} : (tensor<?x16xf32>) -> tensor<?x16xf32>
  %2 = gantry.add %w, %w : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x16xf32>
  return %1, %2 : tensor<?x16xf32>, tensor<32x16xf32>
}
"""


def r1_dense(runner, count, batch, weights=None):
    model = runner.write("dense.mlir", DENSE)
    x, w = numbers(batch, 32), numbers(32, 16, seed=1)
    flags = [model, f"--dim=batch={batch}", *runner.arrays(x=x, w=w)]
    one = runner.run(*flags)
    devices, names = gpus(count)
    if weights:
        names = ",".join(f"{name}={weight}" for name, weight in zip(names.split(","), weights))
    many = runner.run(*flags, *devices, f"--replicate={names}")
    logits = x.astype(np.float64) @ w
    expected = np.exp(logits - logits.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    close(many["y"], expected, "y")
    close(many["twice"], 2 * w, "twice", 0)
    same(many["y"], one["y"], "y on one device and on several")
    same(many["twice"], one["twice"], "twice")


def r2_no_op_on_an_empty_shard(runner):
    """4 rows on 3 devices are 2, 2 and none: the third is not used at all."""
    model = runner.write("dense.mlir", DENSE)
    devices, names = gpus(3)
    _, log = runner.gantry("run", model, "--dim=batch=4", *devices, f"--replicate={names}",
                           "--log-device-placement", "--output", "out.npz")
    assert "device:GPU:1" in log and "device:GPU:2" not in log, log


def r1_fixed_batch(runner):
    """A batch that the file fixes is split where shapes follow from it."""
    model = runner.write("dense.mlir", DENSE.replace("?", "8"))
    devices, names = gpus(3)
    flags = [model, *runner.arrays(x=numbers(8, 32), w=numbers(32, 16, seed=1))]
    same(runner.run(*flags, *devices, f"--replicate={names}")["y"], runner.run(*flags)["y"], "y")


def r1_refused(runner, text, expected, *flags):
    model = runner.write("refused.mlir", text)
    devices, names = gpus(2)
    given = flags or ["--dim=x:0=4", f"--replicate={names}"]
    # A list that says nothing is wrong usage.
    wrong = ("TPU", "gpu:0", "=1,GPU:1", "=x", "=0,GPU:1=0")
    is_usage = bool(flags) and ("TPU" in flags[-1] or flags[-1].endswith(wrong))
    _, log = runner.gantry("run", model, *devices, *given, status=2 if is_usage else 1)
    assert expected in log, f"expected: {expected}\ngot: {log}"


def r5_check_replicas(runner):
    model = runner.write("dense.mlir", DENSE)
    devices, names = gpus(3)
    _, log = runner.gantry("run", model, "--dim=batch=7", *devices, f"--replicate={names}", "--check-replicas")
    assert "output 'y' of the replicas equals that of one device bit for bit" in log, log


def r1_lists(runner):
    """A range and a "*" mean what is written out."""
    model = runner.write("dense.mlir", DENSE)
    flags = [model, "--dim=batch=7", *runner.arrays(x=numbers(7, 32), w=numbers(32, 16, seed=1)), "--devices=CPU:0,GPU:{0..2}",
             "--simulate"]
    out = runner.run(*flags, "--replicate=GPU:0,GPU:1,GPU:2")
    for given in ("GPU:{0..2}", "GPU:*", "GPU:{0..1},GPU:2"):
        _, log = runner.gantry("run", *flags, f"--replicate={given}", "--log-device-placement", "--output", "out.npz")
        assert all(f"device:GPU:{i}" in log for i in range(3)), log
        with np.load(runner.scratch / "out.npz") as archive:
            same(archive["y"], out["y"], given)
    weighted = runner.run(*flags, "--replicate=GPU:0=2,GPU:1=1,GPU:2=1")
    same(runner.run(*flags, "--replicate=GPU:0=2,GPU:{1..2}=1")["y"], weighted["y"], "weights")
    _, log = runner.gantry("run", *flags, "--replicate=/job:w/GPU:*", status=1)
    assert "--replicate: '/job:w/GPU:*' matches no device; the devices are /job:localhost" in log, log
    _, log = runner.gantry("run", *flags, "--replicate=GPU:*,GPU:1", status=1)
    assert "--replicate lists '/device:GPU:1' twice" in log, log


def tasks_are_one_task(runner, count, text, *flags):
    """The same replicas, each in a task of its own and all in one: the same bytes of outputs and variables, on GPUs and
    CPUs of tasks, in any order of commands."""
    lists = {"one": [f"/job:localhost/task:0/GPU:{i}" for i in range(count)],
             "tasks": [f"/job:w/task:{i}/GPU:0" for i in range(count)],
             "CPUs": [f"/job:w/task:{i}/CPU:0" for i in range(count)]}
    orders = [("one", 0), ("tasks", 0), ("tasks", 1), ("tasks", 2), ("CPUs", 0), ("CPUs", 3)]
    state, out = {}, {}
    for name, seed in orders:
        devices = lists[name]
        listed = ", ".join(f'"{device}"' for device in devices)
        model = runner.write(f"{name}.mlir", text.replace("DEVICES", f"[{listed}]"))
        hosts = ["CPU:0"] if name == "one" else []
        order = [f"--sim-order=random:{seed}"] if seed else []
        state[name, seed] = runner.train(model, f"--devices={','.join(hosts + devices)}", "--simulate", *flags, "--repeat=3",
                                         *order)
        with np.load(runner.scratch / "out.npz") as archive:
            out[name, seed] = dict(archive)
    for ran in orders[1:]:
        for name, value in {**out[orders[0]], **state[orders[0]]}.items():
            same({**out[ran], **state[ran]}[name], value, f"{name} of {ran}")


def r3_exchange(runner, count, kind, parts=""):
    """Tasks exchange chunks, some of which are empty where there are many: the bits of a direct exchange."""
    text = f"""
gantry.variable @w = dense<0.1> : tensor<300xf32>
func.func @main(%x: tensor<{count}x300xf32> {{gantry.name = "x"}}) -> (tensor<300xf32> {{gantry.name = "g"}}) {{
  %y = gantry.replicate (%x) on DEVICES {parts} takes [split 0] gives [same] : (tensor<{count}x300xf32>) -> tensor<300xf32> {{
  ^bb0(%a: tensor<?x300xf32>):
    %s = gantry.reduce_sum %a {{axes = array<i64: 0>}} : (tensor<?x300xf32>) -> tensor<300xf32>
    %r = gantry.all_reduce {kind} %s : (tensor<300xf32>) -> tensor<300xf32>
    gantry.assign_add @w, %r : tensor<300xf32>
    gantry.yield %r : tensor<300xf32>
  }}
  return %y : tensor<300xf32>
}}
"""
    tasks_are_one_task(runner, count, text, *runner.arrays(x=numbers(count, 300)))


def r3_steps_of_tasks(runner, count, batch, weights=None, central=False):
    devices = "[" + ", ".join(f'"GPU:{i}"' for i in range(count)) + "]"
    text = step(count, batch, weights, central).replace("(%x, %y)", "(%x, %target)").replace(
        f"%y: tensor<{batch}x2xf32>", f"%target: tensor<{batch}x2xf32>").replace(devices, "DEVICES")
    assert "DEVICES" in text
    tasks_are_one_task(runner, count, text.replace('{gantry.device = #gantry.device<"CPU:0">} ', ""),
                       *runner.arrays(x=numbers(batch, 4), y=numbers(batch, 2, seed=1)))


#===------------------------------------------------------------------------===#
# Training steps, with gradients written by hand
#===------------------------------------------------------------------------===#

def step(count, batch, weights=None, central=False):
    """w -= 0.1 grad, with grad of mean((x w - y)^2); the loss is what it was before."""
    devices = "[" + ", ".join(f'"GPU:{i}"' for i in range(count)) + "]"
    share = f" weights [{', '.join(map(str, weights))}]" if weights else ""
    types = f"(tensor<{batch}x4xf32>, tensor<{batch}x2xf32>)"
    reduced = ("%r = gantry.all_reduce mean %m {gantry.name = \"grad\"} : (tensor<4x2xf32>) -> tensor<4x2xf32>\n"
               "%d = gantry.mul %r, %rate : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>\n"
               "gantry.assign_add @w, %d : tensor<4x2xf32>")
    gives, results, ends = '[mean]', "tensor<f32>", "%loss : tensor<f32>"
    after = ""
    if central:
        reduced, gives = "", '[mean, mean]'
        results, ends = "(tensor<f32>, tensor<4x2xf32>)", "%loss, %m : tensor<f32>, tensor<4x2xf32>"
        after = ("%d = gantry.mul %y#1, %rate : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>\n"
                 "gantry.assign_add @w, %d : tensor<4x2xf32>")
    return f"""
gantry.variable {"central " if central else ""}@w = dense<0.5> : tensor<4x2xf32>
gantry.variable central @step {{gantry.device = #gantry.device<"CPU:0">}} = dense<0> : tensor<i64>
func.func @train(%x: tensor<{batch}x4xf32> {{gantry.name = "x"}}, %y: tensor<{batch}x2xf32> {{gantry.name = "y"}})
    -> (tensor<f32> {{gantry.name = "loss"}}) {{
  %rate = gantry.constant dense<-0.1> : tensor<f32>
  %one = gantry.constant dense<1> : tensor<i64>
  %y{":2" if central else ""} = gantry.replicate (%x, %y) on {devices}{share} takes [split 0, split 0] gives {gives}
      : {types} -> {results} {{
  ^bb0(%a: tensor<?x4xf32>, %t: tensor<?x2xf32>):
    %w = gantry.read @w : tensor<4x2xf32>
    %p = gantry.matmul %a, %w : (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
    %e = gantry.sub %p, %t : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
    %s = gantry.mul %e, %e : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
    %loss = gantry.reduce_mean %s {{axes = array<i64: 0, 1>}} : (tensor<?x2xf32>) -> tensor<f32>
    %ex = gantry.reshape %e : (tensor<?x2xf32>) -> tensor<?x1x2xf32>
    %ax = gantry.reshape %a : (tensor<?x4xf32>) -> tensor<?x4x1xf32>
    %g = gantry.mul %ax, %ex : (tensor<?x4x1xf32>, tensor<?x1x2xf32>) -> tensor<?x4x2xf32>
    %m = gantry.reduce_mean %g {{axes = array<i64: 0>}} : (tensor<?x4x2xf32>) -> tensor<4x2xf32>
    {reduced}
    gantry.yield {ends}
  }}
  {after}
  gantry.assign_add @step, %one : tensor<i64>
  return {"%y#0" if central else "%y"} : tensor<f32>
}}
"""


def descend(x, y, steps):
    """The same in NumPy: weights and the last loss."""
    w = np.full((4, 2), 0.5)
    for _ in range(steps):
        error = x.astype(np.float64) @ w - y
        loss = (error ** 2).mean()
        w = w - 0.1 * x.T.astype(np.float64) @ error / len(x)
    return w, loss


def r2_training(runner, count, batch, weights=None, central=False):
    # The graph calls a result and an argument %y: one of them has to give way.
    text = step(count, batch, weights, central).replace("(%x, %y)", "(%x, %target)").replace(
        f"%y: tensor<{batch}x2xf32>", f"%target: tensor<{batch}x2xf32>")
    model = runner.write("train.mlir", text)
    x, y = numbers(batch, 4), numbers(batch, 2, seed=1)
    devices, _ = gpus(count)
    flags = [model, *devices, *runner.arrays(x=x, y=y), "--repeat=3"]
    state = runner.train(*flags)
    w, loss = descend(x, y, 3)
    assert set(state) == {"w", "step"}, f"mirrors are not saved apart: {sorted(state)}"
    assert state["step"] == 3
    close(state["w"], w, "w after 3 steps")
    with np.load(runner.scratch / "out.npz") as archive:
        close(archive["loss"], np.float64(loss), "loss")
    # R3: the same bytes in any legal order.
    for seed in (1, 2):
        same(runner.train(*flags, f"--sim-order=random:{seed}")["w"], state["w"], f"w, order {seed}")
    # What was saved goes on: 3 steps and 3 more are 6.
    (runner.scratch / "state.npz").rename(runner.scratch / "first.npz")
    close(runner.train(*flags, "--load-state", "first.npz")["w"], descend(x, y, 6)[0], "w after 6 steps")


def r5_regions(runner, count, batch, weights=None, central=False):
    """Regions in the graph against each on its first device; a line says how each value agrees."""
    text = step(count, batch, weights, central).replace("(%x, %y)", "(%x, %target)").replace(
        f"%y: tensor<{batch}x2xf32>", f"%target: tensor<{batch}x2xf32>")
    model = runner.write("train.mlir", text)
    devices, _ = gpus(count)
    flags = [model, *devices, *runner.arrays(x=numbers(batch, 4), y=numbers(batch, 2, seed=1)), "--check-replicas"]
    _, log = runner.gantry("run", *flags, "--repeat=3")
    lines = log.splitlines()
    values = ["output 'loss'", "variable 'w'", "variable 'step'"]
    values += [] if central else [f"variable 'w/replica_{i}'" for i in range(1, count)]
    for value in values:
        found = [line for line in lines if line.startswith(f"gantry: {value} of the replicas ")]
        assert len(found) == 1 and (found[0].endswith("equals that of one device bit for bit")
                                    or "agrees with that of one device to 1e-5 of the largest value" in found[0]), log
    assert "gantry: variable 'step' of the replicas equals that of one device bit for bit" in lines, log
    assert central == (f"gantry: variable 'w' is the same on all {count} replicas, bit for bit" not in lines), log
    # The state that both begin with is the one that was given.
    np.savez(runner.scratch / "given.npz", w=numbers(4, 2, seed=7))
    runner.gantry("run", *flags, "--load-state", "given.npz")


def r4_mirrors_stay_equal(runner, element):
    """What is read elsewhere of one replica alone is not fused there as it is on the others."""
    vector = f"tensor<64x{element}>"
    model = runner.write("mirrors.mlir", f"""
gantry.variable @w = dense<0.1> : {vector}
func.func @main(%x: tensor<9x64x{element}> {{gantry.name = "x"}}) -> ({vector} {{gantry.name = "g"}}) {{
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1", "GPU:2"] takes [split 0] gives [same]
      : (tensor<9x64x{element}>) -> {vector} {{
  ^bb0(%a: tensor<?x64x{element}>):
    %s = gantry.reduce_sum %a {{axes = array<i64: 0>}} : (tensor<?x64x{element}>) -> {vector}
    %r = gantry.all_reduce sum %s : ({vector}) -> {vector}
    %q = gantry.mul %r, %r : ({vector}, {vector}) -> {vector}
    gantry.assign_add @w, %q : {vector}
    gantry.yield %q : {vector}
  }}
  return %y : {vector}
}}
""")
    devices, _ = gpus(3)
    _, log = runner.gantry("run", model, *devices, "--check-replicas", "--repeat=3")
    assert "gantry: variable 'w' is the same on all 3 replicas, bit for bit" in log.splitlines(), log


# Each replica takes its own shard's sum for the sum of all, and says that it may.
APART = """
gantry.variable local @w = dense<0.0> : tensor<f32>
func.func @main(%x: tensor<4xf32> {gantry.name = "x"}) -> (tensor<f32> {gantry.name = "sum"}) {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [same] : (tensor<4xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<?xf32>):
    %0 = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    gantry.assign @w, %0 : tensor<f32>
    gantry.yield %0 : tensor<f32>
  }
  return %y : tensor<f32>
}
"""
PER_REPLICA = """
func.func @main(%x: tensor<4xf32> {gantry.name = "x"}, %z: tensor<4xf32> {gantry.name = "z"}) -> tensor<4xf32> {
  %y = gantry.replicate (%x, %z) on ["GPU:0", "GPU:1"] takes [per_replica] gives [sum]
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    gantry.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
"""


def r5_refused(runner, text, *expected):
    model = runner.write("model.mlir", text)
    devices, _ = gpus(2)
    _, log = runner.gantry("run", model, *devices, "--fill=ramp", "--check-replicas", status=1)
    for line in expected:
        assert line in log, f"expected: {line}\ngot: {log}"


def r5_standard_input(runner):
    """A graph that can be read only once."""
    devices, names = gpus(2)
    _, log = runner.gantry("run", "-", *devices, "--fill=ramp", "--check-replicas", given=APART, status=1)
    assert "error: output 'sum' of the replicas differs from that of one device" in log, log
    _, log = runner.gantry("run", "-", *devices, "--dim=batch=4", f"--replicate={names}", "--check-replicas", given=DENSE)
    assert "output 'y' of the replicas equals that of one device bit for bit" in log, log


def npy(array):
    """The bytes of an .npy file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def r5_inputs_from_a_pipe(runner):
    """Inputs and states that can be read only once serve both runs."""
    model = runner.write("train.mlir", step(2, 4).replace("(%x, %y)", "(%x, %target)").replace(
        "%y: tensor<4x2xf32>", "%target: tensor<4x2xf32>"))
    devices, _ = gpus(2)
    x, y = numbers(4, 4), numbers(4, 2, seed=1)
    flags = ["run", model, *devices, "--check-replicas", "--save-state=state.npz"]
    agrees = "gantry: output 'loss' of the replicas "
    _, log = runner.gantry(*flags, "--input=x=-", *runner.arrays(y=y), given=npy(x))
    assert agrees in log, log
    with np.load(runner.scratch / "state.npz") as state:
        close(state["w"], descend(x, y, 1)[0], "w")
    content = (runner.scratch / "state.npz").read_bytes()
    _, log = runner.gantry(*flags, "--load-state=-", *runner.arrays(x=x, y=y), given=content)
    assert agrees in log, log
    with np.load(runner.scratch / "state.npz") as state:
        close(state["w"], descend(x, y, 2)[0], "w after another step")
    # As the shell's <(...) gives it.
    _, log = runner.gantry(*flags, "--input=x=/dev/stdin", *runner.arrays(y=y), given=npy(x))
    assert agrees in log, log
    for twice, what in ((["--input=x=-", "--input=y=-"], "--input and for --input"),
                        (["--input=x=-", "--load-state=-"], "--input and for --load-state")):
        _, log = runner.gantry(*flags, *twice, given=npy(x), status=2)
        assert f"standard input can be read only once, but '-' is given for {what}" in log, log
    _, log = runner.gantry("run", "-", "--input=x=-", given=npy(x), status=2)
    assert "'-' is given for the graph or plan and for --input" in log, log


# The mean of squares: each shard's is rounded to TYPE, so is their mean, and the result may be cast.
MEAN = """
func.func @main(%x: tensor<7x64xTYPE> {gantry.name = "x"}) -> (tensor<64xRESULT> {gantry.name = "m"}) {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1", "GPU:2"] takes [split 0] gives [mean]
      : (tensor<7x64xTYPE>) -> tensor<64xTYPE> {
  ^bb0(%a: tensor<?x64xTYPE>):
    %0 = gantry.mul %a, %a : (tensor<?x64xTYPE>, tensor<?x64xTYPE>) -> tensor<?x64xTYPE>
    %1 = gantry.reduce_mean %0 {axes = array<i64: 0>} : (tensor<?x64xTYPE>) -> tensor<64xTYPE>
    gantry.yield %1 : tensor<64xTYPE>
  }
  %z = gantry.cast %y : (tensor<64xTYPE>) -> tensor<64xRESULT>
  return %z : tensor<64xRESULT>
}
"""


def r5_tolerance(runner, element, result, allowed):
    """What may differ goes by the coarsest float type; a wrong mean is outside of it for all."""
    model = runner.write("mean.mlir", MEAN.replace("TYPE", element).replace("RESULT", result))
    devices, _ = gpus(3)
    _, log = runner.gantry("run", model, *devices, "--fill=uniform:1:2", "--check-replicas")
    line = f"gantry: output 'm' of the replicas agrees with that of one device to {allowed} of the largest value: "
    assert line in log, log
    apart = APART.replace("f32", element).replace("tensor<4x", "tensor<32x")
    _, log = runner.gantry("run", runner.write("apart.mlir", apart), *devices, "--fill=ones", "--check-replicas",
                           status=1)
    line = f"error: output 'sum' of the replicas differs from that of one device by more than {allowed} of the largest value"
    assert line in log if element == result else "differs from that of one device" in log, log


#===------------------------------------------------------------------------===#
# Collectives in branches and loops
#===------------------------------------------------------------------------===#

# As many steps as a variable says, while the loss is above a limit; the gradient is averaged by a
# function that is called. Then the sum of what was predicted before the last step, if that is wanted.
LOOP = """
gantry.variable @w = dense<0.5> : tensor<4x2xf32>
gantry.variable @steps = dense<0> : tensor<i64>
func.func private @average(%m: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %r = gantry.all_reduce mean %m : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}
func.func @train(%x: tensor<BATCHx4xf32> {gantry.name = "x"}, %y: tensor<BATCHx2xf32> {gantry.name = "y"},
                 %most: tensor<i64> {gantry.name = "most"}, %limit: tensor<f32> {gantry.name = "limit"},
                 %wanted: tensor<i1> {gantry.name = "wanted"})
    -> (tensor<f32> {gantry.name = "loss"}, tensor<BATCHx2xf32> {gantry.name = "p"}, tensor<f32> {gantry.name = "sum"}) {
  %rate = gantry.constant dense<-0.1> : tensor<f32>
  %one = gantry.constant dense<1> : tensor<i64>
  %zero = gantry.constant dense<0> : tensor<i64>
  %huge = gantry.constant dense<1.0e9> : tensor<f32>
  %z:3 = gantry.replicate (%x, %y, %most) on DEVICES takes [split 0, split 0, broadcast] gives [same, gather 0, same]
      : (tensor<BATCHx4xf32>, tensor<BATCHx2xf32>, tensor<i64>) -> (tensor<f32>, tensor<BATCHx2xf32>, tensor<f32>) {
  ^bb0(%a: tensor<?x4xf32>, %t: tensor<?x2xf32>, %n: tensor<i64>):
    %l:3 = gantry.while (%zero, %huge, %t) : (tensor<i64>, tensor<f32>, tensor<?x2xf32>) -> (tensor<i64>, tensor<f32>, tensor<?x2xf32>) {
    ^bb0(%i: tensor<i64>, %loss: tensor<f32>, %p: tensor<?x2xf32>):
      %0 = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %1 = gantry.compare gt, %loss, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = gantry.logical_and %0, %1 : (tensor<i1>, tensor<i1>) -> tensor<i1>
      gantry.yield %2 : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %loss: tensor<f32>, %p: tensor<?x2xf32>):
      %w = gantry.read @w : tensor<4x2xf32>
      %q = gantry.matmul %a, %w : (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
      %e = gantry.sub %q, %t : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
      %s = gantry.mul %e, %e : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
      %own = gantry.reduce_mean %s {axes = array<i64: 0, 1>} : (tensor<?x2xf32>) -> tensor<f32>
      %next = gantry.all_reduce mean %own : (tensor<f32>) -> tensor<f32>
      %ex = gantry.reshape %e : (tensor<?x2xf32>) -> tensor<?x1x2xf32>
      %ax = gantry.reshape %a : (tensor<?x4xf32>) -> tensor<?x4x1xf32>
      %g = gantry.mul %ax, %ex : (tensor<?x4x1xf32>, tensor<?x1x2xf32>) -> tensor<?x4x2xf32>
      %m = gantry.reduce_mean %g {axes = array<i64: 0>} : (tensor<?x4x2xf32>) -> tensor<4x2xf32>
      %r = func.call @average(%m) : (tensor<4x2xf32>) -> tensor<4x2xf32>
      %d = gantry.mul %r, %rate : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
      gantry.assign_add @w, %d : tensor<4x2xf32>
      gantry.assign_add @steps, %one : tensor<i64>
      %j = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %j, %next, %q : tensor<i64>, tensor<f32>, tensor<?x2xf32>
    }
    %part = gantry.reduce_sum %l#2 {axes = array<i64: 0, 1>} : (tensor<?x2xf32>) -> tensor<f32>
    %sum = gantry.if %wanted -> (tensor<f32>) {
      %0 = gantry.all_reduce sum %part : (tensor<f32>) -> tensor<f32>
      gantry.yield %0 : tensor<f32>
    } else {
      gantry.yield %huge : tensor<f32>
    } : tensor<i1>
    gantry.yield %l#1, %l#2, %sum : tensor<f32>, tensor<?x2xf32>, tensor<f32>
  }
  return %z#0, %z#1, %z#2 : tensor<f32>, tensor<BATCHx2xf32>, tensor<f32>
}
"""


def r3_control_flow(runner, devices, batch):
    """Replicas go through a loop together; NumPy says how often and with what."""
    model = runner.write("loop.mlir", LOOP.replace("BATCH", str(batch)).replace("DEVICES", devices))
    x = numbers(batch, 4)
    y = x @ numbers(4, 2, seed=1) / 4  # so that it can be learnt, and the limit be reached
    for most, factor, wanted in ((0, 0, True), (3, 0, True), (40, 0.5, False)):
        w, losses, p = np.full((4, 2), 0.5), [1e9], y
        limit = factor * ((x @ w - y) ** 2).mean()
        while len(losses) <= most and losses[-1] > limit:
            p = x.astype(np.float64) @ w
            losses.append(((p - y) ** 2).mean())
            w = w - 0.1 * x.T.astype(np.float64) @ (p - y) / batch
        assert factor == 0 or 2 < len(losses) < most, f"the limit is not what ends it: {losses}"
        flags = [model, "--devices=CPU:0,GPU:0,GPU:1,GPU:2,GPU:3", "--simulate", *runner.arrays(
            x=x, y=y, most=np.int64(most), limit=np.float32(limit), wanted=np.bool_(wanted))]
        state = runner.train(*flags, "--check-replicas")
        assert state["steps"] == len(losses) - 1, f"{state['steps']} steps, expected {len(losses) - 1}"
        close(state["w"], w, "w")
        with np.load(runner.scratch / "out.npz") as archive:
            close(archive["loss"], np.float64(losses[-1]), "loss")
            close(archive["p"], p, "p")
            close(archive["sum"], np.float64(p.sum() if wanted else 1e9), "sum", 1e-4)
        same(runner.train(*flags, "--sim-order=random:1")["w"], state["w"], "w in another order")


def r3_control_flow_refused(runner):
    """The condition is each replica's own: one could wait for another that has ended its loop."""
    text = LOOP.replace("BATCH", "6").replace("DEVICES", '["GPU:0", "GPU:1"]').replace(
        "gantry.yield %j, %next, %q", "gantry.yield %j, %own, %q")
    model = runner.write("own.mlir", text)
    _, log = runner.gantry("run", model, *gpus(2)[0], status=1)
    for line in ("'gantry.all_reduce' op is inside of a gantry.while whose condition may differ between the replicas",
                 "own.mlir:23:12: the condition", "which is split 0"):
        assert line in log, f"expected: {line}\ngot: {log}"


#===------------------------------------------------------------------------===#
# Variables
#===------------------------------------------------------------------------===#

VARIABLES = """
gantry.variable @a {gantry.device = #gantry.device<"DEVICE">} = dense<1.0> : tensor<3xf32>
gantry.variable @b = dense<[2.0, 3.0, 4.0]> : tensor<3xf32>
func.func @swap() {
  %a = gantry.read @a : tensor<3xf32>
  %b = gantry.read @b : tensor<3xf32>
  gantry.assign @a, %b : tensor<3xf32>
  gantry.assign @b, %a : tensor<3xf32>
  return
}
func.func @late(%x: tensor<3xf32> {gantry.name = "x"}) -> (tensor<3xf32> {gantry.name = "y"}) {
  %a = gantry.read @a : tensor<3xf32>
  gantry.assign_add @a, %x : tensor<3xf32>
  %y = gantry.mul %a, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
func.func @loop(%k: tensor<i64> {gantry.name = "k"}) {
  %one = gantry.constant dense<1> : tensor<i64>
  %zero = gantry.constant dense<0> : tensor<i64>
  %n = gantry.while (%zero) : (tensor<i64>) -> tensor<i64> {
  ^bb0(%i: tensor<i64>):
    %more = gantry.compare lt, %i, %k : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>):
    %b = gantry.read @b : tensor<3xf32>
    gantry.assign_add @a, %b : tensor<3xf32>
    %j = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %j : tensor<i64>
  }
  return
}
"""


def p8_variables(runner, device, *flags):
    model = runner.write("variables.mlir", VARIABLES.replace("DEVICE", device))
    runner.gantry("compile", model, "-o", "plan.gantry", *flags)
    a, b = np.ones(3, np.float32), np.array([2, 3, 4], np.float32)
    state = runner.train("plan.gantry", "--function=swap")
    same(state["a"], b, "a after a swap")
    same(state["b"], a, "b after a swap")
    x = np.array([5, 6, 7], np.float32)
    # A value that was read is not changed by what is assigned later.
    assert (runner.run("plan.gantry", "--function=late", *runner.arrays(x=x))["y"] == a * x).all()
    state = runner.train("plan.gantry", "--function=late", *runner.arrays(x=x))
    same(state["a"], a + x, "a after an addition")
    state = runner.train("plan.gantry", "--function=loop", *runner.arrays(k=np.int64(4)))
    same(state["a"], a + 4 * b, "a after a loop")
    same(state["b"], b, "b after a loop")


def p8_state_that_does_not_fit(runner):
    model = runner.write("variables.mlir", VARIABLES.replace("DEVICE", "CPU:0"))
    np.savez(runner.scratch / "other.npz", a=np.zeros(3, np.float32), c=np.zeros(3, np.float32))
    _, log = runner.gantry("run", model, "--function=swap", "--load-state=other.npz", status=1)
    assert "no variable is called 'c', which is in 'other.npz'; the variables are a: f32[3], b: f32[3]" in log, log
    np.savez(runner.scratch / "other.npz", a=np.zeros(4, np.float32))
    _, log = runner.gantry("run", model, "--function=swap", "--load-state=other.npz", status=1)
    assert "variable 'a' is f32[3], but 'other.npz' holds f32[4]" in log, log


#===------------------------------------------------------------------------===#
# ONNX
#===------------------------------------------------------------------------===#

def small_onnx(runner, shape):
    """A model that computes the target of a Reshape from its input's shape, as exporters write it."""
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise Skip(f"python3-onnx: {error}")
    constants = [numpy_helper.from_array(numbers(12, 8, seed=3), "w"),
                 numpy_helper.from_array(np.array([0], np.int64), "zero"),
                 numpy_helper.from_array(np.array([2, 4], np.int64), "rest")]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="dense"),
             helper.make_node("Shape", ["x"], ["s"]),
             helper.make_node("Gather", ["s", "zero"], ["n"]),
             helper.make_node("Concat", ["n", "rest"], ["target"], axis=0),
             helper.make_node("Reshape", ["h", "target"], ["y"], name="heads")]
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [shape, 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [shape, 2, 4])], constants)
    path = runner.scratch / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), str(path))
    return path


def r1_onnx(runner, count, batch):
    model = small_onnx(runner, "batch")
    x = numbers(batch, 12)
    flags = [model, f"--dim=batch={batch}", *runner.arrays(x=x)]
    devices, names = gpus(count)
    many = runner.run(*flags, *devices, f"--replicate={names}")["y"]
    close(many, (x.astype(np.float64) @ numbers(12, 8, seed=3)).reshape(batch, 2, 4), "y")
    same(many, runner.run(*flags)["y"], "y on one device and on several")


def r1_onnx_fixed(runner):
    model = small_onnx(runner, 8)
    flags = [model, *runner.arrays(x=numbers(8, 12))]
    devices, names = gpus(3)
    same(runner.run(*flags, *devices, f"--replicate={names}")["y"], runner.run(*flags)["y"], "y")


def two_layers(runner):
    """bert_base of make_models.py with two of its twelve equal layers and a small vocabulary, its batch left open."""
    script = shared("make_models.py")
    # The script is a program: its last line calls main(), which is left out here to get at Transformer.
    source = script.read_text(encoding="utf-8").rstrip().removesuffix("main()")
    try:
        import torch
        exec(compile(source, str(script), "exec"), scope := {"__name__": "make_models"})
    except ImportError as error:
        raise Skip(f"{error} (tools/dev/install_deps.sh references)") from None
    torch.manual_seed(0)
    net = scope["Transformer"](VOCABULARY, 768, 12, 2, 128, False).eval()
    file = runner.scratch / "bert.onnx"
    torch.onnx.export(net, (scope["ids"](1, 128, vocab=VOCABULARY),), str(file), opset_version=13, input_names=["input0"],
                      output_names=["output"], dynamic_axes={"input0": {0: "batch"}, "output": {0: "batch"}})
    return file


def r1_bert(runner):
    """Two layers: with all of them this took as long as all other cases together."""
    model = two_layers(runner)
    one = {}
    for count, batch in ((2, 8), (3, 8), (8, 8), (3, 7)):
        ids = np.random.default_rng(0).integers(0, VOCABULARY, (batch, 128))
        flags = [model, f"--dim=batch={batch}", *runner.arrays(input0=ids)]
        if batch not in one:
            one[batch] = runner.run(*flags)["output"]
        devices, names = gpus(count)
        many = runner.run(*flags, *devices, f"--replicate={names}")["output"]
        same(many, one[batch], f"batch {batch} on {count}")


SUM = """func.func @main(%x: tensor<?x4xf32> {gantry.name = "x"}) -> (tensor<f32> {gantry.name = "sum"}) {
  %0 = gantry.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
"""
ASSIGNS = """gantry.variable @v = dense<0.0> : tensor<4xf32>
func.func @main(%x: tensor<?x4xf32> {gantry.name = "x"}) -> tensor<?x4xf32> {
  %0 = gantry.reduce_sum %x {axes = array<i64: 0>} : (tensor<?x4xf32>) -> tensor<4xf32>
  gantry.assign @v, %0 : tensor<4xf32>
  return %x : tensor<?x4xf32>
}
"""
SCALAR = """func.func @main(%x: tensor<f32> {gantry.name = "x"}) -> tensor<f32> {
  %0 = gantry.exp %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
"""
LIST = ["--dim=x:0=4", "--replicate"]

GRADIENT = """func.func @main(%x: tensor<BATCHx2xf64> {gantry.name = "x"}, %w: tensor<2xf64> {gantry.name = "w"}) -> (tensor<f64> {gantry.name = "loss"}, tensor<2xf64> {gantry.name = "dw"}) {
  %y:2 = gantry.replicate (%x, %w) on [DEVICES] takes [split 0, broadcast] gives [sum, sum]
      : (tensor<BATCHx2xf64>, tensor<2xf64>) -> (tensor<f64>, tensor<2xf64>) {
  ^bb0(%shard: tensor<?x2xf64>, %v: tensor<2xf64>):
    %g:2 = gantry.gradient (%v) : (tensor<2xf64>) -> (tensor<f64>, tensor<2xf64>) {
    ^bb0(%a: tensor<2xf64>):
      %0 = gantry.mul %shard, %a : (tensor<?x2xf64>, tensor<2xf64>) -> tensor<?x2xf64>
      %1 = gantry.reduce_sum %0 {axes = array<i64: 0>} : (tensor<?x2xf64>) -> tensor<2xf64>
      %2 = gantry.all_reduce sum %1 : (tensor<2xf64>) -> tensor<2xf64>
      %3 = gantry.sub %0, %2 : (tensor<?x2xf64>, tensor<2xf64>) -> tensor<?x2xf64>
      %4 = gantry.mul %3, %3 : (tensor<?x2xf64>, tensor<?x2xf64>) -> tensor<?x2xf64>
      %5 = gantry.reduce_sum %4 {axes = array<i64: 0, 1>} : (tensor<?x2xf64>) -> tensor<f64>
      gantry.yield %5 : tensor<f64>
    }
    gantry.yield %g#0, %g#1 : tensor<f64>, tensor<2xf64>
  }
  return %y#0, %y#1 : tensor<f64>, tensor<2xf64>
}
"""


def t3_gradient(runner, count, batch):
    """A loss that the rows of all replicas are in: gradients go through the collective to all of them."""
    devices, names = gpus(count)
    listed = ", ".join(f'"{name}"' for name in names.split(","))
    model = runner.write("gradient.mlir", GRADIENT.replace("BATCH", str(batch)).replace("DEVICES", listed))
    x, w = np.random.default_rng(0).standard_normal((batch, 2)), np.array([0.5, -1.5])
    found = runner.run(model, *devices, *runner.arrays(x=x, w=w))
    xw, s = x * w, x.sum(0)
    apart = xw - s * w
    close(found["loss"], np.array((apart ** 2).sum()), "loss", 1e-12)
    close(found["dw"], (2 * apart * (x - s)).sum(0), "dw", 1e-12)


SHARE = """
func.func @main(%x: tensor<BATCHx2xf32> {gantry.name = "x"}, %w: tensor<2xf32> {gantry.name = "w"})
    -> (tensor<2xf32> {gantry.name = "dw"}) {
  %y = gantry.replicate (%x, %w) on [DEVICES] WEIGHTS takes [split 0, broadcast] gives [sum] : (tensor<BATCHx2xf32>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%shard: tensor<?x2xf32>, %v: tensor<2xf32>):
    %share = gantry.share : tensor<f32>
    %loss, %dv = gantry.gradient (%v, %share) seeds 1 : (tensor<2xf32>, tensor<f32>) -> (tensor<f32>, tensor<2xf32>) {
    ^bb0(%u: tensor<2xf32>):
      %0 = gantry.mul %shard, %u : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
      %1 = gantry.mul %0, %0 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
      %2 = gantry.reduce_mean %1 {axes = array<i64: 0, 1>} : (tensor<?x2xf32>) -> tensor<f32>
      gantry.yield %2 : tensor<f32>
    }
    gantry.yield %dv : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}
"""


def t3_share(runner, count, batch, weights=""):
    """A mean over rows, seeded by the share of the batch: the sum over all replicas is the gradient of the whole batch's mean."""
    devices, names = gpus(count)
    listed = ", ".join(f'"{name}"' for name in names.split(","))
    model = runner.write("share.mlir", SHARE.replace("BATCH", str(batch)).replace("DEVICES", listed).replace("WEIGHTS", weights))
    x, w = numbers(batch, 2), np.array([0.5, -1.5], np.float32)
    found = runner.run(model, *devices, *runner.arrays(x=x, w=w))
    wide = x.astype(np.float64)
    close(found["dw"], (2 * wide * wide * w).sum(0) / (2 * batch), "dw", 1e-6)


CASES = {
    "t3_share_1": lambda r: t3_share(r, 1, 4),
    "t3_share_uneven": lambda r: t3_share(r, 3, 7),
    "t3_share_empty": lambda r: t3_share(r, 4, 5),
    "t3_share_weighted": lambda r: t3_share(r, 2, 7, "weights [3, 1]"),
    "t3_gradient_1": lambda r: t3_gradient(r, 1, 4),
    "t3_gradient_uneven": lambda r: t3_gradient(r, 3, 7),
    "t3_gradient_empty": lambda r: t3_gradient(r, 4, 5),
    "r1_dense_2_of_8": lambda r: r1_dense(r, 2, 8),
    "r1_dense_3_of_7": lambda r: r1_dense(r, 3, 7),
    "r1_dense_8_of_8": lambda r: r1_dense(r, 8, 8),
    "r1_dense_weighted": lambda r: r1_dense(r, 3, 7, (2, 0, 1)),
    "r2_dense_empty_shards": lambda r: r1_dense(r, 8, 5),
    "r2_no_op_on_an_empty_shard": r2_no_op_on_an_empty_shard,
    "r1_fixed_batch": r1_fixed_batch,
    "r1_lists": r1_lists,
    "r3_exchange_sum": lambda r: r3_exchange(r, 70, "sum"),
    "r3_exchange_mean": lambda r: r3_exchange(r, 65, "mean"),
    "r3_gather_tasks": lambda r: r3_exchange(r, 5, "sum"),
    "r3_parts_of_tasks": lambda r: r3_exchange(r, 5, "sum", "parts 5"),
    "r3_loop_of_tasks": r3_loop_of_tasks,
    "r3_add_rows_few": lambda r: r3_add_rows(r, 2, 5),
    "r3_add_rows_written": lambda r: r3_add_rows(r, 16, 67),
    "r3_add_rows_looped": lambda r: r3_add_rows(r, 17, 67),
    "r3_add_rows_many": lambda r: r3_add_rows(r, 1030, 16),
    "r3_add_rows_of_one": lambda r: r3_add_rows(r, 300, 1),
    "r3_add_rows_f16": lambda r: r3_add_rows(r, 40, 33, np.float16),
    "r3_add_rows_f64": lambda r: r3_add_rows(r, 40, 33, np.float64),
    "r3_add_rows_i32": lambda r: r3_add_rows(r, 40, 33, np.int32),
    "r3_steps_of_tasks": lambda r: r3_steps_of_tasks(r, 3, 7),
    "r3_steps_of_tasks_empty": lambda r: r3_steps_of_tasks(r, 4, 5),
    "r3_steps_of_tasks_weighted": lambda r: r3_steps_of_tasks(r, 2, 9, (2, 1)),
    "r3_steps_of_tasks_central": lambda r: r3_steps_of_tasks(r, 3, 7, central=True),
    "r1_refused_sum": lambda r: r1_refused(
        r, SUM, "--replicate: output 'sum' ('tensor<f32>') is computed from the batch, but its first dimension is "
                "not the batch: every replica would have another; write the graph with gantry.replicate and say "
                "\"sum\" or \"mean\""),
    "r1_refused_assignment": lambda r: r1_refused(
        r, ASSIGNS, "--replicate: '@v' is assigned what is computed from the batch, and every replica would assign "
                    "another value; write the graph with gantry.replicate and gantry.all_reduce"),
    "r1_refused_scalar": lambda r: r1_refused(
        r, SCALAR, "--replicate: 'main' has no input with a batch to split", "--replicate=GPU:0,GPU:1"),
    "r1_refused_name": lambda r: r1_refused(
        r, SUM, "'TPU' is not a device type; the types are CPU and GPU", *LIST, "GPU:0,TPU:1"),
    "r1_refused_twice": lambda r: r1_refused(r, SUM, "--replicate GPU:0,gpu:0 lists 'gpu:0' twice", *LIST, "GPU:0,gpu:0"),
    "r1_refused_weights": lambda r: r1_refused(
        r, SUM, "--replicate GPU:0=1,GPU:1: give all devices a weight, or none", *LIST, "GPU:0=1,GPU:1"),
    "r1_refused_weight": lambda r: r1_refused(
        r, SUM, "--replicate GPU:0=x: the weight 'x' of 'GPU:0' is not a number from 0 to 2^31", *LIST, "GPU:0=x"),
    "r1_refused_zeros": lambda r: r1_refused(
        r, SUM, "--replicate GPU:0=0,GPU:1=0: no weight is above 0", *LIST, "GPU:0=0,GPU:1=0"),
    "r1_refused_unknown": lambda r: r1_refused(
        r, DENSE, "/job:localhost/replica:0/task:0/device:GPU:7': unknown device", "--dim=batch=4",
        "--replicate", "GPU:0,GPU:7"),
    "r5_check_replicas": r5_check_replicas,
    "r5_regions_2": lambda r: r5_regions(r, 2, 6),
    "r5_regions_uneven": lambda r: r5_regions(r, 3, 7),
    "r5_regions_empty": lambda r: r5_regions(r, 4, 5),
    "r5_regions_no_first_shard": lambda r: r5_regions(r, 3, 7, (0, 2, 1)),
    "r5_regions_central": lambda r: r5_regions(r, 3, 7, central=True),
    **{f"r4_mirrors_{element}": (lambda r, element=element: r4_mirrors_stay_equal(r, element))
       for element in ("f64", "f32", "f16", "bf16")},
    "r5_apart": lambda r: r5_refused(
        r, APART, "error: output 'sum' of the replicas differs from that of one device",
        "error: variable 'w' of the replicas differs from that of one device",
        "error: variable 'w' went apart on the replicas: GPU:1 and GPU:0 differ by up to 4, the largest value is 1"),
    "r5_per_replica": lambda r: r5_refused(
        r, PER_REPLICA, "'gantry.replicate' op has a value for each of 2 replicas (input 0 is per_replica), so there "
                        "is no program for one device to compare it with",
        "this error is in the program for one device that --check-replicas compares with"),
    "r5_nothing_to_compare": lambda r: r5_refused(
        r, SCALAR, "the graph has no gantry.replicate, so there are no replicas to compare with one device; give "
                   "--replicate to make some"),
    "r5_standard_input": r5_standard_input,
    "r5_inputs_from_a_pipe": r5_inputs_from_a_pipe,
    "r5_tolerance_f64": lambda r: r5_tolerance(r, "f64", "f64", "1e-12"),
    "r5_tolerance_f32": lambda r: r5_tolerance(r, "f32", "f32", "1e-5"),
    "r5_tolerance_f16": lambda r: r5_tolerance(r, "f16", "f16", "4e-3"),
    "r5_tolerance_bf16": lambda r: r5_tolerance(r, "bf16", "bf16", "3e-2"),
    "r5_tolerance_mixed": lambda r: r5_tolerance(r, "f16", "f32", "4e-3"),
    "r3_control_flow_1": lambda r: r3_control_flow(r, '["GPU:0"]', 6),
    "r3_control_flow_2": lambda r: r3_control_flow(r, '["GPU:0", "GPU:1"]', 6),
    "r3_control_flow_uneven": lambda r: r3_control_flow(r, '["GPU:0", "GPU:1", "CPU:0"]', 7),
    "r3_control_flow_empty": lambda r: r3_control_flow(r, '["GPU:0", "GPU:1", "GPU:2", "GPU:3"]', 5),
    "r3_control_flow_weighted": lambda r: r3_control_flow(r, '["GPU:0", "GPU:1", "GPU:2"] weights [0, 2, 1]', 7),
    "r3_control_flow_refused": r3_control_flow_refused,
    "r2_training_1": lambda r: r2_training(r, 1, 6),
    "r2_training_2": lambda r: r2_training(r, 2, 6),
    "r2_training_uneven": lambda r: r2_training(r, 3, 7),
    "r2_training_empty": lambda r: r2_training(r, 4, 5),
    "r2_training_weighted": lambda r: r2_training(r, 2, 7, (3, 1)),
    "r4_central": lambda r: r2_training(r, 3, 7, central=True),
    "p8_variables_on_cpu": lambda r: p8_variables(r, "CPU:0"),
    "p8_variables_on_gpu": lambda r: p8_variables(r, "GPU:1", "--devices=CPU:0,GPU:0,GPU:1", "--simulate"),
    "p8_state_that_does_not_fit": p8_state_that_does_not_fit,
    "r1_onnx_2_of_8": lambda r: r1_onnx(r, 2, 8),
    "r1_onnx_3_of_7": lambda r: r1_onnx(r, 3, 7),
    "r1_onnx_empty_shards": lambda r: r1_onnx(r, 8, 5),
    "r1_onnx_fixed": r1_onnx_fixed,
    "r1_bert": r1_bert,
}


if __name__ == "__main__":
    sys.exit(cases.main("replicate", CASES, __doc__, Trainer))
