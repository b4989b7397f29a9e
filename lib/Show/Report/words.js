// ---- words, numbers and colours ----
const byId = id => document.getElementById(id);
const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const esc = text => String(text).replace(/[&<>"]/g, c => escapes[c]);
const sum = numbers => numbers.reduce((all, n) => all + n, 0);
const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : noun.endsWith("ch") ? "es" : "s"}`;

const scaled = (n, units, step) => {
  let i = 0;
  while (n >= step && i + 1 < units.length) { n /= step; ++i; }
  return (i === 0 && step === 1024 ? n : +n.toPrecision(3)) + " " + units[i];
};
const bytes = n => n === 1 ? "1 byte" : scaled(n, ["bytes", "KiB", "MiB", "GiB", "TiB"], 1024);
const seconds = s => s === 0 ? "0 s" : s >= 1 ? +s.toPrecision(3) + " s" : scaled(s * 1e9, ["ns", "µs", "ms"], 1000);
const count = n => n < 1e4 ? n.toLocaleString("en") : scaled(n, ["", "k", "M", "G", "T"], 1000);
const percent = (part, all) => !all ? "" : part > 0 && part < .005 * all ? "<1 %" : Math.round(100 * part / all) + " %";
const times = ratio => ratio.toFixed(2) + "×";

const shortDevice = name => { const m = /device:(.*)$/.exec(name); return m ? m[1] : name; };
const queueNames = ["compute", "copies in", "copies out", "copies from peers"];

// Okabe and Ito's colours, which colour-blind people tell apart; hosts are grey. They stand for devices in every
// picture, by name, so that two plans agree.
const gpuColours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7a5195"];
const colours = new Map();
const colourOf = device => {
  if (!colours.has(device))
    colours.set(device, device.startsWith("CPU") ? "#8a8f98"
      : gpuColours[[...colours.keys()].filter(d => !d.startsWith("CPU")).length % gpuColours.length]);
  return colours.get(device);
};
const chip = colour => `<i class="chip" style="background:${colour}"></i>`;
const deviceTag = device => `<span class="device">${chip(colourOf(device))}${esc(device)}</span>`;

// Names that differ little get colours that differ much.
function hue(text) {
  let hash = 0;
  for (const c of text) hash = Math.imul(hash ^ c.codePointAt(0), 2654435761) >>> 0;
  return (hash ^ hash >>> 15) % 360;
}

// ---- texts in boxes ----
const pen = typeof document.createElement === "function" && document.createElement("canvas").getContext?.("2d");
const widths = new Map();
function widthOf(text) {
  if (!widths.has(text)) {
    if (pen) pen.font = "12px system-ui, sans-serif";
    widths.set(text, pen ? pen.measureText(text).width : 6.6 * text.length);
  }
  return widths.get(text);
}
// The text, or as much of it as fits: of a path its end, which tells most.
function fitted(text, width) {
  if (widthOf(text) <= width) return text;
  const isPath = text.includes("/") || text.includes(".");
  const last = "…" + text.slice(text.lastIndexOf("/"));
  if (text.includes("/") && widthOf(last) <= width) return last;
  const cut = n => isPath ? "…" + text.slice(text.length - n) : text.slice(0, n) + "…";
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    widthOf(cut(middle)) <= width ? low = middle : high = middle - 1;
  }
  return low > 1 ? cut(low) : "";
}
