// ---- finding: all that has a name, by any part of what is known of it ----
const mostFound = 60;

function entriesOf(f) {
  const entry = (kind, number, title, what, more) =>
    ({ mark: markOf(f.plan, kind, number), title, what, text: [title, what, ...more].join(" ").toLowerCase() });
  const ops = f.ops.map((op, p) => entry("p", p, op.title, `${op.source_op || op.op} on ${op.on}`,
    [op.op, op.name, op.kernel, op.rule, op.reason, ...op.operands.map(o => o.name), ...op.results, ...op.attributes]));
  const copies = f.commands.filter(isAcross).map(c => entry("c", c.at, titleOf(c),
    `copy ${f.plan.devices[c.from]} → ${f.plan.devices[c.to]}`, c.copied.map(v => v.name + " " + v.cause)));
  const ends = [["i", f.inputs, "input"], ["o", f.outputs, "output"]].flatMap(([kind, list, what]) =>
    list.map((end, i) => entry(kind, i, end.name, `${what} ${end.type}`, [shortDevice(end.device)])));
  return [...ends, ...ops, ...copies];
}

// Every word has to be somewhere; what is called so comes before what only mentions it.
function search(functions, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const isCalled = entry => words.every(word => entry.title.toLowerCase().includes(word));
  const all = functions.flatMap(f => f.entries ??= entriesOf(f)).filter(entry => words.every(word => entry.text.includes(word)));
  return [...all.filter(isCalled), ...all.filter(entry => !isCalled(entry))];
}

function drawFound() {
  const box = byId("found"), found = state.found;
  box.style.display = state.query && state.isSearching ? "block" : "none";
  box.innerHTML = found.slice(0, mostFound).map(entry =>
    `<button data-pick="${entry.mark}"><span>${which(entry.mark)}${esc(entry.title)}</span><span class="soft">${esc(entry.what)}</span></button>`).join("") +
    `<p class="soft">${found.length > mostFound ? `${mostFound} of ${found.length}; one more word finds fewer` : found.length ? "" : "nothing is called so"}</p>`;
}

// The arrows go from the field to what was found, and through it.
function stepFound(event, by) {
  const all = [...byId("found").querySelectorAll("button")], next = all.indexOf(event.target) + by;
  if (!["ArrowDown", "ArrowUp"].includes(event.key)) return;
  event.preventDefault();
  (next < 0 ? byId("find") : all[next])?.focus();
}

function find(query) {
  state.query = query.trim();
  state.found = search(state.shown, state.query);
  state.marks = new Set(state.found.flatMap(entry => [entry.mark, commandMark(entry.mark)]));
  drawFound();
  showMarks();
}
