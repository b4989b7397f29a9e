#!/usr/bin/python3
"""NonMaxSuppression in its bounded form, and what detectors do with what it selects, against NumPy.

A bounded output has a row for each box that may be selected, zeros behind those that are, and their number as the
output NAME.count. The reference is ONNX's definition: of each class of each image the best box that is left, until
there are enough or none; what overlaps it by more than the limit is out.

Usage: detections_test.py --build-dir BUILD [--filter TEXT] [--count N] [--seed N] [--json FILE] [-v]
"""

import argparse
import json
import pathlib
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import gantry_api

CASES = []
f32 = np.float32


def corners(boxes, centered):
    if centered:
        x, y, w, h = np.moveaxis(boxes, -1, 0)
        return y - h * f32(0.5), x - w * f32(0.5), y + h * f32(0.5), x + w * f32(0.5)
    a, b, c, d = np.moveaxis(boxes, -1, 0)
    return np.minimum(a, c), np.minimum(b, d), np.maximum(a, c), np.maximum(b, d)


def overlaps(one, others, limit):
    """Where the boxes meet, have areas, and share more than the limit of what both cover."""
    (top, left, bottom, right), (tops, lefts, bottoms, rights) = one, others
    height, width = np.minimum(bottom, bottoms) - np.maximum(top, tops), np.minimum(right, rights) - np.maximum(left, lefts)
    area, areas, inside = (bottom - top) * (right - left), (bottoms - tops) * (rights - lefts), width * height
    with np.errstate(all="ignore"):
        return ((height > 0) & (width > 0) & (inside > 0) & (area > 0) & (areas > 0) &
                (inside / (area + areas - inside) > limit))


def select(boxes, scores, most, overlap=f32(0), least=None, centered=False):
    """Rows (image, class, box)."""
    rows = []
    for image in range(scores.shape[0]):
        sides = corners(boxes[image], centered)
        for category in range(scores.shape[1]):
            score = scores[image, category]
            left = np.ones(score.shape, bool) if least is None else score > least
            for _ in range(min(most, left.size)):
                if not left.any():
                    break
                best = int(np.argmax(np.where(left, score, -np.inf)))
                rows.append((image, category, best))
                left &= ~overlaps([side[best] for side in sides], sides, overlap)
                left[best] = False
    return np.array(rows, np.int64).reshape(-1, 3)


def draw_boxes(random, images, count):
    """Boxes of all forms: some alike, some without an area, some turned round."""
    boxes = random.uniform(0, 1, (images, count, 4)).astype(f32)
    for i in range(1, count):
        if random.random() < 0.4:
            boxes[:, i] = boxes[:, random.integers(i)] + random.uniform(0, 0.1, 4).astype(f32)
    boxes[:, random.random(count) < 0.05, 2] = boxes[:, :1, 0]
    return boxes


def save(file, nodes, constants, inputs, outputs):
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in inputs.items()]
    graph = helper.make_graph(nodes, "detect", given, [onnx.ValueInfoProto(name=name) for name in outputs],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)]), str(file))


def compare(outputs, expected, bound=None):
    """What is wrong with the rows that are meant, or None."""
    for name, value in expected.items():
        actual = gantry_api.meant(outputs, name)
        if bound is not None and outputs[name].shape[0] != bound:
            return f"output '{name}' has {outputs[name].shape[0]} rows, expected {bound}"
        if actual.shape != value.shape or not np.array_equal(actual, value):
            return f"output '{name}' is {actual.tolist()}, expected {value.tolist()}"
    return None


def run_random(scratch, seed):
    """One node with operands drawn from the seed."""
    random = np.random.default_rng(seed)
    images, categories = int(random.integers(1, 3)), int(random.choice([1, 1, 2, 3]))
    count = int(random.choice([0, 1, 2, 7, 16, 17, 40]))
    boxes = draw_boxes(random, images, count) if count else np.zeros((images, 0, 4), f32)
    # Few levels, so that scores are often equal.
    scores = (random.integers(0, 9, (images, categories, count)) / 8).astype(f32)
    most, overlap = int(random.choice([0, 1, 2, 5, 1 << 62])), f32(random.choice([0, 0.3, 0.5, 1]))
    least, centered = random.choice([None, f32(0.25), f32(2)]), bool(random.integers(2))
    constants = {"most": np.int64(most) if random.integers(2) else np.array([most], np.int64), "overlap": np.array([overlap])}
    operands = ["boxes", "scores", "most", "overlap"]
    if least is not None:
        constants["least"] = np.array([least], f32)
        operands.append("least")
    save(scratch / "nms.onnx", [helper.make_node("NonMaxSuppression", operands, ["y"], center_point_box=int(centered))],
         constants, {"boxes": boxes, "scores": scores}, ["y"])
    outputs = gantry_api.compile_for(scratch / "nms.onnx", {}).run({"boxes": boxes, "scores": scores})
    expected = select(boxes, scores, most, overlap, least, centered)
    return compare(outputs, {"y": expected}, images * categories * min(most, count))


# ---------------------------------------------------------------------------------------------------------
# Detectors
# ---------------------------------------------------------------------------------------------------------

SEEDED = np.random.default_rng(5)
BOXES, SCORES = draw_boxes(SEEDED, 1, 30), SEEDED.uniform(0, 1, (1, 3, 30)).astype(f32)
SETTINGS = {"most": np.int64(10), "overlap": f32(0.4), "least": f32(0.3)}
NMS = helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["selected"])
ROWS = select(BOXES, SCORES, 10, f32(0.4), f32(0.3))


def detector(name, nodes, constants, expected, bound):
    """Nodes behind the selection of three classes from 30 boxes."""
    CASES.append((name, run_detector, (nodes, constants, expected, bound)))


def run_detector(scratch, nodes, constants, expected, bound):
    given = {"boxes": BOXES, "scores": SCORES}
    save(scratch / "detector.onnx", [NMS, *nodes], {**SETTINGS, **constants}, given, list(expected))
    outputs = gantry_api.compile_for(scratch / "detector.onnx", {}).run(given)
    return compare(outputs, expected, bound)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


I64 = lambda *values: np.array(values, np.int64)
BOX, CLASS = ROWS[:, 2], ROWS[:, 1]

# As YOLOv7 and YOLOv8 end: boxes by GatherND, joined with classes and scores.
detector("yolo end to end", [
    node("Gather", "selected two", "box", axis=1), node("Gather", "selected image_box", "pairs", axis=1),
    node("GatherND", "boxes pairs", "chosen"), node("GatherND", "scores selected", "score"),
    node("Gather", "selected one", "class", axis=1), node("Cast", "class", "class_f", to=TensorProto.FLOAT),
    node("Unsqueeze", "score last", "score_column"), node("Concat", "chosen class_f score_column", "y", axis=1),
], {"two": I64(2), "one": I64(1), "image_box": I64(0, 2), "last": I64(1)},
    {"y": np.concatenate([BOXES[0, BOX], CLASS[:, None].astype(f32), SCORES[0, CLASS, BOX][:, None]], 1)}, 30)
# As SSD of the model zoo: numbers of flat scores are computed.
detector("ssd", [
    node("Slice", "selected one two axis", "class"), node("Slice", "selected two three axis", "box"),
    node("Squeeze", "class axis", "class_row"), node("Squeeze", "box axis", "box_row"),
    node("Mul", "class_row thirty", "first"), node("Add", "first box_row", "place"),
    node("Reshape", "scores flat", "flat_scores"), node("Gather", "flat_scores place", "score"),
    node("Squeeze", "boxes zero", "all"), node("Gather", "all box_row", "chosen"),
    node("Add", "class_row one", "label"), node("Mul", "chosen size", "scaled"),
], {"one": I64(1), "two": I64(2), "three": I64(3), "axis": I64(1), "thirty": I64(30), "flat": I64(-1), "zero": I64(0),
    "size": np.array([3, 2, 3, 2], f32)},
    {"scaled": BOXES[0, BOX] * np.array([3, 2, 3, 2], f32), "label": CLASS + 1, "score": SCORES[0, CLASS, BOX]}, 30)
# As torchvision keeps the first ones.
detector("the first seven", [
    node("Gather", "selected two", "column", axis=1), node("Squeeze", "column axis", "keep"),
    node("Slice", "keep zero seven zero", "few"), node("Squeeze", "boxes zero", "all"), node("Gather", "all few", "y"),
    node("Transpose", "selected", "turned"), node("Transpose", "turned", "back"), node("Slice", "back two seven zero", "later"),
], {"two": I64(2), "axis": I64(1), "zero": I64(0), "seven": I64(7)}, {"y": BOXES[0, BOX[:7]], "later": ROWS[2:7]}, None)
# More rows are asked for than there may be, and none.
detector("slices of more and of none", [
    node("Slice", "selected zero many zero", "y"), node("Slice", "selected many many zero", "none"),
], {"zero": I64(0), "many": I64(1000)}, {"y": ROWS, "none": np.zeros((0, 3), np.int64)}, None)
detector("comparisons and choices", [
    node("Gather", "selected two", "box", axis=1), node("Less", "box ten", "isLow"), node("Where", "isLow box ten", "low"),
    node("Cast", "low", "low_f", to=TensorProto.FLOAT), node("Sqrt", "low_f", "y"),
], {"two": I64(2), "ten": I64(10)}, {"y": np.sqrt(np.minimum(BOX[:, None], 10).astype(f32))}, 30)


# ---------------------------------------------------------------------------------------------------------
# What is refused
# ---------------------------------------------------------------------------------------------------------


def refused(name, nodes, constants, words):
    CASES.append((name, run_refused, (nodes, constants, words)))


def run_refused(scratch, nodes, constants, words):
    file = scratch / "refused.onnx"
    save(file, nodes, {**SETTINGS, **constants}, {"boxes": BOXES, "scores": SCORES}, [nodes[-1].output[0]])
    try:
        gantry_api.compile_for(file, {})
    except gantry_api.Refused as refusal:
        return None if words in str(refusal) else f"refused: {refusal}"
    return "it was compiled"


TAKE = "'selected' has as many rows as data say; elementwise ops, gathers, slices and what moves no row take it; --outputs=selected ends the graph before it"
refused("the shape of a bounded value", [NMS, node("Shape", "selected", "y")], {}, TAKE)
refused("a sum over rows", [NMS, node("ReduceSum", "selected axes", "y")], {"axes": I64(0)}, TAKE)
refused("a sort of rows", [NMS, node("Gather", "selected two", "box", axis=1), node("TopK", "box three", "y indices", axis=0)],
        {"two": np.int64(2), "three": I64(3)}, "--outputs=box ends the graph before it")
refused("rows from the end", [NMS, node("Slice", "selected minus many zero", "y")], {"minus": I64(-3), "many": I64(99), "zero": I64(0)},
        "it counts rows from their end, and how many rows its operand has is known in the run alone")
refused("parts of rows", [NMS, node("Split", "selected", "y z", axis=0)], {},
        "it cuts rows into parts, and how many rows its operand has is known in the run alone")
refused("rows and columns in one", [NMS, node("Reshape", "selected flat", "y")], {"flat": I64(-1)},
        "its operand has as many rows as data say, and not each row of its result comes from one of them")
refused("rows joined", [NMS, node("Concat", "selected selected", "y", axis=0)], {}, "not each row of its result comes from one of them")
refused("two selections side by side", [NMS, helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["other"]),
                                         node("Add", "selected other", "y")], {}, "not each row of its result comes from one of them")
refused("a number of boxes that data decide", [
    node("Exp", "scores", "e"), node("ReduceMax", "e", "most_f", keepdims=0), node("Cast", "most_f", "many", to=TensorProto.INT64),
    node("Exp", "boxes", "b"), helper.make_node("NonMaxSuppression", ["b", "e", "many"], ["y"])], {},
    "the shape of its output depends on data, and shapes are fixed when compiling; --outputs=b,e,many ends the graph before it")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", help="accepted, not used: one case at a time")
    parser.add_argument("--filter", default="")
    parser.add_argument("--count", type=int, default=60, help="nodes drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=pathlib.Path, help="write the result there (run_tests.py reads it)")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each case")
    arguments = parser.parse_args()
    gantry_api.load(arguments.build_dir)
    cases = CASES + [(f"random {seed}", run_random, (seed,)) for seed in range(arguments.seed, arguments.seed + arguments.count)]
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for name, run, what in cases:
            if arguments.filter not in name:
                continue
            try:
                wrong = run(pathlib.Path(folder), *what)
            except (gantry_api.Refused, gantry_api.ApiError, AssertionError) as error:
                wrong = str(error)
            passed += not wrong
            if wrong:
                failures.append(f"{name}: {wrong}")
            if arguments.verbose:
                print(f"{name}: {wrong or 'passed'}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"passed": passed, "failures": failures, "skips": {}}))
    for failure in failures if not (arguments.json or arguments.verbose) else ():
        print(f"  {failure}")
    print(f"detections: {passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
