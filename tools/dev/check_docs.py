#!/usr/bin/python3
"""Checks the documents: generated ones up to date, links alive, README short, no machine paths.

Usage: check_docs.py [--build-dir BUILD] [--only CHECK]
CHECK is one of generated, links, readme, paths. Without a build folder that has the tools, the
generated command-line reference is not compared, and the output says so.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
README_LIMIT = 150
# Top-level folders that exist on one person's machine and not on another's.
PRIVATE = ("home", "root", "Users", "work", "workspace", "workspaces", "farm", "mnt")
MACHINE_PATH = re.compile(r"(?<![\w./:@%}~-])/(?:" + "|".join(PRIVATE) + r")/[\w.-]+|/tmp/\w+_jobs")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


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


def check_links():
    for file in tracked("*.md"):
        for number, line in enumerate((ROOT / file).read_text(encoding="utf-8").splitlines(), 1):
            for target in LINK.findall(line):
                path = target.split("#")[0]
                if not path or re.match(r"\w+:", path):
                    continue
                if not (ROOT / file.parent / path).exists():
                    yield f"{file}:{number}: error: link to '{path}', which does not exist"


def check_paths():
    for file in tracked():
        data = (ROOT / file).read_bytes()
        if b"\0" in data[:4096]:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            match = MACHINE_PATH.search(line)
            if match:
                yield f"{file}:{number}: error: names a path of one machine: '{match.group()}'"


def check_generated(build):
    command = [sys.executable, str(ROOT / "tools/dev/generate_docs.py"), "--check"]
    if build:
        command += ["--build-dir", str(build)]
    result = subprocess.run(command, capture_output=True, text=True)
    sys.stdout.write(result.stdout)
    if result.returncode:
        yield result.stderr.strip() or "docs/generated: error: generate_docs.py --check failed"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build-dir", type=pathlib.Path)
    parser.add_argument("--only", choices=["generated", "links", "readme", "paths"])
    arguments = parser.parse_args()
    checks = {"readme": check_readme, "links": check_links, "paths": check_paths,
              "generated": lambda: check_generated(arguments.build_dir)}
    failures = []
    for name, check in checks.items():
        if arguments.only in (None, name):
            failures += check()
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
