// ---- two plans: what differs, and which op is which ----
// The same op in the other plan, by its stable name: the launch that it is in.
function partnerOf(mark) {
  const { f, kind, number } = parts(mark), other = state.shown.find(g => g !== f);
  if (!other || kind !== "c") return null;
  const main = (f.byNumber.get(number)?.placed || []).map(p => f.ops[p]).find(op => op.name);
  other.byName ??= new Map(other.ops.filter(op => op.name).map(op => [op.name, op]));
  const same = main && other.byName.get(main.name);
  return same?.at === undefined ? null : markOf(other.plan, "c", same.at);
}

// Marks of commands with ops that are elsewhere in the other plan, or not there.
function movedMarks(f) {
  const found = data.diff?.functions.find(g => g.name === f.name);
  if (!found) return null;
  const names = new Set([...found.moved, ...found.added, ...found.gone].map(op => op.name));
  return new Set(f.ops.filter(op => op.name && names.has(op.name) && op.at !== undefined).map(op => markOf(f.plan, "c", op.at)));
}

// Two bars below each other, A's and B's.
function twoBars(title, pair, say, colour) {
  const most = Math.max(...pair, 1e-12);
  const bar = (value, name) => `<div class="two"><span class="bar" title="${name}"><i style="width:${100 * value / most}%;background:${colour};opacity:${name === "A" ? .55 : 1}"></i></span><span class="soft">${name} ${say(value)}</span></div>`;
  return `<div><span>${title}</span>${bar(pair[0], "A")}${bar(pair[1], "B")}</div>`;
}

function drawDifferences(name, root) {
  const found = data.diff.functions.find(g => g.name === name), groups = data.groups.find(g => g.name === name);
  if (data.diff.same) { root.innerHTML = "<p>Same placement, copies, memory and prediction.</p>"; return; }
  const both = key => [...colours.keys()].map(device => [device, data.diff.memory.find(m => shortDevice(m.device) === device)])
    .filter(([, m]) => m && m[key].some(n => n > 0)).map(([device, m]) => twoBars(`${key} on ${deviceTag(device)}`, m[key], bytes, colourOf(device))).join("");
  let html = groups && groups.exists[0] !== groups.exists[1] ? `<p>This function is only in plan ${groups.exists[0] ? "A" : "B"}.</p>` : "";
  html += `<div class="pair"><div>`;
  if (found) html += twoBars("predicted per run", found.predicted_seconds, seconds, "var(--link)") + twoBars("copied per run", found.copied_bytes_per_run, bytes, "var(--link)");
  html += `</div><div>${both("transient")}${both("constants")}</div></div>`;
  const device = full => full ? deviceTag(shortDevice(full)) : "<span class=soft>not there</span>";
  if (groups?.ops.length)
    html += "<h3>Ops</h3>" + table([{ title: "ops", n: 1, cell: g => g.ops }, { title: "", cell: g => g.what }, { title: "A", cell: g => device(g.from) }, { title: "B", cell: g => device(g.to) },
      { title: "which", cell: g => esc(g.which) }, { title: "rule", more: 1, cell: g => esc(g.rule) }], groups.ops);
  if (groups?.copies.length)
    html += "<h3>Copies that came (+) and went (−)</h3>" + table([{ title: "", n: 1, cell: g => g.count > 0 ? "+" + g.count : "−" + -g.count },
      { title: "way", cell: g => `${device(g.from)} → ${device(g.to)}` }, { title: "bytes", n: 1, cell: g => bytes(g.bytes) }, { title: "when", more: 1, cell: g => g.when },
      { title: "caused by", more: 1, cell: g => esc(g.causes) }], groups.copies);
  root.innerHTML = html || "<p>Nothing in this function.</p>";
}
