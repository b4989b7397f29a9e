"""Says whether a module is still interesting, for gantry-reduce: exit status 1 when FILE has WORD.

Usage: interesting.py WORD FILE
"""

import pathlib
import sys

sys.exit(1 if sys.argv[1] in pathlib.Path(sys.argv[2]).read_text(encoding="utf-8") else 0)
