"""Functions and stubs for the ops, from the compiler library's table."""

import ctypes
import json
import keyword
import re
import textwrap

# Ops whose result type is said, and not inferred: what of it.
RESULTS = {"cast": ("dtype",), "reshape": ("shape",), "broadcast": ("shape",), "resize": ("shape",),
           "iota": ("shape", "dtype"), "random_uniform": ("shape", "dtype"), "random_normal": ("shape", "dtype")}
KINDS = {"unit": "bool", "int": "int", "float": "float", "string": "str", "ints": "Sequence[int]",
         "floats": "Sequence[float]", "enum": "str", "text": "str"}
# Kinds of attributes by number, as in gantry_attribute_kind_t.
NUMBERS = {"unit": 0, "int": 1, "float": 2, "string": 3, "ints": 4, "floats": 5, "enum": 9, "text": 10}
NOTE = "Made by tools/dev/generate_python.py from the op definitions; edit those."


def read_table(build):
    """The table as the built compiler library tells it; None without one."""
    file = build / "lib/libgantry-compiler.so"
    if not file.exists():
        return None
    library = ctypes.CDLL(str(file))
    library.gantry_op_table_json.restype = ctypes.c_char_p
    return json.loads(library.gantry_op_table_json())


def is_function(op):
    """Ops that can stand alone: no regions, no variables, nothing that only compilers write."""
    return (op["stage"] == "graph" and not op["regions"] and op["name"] not in ("copy", "all_reduce")
            and all(attribute["kind"] in KINDS for attribute in op["attributes"]))


def functions(table):
    return [op for op in table["ops"] if is_function(op)]


def safe(name):
    return name + "_" if keyword.iskeyword(name) else name


def parameters(op, typed=False):
    """The parameters of an op's function, in order; the rest is by name."""
    note = lambda kind: f": {kind}" if typed else ""
    first, by_name = [], []
    # Operands stand in their order; what must be said after one that may be left out is said by name, and so is one that
    # may be left out where a shape must be said.
    is_made = "shape" in RESULTS.get(op["name"], ())
    has_optional = not is_made and any(operand["arity"] == "optional" for operand in op["operands"])
    for operand in op["operands"]:
        kind = {"one": "Operand", "optional": "Optional[Operand]", "variadic": "Sequence[Operand]"}[operand["arity"]]
        text = safe(operand["name"]) + note(kind) + (" = None" if operand["arity"] == "optional" else "")
        (by_name if is_made and operand["arity"] == "optional" else first).append(text)
    for part in RESULTS.get(op["name"], ()):
        given = part == "dtype" and RESULTS[op["name"]] != ("dtype",)
        (by_name if given else first).append(part + note("Sequence[int]" if part == "shape" else "DTypeLike") + (' = "float32"' if given else ""))
    for attribute in op["attributes"]:
        default = " = False" if attribute["kind"] == "unit" else " = None" if attribute["optional"] else ""
        kind = KINDS[attribute["kind"]]
        text = safe(attribute["name"]) + note(f"Optional[{kind}]" if default == " = None" else kind) + default
        (by_name if default or has_optional else first).append(text)
    return first + ["*"] + by_name + [f"device{note('Optional[DeviceLike]')} = None", f"name{note('Optional[str]')} = None"]


def result_type(op):
    """Whether several values come back, and what type checkers are told."""
    arities = [result["arity"] for result in op["results"]]
    if arities == ["one"]:
        return "Tensor"
    return "Tuple[Tensor, ...]"


def docstring(op):
    text = op["summary"][:1].upper() + op["summary"][1:].rstrip(".") + "."
    body = re.split(r"\s*\bExample:", op["description"])[0].strip()
    lines = [text] + ([""] + textwrap.wrap(" ".join(body.split()), 108) if body else [])
    lines += [line for attribute in op["attributes"] if attribute.get("enum")
              for line in ("", f"{attribute['name']}: " + ", ".join(f'"{case}"' for case in attribute["enum"]["cases"]))]
    text = "\n".join(f"    {line}".rstrip() for line in lines).strip().replace("\\", "\\\\").replace('"""', "'''")
    return f'    """{text}\n    """' if "\n" in text else f'    """{text}"""'


def body(op):
    operands = [safe(operand["name"]) for operand in op["operands"]]
    if any(operand["arity"] == "variadic" for operand in op["operands"]):
        given = f"tuple({operands[0]})"
    else:
        given = f"({', '.join(operands)}{',' if len(operands) == 1 else ''})"
    attributes = "".join(f'("{a["name"]}", {NUMBERS[a["kind"]]}, {safe(a["name"])}), ' for a in op["attributes"])
    result = RESULTS.get(op["name"], ())
    result = f", ({'shape' if 'shape' in result else 'None'}, {'dtype' if 'dtype' in result else 'None'})" if result else ""
    attributes = f"({attributes.rstrip(', ')}{',' if len(op['attributes']) == 1 else ''})"
    call = f'    return _apply("{op["name"]}", {given}, {attributes}, device, name{result})'
    return "\n".join(textwrap.wrap(call, 118, subsequent_indent=" " * 18, drop_whitespace=True, break_long_words=False))


def module(table):
    """The text of ops.py."""
    parts = [f'"""Every op as a function, on arrays at once and on values of graphs.\n\n{NOTE}\n"""\n\nfrom ._apply import apply as _apply\n']
    for op in functions(table):
        given = ", ".join(text.replace(" = ", "=") for text in parameters(op))
        head = textwrap.wrap(f"def {safe(op['name'])}({given}):", 118, subsequent_indent=" " * (5 + len(safe(op["name"]))))
        parts.append("\n" + "\n".join(head) + f"\n{docstring(op)}\n{body(op)}\n")
    return "\n".join(parts)


def stubs(table):
    """The text of ops.pyi."""
    lines = [f"# {NOTE}", "from typing import Any, Optional, Sequence, Tuple, Union", "",
             "from .array import Array", "from .device import Device", "from .dtypes import DType", "",
             "Tensor = Array", "Operand = Union[Array, float, int, bool, Sequence[Any], Any]",
             "DTypeLike = Union[DType, str, type]", "DeviceLike = Union[Device, str]", ""]
    for op in functions(table):
        lines.append(f"def {safe(op['name'])}({', '.join(parameters(op, typed=True))}) -> {result_type(op)}: ...")
    return "\n".join(lines) + "\n"
