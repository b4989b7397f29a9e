"""`python -m gantry`: the command-line tool."""

import os
import pathlib
import sys


def find():
    """The tool: inside of the package, or beside the libraries that GANTRY_LIBRARY_PATH points to."""
    yield pathlib.Path(__file__).parent / "bin/gantry"
    for folder in filter(None, os.environ.get("GANTRY_LIBRARY_PATH", "").split(os.pathsep)):
        yield pathlib.Path(folder).parent / "bin/gantry"


def main():
    tool = next((path for path in find() if path.exists()), None)
    if tool is None:
        sys.exit("gantry: the command-line tool is not there; it is in a wheel's package, or beside the folder that "
                 "GANTRY_LIBRARY_PATH names")
    library = tool.parents[1] / "lib"
    if any(library.glob("libLLVM*")):  # a wheel's: the loader looks beside the compiler for them
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (str(library), os.environ.get("LD_LIBRARY_PATH"))))
    os.execv(tool, ["gantry", *sys.argv[1:]])


if __name__ == "__main__":
    main()
