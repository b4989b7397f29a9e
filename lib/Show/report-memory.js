// The part of a report about memory; CMake puts it into report.html, whose words and colours it uses.
// ---- memory: what devices hold, sessions, offsets and live bytes over the commands ----
// Names that differ little get colours that differ much.
function hue(text) {
  let hash = 0;
  for (const c of text) hash = Math.imul(hash ^ c.codePointAt(0), 2654435761) >>> 0;
  return (hash ^ hash >>> 15) % 360;
}
const fillOf = (v, i) => `hsl(${hue(v.name || String(i))} 50% 55%)`;
const valuesTold = 8; // largest values at the peak, in the table
const sum = numbers => numbers.reduce((all, n) => all + n, 0);

const ends = (f, m) => sum([...f.inputs, ...f.outputs].filter(e => e.device === m.device).map(e => e.bytes));
// What one session needs of a device.
const needs = (f, m) => m.constants + m.variables + m.transient + ends(f, m);

function deviceMemory(f, root) {
  const rows = data.memory.map((m, d) => ({ ...m, d, ends: ends(f, m) }));
  const limits = data.memory.some(m => m.limit) ? [
    { title: "limit", n: 1, cell: m => m.limit ? bytes(m.limit) : "none" },
    { title: "of the limit", n: 1, cell: m => m.limit ? (100 * needs(f, m) / m.limit).toFixed(0) + " %" : "" }] : [];
  return table([
    { title: "memory", cell: m => deviceCell(m.device) },
    { title: "constants", n: 1, cell: m => bytes(m.constants) }, { title: "variables", n: 1, cell: m => bytes(m.variables) },
    { title: "transient", n: 1, cell: m => bytes(m.transient) }, { title: "bound", n: 1, cell: m => m.lower_bound ? bytes(m.lower_bound) : "" },
    { title: "ratio", n: 1, cell: m => m.lower_bound ? (m.transient / m.lower_bound).toFixed(3) : "" },
    { title: "in, out", n: 1, cell: m => bytes(m.ends) }, ...limits], rows);
}

// Constants and variables are there once, the rest for each session.
function drawSessions(m, d) {
  if (!m.transient) return "";
  const kept = m.constants + m.variables, fit = m.limit ? Math.floor((m.limit - kept) / m.transient) : 0;
  const counts = [...new Set([1, 2, 4, 8, 16, ...(fit > 0 && fit <= 64 ? [fit] : [])])].sort((a, b) => a - b);
  const most = Math.max(m.limit, kept + counts.at(-1) * m.transient), scale = 360 / most;
  let svg = "";
  counts.forEach((n, r) => {
    const y = r * 18 + 2, all = kept + n * m.transient, over = m.limit && all > m.limit;
    svg += `<text x="52" y="${y + 11}" text-anchor="end">n = ${n}</text>` +
           `<rect x="60" y="${y}" width="${Math.max(.5, kept * scale)}" height="14" fill="${colours[d]}"/>` +
           `<rect x="${60 + kept * scale}" y="${y}" width="${Math.max(.5, n * m.transient * scale)}" height="14" fill="${colours[d]}" fill-opacity=".45"/>` +
           `<text x="428" y="${y + 11}"${over ? ' style="fill:var(--mark)"' : ""}>${bytes(all)}</text>`;
  });
  if (m.limit) svg += `<line x1="${60 + m.limit * scale}" x2="${60 + m.limit * scale}" y1="0" y2="${counts.length * 18}" stroke="var(--mark)" stroke-dasharray="3 2"/>`;
  const room = !m.limit ? "" : fit > 0 ? `; ${fit} ${fit === 1 ? "fits" : "fit"} below the limit, beside nothing else` : "; the limit leaves no room for one";
  return `<p class="soft">n sessions on ${esc(devices[d])} take constants + variables + n × transient${room}</p>` +
         `<svg width="520" height="${counts.length * 18 + 2}" role="img" aria-label="memory of n sessions on ${esc(devices[d])}">${svg}</svg>`;
}

// Each value where it lies; the largest when there are too many.
function drawOffsets(f, d, arena, width, height) {
  const last = f.arenas[arena].peak.live.length, top = f.arenas[arena].bytes || 1;
  const all = f.values.map((v, i) => [v, i]).filter(([v]) => v.arena === arena);
  const mine = all.length > mostDrawn ? all.sort(([a], [b]) => b.bytes - a.bytes).slice(0, mostDrawn) : all;
  let svg = "";
  for (const [v, i] of mine) {
    const x = v.first / last * width, w = Math.max(1, (v.last + 1 - v.first) / last * width);
    const h = Math.max(.8, v.bytes / top * height), y = height - v.offset / top * height - h;
    svg += `<rect data-v="${i}" x="${x}" y="${y}" width="${w}" height="${h}" fill="${fillOf(v, i)}" stroke="var(--ground)" stroke-width=".4"/>`;
  }
  return `<svg width="${width}" height="${height}" role="img" aria-label="memory of ${esc(devices[d])} over the run">${svg}</svg>` +
         `<p class="soft">up: offset, to ${bytes(top)}; right: commands 1 to ${last}${mine.length < all.length ? `; the largest ${mostDrawn} of ${all.length} values` : ""}</p>`;
}

// Bytes that are live at each command: the values at the peak stacked, what else is live then in grey on top of them.
function drawLive(f, d, arena, atPeak, width, height) {
  const { peak } = f.arenas[arena], steps = peak.live.length;
  const x = step => step / steps * width, h = n => n / peak.bytes * (height - 8);
  const base = new Array(steps).fill(0);
  let svg = "";
  for (const [v, i] of atPeak.slice(0, mostKernels * 4))
    for (let step = v.first; step <= v.last && step < steps;) {
      let end = step;
      while (end <= v.last && end < steps && base[end] === base[step]) ++end;
      svg += `<rect data-v="${i}" x="${x(step)}" y="${height - h(base[step] + v.bytes)}" width="${Math.max(.6, x(end) - x(step))}" height="${Math.max(.5, h(v.bytes))}" fill="${fillOf(v, i)}"/>`;
      for (; step < end; ++step) base[step] += v.bytes;
    }
  for (let step = 0; step < steps;) {
    let end = step;
    while (end < steps && base[end] === base[step] && peak.live[end] === peak.live[step]) ++end;
    const rest = peak.live[step] - base[step];
    if (rest > 0) svg += `<rect x="${x(step)}" y="${height - h(peak.live[step])}" width="${Math.max(.6, x(end) - x(step))}" height="${h(rest)}" fill="var(--soft)" fill-opacity=".35"/>`;
    step = end;
  }
  svg += `<line x1="${x(peak.at + .5)}" x2="${x(peak.at + .5)}" y1="0" y2="${height}" stroke="var(--mark)" stroke-dasharray="3 2"/>`;
  return `<svg width="${width}" height="${height}" role="img" aria-label="live bytes on ${esc(devices[d])} over the run">${svg}</svg>` +
         `<p class="soft">up: live bytes, to ${bytes(peak.bytes)}; coloured: the values that are live at the peak, grey: others; right: commands 1 to ${steps}</p>`;
}

function peakTable(f, atPeak) {
  const makers = new Map(f.commands.map(c => [c.at, c]));
  const madeBy = v => { const c = makers.get(v.first); return c ? esc(c.loc || c.name || titleOf(c)) : ""; };
  return table([
    { title: "value at the peak", cell: ([v, i]) => `<span class="chip" style="background:${fillOf(v, i)}"></span>${esc(v.name || "(no name)")}` },
    { title: "type", cell: ([v]) => esc(v.type) }, { title: "bytes", n: 1, cell: ([v]) => v.bytes.toLocaleString("en") },
    { title: "offset", n: 1, cell: ([v]) => v.offset.toLocaleString("en") }, { title: "live", cell: ([v]) => `${v.first + 1}–${v.last + 1}` },
    { title: "made by", cell: ([v]) => madeBy(v) }], atPeak.slice(0, valuesTold)) +
    (atPeak.length > valuesTold ? `<p class="soft">the largest ${valuesTold} of ${atPeak.length} values at the peak</p>` : "");
}

function drawMemory(f, root) {
  const width = Math.max(340, root.clientWidth);
  const steps = data.constraints.filter(c => c.startsWith("over the limit: "));
  let html = deviceMemory(f, root);
  if (steps.length)
    html += `<p>What was done to fit the limits:</p><ul>${steps.map(s => `<li>${esc(s.slice("over the limit: ".length))}</li>`).join("")}</ul>`;
  data.memory.forEach((m, d) => {
    html += drawSessions(m, d);
    const arena = f.arenas.findIndex(a => a.device === d && a.peak);
    if (arena < 0) return;
    const { peak } = f.arenas[arena];
    const atPeak = f.values.map((v, i) => [v, i]).filter(([v]) => v.arena === arena && v.first <= peak.at && peak.at <= v.last)
      .sort(([a], [b]) => b.bytes - a.bytes || a.offset - b.offset);
    html += `<p style="margin-top:1rem">${chip(d)}<b>${esc(devices[d])}</b>: peak ${bytes(peak.bytes)} live at command ${peak.at + 1} of ${peak.live.length}` +
            (peak.name ? `, '${esc(peak.name)}'` : "") + "</p>" + drawLive(f, d, arena, atPeak, width, 150) +
            peakTable(f, atPeak) + "<p>where values lie:</p>" + drawOffsets(f, d, arena, width, 210);
  });
  root.innerHTML = html;
}
