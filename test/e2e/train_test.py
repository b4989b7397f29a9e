#!/usr/bin/python3
"""Training by the tool alone: steps that `gantry compile --train` makes of models, against NumPy and PyTorch.

What steps compute is compared with formulas written here in f64; the losses that have names, and their gradients, with PyTorch's. The file of
weights is read by a reader made from the format's description, https://huggingface.co/docs/safetensors.

Usage: train_test.py BUILD [unittest arguments]; exit status 77 when a Python module is missing.
"""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    import onnx
    import torch
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing} (tools/dev/install_deps.sh references)")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/dev").resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS, WIDTH, HIDDEN, CLASSES = 16, 8, 32, 4


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    types = {"F32": "<f4", "F64": "<f8", "I64": "<i8"}
    return {name: np.frombuffer(data[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]],
                                types[entry["dtype"]]).reshape(entry["shape"]) for name, entry in header.items()}


def weights():
    draw = np.random.default_rng(7)
    return {"w1": (0.3 * draw.standard_normal((WIDTH, HIDDEN))).astype(np.float32), "b1": np.zeros(HIDDEN, np.float32),
            "w2": (0.3 * draw.standard_normal((HIDDEN, CLASSES))).astype(np.float32), "b2": np.zeros(CLASSES, np.float32)}


def batch():
    draw = np.random.default_rng(8)
    return {"x": draw.standard_normal((ROWS, WIDTH)).astype(np.float32), "labels": draw.integers(0, CLASSES, ROWS)}


def save(path, nodes, inputs, outputs, given, opset=17):
    """A model; types are (element type, shape)."""
    ports = lambda of: [helper.make_tensor_value_info(name, *type) for name, type in of.items()]
    graph = helper.make_graph(nodes, "g", ports(inputs), ports(outputs), [numpy_helper.from_array(value, name) for name, value in given.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), str(path))


F, I = TensorProto.FLOAT, TensorProto.INT64
X, LABELS, LOGITS, LOSS = (F, [ROWS, WIDTH]), (I, [ROWS]), (F, [ROWS, CLASSES]), (F, [])
NETWORK = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], name="fc1"), helper.make_node("Relu", ["h"], ["r"], name="relu"),
           helper.make_node("Gemm", ["r", "w2", "b2"], ["logits"], name="fc2")]
CROSS_ENTROPY = helper.make_node("SoftmaxCrossEntropyLoss", ["logits", "labels"], ["loss"])


def slopes(w, x, labels):
    """Loss and gradients of the network with a cross-entropy, in f64."""
    h = x @ w["w1"] + w["b1"]
    r = np.maximum(h, 0)
    logits = r @ w["w2"] + w["b2"]
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    loss = -np.log(p[np.arange(ROWS), labels]).mean()
    d = p.copy()
    d[np.arange(ROWS), labels] -= 1
    d /= ROWS
    dh = d @ w["w2"].T * (h > 0)
    return loss, {"w2": r.T @ d, "b2": d.sum(0), "w1": x.T @ dh, "b1": dh.sum(0)}


def adamw(w, steps, x, labels, rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.01):
    """Loshchilov and Hutter, Decoupled weight decay regularization, 2019, algorithm 2."""
    w = {name: value.astype(np.float64) for name, value in w.items()}
    m, v = {name: 0 * value for name, value in w.items()}, {name: 0 * value for name, value in w.items()}
    losses = []
    for t in range(1, steps + 1):
        loss, g = slopes(w, x.astype(np.float64), labels)
        losses.append(loss)
        for name in w:
            m[name] = beta1 * m[name] + (1 - beta1) * g[name]
            v[name] = beta2 * v[name] + (1 - beta2) * g[name]**2
            w[name] -= rate * decay * w[name]
            w[name] -= rate * (m[name] / (1 - beta1**t)) / (np.sqrt(v[name] / (1 - beta2**t)) + epsilon)
    return w, m, losses


class Tool(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        np.savez(self.folder / "batch.npz", **batch())

    def gantry(self, *arguments, status=0):
        run = subprocess.run([str(BUILD / "bin/gantry"), *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                             env={**os.environ, "GANTRY_CACHE_SIZE": "0", "COLUMNS": "100"})
        self.assertEqual(run.returncode, status, run.stderr[-900:])
        return run.stdout if status == 0 else run.stderr

    def save_mlp(self, *more, outputs=None):
        save(self.folder / "mlp.onnx", [*NETWORK, CROSS_ENTROPY, *more], {"x": X, "labels": LABELS},
             outputs or {"loss": LOSS, "logits": LOGITS}, weights())

    def step(self, *flags, model="mlp.onnx", loss="loss", optimizer="sgd,rate=0.1"):
        return self.gantry("compile", model, f"--train={loss}", f"--optimizer={optimizer}", *flags, "-o", "step.gantry")

    def run_step(self, function="step", *flags):
        """The outputs by name."""
        self.gantry("run", "step.gantry", f"--function={function}", "--input", "batch.npz", "--output", "out.npz", *flags)
        with np.load(self.folder / "out.npz") as made:
            return dict(made)


class Train(Tool):
    def test_a_hundred_steps_of_adamw(self):
        self.save_mlp()
        self.step(optimizer="adamw,rate=1e-3")
        first = self.run_step("step", "--save-state", "1.npz")["loss"]
        said = self.gantry("run", "step.gantry", "--function=step", "--input", "batch.npz", "--repeat=100", "--save-state", "w.safetensors")
        wanted, moments, losses = adamw(weights(), 100, **batch())
        got = read_safetensors(self.folder / "w.safetensors")
        self.assertEqual(sorted(got), sorted(["adamw/step", *wanted, *(f"{name}/adamw/{slot}" for name in wanted for slot in "mv")]))
        self.assertEqual(got["adamw/step"], 100)
        self.assertAlmostEqual(float(first), losses[0], delta=1e-6)
        self.assertAlmostEqual(float(re.search(r"loss: f32\[\] on CPU:0\n([\d.e-]+)", said)[1]), losses[-1], delta=1e-4)
        for name, value in wanted.items():
            np.testing.assert_allclose(got[name], value, rtol=0, atol=2e-5, err_msg=name)  # f32 over 100 steps
            np.testing.assert_allclose(got[f"{name}/adamw/m"], moments[name], rtol=0, atol=1e-5, err_msg=name)
        # The graph itself, with the weights of the file.
        made = self.run_step("evaluate", "--load-state", "w.safetensors")
        self.assertEqual(made["logits"].shape, (ROWS, CLASSES))
        self.assertAlmostEqual(float(made["loss"]), slopes(wanted, **batch())[0], delta=1e-4)
        self.assertEqual(self.run_step("evaluate")["loss"], first)

    def test_explain_tells_forward_backward_and_update(self):
        self.save_mlp()
        self.step(optimizer="adamw,rate=1e-3")
        page = self.gantry("explain", "step.gantry", "--function=step")
        parts = re.findall(r"^ +(forward|backward|update) +(\d+) +(\d+) .*\d (?:bytes|KiB|MiB)$", page, re.MULTILINE)
        self.assertEqual([part for part, _, _ in parts], ["forward", "backward", "update"])
        self.assertTrue(all(int(ops) > 0 and int(launches) > 0 for _, ops, launches in parts), page)
        self.assertLess(page.count("\n"), 60)
        (function,) = json.loads(self.gantry("explain", "step.gantry", "--function=step", "--json"))["functions"]
        by_part = {part: {op["name"] for op in function["ops"] if op["part"] == part} for part in ("forward", "backward", "update")}
        self.assertTrue({"fc1", "relu", "fc2"} <= by_part["forward"], by_part)
        self.assertTrue({"fc2/grad_lhs", "fc2/grad_rhs", "relu/grad"} <= by_part["backward"], by_part)
        self.assertTrue(any(name.startswith("w1/adamw") for name in by_part["update"]), by_part)
        self.assertFalse(any("grad" in name for name in by_part["forward"] | by_part["update"]), by_part)
        whole = sum(part["predicted_seconds"] for part in function["step_parts"])
        self.assertAlmostEqual(whole, sum(op["predicted_seconds"] for op in function["ops"]), delta=1e-9)
        self.assertNotIn("backward", self.gantry("explain", "step.gantry", "--function=evaluate"))

    def test_explain_tells_what_is_computed_again(self):
        """A chain of wide layers, within less than what it holds."""
        layers = [node for i in range(8) for node in (helper.make_node("MatMul", [f"h{i}", "w"], [f"m{i}"], name=f"fc{i}"),
                                                      helper.make_node("Tanh", [f"m{i}"], [f"h{i + 1}"], name=f"tanh{i}"))]
        save(self.folder / "chain.onnx", [*layers, helper.make_node("ReduceMean", ["h8"], ["loss"], keepdims=0)], {"h0": (F, [4096, 64])},
             {"loss": LOSS}, {"w": np.eye(64, dtype=np.float32)})
        flags = "--train=loss", "--optimizer=sgd,rate=0.1"
        free = json.loads(self.gantry("explain", "chain.onnx", *flags, "--json", "--function=step"))
        self.assertFalse(any(op["again"] for op in free["functions"][0]["ops"]))
        page = self.gantry("explain", "chain.onnx", *flags, "--function=step", "--devices=CPU:0@7MiB", "--over-limit=fix")
        self.assertRegex(page, r"computed again, so that less is held: [\d]+ kernels?, .*(fc|tanh)")

    def test_losses_that_have_names(self):
        """A step of plain descent with rate 1 takes the gradient off the weights."""
        draw = np.random.default_rng(9)
        x, w = draw.standard_normal((ROWS, WIDTH)).astype(np.float32), draw.standard_normal((WIDTH, CLASSES)).astype(np.float32)
        one_hot, shares = np.eye(CLASSES, dtype=np.float32)[batch()["labels"]], draw.random((ROWS, CLASSES), np.float32)
        f = torch.nn.functional
        for loss, end, labels, theirs in (
                ("mse", None, shares, f.mse_loss), ("mae", None, shares, f.l1_loss), ("huber", None, 3 * shares, f.huber_loss),
                ("scce", None, batch()["labels"], f.cross_entropy), ("scce", "Softmax", batch()["labels"], f.cross_entropy),
                ("scce", "LogSoftmax", batch()["labels"], f.cross_entropy), ("cce", None, one_hot, f.cross_entropy),
                ("bce", None, shares, f.binary_cross_entropy_with_logits), ("bce", "Sigmoid", shares, f.binary_cross_entropy_with_logits)):
            with self.subTest(loss=loss, end=end):
                nodes = [helper.make_node("MatMul", ["x", "w"], ["y" if end is None else "a"])]
                if end:
                    nodes.append(helper.make_node(end, ["a"], ["y"], **({} if end == "Sigmoid" else {"axis": 1})))
                save(self.folder / "line.onnx", nodes, {"x": X}, {"y": LOGITS}, {"w": w})
                self.step(model="line.onnx", loss=loss, optimizer="sgd,rate=1")
                np.savez(self.folder / "batch.npz", x=x, labels=labels)
                before = self.run_step("step", "--save-state", "w.safetensors")["loss"]
                weight = torch.tensor(w, dtype=torch.float64, requires_grad=True)
                value = theirs(torch.tensor(x, dtype=torch.float64) @ weight,
                               torch.tensor(labels, dtype=torch.int64 if labels.dtype == np.int64 else torch.float64))
                value.backward()
                self.assertAlmostEqual(float(before), value.item(), delta=2e-6)
                np.testing.assert_allclose(w - read_safetensors(self.folder / "w.safetensors")["w"], weight.grad.numpy(), rtol=0, atol=2e-6)
                np.savez(self.folder / "batch.npz", x=x)
                self.assertEqual(list(self.run_step("predict")), ["y"])

    def test_every_optimizer(self):
        table = (ROOT / "include/gantry/Dialect/Gantry/IR/Optimizers.def").read_text(encoding="utf-8")
        rules = re.findall(r"^GANTRY_OPTIMIZER(?:_ALIAS)?\((\w+), ", table, re.MULTILINE)
        self.assertGreaterEqual(len(rules), 13)
        self.save_mlp()
        for rule in rules:
            with self.subTest(rule):
                self.step(optimizer=f"{rule},rate=0.01")
                losses = [float(self.run_step("step", "--repeat=30" if i else "--repeat=1")["loss"]) for i in range(2)]
                self.assertLess(losses[1], losses[0])

    def test_a_part_is_trained(self):
        self.save_mlp()
        self.step("--trainable=*2", optimizer="sgd,rate=0.5,momentum=0.9")
        self.run_step("step", "--save-state", "w.safetensors")
        got, (_, g) = read_safetensors(self.folder / "w.safetensors"), slopes(weights(), **batch())
        self.assertEqual(sorted(got), ["b2", "b2/sgd/b", "sgd/step", "w2", "w2/sgd/b"])
        np.testing.assert_allclose(got["w2"], weights()["w2"] - 0.5 * g["w2"], rtol=0, atol=1e-6)

    def test_weights_that_are_turned_round_first(self):
        """As exporters write x w^T: what is made of a weight is no constant of its own."""
        w = np.random.default_rng(11).standard_normal((CLASSES, WIDTH)).astype(np.float32)
        nodes = [helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]), helper.make_node("MatMul", ["x", "t"], ["y"]),
                 helper.make_node("ReduceMean", ["y"], ["loss"], keepdims=0)]
        save(self.folder / "line.onnx", nodes, {"x": X}, {"loss": LOSS}, {"w": w})
        self.step(model="line.onnx", optimizer="sgd,rate=1")
        np.savez(self.folder / "batch.npz", x=batch()["x"])
        self.run_step("step", "--save-state", "w.safetensors")
        np.testing.assert_allclose(read_safetensors(self.folder / "w.safetensors")["w"], w - batch()["x"].mean(0) / CLASSES, rtol=0, atol=1e-6)

    def test_a_graph_in_mlir(self):
        (self.folder / "line.mlir").write_text("""
func.func @line(%x: tensor<4x2xf32> {gantry.name = "x"}) -> (tensor<f32> {gantry.name = "loss"}) {
  %w = gantry.constant {gantry.name = "w"} dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %0 = gantry.matmul %x, %w : (tensor<4x2xf32>, tensor<2x1xf32>) -> tensor<4x1xf32>
  %1 = gantry.reduce_mean %0 {axes = array<i64: 0, 1>} : (tensor<4x1xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
""")
        self.step(model="line.mlir", optimizer="sgd,rate=1")
        x = np.arange(8, dtype=np.float32).reshape(4, 2)
        np.savez(self.folder / "batch.npz", x=x)
        self.run_step("step", "--save-state", "w.safetensors")
        np.testing.assert_array_equal(read_safetensors(self.folder / "w.safetensors")["w"], np.array([[1], [2]]) - x.mean(0)[:, None])

    def test_what_is_wrong_is_told(self):
        self.save_mlp()
        for status, flags, text in (
                (1, ("--train=loss",), "mlp.onnx: --train needs --optimizer, as in --optimizer=adamw,rate=1e-3"),
                (2, ("--optimizer=sgd,rate=1",), "--optimizer is about --train, which is not given"),
                (2, ("--trainable=w",), "--trainable is about --train, which is not given"),
                (2, ("--train=loss", "--optimizer=adanw,rate=1"), "--optimizer adanw,rate=1: no optimizer 'adanw'; did you mean 'adamw'?"),
                (2, ("--train=loss", "--optimizer=sgd"), "--optimizer sgd: the rate is missing, as in sgd,rate=1e-3"),
                (2, ("--train=loss", "--optimizer=sgd,rate=fast"), "'rate=fast' is not NAME=NUMBER"),
                (2, ("--train=loss", "--optimizer=sgd,rate=1,beta1=0.5"),
                 "'sgd' has no number 'beta1'; there are rate, l2, decay, momentum, dampening, nesterov"),
                (2, ("--train=loss", "--optimizer=sgd,rate=1", "--devices=GPU:0,GPU:1", "--simulate", "--replicate=GPU:0,GPU:1"),
                 "--train makes a step for one batch on one set of weights"),
                (1, ("--train=lost", "--optimizer=sgd,rate=1"), "--train: the graph has no output 'lost'; did you mean 'loss'?"),
                (1, ("--train=mse", "--optimizer=sgd,rate=1"), "--train: mse compares the only output with labels; the outputs are 'loss', "
                 "'logits', and --outputs ends the graph at one of them"),
                (1, ("--train=logits", "--optimizer=sgd,rate=1"), "output 'logits' is 'tensor<16x4xf32>'; a loss is a scalar of floats"),
                (1, ("--train=loss", "--optimizer=sgd,rate=1", "--trainable=w3"), "--trainable w3 matches no constant of floats that has a "
                 "name; these are 'w1', 'b1', 'w2', 'b2'")):
            with self.subTest(flags):
                self.assertIn(text, self.gantry("compile", "mlp.onnx", *flags, "-o", "step.gantry", status=status))

    def test_check_sees_ways_through_what_is_made_of_weights_alone(self):
        nodes = [helper.make_node("Reshape", ["w", "shape"], ["v"]),
                 helper.make_node("ScatterElements", ["v", "places", "x"], ["s"], name="pick", reduction="mul", axis=1),
                 helper.make_node("Add", ["s", "b"], ["t"]), helper.make_node("ReduceMean", ["t"], ["loss"], keepdims=0)]
        save(self.folder / "made.onnx", nodes, {"x": (TensorProto.FLOAT, (ROWS, 1))}, {"loss": LOSS},
             {"w": np.ones((4, ROWS // 4), np.float32), "b": np.zeros((ROWS, 1), np.float32), "shape": np.array([ROWS, 1]),
              "places": np.zeros((ROWS, 1), np.int64)})
        run = subprocess.run([str(BUILD / "bin/gantry"), "check", "made.onnx", "--train=loss"], cwd=self.folder, capture_output=True, text=True)
        self.assertIn("node 'pick' (ScatterElements) ", run.stdout)
        said = self.gantry("compile", "made.onnx", "--train=loss", "--optimizer=sgd,rate=1", "-o", "step.gantry", status=1)
        self.assertIn("node 'pick'", said)

    def test_check_lists_ops_without_a_gradient(self):
        self.save_mlp()
        for flag in ("--train", "--train=loss"):
            self.assertIn("everything is supported", self.gantry("check", flag, "mlp.onnx"))
        scatter = [helper.make_node("ScatterElements", ["r", "places", "w3"], ["s"], name="pick", reduction="mul", axis=1),
                   helper.make_node("ScatterElements", ["s", "places", "w3"], ["t"], name="again", reduction="mul", axis=1),
                   helper.make_node("ReduceMean", ["t"], ["loss"], keepdims=0, name="mean")]
        save(self.folder / "odd.onnx", [*NETWORK[:2], *scatter, NETWORK[2]], {"x": X}, {"loss": LOSS, "logits": LOGITS},
             {**weights(), "places": np.zeros((ROWS, 1), np.int64), "w3": np.ones((ROWS, 1), np.float32)})
        self.gantry("check", "odd.onnx")
        report = self.gantry("check", "odd.onnx", "--train=loss", "--json", status=1)
        run = subprocess.run([str(BUILD / "bin/gantry"), "check", "odd.onnx", "--train=loss"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(run.returncode, 1, report)
        for text in ("node 'again' (ScatterElements) ", "node 'pick' (ScatterElements) ", "has no gradient", "2 things are not supported",
                     "the way from the loss to it: "):
            self.assertIn(text, run.stdout)
        self.assertIn("everything is supported", self.gantry("check", "odd.onnx", "--train=logits"))
        # A compilation tells of the first, with the way.
        said = self.gantry("compile", "odd.onnx", "--train=loss", "--optimizer=sgd,rate=1", "-o", "step.gantry", status=1)
        self.assertIn("no gradient", said)
        self.assertIn("the way from the loss to it", said)

    def test_dropout_draws_anew_in_each_step(self):
        given = {**weights(), "ratio": np.array(0.5, np.float32), "training": np.array(True)}
        dropout = helper.make_node("Dropout", ["r", "ratio", "training"], ["dropped"], name="drop")
        nodes = [*NETWORK[:2], dropout, helper.make_node("Gemm", ["dropped", "w2", "b2"], ["logits"], name="fc2"), CROSS_ENTROPY]
        save(self.folder / "mlp.onnx", nodes, {"x": X, "labels": LABELS}, {"loss": LOSS, "logits": LOGITS}, given)
        self.step(optimizer="sgd,rate=0")  # nothing else changes
        losses = []
        for i in range(3):
            flags = ("--load-state", "s.npz") if i else ()
            losses.append(float(self.run_step("step", *flags, "--save-state", "s.npz")["loss"]))
        self.assertEqual(len(set(losses)), 3)
        again = [float(self.run_step("step", f"--repeat={n}")["loss"]) for n in (1, 2, 3)]
        self.assertEqual(again, losses)  # a function of the seed and the number of the step
        # Nothing is dropped where it is evaluated.
        self.assertAlmostEqual(float(self.run_step("evaluate")["loss"]), slopes(weights(), **batch())[0], delta=1e-6)

    def test_batch_norms_keep_their_averages(self):
        """Three steps with one batch, whose statistics the averages move toward; weights do not change them."""
        draw = np.random.default_rng(10)
        given = {"s": np.ones(WIDTH, np.float32), "o": np.zeros(WIDTH, np.float32), "m": np.zeros(WIDTH, np.float32),
                 "v": np.ones(WIDTH, np.float32), "w": draw.standard_normal((WIDTH, CLASSES)).astype(np.float32)}
        nodes = [helper.make_node("BatchNormalization", ["x", "s", "o", "m", "v"], ["n", "m2", "v2"], training_mode=1, momentum=0.9),
                 helper.make_node("MatMul", ["n", "w"], ["logits"]), CROSS_ENTROPY]
        save(self.folder / "mlp.onnx", nodes, {"x": X, "labels": LABELS}, {"loss": LOSS, "logits": LOGITS}, given)
        self.step(optimizer="sgd,rate=0.1")
        self.run_step("step", "--repeat=3", "--save-state", "w.safetensors")
        got, x = read_safetensors(self.folder / "w.safetensors"), batch()["x"].astype(np.float64)
        self.assertEqual(sorted(got), ["m", "o", "s", "sgd/step", "v", "w"])
        kept = 0.9**3
        np.testing.assert_allclose(got["m"], (1 - kept) * x.mean(0), rtol=0, atol=1e-6)
        np.testing.assert_allclose(got["v"], kept + (1 - kept) * x.var(0), rtol=0, atol=1e-6)
        self.assertGreater(np.abs(got["s"] - 1).max(), 1e-3)
        logits = self.run_step("evaluate", "--load-state", "w.safetensors")["logits"]
        np.testing.assert_allclose(logits, ((x - got["m"]) / np.sqrt(got["v"] + 1e-5) * got["s"] + got["o"]) @ got["w"], rtol=0, atol=1e-5)


class TrainingInfo(Tool):
    """Models that say themselves how they are trained."""

    PREVIEW = "ai.onnx.preview.training"

    def save_info(self, update, initialization=(), more=(), algorithm_inputs=(), initial=()):
        names = ["w1", "b1", "w2", "b2"]
        own = [*(numpy_helper.from_array(0 * value, f"v_{name}") for name, value in weights().items()),
               numpy_helper.from_array(np.array(0.1, np.float32), "rate"), numpy_helper.from_array(np.array(0, np.int64), "count"),
               numpy_helper.from_array(np.array(1, np.int64), "one")]
        nodes = [CROSS_ENTROPY, helper.make_node("Add", ["count", "one"], ["next_count"]),
                 helper.make_node("Gradient", names, [f"d_{name}" for name in names], domain=self.PREVIEW, xs=names, y="loss"),
                 helper.make_node("Momentum", ["rate", "count", *names, *(f"d_{name}" for name in names), *(f"v_{name}" for name in names)],
                                  [*(f"n_{name}" for name in names), *(f"nv_{name}" for name in names)], domain=self.PREVIEW,
                                  alpha=0.9, beta=1.0, norm_coefficient=0.0, mode="standard"), *more]
        outputs = [*([f"n_{name}" for name in names]), *([f"nv_{name}" for name in names])]
        algorithm = helper.make_graph(nodes, "a", [helper.make_tensor_value_info("labels", *LABELS), *algorithm_inputs],
                                      [helper.make_tensor_value_info("loss", *LOSS), helper.make_tensor_value_info("next_count", I, []),
                                       *(helper.make_tensor_value_info(name, F, None) for name in outputs)], own)
        graph = helper.make_graph(NETWORK, "mlp", [helper.make_tensor_value_info("x", *X)], [helper.make_tensor_value_info("logits", *LOGITS)],
                                  [numpy_helper.from_array(value, name) for name, value in weights().items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(self.PREVIEW, 1)], ir_version=8)
        info = model.training_info.add()
        info.algorithm.CopyFrom(algorithm)
        for key, value in update:
            info.update_binding.add(key=key, value=value)
        if initialization:
            info.initialization.CopyFrom(helper.make_graph(*initialization))
            for key, value in initial:
                info.initialization_binding.add(key=key, value=value)
        onnx.save(model, str(self.folder / "self.onnx"))

    def bindings(self):
        return [("count", "next_count"), *((name, f"n_{name}") for name in weights()), *((f"v_{name}", f"nv_{name}") for name in weights())]

    def test_steps_of_its_own(self):
        self.save_info(self.bindings())
        self.gantry("compile", "self.onnx", "-o", "step.gantry")
        losses = [float(self.run_step("step", f"--repeat={n}", "--save-state", "w.safetensors")["loss"]) for n in (1, 20)]
        w = {name: value.astype(np.float64) for name, value in weights().items()}
        v, wanted = {name: 0 * value for name, value in w.items()}, []
        for _ in range(20):  # of ONNX's Momentum; beta is 1 from the first step on
            loss, g = slopes(w, batch()["x"].astype(np.float64), batch()["labels"])
            wanted.append(loss)
            for name in w:
                v[name] = 0.9 * v[name] + g[name]
                w[name] -= 0.1 * v[name]
        np.testing.assert_allclose(losses, [wanted[0], wanted[-1]], atol=1e-5)
        got = read_safetensors(self.folder / "w.safetensors")
        self.assertEqual(sorted(got), sorted(key for key, _ in self.bindings()))
        self.assertEqual(got["count"], 20)
        for name in w:
            np.testing.assert_allclose(got[name], w[name], rtol=0, atol=1e-5, err_msg=name)
        # The graph itself reads what was learned.
        x = batch()["x"]
        np.savez(self.folder / "batch.npz", x=x)
        logits = self.run_step("mlp", "--load-state", "w.safetensors")["logits"]
        np.testing.assert_allclose(logits, np.maximum(x @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"], rtol=0, atol=1e-4)

    def test_initialization(self):
        ones = helper.make_node("Constant", [], ["ones"], value=numpy_helper.from_array(np.ones(CLASSES, np.float32)))
        zero = helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.array(0, np.int64)))
        outputs = [helper.make_tensor_value_info("ones", F, [CLASSES]), helper.make_tensor_value_info("zero", I, [])]
        self.save_info(self.bindings(), ([ones, zero], "i", [], outputs), initial=[("b2", "ones"), ("count", "zero")])
        self.gantry("compile", "self.onnx", "-o", "step.gantry")
        self.run_step("step", "--repeat=3", "--save-state", "w.npz")
        self.gantry("run", "step.gantry", "--function=initialize", "--load-state", "w.npz", "--save-state", "again.safetensors")
        got = read_safetensors(self.folder / "again.safetensors")
        self.assertEqual((got["b2"].tolist(), int(got["count"])), ([1] * CLASSES, 0))
        with np.load(self.folder / "w.npz") as before:
            np.testing.assert_array_equal(got["w1"], before["w1"])
            self.assertEqual(int(before["count"]), 3)

    def test_wrong_ones_are_told(self):
        for update, text in (
                ([("w9", "n_w1")], "training_info: 'w9' is bound to 'n_w1' and is no initializer of the graph or the algorithm"),
                ([("w1", "n_w1"), ("w1", "n_w1")], "training_info: 'w1' is updated twice"),
                ([("w1", "n_w9")], "output 'n_w9' is made by no node"),
                ([("w1", "n_w2")], "training_info: 'w1' is 'tensor<8x32xf32>', and 'n_w2', which it is bound to, is 'tensor<32x4xf32>'")):
            with self.subTest(text):
                self.save_info(update)
                said = self.gantry("compile", "self.onnx", "-o", "step.gantry", status=1)
                self.assertIn(text, said)

    def test_an_output_of_the_middle_is_of_the_graph_alone(self):
        self.save_info(self.bindings())
        self.gantry("compile", "self.onnx", "--outputs=h", "-o", "step.gantry")
        np.savez(self.folder / "batch.npz", x=batch()["x"])
        self.gantry("run", "step.gantry", "--input", "batch.npz", "--output", "out.npz")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
