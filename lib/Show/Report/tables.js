// ---- tables; of narrow pages some columns are left out, and a click tells the rest ----
function table(columns, rows, markOfRow) {
  if (!rows.length) return "";
  const classes = c => { const names = [c.n && "n", c.more && "more"].filter(Boolean).join(" "); return names ? ` class="${names}"` : ""; };
  const head = columns.map(c => `<th${classes(c)}>${c.title}</th>`).join("");
  const pick = r => { const mark = markOfRow?.(r); return mark ? ` data-pick="${mark}" tabindex="0"` : ""; };
  const body = rows.map(r => `<tr${pick(r)}>` + columns.map(c => `<td${classes(c)}>${c.cell(r)}</td>`).join("") + "</tr>").join("");
  return `<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}
// The first rows, and more where somebody asks for them.
const firstRows = 10, furtherRows = 200;
function growingTable(root, columns, rows, markOfRow) {
  let shown = firstRows;
  const draw = () => {
    root.innerHTML = table(columns, rows.slice(0, shown), markOfRow) +
      (rows.length > shown ? `<p><button class="button" data-grow>${Math.min(furtherRows, rows.length - shown)} more of ${rows.length - shown}</button></p>` : "");
    showMarks(root);
  };
  root.onclick = event => { if (event.target.closest("[data-grow]")) { shown += furtherRows; draw(); } };
  draw();
}

const wasMeasured = f => f.commands.some(c => c.measured_seconds !== undefined);
// Columns "predicted" and, of measured runs, "measured" with the ratio.
const timeColumns = (f, predicted, measured) => [
  { title: "predicted", n: 1, cell: r => predicted(r) ? seconds(predicted(r)) : "" },
  ...(wasMeasured(f) ? [{ title: "measured", n: 1, cell: r => measured(r) === undefined ? "" : seconds(measured(r)) },
    { title: "ratio", n: 1, more: 1, cell: r => predicted(r) && measured(r) !== undefined ? times(measured(r) / predicted(r)) : "" }] : [])];

function drawCopies(f, root) {
  const timeOf = c => c.joined ? 0 : c.predicted_seconds, everyRun = f.copies.filter(c => c.time !== "load"), all = sum(everyRun.map(timeOf));
  const rows = [...f.copies].sort((a, b) => (a.time === "load") - (b.time === "load") || timeOf(b) - timeOf(a) || b.bytes - a.bytes);
  byId("copies-" + f.plan.number).textContent = everyRun.length ? `the longest first; ${everyRun.length} in every run take ${seconds(all)} in all` : f.copies.length ? "none in a run, only at load" : "none";
  const commandOf = new Map(f.commands.filter(isAcross).flatMap(c => c.copied.map(v => [v.name + " " + c.to, c.at])));
  growingTable(root, [
    { title: "value", cell: c => esc(c.name) }, { title: "way", cell: c => `${deviceTag(f.plan.deviceOf(c.from))} → ${deviceTag(f.plan.deviceOf(c.to))}` },
    { title: "bytes", n: 1, cell: c => bytes(c.bytes) }, { title: "predicted", n: 1, cell: c => c.joined ? "<span class=soft>same transfer</span>" : seconds(c.predicted_seconds) },
    { title: "of all", n: 1, more: 1, cell: c => c.time === "load" || !all ? "" : percent(timeOf(c), all) },
    { title: "when", more: 1, cell: c => ({ load: "at load", run: "every run", inside: "in a branch or loop" }[c.time]) },
    { title: "caused by", more: 1, cell: c => esc(c.cause) }], rows, c => {
      const at = c.time === "load" ? undefined : commandOf.get(c.name + " " + f.plan.memory.findIndex(m => m.device === c.to));
      return at === undefined ? undefined : markOf(f.plan, "c", at);
    });
}

function drawKernels(f, root) {
  const launched = new Map(), key = k => k.symbol + " " + k.device;
  for (const c of f.commands)
    if (c.kernel) {
      const place = c.kernel + " " + f.plan.memory[c.device].device;
      if (!launched.has(place)) launched.set(place, []);
      launched.get(place).push(c);
    }
  const measured = k => { const of = (launched.get(key(k)) || []).filter(c => c.measured_seconds !== undefined); return of.length ? sum(of.map(c => c.measured_seconds)) : undefined; };
  const all = sum(f.kernels.map(k => k.predicted_seconds)), most = Math.max(1e-12, ...f.kernels.map(k => k.predicted_seconds));
  growingTable(root, [
    { title: "for", cell: k => esc(k.nodes) }, { title: "kernel", more: 1, cell: k => codeOf(f, k.symbol, k.device) }, { title: "device", cell: k => deviceTag(f.plan.deviceOf(k.device)) },
    { title: "launches", n: 1, more: 1, cell: k => k.launches }, ...timeColumns(f, k => k.predicted_seconds, measured),
    { title: "share", n: 1, cell: k => percent(k.predicted_seconds, all) },
    { title: "", more: 1, cell: k => `<span class="bar"><i style="width:${100 * k.predicted_seconds / most}%;background:${colourOf(f.plan.deviceOf(k.device))}"></i></span>` }],
    f.kernels, k => { const first = launched.get(key(k))?.[0]; return first && markOf(f.plan, "c", first.at); });
}

const orders = {
  "as they run": null,
  "the longest first": (a, b) => b.predicted_seconds - a.predicted_seconds,
  "most work first": (a, b) => b.flops - a.flops,
};
function drawOps(f, root, order, word) {
  const needle = word.toLowerCase(), command = op => f.byNumber.get(op.at);
  const isMain = op => command(op)?.title === op.title && op.predicted_seconds > 0;
  const rows = f.ops.filter(op => !needle || [op.title, op.op, op.name, op.source_op, op.kernel, op.on, op.rule, op.reason].join(" ").toLowerCase().includes(needle));
  growingTable(root, [
    { title: "op", cell: op => esc(op.title) }, { title: "type", more: 1, cell: op => esc(op.source_op || op.op) }, { title: "device", cell: op => deviceTag(op.on) },
    { title: "gives", more: 1, cell: op => `<code>${esc(op.results.join(", "))}</code>` }, { title: "flop", n: 1, more: 1, cell: op => op.flops ? count(op.flops) : "" },
    ...timeColumns(f, op => op.predicted_seconds, op => isMain(op) ? command(op).measured_seconds : undefined)],
    orders[order] ? [...rows].sort(orders[order]) : rows, op => markOf(f.plan, "p", op.number));
}

// Who decided where ops run.
const drawWhy = (f, root) => growingTable(root, [
  { title: "ops", n: 1, cell: r => r.ops }, { title: "device", cell: r => deviceTag(f.plan.devices[r.device]) },
  { title: "why", cell: r => esc(r.why) }, { title: "which", cell: r => esc(r.which) }], f.reasons);
