#!/usr/bin/python3
"""Trains the demo's classifier of handwritten digits by Gantry and writes it as ONNX.

The data are the 1797 grey images of 8x8 pixels, 0 (paper) to 16 (ink), that come with scikit-learn
(UCI, Optical Recognition of Handwritten Digits). A fifth is held out, and never seen in training;
the accuracy printed is on it, and so are the sample digits that are written. One seed: on the same
machine always the same file, on any number of threads.

Needs Debian's python3-sklearn and python3-onnx (tools/dev/install_deps.sh references).
Usage: train.py [OUTDIR] [--epochs N]     writes digits.onnx and zero.npy ... nine.npy beside this script
"""

import argparse
import pathlib
import sys

import numpy as np
import sklearn.datasets

import gantry as gt

NAMES = "zero one two three four five six seven eight nine".split()
SEED, EPOCHS, BATCH, RATE = 7, 60, 64, 3e-3


def network():
    nn = gt.nn
    return nn.Sequential(nn.Conv2D(16, 3, "relu", padding=1), nn.Conv2D(32, 3, "relu", padding=1), nn.MaxPool2D(2),
                         nn.Conv2D(32, 3, "relu", padding=1), nn.MaxPool2D(2), nn.Flatten(), nn.Dropout(0.3), nn.Dense(10))


def split():
    """(training images, labels), (held-out images, labels); images f32[n,8,8,1], 0 to 1."""
    data = sklearn.datasets.load_digits()
    images, labels = (data.images[..., None] / 16).astype(np.float32), data.target.astype(np.int32)
    order = np.random.RandomState(SEED).permutation(len(images))
    held_out, training = order[:len(order) // 5], order[len(order) // 5:]
    return (images[training], labels[training]), (images[held_out], labels[held_out])


def shifted(images, random):
    """Each image moved by up to one pixel: a writer does not centre to the pixel."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return np.stack([image[y:y + 8, x:x + 8] for image, (y, x) in zip(padded, random.integers(0, 3, (len(images), 2)))])


def train(images, labels, epochs=EPOCHS, progress=False):
    """A Trainer that has learned them."""
    random = np.random.default_rng(SEED)
    gt.random.seed(SEED)
    steps = -(-len(images) // BATCH)
    half_wave = gt.optim.cosine(RATE, epochs)
    optimizer = gt.optim.Adam(lambda step: half_wave(gt.floor(step / float(steps))), l2=1e-4)
    trainer = gt.Trainer(network(), lambda y, p: gt.losses.scce(y, p, from_logits=True), optimizer, seed=SEED)
    for _ in range(epochs):
        trainer.fit(shifted(images, random), labels, batch=BATCH, progress=progress)
    return trainer


def model_of(net):
    """The network as ONNX has it: images f32[1,1,8,8] from 0 to 16, channels first, to probabilities f32[1,10]."""
    from onnx import TensorProto, helper, numpy_helper
    nodes, weights, last = [], {"scale": np.float32(1 / 16)}, "image"

    def node(kind, *inputs, output=None, **attributes):
        nonlocal last
        given, last = [last, *inputs], output or f"{kind.lower()}_{len(nodes)}"
        nodes.append(helper.make_node(kind, given, [last], name=last, **attributes))

    node("Mul", "scale")
    height = width = 8
    for layer in net:
        if isinstance(layer, gt.nn.Conv2D):
            weights[f"{layer.name}.weight"], weights[f"{layer.name}.bias"] = layer.weight.numpy(), layer.bias.numpy()
            node("Conv", f"{layer.name}.weight", f"{layer.name}.bias", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
            node("Relu")
        elif isinstance(layer, gt.nn.MaxPool2D):
            node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
            height, width = height // 2, width // 2
        elif isinstance(layer, gt.nn.Flatten):
            node("Flatten")
        elif isinstance(layer, gt.nn.Dense):  # whose rows go by pixels, then channels
            own = layer.weight.numpy().reshape(height, width, -1, 10).transpose(3, 2, 0, 1).reshape(10, -1)
            weights[f"{layer.name}.weight"], weights[f"{layer.name}.bias"] = np.ascontiguousarray(own), layer.bias.numpy()
            node("Gemm", f"{layer.name}.weight", f"{layer.name}.bias", transB=1)
    node("Softmax", output="probabilities", axis=-1)
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "digits", [tensor("image", TensorProto.FLOAT, [1, 1, 8, 8])],
                              [tensor("probabilities", TensorProto.FLOAT, [1, 10])],
                              [numpy_helper.from_array(np.asarray(values), name) for name, values in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7, producer_name="gantry")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    training, (images, labels) = split()
    trainer = train(*training, arguments.epochs, progress=True)
    right = int((trainer.predict(images).argmax(1) == labels).sum())
    print(f"held-out accuracy: {right} of {len(labels)}, {100 * right / len(labels):.1f} %")

    model = arguments.out / "digits.onnx"
    model.write_bytes(model_of(trainer.net).SerializeToString())
    print(f"{model.name}: {model.stat().st_size} bytes")
    # The first held-out image of each digit, whether it is recognised or not.
    for digit, name in enumerate(NAMES):
        index = int((labels == digit).nonzero()[0][0])
        np.save(arguments.out / f"{name}.npy", images[index:index + 1].transpose(0, 3, 1, 2) * np.float32(16))
    return 0


if __name__ == "__main__":
    sys.exit(main())
