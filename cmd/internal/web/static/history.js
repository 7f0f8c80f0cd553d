"use strict";
// The last five minutes of the chosen switch: four small charts a port. The switch keeps them; each view adds to them.

const span = 300e9; // ns
const charts = [ // most is the top of a chart of a port, for the largest value of all ports
  { name: "Rate", keys: ["receive_bits_per_second", "transmit_bits_per_second"], text: rate, of: m => "of " + speed(m), most: (p, largest) => p.speed_bits_per_second || largest },
  { name: "Paused", keys: ["received_paused_share", "sent_paused_share"], text: s => percent(s) + " %", of: () => "", most: () => 1 },
  { name: "Buffer", keys: ["buffer_used_bytes"], text: bytes, of: m => "of " + bytes(m), most: (p, largest) => largest },
  { name: "Headroom", keys: ["headroom_used_bytes"], text: bytes, of: m => "of " + bytes(m), most: (p, largest) => p.headroom || largest },
];
let past = {}; // of which switch, since which start, by port; whole: nothing is missing
let ago = 0;   // s before now for which values are told

// add appends the samples of ports that are newer than what is there. It tells whether some between are missing.
function add(ports, now) {
  let gap = false;
  ports.forEach(p => {
    const old = past.ports.get(p.port), times = p.sample_times_ns, last = old ? old.sample_times_ns.at(-1) || 0 : 0;
    const from = times.findIndex(t => t > last), keys = Object.keys(p).filter(k => Array.isArray(p[k]));
    gap ||= from === 0 && times.length > 0;
    if (!old) return past.ports.set(p.port, p);
    const drop = Math.max(0, old.sample_times_ns.findIndex(t => t > now - span));
    keys.forEach(k => { old[k] = old[k].slice(drop).concat(from < 0 ? [] : p[k].slice(from)); });
  });
  return gap;
}

function minutes(w) {
  const s = w.state;
  $("history").hidden = !s.history;
  if (!s.history) return; // an older switch
  if (past.label !== w.label || past.started !== s.started) past = { label: w.label, started: s.started, ports: new Map(), retry: 0 };
  if (add(s.history, s.switch_time_ns)) past.whole = false;
  if (!past.whole && w.answers && performance.now() > past.retry) askHistory(past, s.switch_time_ns);
  drawHistory(w);
}

async function askHistory(mine, now) {
  mine.retry = performance.now() + 5000;
  const answer = await fetch("v1/history?switch=" + encodeURIComponent(mine.label)).catch(() => null);
  if (!answer || answer.status !== 200 || mine !== past) return; // 204: the switch does not answer
  const kept = await answer.json();
  mine.whole = true;
  mine.ports = new Map(kept.ports.map(p => [p.port, p]));
}

function drawHistory(w) {
  const body = $("history-ports"), now = w.state.switch_time_ns, headroom = new Map(w.state.buffer.filter(p => !p.removed)
    .map(p => [p.port, p.ingress_queues.reduce((sum, q) => sum + q.segments.headroom.size_bytes, 0)]));
  const names = w.state.ports.map(p => p.port), all = [...past.ports.values()];
  const largest = charts.map(c => Math.max(1024, ...c.keys.flatMap(k => all.map(p => Math.max(0, ...p[k])))));
  if (body.dataset.ports !== JSON.stringify(names)) {
    body.replaceChildren(...names.map(chartsOf));
    body.dataset.ports = JSON.stringify(names);
  }
  const places = [...body.children].map(row => row.getBoundingClientRect()); // before anything changes
  w.state.ports.forEach((p, i) => {
    const row = body.children[i], kept = past.ports.get(p.port);
    if (!kept || places[i].bottom < -400 || places[i].top > innerHeight + 400) return; // far from what can be seen
    const told = { ...p, headroom: headroom.get(p.port) };
    charts.forEach((c, j) => drawChart(row.children[j + 1], c, kept, now, c.most(told, largest[j])));
  });
  put($("history-ago"), ago ? `${ago} s ago, ${wall(new Date(w.state.time) - 1000 * ago)}` : "now");
}

function chartsOf(port) {
  const row = document.createElement("div"), add = (parent, tag, cls) => Object.assign(parent.appendChild(document.createElement(tag)), { className: cls });
  row.className = "charts";
  add(row, "h3", "").textContent = port;
  charts.forEach(c => {
    const figure = add(row, "figure", ""), caption = add(figure, "figcaption", "");
    add(caption, "span", "muted").textContent = c.name + " ";
    c.keys.forEach((k, n) => add(caption, "b", "line" + n));
    add(caption, "span", "muted of");
    const svg = svgNode(figure, "svg", { viewBox: "0 0 300 48", preserveAspectRatio: "none", role: "img", "aria-label": `${c.name} of ${port} in the last five minutes` });
    c.keys.forEach((k, n) => svgNode(svg, "path", { class: "line" + n }));
    svgNode(svg, "path", { class: "ago" });
  });
  return row;
}

function drawChart(figure, c, kept, now, most) {
  const times = kept.sample_times_ns, [caption, svg] = figure.children, x = t => Math.max(0, 300 - (now - t) / 1e9).toFixed(1);
  let chosen = ago ? times.findIndex(t => t >= now - ago * 1e9) : times.length - 1;
  if (chosen === 0 && times[0] - now + ago * 1e9 > 11e9) chosen = -1; // before the first sample
  c.keys.forEach((k, n) => {
    const values = kept[k], y = v => (46 - 44 * Math.min(1, v / most)).toFixed(1);
    let path = "", last = null;
    times.forEach((t, i) => { // a value is that of the time since the sample before; many are alike
      if (i === 0) path = `M${x(t - 1e9)} ${y(values[i])}`;
      else if (values[i] !== last) path += `H${x(times[i - 1])}V${y(values[i])}`;
      last = values[i];
    });
    change(svg.children[n], "d", path && path + "H300");
    put(caption.children[n + 1], (c.keys.length > 1 ? "▼▲"[n] : "") + (chosen < 0 ? "–" : c.text(values[chosen])) + " ");
  });
  put(caption.lastChild, c.of(most));
  change(svg.lastChild, "d", ago ? `M${300 - ago} 0V48` : "");
}

function lookBack(seconds) {
  ago = Math.round(Math.min(300, Math.max(0, seconds)));
  $("history-back").value = -ago;
  const w = view && view.switches.find(w => w.label === chosen);
  if (w && w.state && w.state.history) attempt("history", () => drawHistory(w));
}
$("history-ports").addEventListener("pointermove", e => {
  const svg = e.target.closest("svg");
  if (!svg) return;
  const r = svg.getBoundingClientRect();
  lookBack(300 * (1 - (e.clientX - r.left) / r.width));
});
$("history-ports").addEventListener("pointerleave", () => lookBack(0));
$("history-back").addEventListener("input", e => lookBack(-e.target.value));
