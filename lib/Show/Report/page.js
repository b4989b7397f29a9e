// ---- the page ----
const data = JSON.parse(byId("data").textContent);
const plans = data.plans.map(makePlan);
// What is shown of each plan, what was clicked, what was searched for.
const state = { shown: [], picked: null, query: "", found: [], marks: new Set(), isSearching: false, wasDragged: false };
const pictures = []; // of the function that is shown: { draw, reveal }

// The picked one, its launch, the same in the other plan, and the layer's that is drawn for them.
function hitMarks() {
  if (!state.picked) return [];
  const own = commandMark(state.picked), marks = [state.picked, own, partnerOf(own)].filter(Boolean);
  const drawn = mark => { const { f, kind, number } = parts(mark); return kind === "c" ? markOf(f.plan, "c", f.standsFor.get(number)) : mark; };
  return [...marks, ...marks.map(drawn)];
}

function showMarks(root = document) {
  const also = hitMarks();
  root.querySelectorAll("[data-pick]").forEach(each => {
    const mark = each.dataset.pick;
    each.classList.toggle("hit", also.includes(mark));
    if (each.closest("svg")) {
      each.classList.toggle("found", !!state.query && state.marks.has(mark));
      each.classList.toggle("dim", !!state.query && !state.marks.has(mark) && !also.includes(mark));
    }
  });
}

function pick(mark) {
  state.picked = mark;
  if (mark) {
    const shown = [commandMark(mark), partnerOf(commandMark(mark))].filter(Boolean).map(parts);
    for (const picture of pictures)
      for (const { f, kind, number } of shown) if (picture.f === f && kind === "c") picture.reveal?.(number);
  } else {
    for (const picture of pictures) picture.redraw?.();
  }
  drawDetails();
  showMarks();
  // The address of the page says what was picked, so that it can be sent on.
  globalThis.history?.replaceState(null, "", mark ? "#" + mark.replaceAll(" ", "-") : location.pathname);
}

// The next or last command in the order of the plan.
function walk(by) {
  const { f, number } = state.picked ? parts(commandMark(state.picked)) : { f: state.shown[0], number: -1 };
  const next = f.commands[(f.byNumber.get(number)?.place ?? (by > 0 ? -1 : f.commands.length)) + by];
  if (next) pick(markOf(f.plan, "c", next.at));
}

function tip(event) {
  const hit = event.target.closest?.("[data-pick]"), box = byId("tip");
  box.style.display = "none";
  if (!hit || !hit.closest("svg")) return;
  const { f, kind, number } = parts(hit.dataset.pick), c = kind === "c" && f.byNumber.get(number), v = kind === "v" && f.values[number];
  if (!c && !v) return;
  box.textContent = v ? `${v.name || "a value"}\n${v.type}, ${bytes(v.bytes)}`
    : `${titleOf(c)}\n${kindOf(f, c)}${isAcross(c) ? `, ${bytes(c.bytes)}` : ""} on ${c.on}` + (c.end === undefined ? "" : `\npredicted ${seconds(c.seconds)}`) +
      (c.measured_seconds === undefined ? "" : `, measured ${seconds(c.measured_seconds)}`);
  box.style.display = "block";
  box.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)) + "px";
  box.style.top = (event.clientY + 20 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 10 : event.clientY + 18) + "px";
}

// ---- the parts of it ----
function figures(f) {
  const everyRun = f.copies.filter(c => c.time !== "load"), launches = f.launches.length;
  const figure = (value, name, more) => `<div><b>${value}</b>${name}${more ? `<br><span class="soft">${more}</span>` : ""}</div>`;
  const bound = f.lower_bound_seconds && Math.max(1, f.predicted_seconds / f.lower_bound_seconds);
  return `<div class="figures">` +
    (f.measured_seconds ? figure(seconds(f.measured_seconds), "measured a run", (f.predicted_seconds ? `${times(f.measured_seconds / f.predicted_seconds)} the prediction, ` : "") + plural(f.measured_runs, "run")) : "") +
    (f.predicted_seconds ? figure(seconds(f.predicted_seconds), "predicted a run", bound ? `${times(bound)} the least possible` : "") : "") +
    figure(f.ops.length.toLocaleString("en"), "ops", `in ${plural(launches, "launch")} of ${plural(f.kernels.length, "kernel")}`) +
    figure(everyRun.length.toLocaleString("en"), "copies a run", everyRun.length ? bytes(sum(everyRun.map(c => c.bytes))) : "nothing is moved") +
    figure(bytes(sum(f.plan.memory.map(m => needs(f, m)))), "memory", `of ${plural(f.plan.devices.length, "device")}`) + "</div>";
}

// What each device does and holds, as bars: work and copies as shares of the longest, memory of the limit or the most.
function drawLoads(f) {
  const most = Math.max(1e-12, ...f.devices.map(l => l.predicted_compute_seconds + l.predicted_copy_seconds));
  const held = Math.max(1, ...f.plan.memory.map(m => needs(f, m)));
  const bar = (share, colour, more = 0) => `<span class="bar"><i style="width:${Math.min(100, 100 * share)}%;background:${colour}"></i>${more ? `<i style="margin-left:${100 * share}%;width:${100 * more}%;background:${colour}"></i>` : ""}</span>`;
  return table([
    { title: "device", cell: l => deviceTag(l.on) }, { title: "ops", n: 1, cell: l => l.ops.toLocaleString("en") },
    { title: "work", n: 1, cell: l => seconds(l.predicted_compute_seconds) }, { title: "copies", n: 1, more: 1, cell: l => l.copied_bytes ? `${seconds(l.predicted_copy_seconds)}, ${bytes(l.copied_bytes)}` : "none" },
    { title: "", more: 1, cell: l => bar(l.predicted_compute_seconds / most, colourOf(l.on), l.predicted_copy_seconds / most) },
    { title: "memory", n: 1, cell: l => { const need = needs(f, l.m); return (l.m.limit && need > l.m.limit ? `<span class="over">${bytes(need)}</span>` : bytes(need)) + (l.m.limit ? ` of ${bytes(l.m.limit)}` : ""); } },
    { title: "", more: 1, cell: l => bar(needs(f, l.m) / (l.m.limit || held), colourOf(l.on)) }],
    f.devices.map((l, d) => ({ ...l, on: f.plan.devices[d], m: f.plan.memory[d] })));
}

const section = (id, title, soft, body) => `<section id="${id}"><h2>${title} <span class="soft" id="${id}-soft">${soft}</span></h2>${body}</section>`;
// A place for each plan, side by side where there is room.
const places = id => plans.length > 1 ? `<div class="pair">${plans.map((p, i) => `<div><b class="which">${"AB"[i]}</b><div id="${id}-${i}"></div></div>`).join("")}</div>` : `<div id="${id}-0"></div>`;
const stacked = id => plans.map((p, i) => (plans.length > 1 ? `<b class="which">${"AB"[i]}</b>` : "") + `<div id="${id}-${i}" class="picture" tabindex="0"></div>`).join("");

function bodyOf(name) {
  return (data.diff ? section("differences", "What differs", "from A to B", `<div id="changes"></div>`) : "") +
    section("overview", "At a glance", "", places("figures")) +
    section("when", "When", "queues over the run as predicted" + (state.shown.some(wasTraced) ? "; below them as measured" : ""),
      `<div class="bar-of-buttons"><button class="button" data-zoom=".5" aria-label="zoom in">+</button><button class="button" data-zoom="2" aria-label="zoom out">−</button><button class="button" data-zoom="0">all</button><span class="soft more">drag moves, Ctrl and the wheel zoom</span></div>` + stacked("time")) +
    section("where", "Where", "downwards in the order of the plan; the bar below a name is its time" + (data.diff ? "; red: elsewhere in the other plan" : ""), plans.length > 1
      ? `<div class="pair">${plans.map((p, i) => `<div><b class="which">${"AB"[i]}</b><div class="scroll" id="lanes-${i}" tabindex="0"></div></div>`).join("")}</div>` : `<div class="scroll" id="lanes-0" tabindex="0"></div>`) +
    section("reasons", "Why", "who decided where ops run", places("why")) +
    section("memory", "Memory", "", places("held")) +
    section("copying", "Copies", plans.length > 1 ? "" : `<span id="copies-0"></span>`, places("copied") + (plans.length > 1 ? plans.map((p, i) => `<p class="soft">${"AB"[i]}: <span id="copies-${i}"></span></p>`).join("") : "")) +
    section("kernels", "Kernels", "the most expensive first", places("kernel")) +
    section("ops", "Ops", "a kernel's time stands at the op with most work in it", `<div class="bar-of-buttons"><input id="filter" type="search" placeholder="name, type, device or reason" aria-label="filter ops"><select id="order" aria-label="order of ops">${Object.keys(orders).map(o => `<option>${o}</option>`).join("")}</select></div>` + places("op"));
}

function show(name) {
  state.shown = plans.map(plan => plan.functions.find(f => f.name === name)).filter(Boolean);
  Object.assign(state, { picked: null, query: "", found: [], marks: new Set() });
  pictures.length = 0;
  byId("main").innerHTML = bodyOf(name);
  const end = Math.max(1e-12, ...state.shown.map(f => f.end)); // one scale for both
  for (const f of state.shown) {
    const root = id => byId(`${id}-${f.plan.number}`);
    root("figures").innerHTML = figures(f) + drawLoads(f) + `<p class="soft">${esc(f.summary)}</p>`;
    pictures.push({ f, isTimeline: true, ...drawWhen(f, root("time"), end) }, { f, ...drawWhere(f, root("lanes")) });
    drawWhy(f, root("why")); drawMemory(f, root("held")); drawCopies(f, root("copied")); drawKernels(f, root("kernel"));
  }
  if (data.diff) drawDifferences(name, byId("changes"));
  const drawAllOps = () => state.shown.forEach(f => drawOps(f, byId("op-" + f.plan.number), byId("order").value || "as they run", byId("filter").value));
  byId("filter").addEventListener("input", drawAllOps);
  byId("order").addEventListener("change", drawAllOps);
  drawAllOps();
  drawDetails();
}

function headOf() {
  const names = [...new Set(plans.flatMap(plan => plan.functions.map(f => f.name)))];
  const about = plan => `plan of ${bytes(plan.plan_bytes)}${plan.has_code ? "" : " without its code"}, placement ${esc(plan.placement || "default")}, made by ${esc(plan.producer)}`;
  const titles = plans.map((plan, i) => `<div><h1>${plans.length > 1 ? `<b class="which">${"AB"[i]}</b> ` : ""}${esc(plan.name || "plan")}</h1><span class="soft">${about(plan)}</span></div>`).join("");
  const sections = [["when", "When"], ["where", "Where"], ["reasons", "Why"], ["memory", "Memory"], ["copying", "Copies"], ["kernels", "Kernels"], ["ops", "Ops"]];
  return titles + `<nav>${sections.map(([id, title]) => `<a href="#${id}">${title}</a>`).join("")}</nav>` +
    (names.length > 1 ? `<select id="function" aria-label="function">${names.map(n => `<option>${esc(n)}</option>`).join("")}</select>` : "") +
    `<div class="find"><input id="find" type="search" placeholder="Search ops, weights, devices…" aria-label="search" autocomplete="off"><div id="found"></div></div>`;
}

function listen() {
  document.addEventListener("click", event => {
    if (state.wasDragged) { state.wasDragged = false; return; }
    const hit = event.target.closest("[data-pick]"), zoom = event.target.closest("[data-zoom]");
    state.isSearching = !!event.target.closest(".find") && !hit;
    if (hit) pick(hit.dataset.pick);
    if (event.target.closest("[data-close]")) pick(null);
    if (zoom) for (const picture of pictures) if (picture.isTimeline) +zoom.dataset.zoom ? picture.zoom(+zoom.dataset.zoom) : picture.all();
    drawFound();
  });
  document.addEventListener("mousemove", tip);
  document.addEventListener("keydown", event => {
    const isTyping = ["INPUT", "SELECT"].includes(event.target.tagName), at = event.target.closest("[data-pick],[data-fold]");
    const moves = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (event.key === "/" && !isTyping) { event.preventDefault(); byId("find").focus(); }
    else if (event.key === "Escape") { state.isSearching = false; pick(null); drawFound(); }
    else if (moves && event.target.closest(".find") && !(event.target.id === "find" && moves < 0)) stepFound(event, moves);
    else if (event.key === "Enter" && event.target.id === "find" && state.found.length) { state.isSearching = false; pick(state.found[0].mark); drawFound(); }
    else if ((event.key === "Enter" || event.key === " ") && at && at.tagName !== "BUTTON") { event.preventDefault(); at.dispatchEvent(new MouseEvent("click", { bubbles: true })); }
    else if (moves && !isTyping && (state.picked || event.target.closest(".picture,.scroll"))) { event.preventDefault(); walk(moves); }
  });
  byId("find").addEventListener("input", event => { state.isSearching = true; find(event.target.value); });
  byId("find").addEventListener("focus", () => { state.isSearching = true; drawFound(); });
  byId("function")?.addEventListener("change", event => show(event.target.value));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    for (const picture of pictures) picture.draw();
    for (const f of state.shown) drawMemory(f, byId("held-" + f.plan.number));
  });
}

byId("head").innerHTML = headOf() + plans.map(plan => plan.remarks.length ? `<ul>${plan.remarks.map(r => `<li>${esc(r)}</li>`).join("")}</ul>` : "").join("");
if (plans[0].functions.length) show(plans[0].functions[0].name);
listen();
const asked = decodeURIComponent(globalThis.location?.hash || "").slice(1).replaceAll("-", " ");
if (/^\d \w \d+$/.test(asked) && exists(asked)) pick(asked);
