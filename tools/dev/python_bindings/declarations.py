"""The C API's headers as ctypes declarations.

The headers are plain enough for a reader of their own: enums with values, structs of scalars,
pointers and arrays, function types, functions marked GANTRY_API. What it does not understand is an
error, so that nothing is left out in silence.
"""

import re

HEADERS = ("common", "topology", "machine", "runtime", "array", "show", "compiler", "graph")
HALVES = {"show": "show", "compiler": "compiler", "graph": "compiler"}  # in whose library a header's functions are

SCALARS = {"void": None, "int": "c_int", "int32_t": "c_int32", "int64_t": "c_int64", "uint8_t": "c_uint8",
           "uint32_t": "c_uint32", "uint64_t": "c_uint64", "size_t": "c_size_t", "double": "c_double",
           "float": "c_float"}


class Reader:
    """Declarations in the order of the headers."""

    def __init__(self):
        self.enums, self.structs, self.callbacks, self.functions = {}, {}, {}, {}
        self.aliases, self.opaque, self.constants = {}, set(), {}

    def read(self, text, half):
        for name, value in re.findall(r"^#define (GANTRY_\w+) (\d+)$", text, re.MULTILINE):
            self.constants[name] = int(value)
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
        text = re.sub(r"^\s*#.*(?:\\\n.*)*$", " ", text, flags=re.MULTILINE)
        text = text.replace('extern "C" {', " ").strip()
        while text:
            text = self.take(text, half).lstrip(" \n\t;}")

    def take(self, text, half):
        """Reads the first declaration; gives the rest."""
        if match := re.match(r"(?:typedef )?enum\s*\w*\s*\{(.*?)\}\s*(\w*)\s*;", text, re.DOTALL):
            self.add_enum(match[2], match[1])
        elif match := re.match(r"typedef struct (\w+) (\w+);", text):
            self.opaque.add(match[2])
        elif match := re.match(r"typedef struct\s*\w*\s*\{", text):
            return self.take_struct(text, match.end())
        elif match := re.match(r"typedef (uint32_t) (\w+);", text):
            self.aliases[match[2]] = match[1]
        elif match := re.match(r"typedef ([\w ]+?\**)\s*\(\*(\w+)\)\((.*?)\);", text, re.DOTALL):
            self.callbacks[match[2]] = self.prototype(match[1], match[3])
        elif match := re.match(r"GANTRY_API ([\w ]+?\**)\s*(gantry_\w+)\((.*?)\);", text, re.DOTALL):
            result, arguments = self.prototype(match[1], match[3])
            self.functions[match[2]] = (half, result, arguments)
        else:
            raise ValueError(f"not understood: {text[:120]!r}")
        return text[match.end():]

    def add_enum(self, name, body):
        for entry in filter(None, (entry.strip() for entry in body.split(","))):
            key, _, value = (part.strip() for part in entry.partition("="))
            self.constants[key] = int(value)
        if name:
            self.enums[name] = True

    def take_struct(self, text, start):
        depth, end = 1, start
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        name, rest = re.match(r"\s*(\w+)\s*;(.*)", text[end:], re.DOTALL).groups()
        self.structs[name] = list(self.fields(text[start:end - 1], name))
        return rest

    def fields(self, body, owner):
        """Pairs of name and type; a union becomes a class beside its struct."""
        if match := re.search(r"union\s*\{(.*?)\}\s*(\w+)\s*;", body, re.DOTALL):
            union = f"{owner}_{match[2]}"
            self.structs[union] = ("union", list(self.fields(match[1], union)))
            body = body.replace(match[0], f"{union} {match[2]};")
        for entry in filter(None, (entry.strip() for entry in body.split(";"))):
            if match := re.match(r"void \(\*(\w+)\)\((.*)\)$", entry, re.DOTALL):
                yield match[1], "c_void_p"
            elif match := re.match(r"(.+?[\s*])(\w+)\[(\w+)\]$", entry, re.DOTALL):
                count = self.constants.get(match[3]) or int(match[3])
                yield match[2], f"{self.type(match[1], owner)} * {count}"
            else:
                match = re.match(r"(.+?[\s*])(\w+)$", entry, re.DOTALL)
                yield match[2], self.type(match[1], owner)

    def prototype(self, result, arguments):
        types = []
        for argument in filter(None, (argument.strip() for argument in arguments.split(","))):
            if argument != "void":
                match = re.match(r"(.+?[\s*])(\w+)$", argument, re.DOTALL)
                types.append(self.type(match[1] if match else argument))
        return self.type(result), types

    def type(self, text, owner=None):
        """The ctypes name of a C type. Handles and pointers to numbers are addresses; texts are bytes."""
        stars, base = text.count("*"), re.sub(r"\b(const|struct)\b|\*", " ", text).strip()
        base = self.aliases.get(base, base)
        if base == "char":
            return ("c_char", "c_char_p", "POINTER(c_char_p)")[stars]
        if base in self.callbacks and not stars:
            return base
        if base in self.opaque or base in SCALARS or base in self.enums:
            scalar = "c_int" if base in self.enums else SCALARS.get(base)
            if not stars:
                return scalar
            handle = base in self.opaque or base == "void"
            return "c_void_p" if not handle or stars == 1 else "POINTER(c_void_p)"
        if base in self.structs or base == owner:
            return ("", "c_void_p" if base == owner else f"POINTER({base})")[stars] or base
        raise ValueError(f"unknown type: {text!r}")


def read(folder):
    reader = Reader()
    for header in HEADERS:
        text = (folder / f"{header}.h").read_text(encoding="utf-8")
        reader.read(text[text.index("#endif\n\n", text.index("#include")) if header == "common" else 0:],
                    HALVES.get(header, "runtime"))
    return reader


def struct_lines(name, fields):
    base = "Structure"
    if isinstance(fields, tuple):
        base, fields = "Union", fields[1]
    yield f"class {name}({base}):"
    yield "    _fields_ = ["
    for field, kind in fields:
        yield f'        ("{field}", {kind}),'
    yield "    ]"
    yield ""
    yield ""


def module(folder):
    """The text of _c.py."""
    reader = read(folder)
    lines = ['"""The C API as ctypes sees it. Made by tools/dev/generate_python.py from include/gantry-c."""',
             "",
             "from ctypes import (CFUNCTYPE, POINTER, Structure, Union, c_char_p, c_double, c_int, c_int32, c_int64,",
             "                    c_size_t, c_uint32, c_uint64, c_void_p)",
             ""]
    lines += [f"{name.replace('GANTRY_', '', 1)} = {value}" for name, value in reader.constants.items()]
    lines.append("")
    early = {name: kind for name, kind in reader.callbacks.items() if "gantry_diagnostic_t" not in str(kind)}
    lines += [f"{name} = CFUNCTYPE({', '.join([str(kind[0]), *kind[1]])})" for name, kind in early.items()]
    lines += ["", ""]
    late = {name: kind for name, kind in reader.callbacks.items() if name not in early}
    for name, fields in reader.structs.items():
        lines += struct_lines(name, fields)
        for callback, kind in list(late.items()):
            if name in str(kind):
                lines[-1:] = [f"{callback} = CFUNCTYPE({', '.join([str(kind[0]), *kind[1]])})", "", ""]
                del late[callback]
    lines.append("# By library: name, result, arguments.")
    for half in ("runtime", "show", "compiler"):
        lines.append(f"{half.upper()} = (")
        for name, (where, result, arguments) in reader.functions.items():
            if where == half or name in SHARED and half != "show":
                arguments = ", ".join(arguments) + ("," if len(arguments) == 1 else "")
                lines.append(f'    ("{name}", {result}, ({arguments})),')
        lines.append(")")
    return "\n".join(lines) + "\n"


# Of common.h, what either library can be asked for alone.
SHARED = {"gantry_cancel_create", "gantry_cancel_set", "gantry_cancel_reset", "gantry_cancel_destroy"}
