"""Usage: look_at_report.py CHROMIUM SCRIPT [PAGE WIDTH]...

Opens pages of `gantry report` in a browser without a window, of these widths, runs the script in each, and prints the
title that it leaves.
"""

import os
import re
import subprocess
import sys
import tempfile

chromium, script, *pages = sys.argv[1:]
added = f"<script>{open(script, encoding='utf-8').read()}</script>\n</html>"
for page, width in zip(pages[::2], pages[1::2]):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.html")
        text = open(page, encoding="utf-8").read()
        open(path, "w", encoding="utf-8").write(text[:text.rindex("</html>")] + added)
        dom = subprocess.run([chromium, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
                              f"--window-size={width},900", "--virtual-time-budget=2000", "--dump-dom", "file://" + path],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, timeout=120).stdout
        print(f"{page} at {width}: {re.search('<title>(.*?)</title>', dom, re.S)[1]}")
