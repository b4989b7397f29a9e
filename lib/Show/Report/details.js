// ---- the side: all that is known of what was clicked ----
const parts = mark => { const [plan, kind, number] = mark.split(" "); return { f: state.shown.find(f => f.plan.number === +plan), kind, number: +number }; };
// "A" or "B", where there are two plans.
const which = mark => plans.length > 1 ? `<b class="which">${"AB"[+mark[0]]}</b> ` : "";
// The command that does it: of an op its launch.
function commandMark(mark) {
  const { f, kind, number } = parts(mark);
  return kind === "p" && f.ops[number].at !== undefined ? markOf(f.plan, "c", f.ops[number].at) : mark;
}
function exists(mark) {
  const { f, kind, number } = parts(mark);
  const all = f && { c: f.commands.map(c => c.at), p: f.ops, v: f.values, i: f.inputs, o: f.outputs }[kind];
  return !!all && (kind === "c" ? all.includes(number) : number < all.length);
}
const pickButton = (mark, title) => `<button class="link" data-pick="${mark}">${title}</button>`;
const list = rows => `<dl>${rows.filter(([, text]) => text).map(([name, text]) => `<dt>${name}</dt><dd>${text}</dd>`).join("")}</dl>`;
const row = (name, type, more = "") => `<div class="value"><span>${name}${more ? ` <span class="soft">${more}</span>` : ""}</span><code>${esc(type)}</code></div>`;

function timesOf(f, c) {
  const rows = [];
  if (c.end !== undefined) rows.push(["predicted", `${seconds(c.seconds)}, from ${seconds(c.start)} to ${seconds(c.end)}`]);
  if (c.measured_seconds !== undefined)
    rows.push(["measured", seconds(c.measured_seconds) + (c.seconds ? `, ${times(c.measured_seconds / c.seconds)} the prediction` : "") +
      (c.measured_start !== undefined ? `, from ${seconds(c.measured_start)}` : "")]);
  const all = sum(f.commands.filter(o => o.device === c.device && o.queue === c.queue).map(tookOf));
  rows.push(["share", all ? `${percent(tookOf(c), all)} of what ${esc(c.on)} does on this queue` : ""]);
  return rows;
}

const commandLink = (f, at) => {
  const c = f.byNumber.get(at);
  return c ? pickButton(markOf(f.plan, "c", at), (c.does === "copy" ? "copy of " : "") + esc(titleOf(c))) : "";
};
const mostLinks = 8;
const links = (f, ats) => ats.slice(0, mostLinks).map(at => commandLink(f, at)).filter(Boolean).join(", ") +
  (ats.length > mostLinks ? `, and ${ats.length - mostLinks} more` : "");

function opDetails(f, op, isNamed) {
  const operand = o => row(o.name ? esc(o.name) : o.value ? `<code>${esc(o.value)}</code>` : "<span class=soft>a value</span>", o.type,
                           o.constant ? (o.name && o.value ? `weight, ${esc(o.value)}` : "weight") : "");
  const runsAs = op.source_op && op.source_op !== op.op ? `runs as ${esc(op.op)}` : "";
  return `<div class="op">` + (isNamed ? "" : `<b>${esc(op.title)}</b> `) + `${esc(op.source_op || op.op)} <span class="soft">${runsAs}</span>` + list([
    ["reads", op.operands.map(operand).join("")],
    ["gives", op.results.map(type => `<code>${esc(type)}</code>`).join("<br>")],
    ["attributes", op.attributes.map(a => `<code>${esc(a)}</code>`).join("<br>")],
    ["work", op.flops ? `${count(op.flops)}${op.flops < 1e4 ? " " : ""}flop, ${bytes(op.bytes)}` : op.bytes ? bytes(op.bytes) : ""],
    ["device", deviceTag(op.on)],
    ["why", esc(whyOf(op)) + op.rejected.map(r => `<br><span class="soft">not taken: ${esc(r)}</span>`).join("") + (op.once ? "<br>once, at load" : "")],
    ["from", esc(op.loc)]]) + "</div>";
}

function commandDetails(f, c, op) {
  const ops = (c.placed || []).map(p => f.ops[p]);
  const first = op || ops.find(o => o.title === c.title) || ops[0];
  const ordered = first ? [first, ...ops.filter(o => o !== first)] : [];
  const isCopy = c.does === "copy", title = first ? first.title : titleOf(c);
  const other = plans.length > 1 && partnerOf(markOf(f.plan, "c", c.at));
  return `<h2>${deviceTag(c.on)} ${which(markOf(f.plan, "c", c.at))}</h2><h2>${isCopy ? "copy of " : ""}${esc(title)}</h2>` + list([
    ["way", isCopy ? `${deviceTag(f.plan.devices[c.from])} → ${deviceTag(f.plan.devices[c.to])}` : ""],
    ["bytes", isCopy ? bytes(c.bytes) : ""],
    ...timesOf(f, c),
    ["kernel", c.kernel ? `${codeOf(f, c.kernel, f.plan.memory[c.device].device)}${ops.length > 1 ? `, ${ops.length} ops` : ""}` : ""],
    ["command", `${c.at + 1}, queue of ${queueNames[c.queue] || c.queue}${c.inside ? ", in a branch or loop" : ""}`],
    ["reads from", links(f, c.reads) + c.inputs.map(i => (c.reads.length ? ", " : "") + pickButton(markOf(f.plan, "i", i), esc(f.inputs[i].name))).join("")],
    ["read by", links(f, c.readers) + c.outputs.map(o => (c.readers.length ? ", " : "") + pickButton(markOf(f.plan, "o", o), esc(f.outputs[o].name))).join("")],
    ["values", isCopy ? c.copied.map(v => row(esc(v.name || "a value"), bytes(v.bytes), v.cause ? "for " + esc(v.cause) : "")).join("") : ""],
    ["other plan", other ? otherPlan(other) : ""],
    ["from", ordered.length ? "" : esc(c.loc)]]) + ordered.map((o, i) => opDetails(f, o, i === 0)).join("");
}

function otherPlan(mark) {
  const { f, number } = parts(mark), c = f.byNumber.get(number);
  return `${which(mark)}${deviceTag(c.on)} ${seconds(tookOf(c))} ${pickButton(mark, "show")}`;
}

function valueDetails(f, v) {
  const made = f.byNumber.get(v.first), arena = f.arenas[v.arena];
  const readers = f.commands.filter(c => c.at > v.first && c.at <= v.last && c.reads.includes(v.first)).map(c => c.at);
  return `<h2>${deviceTag(f.plan.devices[arena.device])} ${which(markOf(f.plan, "v", 0))}</h2><h2>${esc(v.name || "a value")}</h2>` + list([
    ["type", `<code>${esc(v.type)}</code>`], ["bytes", `${bytes(v.bytes)} at ${v.offset.toLocaleString("en")}`],
    ["live", `in commands ${v.first + 1} to ${v.last + 1}`], ["made by", made ? commandLink(f, v.first) : ""], ["read by", links(f, readers)]]);
}

function endDetails(f, end, kind, number) {
  const key = kind === "i" ? "inputs" : "outputs";
  const users = f.commands.filter(c => c[key].includes(number)).map(c => c.at);
  return `<h2>${deviceTag(shortDevice(end.device))}</h2><h2>${kind === "i" ? "input" : "output"} ${esc(end.name)}</h2>` + list([
    ["type", `<code>${esc(end.type)}</code>`], ["bytes", bytes(end.bytes)], [kind === "i" ? "read by" : "made by", links(f, users)],
    ["over", end.over === undefined ? "" : `may be the array of input ${esc(f.inputs[end.over].name)}`]]);
}

function detailsOf(mark) {
  const { f, kind, number } = parts(mark);
  if (kind === "v") return valueDetails(f, f.values[number]);
  if (kind === "i" || kind === "o") return endDetails(f, (kind === "i" ? f.inputs : f.outputs)[number], kind, number);
  const op = kind === "p" ? f.ops[number] : undefined, c = f.byNumber.get(op ? op.at : number);
  return c ? commandDetails(f, c, op) : opDetails(f, op, false);
}

// Before anything is clicked: what goes in and out, and how to get about.
function nothingPicked() {
  const ends = f => ["i", "o"].flatMap(kind => (kind === "i" ? f.inputs : f.outputs).slice(0, 12).map((end, i) =>
    row(`<span class="soft">${kind === "i" ? "in" : "out"}</span> ` + pickButton(markOf(f.plan, kind, i), esc(end.name)), end.type))).join("");
  return `<h2>In and out</h2>${ends(state.shown[0])}<h3>How to read this page</h3>
<p>Click an op, a copy or a value anywhere: what is known of it stands here.</p>
<p><kbd>/</kbd> searches, <kbd>↑</kbd> <kbd>↓</kbd> go through the commands, <kbd>Esc</kbd> closes.</p>
<p>A device has one colour everywhere:<br>${[...colours.keys()].filter(d => state.shown.some(f => f.plan.devices.includes(d))).map(deviceTag).join(" ")}</p>`;
}

function drawDetails() {
  const side = byId("details");
  side.classList?.toggle("open", !!state.picked);
  side.innerHTML = state.picked
    ? `<button id="close" class="button" aria-label="close" data-close>×</button>` + detailsOf(state.picked)
    : nothingPicked();
  side.scrollTop = 0;
}
