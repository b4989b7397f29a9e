// ---- memory: what devices hold, sessions, live bytes over the commands, where values lie ----
const valuesTold = 8, mostValues = 4000, mostStacked = 40;
const fillOf = (v, i) => `hsl(${hue(v.name || String(i))} 50% 55%)`;

function deviceMemory(f) {
  const limits = f.plan.memory.some(m => m.limit) ? [
    { title: "limit", n: 1, cell: m => m.limit ? bytes(m.limit) : "none" },
    { title: "of the limit", n: 1, cell: m => m.limit ? (100 * needs(f, m) / m.limit).toFixed(0) + " %" : "" }] : [];
  return table([
    { title: "memory", cell: m => deviceTag(f.plan.deviceOf(m.device)) },
    { title: "constants", n: 1, cell: m => bytes(m.constants) }, { title: "variables", n: 1, more: 1, cell: m => bytes(m.variables) },
    { title: "transient", n: 1, cell: m => bytes(m.transient) }, { title: "bound", n: 1, more: 1, cell: m => m.lower_bound ? bytes(m.lower_bound) : "" },
    { title: "ratio", n: 1, more: 1, cell: m => m.lower_bound ? (m.transient / m.lower_bound).toFixed(3) : "" },
    { title: "in, out", n: 1, more: 1, cell: m => bytes(endBytes(f, m.device)) }, ...limits], f.plan.memory);
}

// Constants and variables are there once, the rest for each session.
function drawSessions(m, device, width) {
  if (!m.transient) return "";
  const kept = m.constants + m.variables, fit = m.limit ? Math.floor((m.limit - kept) / m.transient) : 0;
  const counts = [...new Set([1, 2, 4, 8, 16, ...(fit > 0 && fit <= 64 ? [fit] : [])])].sort((a, b) => a - b);
  const most = Math.max(m.limit, kept + counts.at(-1) * m.transient), scale = (Math.min(width, 900) - 160) / most, colour = colourOf(device);
  const svg = counts.map((n, r) => {
    const y = r * 18 + 2, all = kept + n * m.transient, over = m.limit && all > m.limit;
    return `<text x="52" y="${y + 11}" text-anchor="end">n = ${n}</text>` +
           `<rect x="60" y="${y}" width="${Math.max(.5, kept * scale)}" height="14" fill="${colour}"/>` +
           `<rect x="${60 + kept * scale}" y="${y}" width="${Math.max(.5, n * m.transient * scale)}" height="14" fill="${colour}" fill-opacity=".45"/>` +
           `<text x="${66 + most * scale}" y="${y + 11}"${over ? ' style="fill:var(--mark)"' : ""}>${bytes(all)}</text>`;
  }).join("") + (m.limit ? `<line x1="${60 + m.limit * scale}" x2="${60 + m.limit * scale}" y1="0" y2="${counts.length * 18}" stroke="var(--mark)" stroke-dasharray="3 2"/>` : "");
  const room = !m.limit ? "" : fit > 0 ? `; the limit has room for ${fit}` : "; the limit leaves no room for one";
  return `<p class="soft">n sessions on ${esc(device)} take constants + variables + n × transient${room}</p>` +
         `<svg width="${Math.min(width, 900)}" height="${counts.length * 18 + 2}" role="img" aria-label="memory of n sessions on ${esc(device)}">${svg}</svg>`;
}

const valueRect = (f, v, i, x, y, w, h) => `<rect data-pick="${markOf(f.plan, "v", i)}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(.7, w).toFixed(1)}" height="${Math.max(.7, h).toFixed(1)}" fill="${fillOf(v, i)}" stroke="var(--ground)" stroke-width=".4"/>`;

// Each value where it lies; the largest when there are too many.
function drawOffsets(f, device, arena, width, height) {
  const last = f.arenas[arena].peak.live.length, top = f.arenas[arena].bytes || 1;
  const all = f.values.map((v, i) => [v, i]).filter(([v]) => v.arena === arena);
  const mine = all.length > mostValues ? all.sort(([a], [b]) => b.bytes - a.bytes).slice(0, mostValues) : all;
  const svg = mine.map(([v, i]) => valueRect(f, v, i, v.first / last * width, height - (v.offset + v.bytes) / top * height, (v.last + 1 - v.first) / last * width, v.bytes / top * height)).join("");
  return `<svg width="${width}" height="${height}" role="img" aria-label="memory of ${esc(device)} over the run">${svg}</svg>` +
         `<p class="soft">up: offset, to ${bytes(top)}; right: commands 1 to ${last}${mine.length < all.length ? `; the largest ${mostValues} of ${all.length} values` : ""}</p>`;
}

// Bytes that are live at each command, in grey; the values that are live at the peak stacked before it. A step is as
// wide as a pixel at least and as high as the most that is live in it.
function drawLive(f, device, arena, atPeak, width, height) {
  const { peak } = f.arenas[arena], steps = Math.min(peak.live.length, Math.floor(width)), ofStep = peak.live.length / steps;
  const x = command => command / peak.live.length * width, h = n => n / peak.bytes * (height - 8);
  let line = "", svg = "";
  for (let s = 0; s < steps; ++s) {
    const live = lastOf(peak.live.slice(Math.floor(s * ofStep), Math.max(Math.floor(s * ofStep) + 1, Math.floor((s + 1) * ofStep))), n => n)[0];
    line += `V${(height - h(live)).toFixed(1)}H${(width * (s + 1) / steps).toFixed(1)}`;
  }
  const base = new Array(peak.live.length).fill(0);
  for (const [v, i] of atPeak.slice(0, mostStacked))
    for (let at = v.first; at <= v.last && at < base.length;) {
      let end = at;
      while (end <= v.last && end < base.length && base[end] === base[at]) ++end;
      svg += valueRect(f, v, i, x(at), height - h(base[at] + v.bytes), x(end) - x(at), h(v.bytes));
      for (; at < end; ++at) base[at] += v.bytes;
    }
  return `<svg width="${width}" height="${height}" role="img" aria-label="live bytes on ${esc(device)} over the run"><path d="M0 ${height}${line}V${height}Z" fill="var(--soft)" fill-opacity=".3"/>${svg}` +
         `<line x1="${x(peak.at + .5)}" x2="${x(peak.at + .5)}" y1="0" y2="${height}" stroke="var(--mark)" stroke-dasharray="3 2"/></svg>` +
         `<p class="soft">up: live bytes, to ${bytes(peak.bytes)}; coloured: the values that are live at the peak, grey: others; right: commands 1 to ${peak.live.length}</p>`;
}

function peakTable(f, atPeak) {
  const madeBy = v => { const c = f.byNumber.get(v.first); return c ? esc(titleOf(c)) : ""; };
  return table([
    { title: "value at the peak", cell: ([v, i]) => chip(fillOf(v, i)) + esc(v.name || "a value") },
    { title: "type", more: 1, cell: ([v]) => `<code>${esc(v.type)}</code>` }, { title: "bytes", n: 1, cell: ([v]) => bytes(v.bytes) },
    { title: "offset", n: 1, more: 1, cell: ([v]) => v.offset.toLocaleString("en") }, { title: "live", n: 1, cell: ([v]) => `${v.first + 1}–${v.last + 1}` },
    { title: "made by", more: 1, cell: ([v]) => madeBy(v) }], atPeak.slice(0, valuesTold), ([, i]) => markOf(f.plan, "v", i)) +
    (atPeak.length > valuesTold ? `<p class="soft">the largest ${valuesTold} of ${atPeak.length} values at the peak</p>` : "");
}

function drawMemory(f, root) {
  const width = Math.max(280, root.clientWidth), said = "over the limit: ";
  const done = f.plan.constraints.filter(c => c.startsWith(said));
  let html = deviceMemory(f);
  if (done.length)
    html += `<p>What was done to fit the limits:</p><ul>${done.map(s => `<li>${esc(s.slice(said.length))}</li>`).join("")}</ul>`;
  f.plan.memory.forEach((m, d) => {
    const device = f.plan.devices[d];
    html += drawSessions(m, device, width);
    const arena = f.arenas.findIndex(a => a.device === d && a.peak);
    if (arena < 0) return;
    const { peak } = f.arenas[arena], maker = f.byNumber.get(peak.at);
    const atPeak = f.values.map((v, i) => [v, i]).filter(([v]) => v.arena === arena && v.first <= peak.at && peak.at <= v.last)
      .sort(([a], [b]) => b.bytes - a.bytes || a.offset - b.offset);
    html += `<h3>${deviceTag(device)}: peak ${bytes(peak.bytes)} live at command ${peak.at + 1} of ${peak.live.length}` +
            (maker || peak.name ? `, '${esc(maker ? titleOf(maker) : peak.name)}'` : "") + "</h3>" + drawLive(f, device, arena, atPeak, width, 150) +
            peakTable(f, atPeak) + "<p>Where values lie:</p>" + drawOffsets(f, device, arena, width, 210);
  });
  root.innerHTML = html;
  showMarks(root);
}
