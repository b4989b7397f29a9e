// ---- when: a row for each queue over the run; of measured runs a second one below it ----
function rowsOf(f) {
  const timed = f.commands.filter(c => c.seconds > 0 || c.measured_seconds > 0);
  const rows = [...new Set(timed.map(c => c.device * 100 + c.queue))].sort((a, b) => a - b);
  return rows.map(key => {
    const device = Math.floor(key / 100), queue = key % 100;
    return { device: f.plan.devices[device], queue, commands: timed.filter(c => c.device === device && c.queue === queue) };
  });
}
const wasTraced = f => f.commands.some(c => c.measured_start !== undefined);

// Commands of one row as boxes between two times. What is too short to be seen is not drawn over and over.
function drawRow(f, commands, span, x, y, height, [start, end], opacity) {
  let svg = "", drawn = -1;
  for (const c of commands) {
    const a = Math.max(x(span.from), x(start(c))), b = Math.min(x(span.to), x(end(c)));
    if (!(end(c) > span.from && start(c) < span.to) || (b - a < .5 && a < drawn)) continue;
    drawn = Math.max(a + .7, b);
    const wide = b - a, colour = colourOf(c.does === "copy" ? f.plan.devices[c.from] : c.on);
    svg += `<rect data-pick="${markOf(f.plan, "c", c.at)}" x="${a.toFixed(1)}" y="${y}" width="${Math.max(.7, wide - (wide > 3 ? 1 : 0)).toFixed(1)}" height="${height}" rx="${wide > 6 ? 2 : 0}" fill="${colour}" fill-opacity="${opacity * (c.does === "copy" ? .55 : .9)}"/>`;
  }
  return svg;
}

function timelineSvg(f, width, span) {
  const narrow = width < 620, left = narrow ? 4 : 190, right = width - 8, tall = narrow ? 42 : 26, both = wasTraced(f) ? 14 : 0;
  const x = t => left + (t - span.from) / (span.to - span.from) * (right - left);
  let y = 4, svg = "";
  for (const { device, queue, commands } of rowsOf(f)) {
    const busy = percent(sum(commands.map(c => c.seconds)), f.end), name = `${esc(device)} ${queueNames[queue] || "queue " + queue}`;
    const top = narrow ? y + 15 : y;
    svg += `<text x="4" y="${narrow ? y + 11 : y + 14}">${name} <tspan class="soft">${busy}</tspan></text>` +
           `<rect x="${left}" y="${top}" width="${right - left}" height="${20 + both}" rx="3" fill="var(--row)"/>` +
           drawRow(f, commands, span, x, top, 20, [c => c.start, c => c.end], 1);
    if (both) svg += drawRow(f, commands, span, x, top + 22, 12, [c => c.measured_start, c => c.measured_end], .6);
    y += tall + both;
  }
  const ticks = Math.max(2, Math.min(9, Math.floor((right - left) / 95)));
  for (let i = 0; i <= ticks; ++i) {
    const t = span.from + (span.to - span.from) * i / ticks;
    svg += `<line x1="${x(t)}" x2="${x(t)}" y1="2" y2="${y}" stroke="var(--line)"/>` +
           `<text class="soft" x="${x(t)}" y="${y + 14}" text-anchor="${i === 0 ? "start" : i === ticks ? "end" : "middle"}">${seconds(t)}</text>`;
  }
  return `<svg width="${width}" height="${y + 20}" role="img" aria-label="queues over time${both ? ", predicted above, measured below" : ""}">${svg}</svg>`;
}

function drawWhen(f, root, end) {
  const span = { from: 0, to: end };
  const left = () => root.clientWidth < 620 ? 4 : 190;
  const draw = () => {
    root.innerHTML = rowsOf(f).length ? timelineSvg(f, Math.max(300, root.clientWidth), span) : "<p class=soft>Nothing in this plan takes time.</p>";
    showMarks(root);
  };
  const clamp = (from, length) => {
    length = Math.min(end, Math.max(end * 1e-6, length));
    span.from = Math.min(end - length, Math.max(0, from)); span.to = span.from + length;
    draw();
  };
  const zoom = (factor, share = .5) => { const length = span.to - span.from; clamp(span.from + length * share * (1 - factor), length * factor); };
  const shareAt = event => Math.min(1, Math.max(0, (event.clientX - root.getBoundingClientRect().left - left()) / (root.clientWidth - 8 - left())));
  root.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : .8, shareAt(event));
  }, { passive: false });
  let grabbed = null;
  root.addEventListener("pointerdown", event => grabbed = { x: event.clientX, ...span });
  addEventListener("pointerup", () => grabbed = null);
  addEventListener("pointermove", event => {
    if (!grabbed || Math.abs(event.clientX - grabbed.x) < 4) return;
    state.wasDragged = true;
    const length = grabbed.to - grabbed.from;
    clamp(grabbed.from + (grabbed.x - event.clientX) / (root.clientWidth - 8 - left()) * length, length);
  });
  draw();
  return { draw, zoom, all: () => clamp(0, end) };
}
