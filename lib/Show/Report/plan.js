// ---- a plan, and what is asked of it all the time ----
// Everything on the page is called by a mark of three parts: the plan's number, a kind and a number. Kinds: "c"
// command, by its number in the function; "p" op and "v" value, by their places in the lists; "i" and "o" input and
// output.
const markOf = (plan, kind, number) => `${plan.number} ${kind} ${number}`;

function makePlan(data, number) {
  const plan = { ...data, number, name: data.source || "plan", devices: data.memory.map(m => shortDevice(m.device)) };
  plan.deviceOf = full => plan.devices[plan.memory.findIndex(m => m.device === full)];
  plan.devices.forEach(colourOf);
  plan.functions.forEach(f => indexFunction(plan, f));
  return plan;
}

function indexFunction(plan, f) {
  f.plan = plan;
  f.byNumber = new Map(f.commands.map((c, place) => [c.at, Object.assign(c, { place, readers: [] })]));
  for (const c of f.commands) {
    c.on = plan.devices[c.device];
    c.seconds = c.end === undefined ? 0 : c.end - c.start;
    for (const at of c.reads) f.byNumber.get(at)?.readers.push(c.at);
    for (const p of c.placed || []) f.ops[p].at = c.at;
  }
  f.ops.forEach((op, p) => Object.assign(op, { number: p, on: plan.deviceOf(op.device), title: op.node || op.name || op.op }));
  // What has no name is called after the input that it is a copy of, or after what makes it.
  for (const c of f.commands) c.name ||= c.does === "copy" && f.inputs[c.inputs[0]]?.name || "";
  for (const v of f.values) v.name ||= f.byNumber.has(v.first) ? titleOf(f.byNumber.get(v.first)) : "";
  f.end = Math.max(0, ...lastOf(f.commands, c => c.end), ...lastOf(f.commands, c => c.measured_end));
  f.longest = Math.max(1e-12, ...lastOf(f.commands, c => Math.max(c.seconds, c.measured_seconds || 0)));
}
// As a list of at most one, since a call takes no list of 20,000.
const lastOf = (list, of) => [list.reduce((most, each) => Math.max(most, of(each) ?? 0), 0)];

const isAcross = c => c.does === "copy" && c.from !== c.to;
// What the model calls what a command does: its main op's node.
const titleOf = c => c.does === "copy" ? (c.values > 1 ? plural(c.values, "value") : c.name || "value") : c.title || c.ops.join(" + ") || c.does;
// The types of its ops in the model's words, each once: "Conv + Relu".
const kindOf = (f, c) => c.does === "copy" ? "copy" : [...new Set((c.placed || []).map(p => f.ops[p].source_op || f.ops[p].op))].join(" + ") || c.ops.join(" + ") || c.does;
const givesOf = (f, c) => c.placed?.length ? f.ops[c.placed.at(-1)].results.join(", ") : "";
// What runs a kernel: a library, where it is asked first and there.
const codeOf = (f, symbol, device) => {
  const library = f.kernels.find(k => k.symbol === symbol && k.device === device)?.library;
  return `${library ? `${esc(library)}, else ` : ""}<code>${esc(symbol)}</code>`;
};
const whyOf = op => op.reason ? `${op.rule}: ${op.reason}` : op.rule;
const tookOf = c => c.measured_seconds ?? c.seconds;

// What one session needs of a device.
const endBytes = (f, device) => sum([...f.inputs, ...f.outputs].filter(e => e.device === device).map(e => e.bytes));
const needs = (f, m) => m.constants + m.variables + m.transient + endBytes(f, m.device);
