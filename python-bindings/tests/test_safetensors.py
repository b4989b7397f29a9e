"""Files of tensors. The reader and the writer here are made from the format's description, and know nothing of Gantry:
https://huggingface.co/docs/safetensors"""

import json
import pathlib
import struct
import tempfile
import unittest

import numpy as np

import gantry as gt
from gantry import nn
from tests.support import HAS_COMPILER, NEEDS_COMPILER, PLANS

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8",
         "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}


def read(path):
    """Type, and values as NumPy has them, by name; and the metadata."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length].decode("utf-8"))
    metadata, rest, made = header.pop("__metadata__", {}), data[8 + length:], {}
    at = 0
    for name, entry in sorted(header.items(), key=lambda each: each[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        if begin != at:
            raise ValueError(f"{name} begins at {begin}, and not at {at}")
        at = end
        made[name] = entry["dtype"], np.frombuffer(rest[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    if at != len(rest):
        raise ValueError(f"the file has {len(rest)} bytes of tensors, and {at} are used")
    return made, metadata


def write(path, tensors, metadata=None, space=""):
    """The same the other way round."""
    header, body = {"__metadata__": metadata} if metadata else {}, b""
    for name, (kind, values) in tensors.items():
        bytes_ = np.ascontiguousarray(values).astype(TYPES[kind]).tobytes()
        header[name] = {"dtype": kind, "shape": list(np.shape(values)), "data_offsets": [len(body), len(body) + len(bytes_)]}
        body += bytes_
    text = (json.dumps(header) + space).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + body)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "w.safetensors"


def values_of_all_types():
    """Values by type, in shapes of every kind."""
    numbers = {"F64": [[0.1, -2.5]], "F32": 3.25, "F16": [[[1.5]], [[-0.0]]], "I64": [-2**63, 7], "I32": [], "I16": [[-3], [4]],
               "I8": [-128, 127, 1], "U64": [2**64 - 1], "U32": 9, "U16": [65535], "U8": [[1, 2, 3]], "BOOL": [True, False, True]}
    return {kind: np.array(values, TYPES[kind]) for kind, values in numbers.items()}


NAMES = {"F64": "float64", "F32": "float32", "F16": "float16", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
         "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool_"}


class Arrays(Files):
    def test_others_read_what_is_written(self):
        given = values_of_all_types()
        arrays = {f"{kind} \u00e9\"\n": values for kind, values in given.items()}
        arrays["brain"] = gt.array([1.0, -2.5], dtype="bfloat16", device="GPU:1")
        gt.save_safetensors(self.path, arrays, {"epoch": "3", "\u00e9": "\n"})
        made, metadata = read(self.path)
        self.assertEqual(metadata, {"epoch": "3", "\u00e9": "\n"})
        self.assertEqual(len(made), len(arrays))
        for kind, values in given.items():
            told, got = made[f"{kind} \u00e9\"\n"]
            self.assertEqual((told, got.shape, got.tobytes()), (kind, values.shape, values.tobytes()))
        self.assertEqual((made["brain"][0], made["brain"][1].tolist()), ("BF16", [0x3F80, 0xC020]))

    def test_what_others_write_is_read(self):
        given = values_of_all_types()
        for space in ("", "   "):
            write(self.path, {kind: (kind, values) for kind, values in given.items()}, {"format": "pt"}, space)
            made = gt.load_safetensors(self.path)
            self.assertEqual((list(made), made.metadata), (list(given), {"format": "pt"}))
            for kind, values in given.items():
                self.assertEqual((made[kind].dtype.name, made[kind].shape, made[kind].numpy().tobytes()),
                                 (NAMES[kind], values.shape, values.tobytes()))

    def test_brain_floats(self):
        write(self.path, {"b": ("BF16", np.array([0x3F80, 0xC020, 0x7FC0], np.uint16))})
        made = gt.load_safetensors(self.path, device="GPU:0")["b"]
        self.assertEqual((made.dtype, made.device, made.astype("float32").tolist()[:2]), ("bfloat16", "GPU:0", [1.0, -2.5]))
        gt.save_safetensors(self.folder / "again.safetensors", {"b": made})
        self.assertEqual((self.folder / "again.safetensors").read_bytes()[-6:], self.path.read_bytes()[-6:])

    def test_the_same_arrays_give_the_same_bytes(self):
        given = values_of_all_types()
        gt.save_safetensors(self.path, given, {"b": "2", "a": "1"})
        first = self.path.read_bytes()
        gt.save_safetensors(self.path, dict(reversed(given.items())), {"a": "1", "b": "2"})
        self.assertEqual(self.path.read_bytes(), first)
        (length,) = struct.unpack("<Q", first[:8])
        self.assertEqual(length % 8, 0)

    def test_an_array_outlives_its_file(self):
        write(self.path, {"x": ("F32", np.arange(1000))})
        made = gt.load_safetensors(self.path)["x"]
        self.path.unlink()
        self.assertEqual(made.numpy().sum(), 499500)

    def test_wrong_files_and_calls(self):
        self.path.write_bytes(b"torn")
        write(self.folder / "small", {"f": ("U8", [1])})
        (self.folder / "small").write_bytes((self.folder / "small").read_bytes().replace(b'"U8"', b'"F4"'))
        for call, error, text in (
                (lambda: gt.load_safetensors(self.path), gt.CorruptPlanError,
                 f"'{self.path}' is not a readable safetensors file: it has 4 bytes, and the length of the header alone takes 8"),
                (lambda: gt.load_safetensors(self.folder / "none"), gt.NotFoundError,
                 f"cannot open '{self.folder}/none': no such file or folder"),
                (lambda: gt.load_safetensors(self.folder / "small"), gt.UnsupportedError,
                 f"'{self.folder}/small': tensor 'f' has the type 'F4'; known are BOOL, U8, I8, U16, I16, F16, U32, BF16, I32, "
                 "F32, U64, I64, F64"),
                (lambda: gt.save_safetensors("/dev/full", {"x": np.zeros(4)}), gt.InvalidArgumentError,
                 "cannot write '/dev/full': no space left on device"),
                (lambda: gt.save_safetensors(self.path, {"__metadata__": [1.0]}), gt.InvalidArgumentError,
                 f"cannot write '{self.path}': a tensor is called '__metadata__', which is the file's own"),
                (lambda: gt.save_safetensors(self.path, {}, {"step": 3}), gt.InvalidArgumentError,
                 "metadata are texts by name, got 'step': 3; json.dumps makes a text of it")):
            with self.assertRaises(error) as caught:
                call()
            self.assertEqual(str(caught.exception), text)
        self.assertEqual(self.path.read_bytes(), b"torn")


class States(Files):
    """training.gantry has v, f32[4], with a mirror, and w, f32[2,2]; counter.gantry has v."""

    def state(self, plan="training"):
        return gt.load(PLANS / f"{plan}.gantry").session().state

    def test_saved_and_loaded(self):
        state, fresh = self.state(), self.state()
        state.load({"v": [1, 2, 3, 4], "w": [[1, 2], [3, 4]]})
        state.save(self.path, {"step": "100"})
        made, metadata = read(self.path)
        self.assertEqual(({name: values.tolist() for name, (_, values) in made.items()}, metadata),
                         ({"v": [1, 2, 3, 4], "w": [[1, 2], [3, 4]]}, {"step": "100"}))  # no mirror
        self.assertEqual(fresh.load(self.path), ([], []))
        self.assertEqual((fresh["v"].tolist(), fresh["v/replica_1"].tolist(), fresh["w"].tolist()),
                         ([1, 2, 3, 4], [1, 2, 3, 4], [[1, 2], [3, 4]]))
        counter = self.state("counter")
        self.assertEqual(counter.load(self.path, map={"w": None}, strict=True), ([], []))
        self.assertEqual((counter.names, counter["v"].tolist()), (["v"], [1, 2, 3, 4]))

    def test_an_empty_state_takes_all(self):
        for name in ("w.safetensors", "w.npz"):
            state = gt.State()
            state["b"] = gt.array([1.0, 2.0], dtype="bfloat16", device="GPU:1")
            state["i"] = gt.array([7])
            state.save(self.folder / name)
            fresh = gt.State()
            fresh.load(self.folder / name)
            self.assertEqual((sorted(fresh.names), fresh["i"].tolist()), (["b", "i"], [7]))
            state["b"] = gt.array([0.0, 0.0], dtype="bfloat16")
            state.load(self.folder / name)  # of NumPy's files the bits
            self.assertEqual((state["b"].dtype, state["b"].astype("float32").tolist()), ("bfloat16", [1.0, 2.0]))

    def test_nothing_is_half_loaded(self):
        def tensors(**given):
            return {name: ("F32", values) for name, values in given.items()}
        ones, square = np.ones(4), np.ones((2, 2))
        p = f"'{self.path}'"
        for given, named, error, text in (
                (tensors(v=ones, w=ones), {}, gt.InvalidArgumentError, "variable 'w': expected float32[2, 2], got float32[4]"),
                (tensors(v=ones, w=ones), {"map": {}}, gt.InvalidArgumentError,
                 f"variable 'w' is float32[2, 2], but {p} holds float32[4]"),
                (tensors(v=ones, a=ones), {"map": {"a": "w"}}, gt.InvalidArgumentError,
                 f"variable 'w' is float32[2, 2], but 'a' in {p} is float32[4]"),
                (tensors(v=ones, w=square), {"map": {"w": ("w", (0,))}}, gt.InvalidArgumentError,
                 "variable 'w': axes [0] are no order of those of float32[2, 2]"),
                (tensors(v=ones, w=square), {"map": {"w": "v"}}, gt.InvalidArgumentError, f"variable 'v' gets two values of {p}"),
                (tensors(v=ones, w=square), {"map": {"x": "v"}}, gt.NotFoundError, f"the map names 'x', which is not in {p}"),
                (tensors(v=ones), {"strict": True}, gt.NotFoundError,
                 f"{p} has no values for 'w'; strict=False lets them keep theirs; it has 'v'"),
                (tensors(v=ones, w=square, x=ones), {"strict": True}, gt.NotFoundError,
                 f"no variable is meant by 'x', which {p} has; strict=False or a map passes over them; the variables are 'v', "
                 "'w'")):
            state = self.state()
            write(self.path, given)
            with self.subTest(text), self.assertRaises(error) as caught:
                state.load(self.path, **named)
            self.assertEqual(str(caught.exception), text)
            self.assertEqual((state["v"].tolist(), state["w"].tolist(), state.names), ([0] * 4, [[1, 1], [1, 1]], ["v", "w"]))

    def test_a_bad_mapping_changes_nothing(self):
        state = self.state()
        with self.assertRaises(gt.InvalidArgumentError):
            state.load({"v": [1, 2, 3, 4], "w": [1]})
        self.assertEqual(state["v"].tolist(), [0] * 4)

    def test_only_safetensors_have_metadata(self):
        with self.assertRaises(gt.InvalidArgumentError) as caught:
            self.state().save(self.folder / "w.npz", {"step": "1"})
        self.assertEqual(str(caught.exception), "an .npz file has no metadata; a file that ends in .safetensors has")


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Networks(Files):
    def net(self):
        return nn.Sequential(nn.Dense(3, "relu"), nn.Dense(2))

    def test_saved_and_loaded(self):
        x = np.ones((2, 4), np.float32)
        net, other = self.net(), self.net().to("GPU:1")
        wanted, before = net(x).numpy(), other(x).numpy()
        net.save(self.path, {"epoch": "3"})
        made, metadata = read(self.path)
        self.assertEqual(metadata, {"epoch": "3"})
        self.assertEqual({name: (kind, values.shape) for name, (kind, values) in made.items()},
                         {"layers.0.weight": ("F32", (4, 3)), "layers.0.bias": ("F32", (3,)),
                          "layers.1.weight": ("F32", (3, 2)), "layers.1.bias": ("F32", (2,))})
        self.assertFalse(np.array_equal(before, wanted))
        self.assertEqual(other.load(self.path), ([], []))
        np.testing.assert_allclose(other(x).numpy(), wanted, rtol=1e-6)
        self.assertEqual(other[0].weight.device, "GPU:1")

    def test_names_and_axes_of_others(self):
        net = nn.Sequential(nn.Dense(3))
        net(np.ones((1, 2), np.float32))
        write(self.path, {"fc.weight": ("F32", np.arange(6).reshape(3, 2)), "fc.bias": ("F32", np.arange(3)), "steps": ("I64", 7)})
        names = {"fc.weight": ("layers.0.weight", (1, 0)), "fc.bias": "layers.0.bias", "steps": None}
        for map in (names, names.get):
            net[0].weight.assign(0), net[0].bias.assign(0)
            net.load(self.path, map)
            self.assertEqual((net[0].weight.tolist(), net[0].bias.tolist()), ([[0, 2, 4], [1, 3, 5]], [0, 1, 2]))
        self.assertEqual(net.load(self.path, strict=False), (["layers.0.weight", "layers.0.bias"], ["fc.weight", "fc.bias", "steps"]))

    def test_wrong_calls(self):
        net = self.net()
        with self.assertRaises(gt.FailedPreconditionError) as caught:
            net.save(self.path)
        self.assertIn("has variables only when it has seen an input, and is saved before that; call the network once", str(caught.exception))
        x = np.ones((2, 4), np.float32)
        net(x)
        net.save(self.path)
        before = net(x).numpy()
        with self.assertRaises(gt.NotFoundError) as caught:
            nn.Sequential(net[0]).load(self.path)
        self.assertEqual(str(caught.exception), f"no variable is meant by 'layers.1.bias', 'layers.1.weight', which '{self.path}' "
                         "has; strict=False or a map passes over them; the variables are 'layers.0.weight', 'layers.0.bias'")
        tensors, _ = read(self.path)
        tensors = {name: (kind, values + 1) for name, (kind, values) in tensors.items()}
        tensors["layers.1.bias"] = "F32", np.zeros(3)
        write(self.path, tensors)
        with self.assertRaises(gt.InvalidArgumentError) as caught:
            net.load(self.path)
        self.assertEqual(str(caught.exception), f"variable 'layers.1.bias' is float32[2], but '{self.path}' holds float32[3]")
        del tensors["layers.1.bias"]
        write(self.path, tensors)
        with self.assertRaises(gt.NotFoundError) as caught:
            net.load(self.path)
        self.assertEqual(str(caught.exception), f"'{self.path}' has no values for 'layers.1.bias'; strict=False lets them keep theirs; it has "
                         "'layers.0.bias', 'layers.0.weight', 'layers.1.weight'")
        net[1].weight.frozen = True
        with self.assertRaises(gt.InvalidArgumentError) as caught:
            net.load(self.path, strict=False)
        self.assertIn("is frozen", str(caught.exception))
        net[1].weight.frozen = False
        self.assertEqual(net(x).numpy().tolist(), before.tolist())

        @gt.function
        def step(x):
            net.load(self.path, strict=False)
            return net(x)
        with self.assertRaises(gt.InvalidArgumentError) as caught:
            step(x)
        self.assertIn("variables are loaded while a function is traced", str(caught.exception))


# ---- PyTorch's ----

class Block(nn.Module):
    """He et al., Deep residual learning for image recognition, 2016; attributes are those of torchvision, so names are, too."""

    def __init__(self, filters, strides, widens):
        super().__init__()
        conv = lambda window, strides: nn.Conv2D(filters, window, strides=strides, padding=window // 2, bias=False, channels="first")
        self.conv1, self.bn1 = conv(3, strides), nn.BatchNorm(channels="first")
        self.conv2, self.bn2 = conv(3, 1), nn.BatchNorm(channels="first")
        self.downsample = [conv(1, strides), nn.BatchNorm(channels="first")] if widens else []

    def forward(self, x):
        y = self.bn2(self.conv2(gt.relu(self.bn1(self.conv1(x)))))
        for layer in self.downsample:
            x = layer(x)
        return gt.relu(x + y)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2D(64, 7, strides=2, padding=3, bias=False, channels="first")
        self.bn1 = nn.BatchNorm(channels="first")
        self.pool, self.mean, self.fc = nn.MaxPool(3, 2, padding=1, channels="first"), nn.GlobalAvgPool("first"), nn.Dense(1000)
        for stage in range(4):
            strides = 2 if stage else 1
            setattr(self, f"layer{stage + 1}", [Block(64 << stage, strides, stage > 0), Block(64 << stage, 1, False)])

    def forward(self, x):
        x = self.pool(gt.relu(self.bn1(self.conv1(x))))
        for stage in range(4):
            for block in getattr(self, f"layer{stage + 1}"):
                x = block(x)
        return self.fc(self.mean(x))


def of_torch(name):
    """What PyTorch calls the names of Gantry's layers."""
    layer, _, what = name.rpartition(".")
    if what == "num_batches_tracked":
        return None
    if layer == "fc" and what == "weight":
        return name, (1, 0)
    if "bn" in layer or layer.endswith("downsample.1"):
        what = {"weight": "scale", "running_mean": "mean", "running_var": "variance"}.get(what, what)
    return f"{layer}.{what}"


@unittest.skipUnless(HAS_COMPILER, NEEDS_COMPILER)
class Torch(Files):
    def test_weights_of_resnet18_give_its_outputs(self):
        try:
            import torch
            from torchvision.models import resnet18
        except ImportError:
            self.skipTest("no torchvision (tools/dev/install_deps.sh references)")
        torch.manual_seed(1)
        theirs = resnet18()
        for module in theirs.modules():  # statistics as of a network that has learned
            if isinstance(module, torch.nn.BatchNorm2d):
                torch.nn.init.uniform_(module.running_mean, -0.1, 0.1)
                torch.nn.init.uniform_(module.running_var, 0.5, 1.5)
        theirs.eval()
        kinds = {torch.float32: "F32", torch.int64: "I64"}
        write(self.path, {name: (kinds[value.dtype], value.numpy()) for name, value in theirs.state_dict().items()}, {"format": "pt"})
        x = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(2))
        ours = ResNet18().to("CPU:0")
        ours(x.numpy())
        self.assertEqual(ours.load(self.path, of_torch), ([], []))
        with torch.no_grad():
            wanted = theirs(x).numpy()
        got = ours(x.numpy()).numpy()
        self.assertLess(np.abs(got - wanted).max() / np.abs(wanted).max(), 1e-5)  # f32 sums over up to 4608 products
        self.assertGreater(np.abs(wanted).max(), 0.1)
