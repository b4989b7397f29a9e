#!/usr/bin/python3
"""Checks that what has one home in the compiler is not asked for elsewhere.

Each rule is a pattern, the folders that it is about, and a table of the files that may use it, with
how often: a use that is not in the table is an offence, and so is a table that says more than there
is. Also: no name of an attribute is spelled as a literal in two files, and no class is defined in two:
what the compiler writes for classes of one name is one function to the linker.

Usage: check_homes.py [ROOT]      exit status 1 and one line per offence
"""

import collections
import dataclasses
import pathlib
import re
import sys


@dataclasses.dataclass
class Rule:
    what: str
    instead: str
    pattern: re.Pattern
    folders: tuple
    allowed: dict  # path -> number of uses
    suffixes: tuple = (".cpp", ".h")


BELOW_PIPELINE = ("lib/Analysis", "lib/AutoPlacement", "lib/Device", "lib/Dialect", "lib/Frontend",
                  "lib/Judge", "lib/Packing", "lib/Placement", "lib/Plan", "lib/Queues",
                  "lib/Remat", "lib/Target", "lib/Transforms")
EVERYWHERE = ("include", "lib", "tools")
PASSES = ("include/gantry", "lib/Analysis", "lib/Dialect", "lib/Gradient", "lib/Linalg", "lib/Pipeline", "lib/Search", "lib/Target",
          "lib/Transforms")
MATH = r'"(?:tf32|bf16|f16|f32)"'
CONTROL_FLOW = (r"\b(?:isa|cast|dyn_cast|isa_and_present|isa_and_nonnull|dyn_cast_or_null|"
                r"dyn_cast_if_present|getParentOfType|getOps|walk)<(?:[^<>]*\b)?(?<!plan::ir::)(?:IfOp|WhileOp)\b")
RULES = [
    Rule("the text of a device's name", "take a DeviceName, or the attribute that holds the parts",
         re.compile(r"\bDeviceName::parse\("), ("lib",), {
             "lib/Dialect/Gantry/IR/Devices.cpp": 1,
             "lib/Frontend/BuilderAttributes.cpp": 1,
             "lib/Frontend/GraphBuilder.cpp": 1,
             "lib/Frontend/ONNX/Importer.cpp": 1,
             "lib/Show/Reports.cpp": 1,
             "lib/Pipeline/Options.cpp": 1,
             "lib/Placement/Lock.cpp": 1,
             "lib/Placement/Rules.cpp": 1,
             "lib/Plan/PlanTopology.cpp": 1,
         }),
    Rule("a cast to an op of control flow", "ask MLIR's region and branch interfaces",
         re.compile(CONTROL_FLOW),
         ("lib/Analysis", "lib/Pipeline", "lib/Search", "lib/Target", "lib/Transforms"), {
             "lib/Transforms/Replicate/ExpandReplicas.cpp": 2,
             "lib/Transforms/Resolve/ResolveVariables.cpp": 2,
             "lib/Transforms/Schedule/LowerCommands.cpp": 2,
         }),
    Rule("a file", "take bytes: Pipeline, Frontend and the plan's reader and writer open files",
         re.compile(r"\bMappedFile::open\(|\bFileBytes::open\(|\bwriteFile\(|\b[io]?fstream\b|\bfopen\(|::open\(|"
                    r"\bMemoryBuffer::getFile\w*\(|\bopen(?:Input|Output)File\(|\braw_fd_ostream\b|"
                    r"\bcreateTemporaryFile\("), BELOW_PIPELINE, {
             "lib/Frontend/Frontend.cpp": 1,
             "lib/Plan/PlanFile.cpp": 2,
             "lib/Plan/PlanWriter.cpp": 1,
             "lib/Target/CUDA/Assemble.cpp": 1,  # what --code-cache names
             "lib/Target/Plan/WritePlan.cpp": 1,
         }),
    Rule("an option of a pass that says what a module is compiled for", "ask gantry.targets (decision 0089)",
         re.compile(r'Option<"(?:also|archs|drivers|machines|math|type)"'), ("include", "lib"), {
             "include/gantry/Transforms/Passes.td": 3,  # gantry-set-targets, in the place of an import
         }, (".td",)),
    Rule("a comparison with the text of a precision", "ask for gantry::Math",
         re.compile(rf"[!=]=\s*{MATH}|{MATH}\s*[!=]=|\bCases?\([^)]*{MATH}"), PASSES, {}),
    Rule("a discardable attribute outside of the table", "declare it in Attributes.def, which the verifier knows",
         re.compile(r'\bStringLiteral k\w+Attr\b|"gantry\.[a-z_]+"|'
                    r'->(?:set|remove)(?:Discardable)?Attr\("'),
         ("include/gantry", "lib/Analysis", "lib/Arithmetic", "lib/Dialect", "lib/Gradient", "lib/Linalg", "lib/Pipeline",
          "lib/Search", "lib/Target", "lib/Transforms"), {
             "include/gantry/Analysis/LiveRanges.h": 2,  # of the plan's commands, between two passes of Memory
             "include/gantry/Analysis/Segments.h": 1,  # likewise
             "include/gantry/Dialect/Gantry/IR/Attributes.h": 1,  # the table
             "lib/Target/CPU/Convolutions/FilterGradients.h": 1,  # within one pass
             "include/gantry/Target/CUDA/CUDATarget.h": 1,  # MLIR's names
             "lib/Search/Replicate.cpp": 1,  # an op, in a message
         }),
    Rule("a table of kernels, or the rule where ops go, in Python", "the ops' definitions say the one, "
         "gantry_topology_place does the other",
         re.compile(r"\b(?:KERNELS|has_kernel|kernel_table)\b|"
                    r"""['"](?:numbers|floats|ints|indices|bools)['"]\s*,\s*['"](?:numbers|floats|ints|indices|bools)['"]|"""
                    r"""['"]GPU['"]\s*,\s*['"]CPU['"]"""),
         ("python-bindings/gantry", "tools/dev/python_bindings"), {}, (".py",)),
    Rule("a search for attention among the ops of a graph", "ask Analysis/AttentionProducts.h, or Target/AttentionPolicy.h "
         "which of them share a kernel", re.compile(r"\b(?:getDefiningOp|(?:dyn_)?cast\w*|isa\w*)<SoftmaxOp>"),
         ("lib/Analysis", "lib/Linalg", "lib/Pipeline", "lib/Search", "lib/Target", "lib/Transforms"), {
             "lib/Analysis/AttentionProducts.cpp": 1,
             "lib/Target/AttentionPolicy.cpp": 1,
         }),
    Rule("who runs whose devices", "ask TargetMap whose an op is", re.compile(r"\bmayStandIn\("), ("lib",), {
             "lib/Search/TopologyOptions.cpp": 1,
             "lib/Target/Target.cpp": 1,
             "lib/Target/TargetMap.cpp": 1,
         }),
    Rule("a variable of the environment", "ask Support/Environment.h, which tells setuid programs nothing",
         re.compile(r"\b(?:secure_)?getenv\("), EVERYWHERE, {"lib/Support/Environment.cpp": 1}),
    Rule("opening a library", "its name is fixed, its path absolute, or environment() names it: then it belongs in "
         "the table", re.compile(r"\bdlm?open\("), EVERYWHERE, {
             "lib/Drivers/CUDA/Libraries/Common.cpp": 1,
             "lib/Drivers/CUDA/Library.cpp": 1,
             "lib/Transports/MPI/Library.cpp": 1,
             "lib/Drivers/Emulated/EmulatorLibrary.cpp": 1,
             "lib/Drivers/Host/SharedObject.cpp": 1,
             "lib/Machine/Libraries.cpp": 1,
             "lib/Machine/Nvml.cpp": 1,
             "lib/Target/CPU/HostKernels.cpp": 1,
             "tools/gantry/Compiler.cpp": 1,
         }),
]
# Where names of devices come in as text, and layers that are not the compiler's.
NOT_ASKED = ("lib/Formats", "lib/CAPI", "lib/Device", "lib/Drivers", "lib/Machine", "lib/Runtime")

ATTRIBUTE = re.compile(
    r'"(gantry\.[a-z_.]+)"|'
    r"(?:getAttrOfType<[\w:]+>|getAttr|hasAttr|setAttr|removeAttr|getAs<[\w:]+>|"
    r'(?:get|has|set|remove)DiscardableAttr|getNamedAttr)\("([a-z_.]+)"')
COMMENT = re.compile(r"//[^\"]*$")
# What opens a scope, its name behind it, and what closes one.
SCOPE = re.compile(r"\bnamespace\s*(?P<space>[\w:]*)\s*\{|"
                   r"\b(?:class|struct|enum class)\s+(?P<class>\w+)\s*(?:final\s*)?(?::(?!:)[^;{}]*)?\{|[{}]")
LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'')


def sources(root, folder, suffixes=(".cpp", ".h")):
    """(path relative to the root, lines without comments) of the files below a folder that end so."""
    for file in sorted((root / folder).rglob("*")):
        if file.suffix in suffixes:
            lines = file.read_text(encoding="utf-8").splitlines()
            yield str(file.relative_to(root)), [COMMENT.sub("", line) for line in lines]


def uses_of(rule, root):
    """path -> line numbers."""
    uses = collections.defaultdict(list)
    for folder in rule.folders:
        for path, lines in sources(root, folder, rule.suffixes):
            if rule.folders == ("lib",) and path.startswith(NOT_ASKED):
                continue
            for number, line in enumerate(lines, 1):
                uses[path] += [number] * len(rule.pattern.findall(line))
    return {path: numbers for path, numbers in uses.items() if numbers}


def offences_of(rule, root):
    uses = uses_of(rule, root)
    for path, numbers in uses.items():
        if len(numbers) > rule.allowed.get(path, 0):
            lines = ", ".join(map(str, numbers))
            yield (f"{path}:{lines}: error: {rule.what}: {len(numbers)} uses, allowed are "
                   f"{rule.allowed.get(path, 0)}; {rule.instead}")
    for path, count in rule.allowed.items():
        if len(uses.get(path, [])) < count:
            yield (f"{path}: error: {rule.what}: {len(uses.get(path, []))} uses, the table of "
                   f"check_homes.py says {count}; lower it")


def spelled_twice(root):
    """Attribute names that more than one file of the compiler spells."""
    files = collections.defaultdict(set)
    for folder in ("include/gantry", "lib"):
        for path, lines in sources(root, folder):
            if path.startswith(("lib/Frontend/ONNX", *NOT_ASKED)):
                continue  # names of ONNX's attributes, and layers without MLIR
            for line in lines:
                for match in ATTRIBUTE.finditer(line):
                    files[match.group(1) or match.group(2)].add(path)
    for name, paths in sorted(files.items()):
        if len(paths) > 1:
            yield (f"{sorted(paths)[0]}: error: the attribute name '{name}' is spelled in "
                   f"{', '.join(sorted(paths))} too; name it once, in the dialect")


def classes_of(lines):
    """The classes that a file defines for others to see, with their namespaces."""
    text = "\n".join(LITERAL.sub('""', line) for line in lines)
    scopes = []  # names of namespaces; None: any other scope, or one without a name
    for match in SCOPE.finditer(text):
        if match.group() == "}":
            if scopes:
                scopes.pop()
        elif match.group("space") is not None:
            scopes.append(match.group("space") or None)
        else:
            if match.group("class") and None not in scopes:
                yield "::".join([*scopes, match.group("class")])
            scopes.append(None)


def defined_twice(root):
    files = collections.defaultdict(set)
    for folder in ("include", "lib", "tools"):
        for path, lines in sources(root, folder):
            for name in classes_of(lines):
                files[name].add(path)
    for name, paths in sorted(files.items()):
        if len(paths) > 1:
            yield (f"{sorted(paths)[0]}: error: the class {name} is defined in "
                   f"{', '.join(sorted(paths)[1:])} too; give one another name")


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).parents[2]
    offences = [each for rule in RULES for each in offences_of(rule, root)]
    offences += [*spelled_twice(root), *defined_twice(root)]
    print("\n".join(offences), end="\n" if offences else "")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
