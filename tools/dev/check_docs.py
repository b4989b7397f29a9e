#!/usr/bin/python3
"""Checks the documents: references made by the build, links alive, README short, no machine paths, recipes
that lead to the end, words and files that exist.

Usage: check_docs.py [--build-dir BUILD] [--only CHECK]
CHECK is one of references, links, readme, paths, recipes, glossary, maps. Without a build folder the pages that the build
makes (tools/dev/generate_docs.py) are known by their names alone.
"""

import argparse
import pathlib
import re
import subprocess
import sys

import generate_docs

ROOT = pathlib.Path(__file__).resolve().parents[2]
README_LIMIT = 150
# Top-level folders that exist on one person's machine and not on another's.
PRIVATE = ("home", "root", "Users", "work", "workspace", "workspaces", "farm", "mnt")
MACHINE_PATH = re.compile(r"(?<![\w./:@%}~-])/(?:" + "|".join(PRIVATE) + r")/[\w.-]+|/tmp/\w+_jobs")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
RECIPES = "docs/Recipes.md"
EXAMPLE = re.compile(r"^Example: ((?:`[\w-]+`(?:, )?)+)\.(.*)", re.MULTILINE)
ROW = re.compile(r"^\| (\d+|if) \| ((?:`[^`|]+`(?:, )?)+) \|", re.MULTILINE)
TICKS = re.compile(r"`([^`]+)`")
# Paths that prose names: a known folder first, so that names of types and flags are not taken for one.
NAMED_PATH = re.compile(r"`((?:cmake|docs|examples|include|lib|python-bindings|test|tools)/[\w./-]+)")
# Pages that the build makes: in prose with the folder where `make build` puts them, in messages and comments without.
BUILT = "build/release/docs/"
NAMED_PAGE = re.compile(r"(?<![\w/.-])(?:" + BUILT + r"|docs/)([A-Z]\w*\.md)(?:#([\w-]+))?")
# Pages that lead to files: each file that they name has to exist.
MAPS = ("docs/Architecture.md", "docs/CPU.md", "docs/GPU.md", RECIPES)
GLOSSARY_ROW = re.compile(r"^\| `([^`]+)` \|.*\| `([^`]+)` \|$", re.MULTILINE)
# Where an example of a complete recipe may be named by files of its table alone.
COMPLETE_IN = ("include/", "lib/", "tools/", "python-bindings/gantry/")


def tracked(*patterns):
    """Tracked files, present in the work tree, as paths relative to the root."""
    names = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\0")
    return [pathlib.Path(name) for name in names if name and (ROOT / name).is_file()]


def check_readme():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").count("\n")
    if lines >= README_LIMIT:
        yield f"README.md: error: {lines} lines, the limit is {README_LIMIT}"
    # The one number of the README that changes has its home in the checked list.
    expected = (ROOT / "test/e2e/onnx_expected.txt").read_text(encoding="utf-8")
    passing = len(re.findall(r"^pass ", expected, re.MULTILINE))
    if f"test models {passing} give" not in (ROOT / "README.md").read_text(encoding="utf-8"):
        yield f"README.md: error: not '{passing} give', as in test/e2e/onnx_expected.txt"


def anchors_of(text):
    """The names that links to the headings of a page have."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return ({re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}
            | set(re.findall(r'<a (?:id|name)="([^"]+)"', text)))


def check_links():
    for file in tracked("*.md"):
        for number, line in enumerate((ROOT / file).read_text(encoding="utf-8").splitlines(), 1):
            for target in LINK.findall(line):
                path, _, anchor = target.partition("#")
                if re.match(r"\w+:", path):
                    continue
                there = ROOT / file.parent / path if path else ROOT / file
                if not there.exists():
                    yield f"{file}:{number}: error: link to '{path}', which does not exist"
                elif anchor and there.suffix == ".md" and anchor not in anchors_of(there.read_text(encoding="utf-8")):
                    yield f"{file}:{number}: error: link to '{target}', a heading that does not exist"


def is_binary(data):
    return b"\0" in data[:4096]


def check_paths():
    for file in tracked():
        data = (ROOT / file).read_bytes()
        if is_binary(data):
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            match = MACHINE_PATH.search(line)
            if match:
                yield f"{file}:{number}: error: names a path of one machine: '{match.group()}'"


def page_offences(name, text, machine):
    """What is wrong with a page that the build made; `machine` are folders of this one."""
    if not re.match(r"# \S", text) or not re.search(r"^## \S", text, re.MULTILINE):
        yield f"{name}: error: it has no title, or no heading"
    for folder in [match.group() for match in MACHINE_PATH.finditer(text)] + [folder for folder in machine if folder in text]:
        yield f"{name}: error: names a path of one machine: '{folder}'"
    for path, _, anchor in (target.partition("#") for target in LINK.findall(text)):
        if not re.match(r"\w+:", path) and path not in ("", *generate_docs.PAGES):
            yield f"{name}: error: link to '{path}', which is not made beside it"
        elif path in ("", name) and anchor and anchor not in anchors_of(text):
            yield f"{name}: error: link to '#{anchor}', a heading that does not exist"


def mention_offences(file, text, written, built):
    """Pages of docs that a file names and that are neither `written` nor `built` (by name, their text or None)."""
    for name, anchor in NAMED_PAGE.findall(text):
        if name not in written and name not in built:
            yield f"{file}: error: names {name} of docs, which is neither written nor made by the build"
        elif anchor and built.get(name) and anchor not in anchors_of(built[name]):
            yield f"{file}: error: names {name}#{anchor} of docs, a heading that does not exist"


def built_pages(build):
    """Text of each page that the build makes, by name; None where there is none, or no build."""
    pages = {name: build / "docs" / name if build else None for name in generate_docs.PAGES}
    return {name: file.read_text(encoding="utf-8") if file and file.exists() else None for name, file in pages.items()}


def check_references(build):
    built = built_pages(build)
    for name, text in built.items():
        if text is not None:
            yield from page_offences(name, text, (str(ROOT), str(build.resolve())))
        elif build and (name not in generate_docs.OF_COMPILER or (build / "bin/gantry-opt").exists()):
            yield f"{name}: error: {build} has no such page; build the target 'docs'"
        if f"`{name}`" not in (ROOT / "docs/Architecture.md").read_text(encoding="utf-8"):
            yield f"docs/Architecture.md: error: does not name {name}, which the build makes"
    written = {file.name for file in tracked("docs/*.md") if file.parent.name == "docs"}
    for name in sorted(written & set(built)):
        yield f"docs/{name}: error: the build makes a page of this name"
    for file in tracked():
        if not is_binary(data := (ROOT / file).read_bytes()):
            yield from mention_offences(file, data.decode("utf-8", "replace"), written, built)


def names_any(text, words):
    return any(re.search(rf"(?<!\w)(?<!\w-){re.escape(word)}(?![\w-])", text) for word in words)


def text_of(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace")


def recipe_offences(text, root, files, built):
    """What is wrong with the recipes of `text`, for the tracked `files` of `root` and what the build made (built_pages)."""
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title = section.splitlines()[0]
        example = EXAMPLE.search(section)
        rows = [(mark, path) for mark, paths in ROW.findall(section) for path in TICKS.findall(paths)]
        if not example or not rows:
            yield f"{RECIPES}: error: '{title}' has no example, or no table of files"
            continue
        words = TICKS.findall(example.group(1))
        for mark, path in rows:
            page = path.removeprefix(BUILT) if path.startswith(BUILT) else None
            if page not in built if page else not (root / path).exists():
                yield f"{RECIPES}: error: '{title}': {path} does not exist"
                continue
            said = built[page] if page else text_of(root, path) if (root / path).is_file() else None
            if mark != "if" and said is not None and not names_any(said, words):
                yield f"{RECIPES}: error: '{title}': {path} does not name {', '.join(words)}"
        if "nothing else names it" not in example.group(2):
            continue
        listed = {path for _, path in rows}
        for path in files:
            if path.startswith(COMPLETE_IN) and path not in listed and names_any(text_of(root, path), words):
                yield f"{RECIPES}: error: '{title}' does not list {path}, which names {', '.join(words)}"


def map_offences(page, text, root):
    """Files and folders that a page names and that are not there; X stands for any layer."""
    for path in sorted(set(NAMED_PATH.findall(text))):
        path = path.rstrip(".")
        if not path.endswith("/X") and not (root / path).exists():
            yield f"{page}: error: '{path}' does not exist"


def check_maps():
    for page in filter(lambda page: (ROOT / page).exists(), MAPS):
        yield from map_offences(page, (ROOT / page).read_text(encoding="utf-8"), ROOT)


def glossary_offences(text, root):
    rows = GLOSSARY_ROW.findall(text)
    if not rows:
        yield "docs/Glossary.md: error: no row has a word and a file"
    for word, path in rows:
        if not (root / path).is_file():
            yield f"docs/Glossary.md: error: '{path}', where '{word}' is said to be, does not exist"
        elif word.lower() not in (root / path).read_text(encoding="utf-8").lower():
            yield f"docs/Glossary.md: error: '{word}' is not in {path}"


def check_glossary():
    return glossary_offences((ROOT / "docs/Glossary.md").read_text(encoding="utf-8"), ROOT)


def check_recipes(build):
    return recipe_offences((ROOT / RECIPES).read_text(encoding="utf-8"), ROOT, list(map(str, tracked())), built_pages(build))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path)
    parser.add_argument("--only", choices=["references", "links", "readme", "paths", "recipes", "glossary", "maps"])
    arguments = parser.parse_args()
    checks = {"readme": check_readme, "links": check_links, "paths": check_paths, "recipes": lambda: check_recipes(arguments.build_dir),
              "glossary": check_glossary, "maps": check_maps, "references": lambda: check_references(arguments.build_dir)}
    failures = []
    for name, check in checks.items():
        if arguments.only in (None, name):
            failures += check()
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
