"""docs/benchmarks/gpu.html: the figures of the report as bars, in SVG that is part of the page.

One chart for each comparison that somebody asks for; what each was seen on stands under it, as in the report.
"""

import html

WIDTH, LABEL, BAR, GAP = 860, 260, 16, 6
COLOURS = ("#2a6f97", "#e07a5f", "#81b29a", "#f2cc8f", "#6d597a")
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Gantry on a GPU</title>
<style>:root {{ color-scheme: light dark; --ink: #222; --soft: #555; --ground: #fff }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e8ea; --soft: #9aa; --ground: #16191c }} }}
body {{ font: 15px/1.5 sans-serif; max-width: 900px; margin: 2em auto; padding: 0 1em; color: var(--ink); background: var(--ground) }}
text {{ font: 12px sans-serif; fill: var(--ink) }} figure {{ margin: 2em 0; overflow-x: auto }} figcaption {{ color: var(--soft) }}</style></head>
<body><h1>Gantry on a GPU</h1>
<p>The figures of <a href="gpu.md">gpu.md</a>; <a href="METHOD.md">METHOD.md</a> says how they are made. {notice}</p>
{figures}
</body></html>
"""


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def bars(rows, series, unit):
    """SVG of a group of bars for each row, (name, {series: number}); the longest is as wide as there is room. Times of
    different rows are of different work, so that each row has a scale of its own."""
    longest = [max(values.values()) for _, values in rows]
    lines, y = [], 0
    for (name, values), own in zip(rows, longest):
        most = (own if unit == "ms" else max(longest)) or 1
        middle = y + len(values) * BAR / 2 + 4
        lines.append(f'<text x="{LABEL - 8}" y="{middle:.0f}" text-anchor="end">{html.escape(name)}</text>')
        for key, value in values.items():
            width = max(1, value / most * (WIDTH - LABEL - 170))
            lines.append(f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{COLOURS[series.index(key) % len(COLOURS)]}"/>')
            lines.append(f'<text x="{LABEL + width + 5:.1f}" y="{y + BAR - 5}">{value:g} {unit} {html.escape(key)}</text>')
            y += BAR
        y += GAP
    return f'<svg width="{WIDTH}" height="{y}" role="img">{"".join(lines)}</svg>'


def figure(title, result, rows, series, unit):
    """A chart with its title and what it was seen on; nothing where there is no row."""
    rows = [(name, values) for name, values in rows if values]
    if not rows:
        return ""
    seen = html.escape(result["seen"]["what"])
    how = "shorter is better, each row has its own scale" if unit == "ms" else ""
    return f"<figure><h2>{title}</h2>{how and f'<p>{how}</p>'}{bars(rows, series, unit)}<figcaption>Seen on: {seen}</figcaption></figure>"


def chosen(result, key, columns):
    """(name, {column's name: number}) of rows that have one of the columns; `key`: the column of names."""
    for row in result["rows"]:
        if key in row:
            yield str(row[key]), {name: row[column] for name, column in columns.items() if is_number(row.get(column))}


CHARTS = (
    ("bench", "Matrix products", "what", {"Gantry": "tflops"}, "TFLOP/s"),
    ("bench", "Single operations, median of a run", "what",
     {"Gantry": "median_ms", "cuBLASLt": "cublaslt_ms", "PyTorch": "torch_ms", "JAX": "jax_ms"}, "ms"),
    ("bench", "What moves memory, relative to a copy", "what", {"Gantry": "of_copy"}, "of a copy"),
    ("peers", "Networks", "network",
     {"Gantry": "gantry_ms", "with cuBLASLt": "gantry_cublaslt_ms", "reduce-overhead": "reduce-overhead",
      "max-autotune": "max-autotune", "ONNX Runtime": "onnxruntime"}, "ms"),
    ("memory", "Memory", "plan", {"planned": "planned_mib", "taken": "taken_mib"}, "MiB"),
)


def page(results):
    figures = [figure(title, results[stage], list(chosen(results[stage], key, columns)), list(columns), unit)
               for stage, title, key, columns, unit in CHARTS if stage in results]
    real = any(result["seen"]["real"] for result in results.values())
    notice = "" if real else "<strong>no GPU was used.</strong> All of it is of a rehearsal on the fake libcuda of the tests."
    return PAGE.format(notice=notice, figures="\n".join(filter(None, figures)))
