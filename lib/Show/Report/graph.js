// ---- where: downwards in the order of the plan; a lane for each device, or, where lanes would be narrow, a track ----
// Only what is in sight is drawn, so that 20,000 ops scroll as 20 do. Of layers that repeat the first is drawn, with how
// many there are; a click draws them all.
const step = 28, boxHeight = 22, narrowestLane = 190, gap = 84, widestBox = 1100;

function foldOf(f) {
  const repeatOf = new Map(); // place in f.commands -> the repeat that it is part of
  for (const r of f.repeats)
    if (!f.unfolded?.has(r.first))
      for (let i = r.first; i < r.first + r.period * r.times; ++i) repeatOf.set(i, r);
  const standsFor = new Map(); // command -> the one that is drawn for it
  const shown = [], frames = new Map();
  f.commands.forEach((c, i) => {
    const r = repeatOf.get(i), drawn = r ? f.commands[r.first + (i - r.first) % r.period] : c;
    standsFor.set(c.at, drawn.at);
    if (drawn !== c) return;
    if (r && i === r.first) frames.set(c.at, r);
    shown.push(c);
  });
  f.standsFor = standsFor;
  return { shown, standsFor, frames };
}

// What stands in which row: ends, frames and commands, each with what it reads from, as keys of rows.
function graphRows(f) {
  const { shown, standsFor, frames } = foldOf(f), rows = [], end = (kind, list) => list.forEach((end, i) => rows.push({
    key: kind + i, kind, end, on: shortDevice(end.device), mark: markOf(f.plan, kind, i),
    reads: kind === "o" ? f.commands.filter(c => c.outputs.includes(i)).map(c => "c" + standsFor.get(c.at)) : [] }));
  end("i", f.inputs);
  for (const c of shown) {
    const r = frames.get(c.at);
    if (r) rows.push({ key: "r" + r.first, kind: "r", repeat: r, reads: [] });
    rows.push({ key: "c" + c.at, kind: "c", c, on: c.on, mark: markOf(f.plan, "c", c.at),
                reads: [...c.inputs.map(i => "i" + i), ...c.reads.map(at => "c" + standsFor.get(at))] });
    const frame = [...frames.values()].find(r => f.commands[r.first + r.period - 1] === c);
    if (frame) rows.find(row => row.repeat === frame).end = rows.length - 1;
  }
  end("o", f.outputs);
  return rows;
}

const touchedBy = f => [...f.inputs, ...f.outputs].map(end => shortDevice(end.device)).concat(
  f.commands.flatMap(c => isAcross(c) ? [f.plan.devices[c.from], f.plan.devices[c.to]] : [c.on]));

function layoutOf(f, width) {
  const rows = graphRows(f), byKey = new Map(rows.map((row, place) => [row.key, Object.assign(row, { place, y: 4 + place * step })]));
  // Of two plans both have the same lanes.
  const devices = [...new Set(state.shown.flatMap(g => g.plan.devices))], touched = new Set(state.shown.flatMap(touchedBy));
  const used = devices.filter(d => touched.has(d));
  // Devices that only hold what goes in and out have a lane of less width.
  const works = new Set(rows.filter(row => row.c && !isAcross(row.c)).map(row => row.on)), isSingle = used.length < 2;
  const idle = isSingle ? 0 : 280 * used.filter(d => !works.has(d)).length, busy = used.filter(d => works.has(d)).length || 1;
  const lane = (width - 30 - idle) / busy, isNarrow = lane < narrowestLane && !isSingle, room = isSingle ? 40 : gap;
  const lanes = new Map();
  let x = 34;
  for (const d of used) {
    const wide = isSingle || works.has(d) ? lane : 280;
    lanes.set(d, { x, w: Math.min(widestBox, wide - room) });
    x += wide;
  }
  const left = d => lanes.get(d).x, box = d => lanes.get(d).w;
  const tracks = 16 + used.length * 15;
  for (const row of rows) {
    const c = row.c, across = c && isAcross(c);
    Object.assign(row, { across }, isNarrow
      ? { x: tracks + (row.kind === "r" ? -4 : 6), w: width - tracks - 14, dot: 14 + used.indexOf(row.on) * 15 }
      : across ? placeOfCopy(f, c, used, left, box(row.on), room) : row.on ? { x: left(row.on), w: box(row.on) } : {});
  }
  const edges = rows.flatMap(row => [...new Set(row.reads)].map(key => ({ from: byKey.get(key), to: row })))
    .filter(({ from, to }) => from && from.y < to.y); // from the layer before, which is not drawn: no line
  return { f, rows, edges, used, isNarrow, left, width, height: 4 + rows.length * step + 8 };
}

// Beside the lane of the device whose queue does it, on the side that it comes from or goes to.
function placeOfCopy(f, c, used, left, box, room) {
  const other = f.plan.devices[c.device === c.from ? c.to : c.from];
  const isLeft = used.indexOf(other) < used.indexOf(c.on);
  return { x: isLeft ? left(c.on) - room + 4 : left(c.on) + box + 4, w: room - 8 };
}

// The bar below the name is the share of the longest.
function drawBox(l, row) {
  const { x, y, w, c } = row, fit = (text, width) => esc(fitted(text, width));
  const text = (at, words, more = "") => `<text x="${at}" y="${y + 15}" pointer-events="none" ${more}>${words}</text>`;
  if (row.kind === "r")
    return `<g data-fold="${row.repeat.first}" tabindex="0" role="button"><rect x="${l.isNarrow ? 4 : 12}" y="${y}" width="${l.width - (l.isNarrow ? 8 : 24)}" height="${(row.end - row.place + 1) * step}" rx="8" fill="none" stroke="var(--soft)" stroke-dasharray="5 3" pointer-events="all"/>` +
      `<text x="${l.isNarrow ? 12 : 22}" y="${y + 16}" style="font-weight:600">${fit(`${row.repeat.times} × ${row.repeat.name}`, l.width - 190)}<tspan class="soft" dx="8">click for all</tspan></text></g>`;
  if (row.end)
    return `<rect data-pick="${row.mark}" x="${x}" y="${y}" width="${w}" height="${boxHeight}" rx="11" fill="var(--ground)" stroke="var(--soft)"/>` +
      text(x + w / 2, `${fit(row.end.name, w * .6)} <tspan class="soft">${fit(row.end.type, w * .4 - 24)}</tspan>`, 'text-anchor="middle"');
  const colour = colourOf(row.across ? l.f.plan.devices[c.from] : c.on), moved = l.moved?.has(row.mark);
  const shape = `data-pick="${row.mark}" x="${x}" y="${y}" width="${w}" height="${boxHeight}"`;
  if (row.across && !l.isNarrow)
    return `<rect ${shape} rx="11" fill="var(--ground)" stroke="${colour}"/>` + text(x + w / 2, fit(bytes(c.bytes), w - 8), 'text-anchor="middle"');
  const border = moved ? 'stroke="var(--mark)" stroke-width="2"' : c.inside || row.across ? `stroke="${colour}" ${c.inside ? 'stroke-dasharray="4 3"' : ""}` : "";
  return `<rect ${shape} rx="${row.across ? 11 : 4}" style="fill:color-mix(in srgb, ${colour} ${row.across ? 8 : 24}%, var(--ground))" ${border}/>` +
    (row.across ? "" : `<rect x="${x}" y="${y}" width="4" height="${boxHeight}" rx="2" fill="${colour}" pointer-events="none"/>` +
      `<rect x="${x + 4}" y="${y + boxHeight - 2.5}" width="${(w - 5) * tookOf(c) / l.f.longest}" height="2.5" fill="${colour}" pointer-events="none"/>`) +
    labelsOf(l, row).map(([at, words, more]) => text(at, words, more)).join("");
}

// What is written in a box: the name, and where there is room the types of its ops, what it gives and its time.
function labelsOf(l, { x, w, c, across }) {
  const name = across ? `→ ${l.f.plan.devices[c.to]}  ${bytes(c.bytes)}` : titleOf(c), time = seconds(tookOf(c)), labels = [];
  let right = x + w - 7, left = x + 11;
  if (w > 130) { labels.push([right, time, 'class="soft" text-anchor="end"']); right -= Math.max(70, widthOf(time) + 12); }
  const gives = across || right - left < 420 ? "" : fitted(givesOf(l.f, c), 190);
  if (gives) { labels.push([right, esc(gives), 'class="soft" text-anchor="end"']); right -= 200; }
  const shown = fitted(name, right - left), kind = across ? "" : kindOf(l.f, c);
  labels.push([left, esc(shown), ""]);
  left = Math.max(left + widthOf(shown) + 12, right - left > 500 ? x + (right - x) * .55 : 0);
  if (kind !== name && right - left > 60) labels.push([left, esc(fitted(kind, right - left)), 'class="soft"']);
  return labels;
}

// Lines of the picked command stand out, those over many rows step back.
function drawEdge(l, { from, to }) {
  const isPicked = l.picked.includes(from.mark) || l.picked.includes(to.mark), faint = to.place - from.place > 12 ? .16 : .5;
  const style = isPicked ? 'stroke="var(--mark)" stroke-width="1.8"' : from.across || to.across ? `stroke="${colourOf(l.f.plan.devices[(to.across ? to : from).c.from])}" stroke-width="1.6" stroke-opacity="${faint + .3}"` : `stroke="var(--soft)" stroke-opacity="${faint}"`;
  const a = from.x + from.w / 2, b = to.x + to.w / 2, bend = Math.min(26, 8 + (to.y - from.y) / 14);
  const path = from.across || to.across || from.place + 1 === to.place && from.x === to.x
    ? `M${a} ${from.y + boxHeight} C${a} ${from.y + boxHeight + 14} ${b} ${to.y - 14} ${b} ${to.y}`
    : `M${from.x} ${from.y + 12} C${from.x - bend} ${from.y + 24} ${to.x - bend} ${to.y - 4} ${to.x} ${to.y + 10}`;
  return `<path d="${path}" fill="none" ${style}/>`;
}

// A narrow page has a track for each device on the left, a dot on it for each command, and lines where values cross.
function drawTracks(l, rows, from, to) {
  const at = d => 14 + l.used.indexOf(d) * 15;
  return l.used.map(d => `<line x1="${at(d)}" x2="${at(d)}" y1="${from}" y2="${to}" stroke="${colourOf(d)}" stroke-opacity=".35" stroke-width="2"/>`).join("") +
    rows.filter(row => row.kind !== "r").map(row => {
      const y = row.y + boxHeight / 2, c = row.c;
      return (row.across ? `<line x1="${at(l.f.plan.devices[c.from])}" x2="${at(l.f.plan.devices[c.to])}" y1="${y}" y2="${y}" stroke="${colourOf(l.f.plan.devices[c.from])}" stroke-width="2"/>` : "") +
        `<circle cx="${row.dot}" cy="${y}" r="4" fill="${row.end ? "var(--ground)" : colourOf(row.on)}" stroke="${colourOf(row.on)}"/>`;
    }).join("");
}

function graphSvg(l, from, to) {
  const rows = l.rows.slice(Math.max(0, Math.floor((from - 4) / step) - 1), Math.ceil((to - 4) / step) + 1);
  const frames = l.rows.filter(row => row.kind === "r" && !rows.includes(row) && row.y < to && l.rows[row.end].y > from);
  const edges = l.isNarrow ? "" : l.edges.filter(edge => edge.from.y < to && edge.to.y > from).map(edge => drawEdge(l, edge)).join("");
  return `<svg width="${l.width}" height="${to - from}" viewBox="0 ${from} ${l.width} ${to - from}" style="top:${from}px" role="img" aria-label="graph by device">` +
    (l.isNarrow ? drawTracks(l, rows, from, to) : "") +
    [...frames, ...rows].map(row => row.kind === "r" ? drawBox(l, row) : "").join("") + edges + rows.map(row => row.kind === "r" ? "" : drawBox(l, row)).join("") + "</svg>";
}

// The names of the lanes stay in sight.
const headsOf = l => `<div class="heads">` + (l.isNarrow ? l.used.map(deviceTag).join(" ") : `<svg width="${l.width}" height="24">` + l.used.map(d =>
  `<text x="${l.left(d) + 14}" y="17" style="font-weight:600">${esc(d)}</text><rect x="${l.left(d)}" y="8" width="10" height="10" rx="3" fill="${colourOf(d)}"/>`).join("") + "</svg>") + "</div>";

function drawWhere(f, root) {
  let l;
  const draw = () => {
    l.picked = hitMarks();
    const height = root.clientHeight || 700, from = Math.max(0, Math.floor((root.scrollTop || 0) - height / 2));
    root.innerHTML = headsOf(l) + `<div style="height:${l.height}px">${graphSvg(l, from, Math.min(l.height, from + 2 * height))}</div>`;
    showMarks(root);
  };
  const layout = () => {
    l = layoutOf(f, Math.max(280, root.clientWidth));
    l.moved = movedMarks(f);
    root.innerHTML = `<div style="height:${l.height}px"></div>`; // its height is known before what is in sight
    draw();
  };
  let waits = false;
  root.addEventListener("scroll", () => {
    if (!waits) requestAnimationFrame(() => { waits = false; draw(); });
    waits = true;
  });
  root.addEventListener("click", event => {
    const fold = event.target.closest("[data-fold]");
    if (fold) { (f.unfolded ??= new Set()).add(+fold.dataset.fold); layout(); }
  });
  layout();
  // Brings a command into sight; one that a layer stands for is shown there.
  const reveal = at => {
    const row = l.rows.find(row => row.c?.at === f.standsFor.get(at));
    const height = root.clientHeight || 0;
    if (row && (row.y < root.scrollTop || row.y + step > root.scrollTop + height)) root.scrollTop = row.y - height / 3;
    draw();
  };
  return { draw: layout, redraw: draw, reveal };
}
