#!/usr/bin/python3
"""Whole models through the tool `gantry`, compared with references computed elsewhere.

The project's own networks (own_models.py) against NumPy. The shared models (GANTRY_MODELS_DIR, default ../shared/models):
mnist's four digits and ultraface against the files beside them, ONNX's light_* networks with weights that differ against
NumPy (light_networks.py), networks of make_models.py against PyTorch. The project's own digits classifier against its
labels. A model whose weights lie in a sparse file of more than 2 GiB beside it. Each case that cannot run here says why.

With GANTRY_TEST_CUDA=fake the same by the driver of GPUs on the fake libcuda, kernels interpreted; and
networks of make_models.py with kernels that do not run, most of them being too much to interpret: what they load,
copy and call is counted.

Usage: models_test.py --build-dir BUILD [--filter TEXT] [--all] [--json FILE] [-v]
"""

import os
import re
import shutil
import sys

import numpy as np

import cases
import light_networks
import own_models
import references
from cases import Skip, shared

DIGITS = cases.ROOT / "examples/digits"
ON_FAKE = os.environ.get("GANTRY_TEST_CUDA") == "fake"
GPU = ["--devices=CPU:0,GPU:0"] if ON_FAKE else []
RTOL = 1e-3  # of the issue of every reference here: float32 in another order of summation


class Models(cases.Runner):
    """Runs models on arrays."""

    def gantry(self, *arguments, environment=None, **more):
        """On the fake, streams run in an order that a seed draws; checks of the order take too long for networks."""
        fake = {"GANTRY_CUDA_LIB": str(self.tool.parents[1] / "lib/libfake-cuda.so"), "FAKE_CUDA_DEVICES": "2",
                "FAKE_CUDA_SEED": "1", "FAKE_CUDA_KERNELS": "0", "FAKE_CUDA_REPORT": str(self.scratch / "report")}
        return super().gantry(*arguments, environment={**(fake if ON_FAKE else {}), **(environment or {})}, **more)

    def run(self, model, inputs, outputs, environment=None):
        """Runs a model on arrays or .npy files by name; the named outputs as arrays."""
        arguments = ["run", model, "-v", *(GPU if model.suffix != ".gantry" else [])]
        for index, (name, value) in enumerate(inputs.items()):
            if isinstance(value, np.ndarray):
                np.save(file := self.scratch / f"input{index}.npy", value)
                value = file
            arguments += ["--input", f"{name}={value}"]
        files = {name: self.scratch / f"output{index}.npy" for index, name in enumerate(outputs)}
        for name, file in files.items():
            file.unlink(missing_ok=True)
            arguments += ["--output", f"{name}={file}"]
        said = self.gantry(*arguments, environment=environment)[1]
        assert not ON_FAKE or re.search(r"copies counted as planned: [1-9]", said), said
        return {name: np.load(file) for name, file in files.items()}


def expect_close(actual, expected, what, inputs, rtol=RTOL):
    """Equal to `rtol` of each value, or of the largest value where a value is near zero; a reference that says nothing
    beside the network's inputs, arrays, is refused."""
    assert not (found := references.weakness(expected, inputs)), f"{what}: {found}"
    assert actual.dtype == expected.dtype, f"{what}: element type {actual.dtype}, expected {expected.dtype}"
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}"
    atol = rtol * 1e-2 * float(np.abs(expected).max())
    error = np.abs(actual.astype(np.float64) - expected)
    bad = ~(error <= atol + rtol * np.abs(expected))
    assert not bad.any(), f"{what}: {bad.sum()} of {bad.size} values differ, largest difference {np.nanmax(error):.3g}"


# --- the cases; each takes Models --------------------------------------------------------------


def own(runner, name):
    graph = own_models.NETWORKS[name]()
    actual = runner.run(own_models.write(name, runner.scratch), graph.inputs, ["output"])
    expect_close(actual["output"], graph.expected[0], "output", graph.inputs.values())


def mnist(runner, digit):
    expected = np.load(shared(f"mnist/expected{digit}.output.Plus214_Output_0.npy"))
    actual = runner.run(shared("mnist/mnist.onnx"), {"Input3": shared(f"mnist/digit{digit}.npy")},
                        ["Plus214_Output_0"])
    expect_close(actual["Plus214_Output_0"], expected, "Plus214_Output_0", [np.load(shared(f"mnist/digit{digit}.npy"))])
    assert actual["Plus214_Output_0"].argmax() == digit


def ultraface(runner):
    actual = runner.run(shared("ultraface/ultraface.onnx"),
                        {"input": shared("ultraface/ref.input.input.npy")}, ["scores", "boxes"])
    for name, value in actual.items():
        expect_close(value, np.load(shared(f"ultraface/ref.output.{name}.npy")), name,
                     [np.load(shared("ultraface/ref.input.input.npy"))])


def light(runner, name):
    """With weights of our own: the answers beside the files are 1/1000 a thousand times."""
    model, inputs, output, expected = light_networks.with_weights(shared(f"light/{name}.onnx"))
    file = runner.scratch / f"{name}.onnx"
    file.write_bytes(model.SerializeToString())
    expect_close(runner.run(file, inputs, [output])[output], expected, output, inputs.values())


def against_pytorch(runner, name):
    script = shared("make_models.py")
    try:
        import torch
    except ImportError:
        raise Skip("no PyTorch (tools/dev/install_deps.sh references)") from None
    # The script is a program: its last line calls main(), which is left out here to get at MODELS.
    source = script.read_text(encoding="utf-8").rstrip().removesuffix("main()")
    try:
        exec(compile(source, str(script), "exec"), scope := {"__name__": "make_models"})
    except ImportError as error:
        raise Skip(f"make_models.py: {error}") from None
    torch.manual_seed(0)
    net, arguments = scope["MODELS"][name]()
    with torch.no_grad():
        expected = net.eval()(*arguments).numpy()
    model = cases.made(runner, name, "GANTRY_MADE_MODELS")
    inputs = {f"input{index}": value.numpy() for index, value in enumerate(arguments)}
    actual = runner.run(model, inputs, ["output"])
    expect_close(actual["output"], expected, "output", inputs.values())


def detector(runner):
    """A detector of torchvision comes as far as data decide how many boxes are left: its shapes before that are made of
    constants by way of ReduceMax, Reciprocal and their like. What it has computed by then is PyTorch's."""
    try:
        import torch
        from torchvision.models.detection import ssdlite320_mobilenet_v3_large
    except ImportError:
        raise Skip("no torchvision (tools/dev/install_deps.sh references)") from None
    torch.manual_seed(0)
    net, image = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None), torch.rand(3, 320, 320)
    for norm in (each for each in net.modules() if isinstance(each, torch.nn.BatchNorm2d)):
        norm.momentum = None  # statistics that fit the weights, or all scores are equal
    with torch.no_grad():
        net.head(list(net.train().backbone(torch.randn(2, 3, 320, 320)).values()))
    net.eval()
    model = runner.scratch / "detector.onnx"
    torch.onnx.export(net, ([image],), str(model), opset_version=16, input_names=["image"])
    with torch.no_grad():
        images, _ = net.transform([image])
        features = list(net.backbone(images.tensors).values())
        expected = net.head(features)["cls_logits"].softmax(-1).numpy()
    said = runner.gantry("check", model, status=1)[0]
    issues = [line for line in said.splitlines() if line.startswith("not supported: ")]
    assert issues and all("(NonZero of ai.onnx" in issue and "depends on data" in issue for issue in issues), said
    np.save(file := runner.scratch / "image.npy", image.numpy())
    out = runner.scratch / "scores.npy"
    runner.gantry("run", model, *GPU, "--outputs=/Softmax_output_0", "--input", f"image={file}",
                  "--output", f"/Softmax_output_0={out}")
    expect_close(np.load(out), expected, "scores", [image.numpy()])


def digits(runner):
    """One held-out image a digit; the plan is compiled once and run without any compiler."""
    names = "zero one two three four five six seven eight nine".split()
    plan = runner.scratch / "digits.gantry"
    runner.gantry("compile", DIGITS / "digits.onnx", *GPU, "-o", plan)
    for digit, name in enumerate(names):
        actual = runner.run(plan, {"image": DIGITS / f"{name}.npy"}, ["probabilities"],
                            {"GANTRY_COMPILER": "/nonexistent"})["probabilities"]
        assert actual.argmax() == digit, f"{name} was taken for {names[actual.argmax()]}"
        assert abs(actual.sum() - 1) < 1e-3, f"probabilities add up to {actual.sum()}"


def external_data(runner):
    """Rows of a table of more than 2 GiB, sparse on disk: weights are mapped, never wholly read into memory."""
    import onnx
    from onnx import TensorProto, helper
    rows, width = (2 << 20) + (1 << 16), 256  # float32: more bytes than a signed number of 32 bits counts
    size = rows * width * 4
    free_disk = shutil.disk_usage(runner.scratch).free
    free_memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if free_disk < 2 * size + (1 << 30):
        raise Skip(f"2 GiB external data: {free_disk >> 30} GiB free on disk, 6 needed")
    if free_memory < (4 << 30):
        raise Skip(f"2 GiB external data: {free_memory >> 30} GiB of memory free, 4 needed")
    chosen = np.array([0, 1, rows // 2, rows - 1], np.int64)
    expected = np.arange(len(chosen) * width, dtype=np.float32).reshape(len(chosen), width)
    with open(runner.scratch / "table.bin", "wb") as file:
        file.truncate(size)
        for row, values in zip(chosen, expected):
            file.seek(int(row) * width * 4)
            file.write(values.tobytes())
    table = TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[rows, width],
                        data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "table.bin"), ("offset", "0"), ("length", str(size))):
        table.external_data.add(key=key, value=value)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "rows"], ["out"])], "lookup",
        [helper.make_tensor_value_info("rows", TensorProto.INT64, [len(chosen)])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [len(chosen), width])], [table])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    (runner.scratch / "lookup.onnx").write_bytes(model.SerializeToString())
    actual = runner.run(runner.scratch / "lookup.onnx", {"rows": chosen}, ["out"])["out"]
    expect_close(actual, expected, "out", [], rtol=0)


def counted(runner, name):
    """Loaded and run, but for the kernels: the copies of the ledger, nothing left behind, the calls of a further run."""
    model, plan = cases.file_of(runner, name), runner.scratch / "plan.gantry"
    runner.gantry("compile", model, *GPU, "-o", plan)
    calls = []
    for runs in (2, 3):
        (runner.scratch / "report").unlink(missing_ok=True)
        said = runner.gantry("run", plan, "-v", f"--repeat={runs}", environment={"FAKE_CUDA_SKIP": "1"})[1]
        assert "copies counted as planned" in said, said
        report = (runner.scratch / "report").read_text()
        assert re.fullmatch(r"calls \d+\nleaks \n", report), report
        calls.append(int(report.split()[1]))
    few = calls[1] - calls[0]
    assert few <= 6 or name in LARGE_OUTPUTS, f"{few} calls of the driver in a further run"
    return f"kernels did not run: too much to interpret, or to do so twice; {few} calls of the driver a run"


def spread(runner, model, *rules):
    """Over two GPUs as the rules say: the bytes of one CPU, fused or not; copies as the ledger has them. On the fake
    GPUs add in an order of their own: the bytes of one of them."""
    runner.gantry("run", model, *GPU, "--output", "one.npz")
    exact = ["--expect", "one.npz", "--rtol=0", "--atol=0", "-v"]
    runner.gantry("run", model, *GPU, "--no-fuse", *exact)
    said = runner.gantry("run", model, "--devices=CPU:0,GPU:0,GPU:1", *([] if ON_FAKE else ["--simulate"]),
                         *(f"--place={rule}" for rule in rules), *exact)[1]
    counted = re.search(r"copies counted as planned: (\d+) per run", said)
    assert counted and int(counted[1]) > 2, said


LARGE_OUTPUTS = ("gpt2_small", "elementwise")  # go piece by piece, above 16 MiB
OWN = tuple(f"own/{name}" for name in own_models.NETWORKS)
MADE, MORE_MADE = ("resnet50", "gpt2_small", "mlp", "elementwise"), ("mobilenet_v2", "vit_b_16", "bert_base", "reuters_cnn")


def counts(names):
    return {f"counted/{name}": lambda runner, name=name: counted(runner, name) for name in names}


def spreads(rules_of):
    return {f"spread/{name}": lambda runner, name=name, rules=rules: spread(runner, cases.file_of(runner, name), *rules)
            for name, rules in rules_of.items()}


CASES = {
    **{f"own/{name}": (lambda runner, name=name: own(runner, name)) for name in own_models.NETWORKS},
    **{f"mnist/{digit}": (lambda runner, digit=digit: mnist(runner, digit)) for digit in (0, 3, 5, 7)},
    "ultraface": ultraface,
    # light_vgg19 is of the same ops, and takes NumPy a minute.
    **{f"light/{name}": (lambda runner, name=name: light(runner, name)) for name in
       ("light_squeezenet", "light_resnet50")},
    **{f"pytorch/{name}": (lambda runner, name=name: against_pytorch(runner, name)) for name in
       ("mlp", "reuters_cnn", "elementwise")},
    "pytorch/detector": detector,
    "digits": digits,
    "external-data-over-2GiB": external_data,
    **spreads({"own/residual": ("op:Conv=GPU:1",), "own/encoder": ("op:MatMul=GPU:1",),
               "mnist/mnist.onnx": ("op:MatMul=GPU:1", "op:Conv=GPU:1"), "ultraface/ultraface.onnx": ("op:Conv=GPU:1",)}),
}
# Larger networks of the kinds that are above.
MORE = {"light/light_inception_v1": lambda runner: light(runner, "light_inception_v1"),
        **spreads({"light/light_resnet50.onnx": ("op:Conv=GPU:1",), "bert_base": ("op:MatMul=GPU:1",)})}
if ON_FAKE:  # of the others nothing is for GPUs, or they would take minutes; "counted" has networks of their kinds
    for name in ("external-data-over-2GiB", "light/light_resnet50", "pytorch/elementwise", "pytorch/detector"):
        del CASES[name]
    CASES |= counts(OWN + MADE)
    MORE = {**counts(MORE_MADE), **{f"mnist/{digit}": CASES.pop(f"mnist/{digit}") for digit in (0, 5, 7)}}


if __name__ == "__main__":
    sys.exit(cases.main("models", CASES, __doc__, Models, MORE))
