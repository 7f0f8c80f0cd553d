"use strict";
// The page shows views as they come (see web.View): one a period, by server-sent events. It computes nothing but how
// numbers are written; every text is set as text.

const $ = id => document.getElementById(id);
const silence = 3500; // ms without a view after which the program that sends them counts as dead
let view = null;      // the newest
let came = 0;         // when, by performance.now()
let cameWall = null;
let source = null;
let chosen = "";
let said = {};        // what was announced last, by subject
let broken = [];      // what of the newest view cannot be shown

// Numbers for people.
const count = n => n == null ? "–" : n.toLocaleString("en-US");
const percent = s => s == null ? "–" : s === 0 ? "0" : s < 0.01 ? "<1" : s === 1 ? "100" : String(Math.min(99, Math.round(100 * s)));
function bytes(n) {
  if (n == null) return "–";
  if (n < 10240) return count(n) + " B";
  return n < 10485760 ? (n / 1024).toFixed(1) + " KiB" : (n / 1048576).toFixed(1) + " MiB";
}
function lasted(ns) {
  if (ns === 0) return "0";
  if (ns < 1e6) return (ns / 1e3).toFixed(0) + " µs";
  if (ns < 1e9) return (ns / 1e6).toFixed(1) + " ms";
  return ns < 60e9 ? (ns / 1e9).toFixed(1) + " s" : clock(ns / 1e6);
}
function clock(ms) {
  const s = Math.floor(ms / 1000), two = n => String(n).padStart(2, "0");
  return (s >= 86400 ? Math.floor(s / 86400) + " d " : "") + two(Math.floor(s / 3600) % 24) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
}
function rate(b) { // bit/s, as show writes them
  const [size, prefix] = b < 999.5e3 ? [1e3, "k"] : b < 999.5e6 ? [1e6, "M"] : [1e9, "G"], n = b / size;
  return b < 0.5 ? "0" : n.toFixed(n < 9.995 ? 2 : n < 99.95 ? 1 : 0) + prefix;
}
const speed = b => b == null ? "none" : b % 1e9 === 0 ? b / 1e9 + "G" : b % 1e6 === 0 ? b / 1e6 + "M" : count(b);
function wall(t) {
  const d = new Date(t), time = d.toLocaleTimeString("en-GB");
  return d.toDateString() === new Date().toDateString() ? time : d.toLocaleDateString("sv-SE") + " " + time; // 2026-01-02, not of today
}
const level = s => s == null || s === 0 ? 0 : s <= 0.05 ? 1 : s <= 0.25 ? 2 : s <= 0.5 ? 3 : s <= 0.8 ? 4 : 5;

// Cells: a text, or what make and update know.
const head = text => ({ text, head: true });
const num = text => ({ text, cls: "num" });
const warn = (text, bad) => ({ text, cls: bad ? "bad" : "" });
const tally = (n, cls) => ({ text: count(n), cls: n ? "num " + cls : "num" }); // of what should be 0
const unknown = Array(5).fill(num("–")); // of a switch

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
function put2(node, cls) {
  if (node.className !== cls) node.className = cls;
}

// fill makes the rows of a table's body what they should be and leaves what is right as it is.
function fill(id, rows, none) {
  const body = $(id), columns = body.parentNode.tHead.rows[0].cells;
  if (rows.length === 0) rows = [[{ text: none, cls: "muted", span: columns.length }]];
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((cells, i) => {
    const row = body.rows[i] || body.insertRow();
    const shape = cells.map(c => [c.head, c.span, c.parts && c.parts.length, c.bar && c.bar.length]).join(";");
    if (row.dataset.shape !== shape) {
      row.replaceChildren(...cells.map(make));
      [...row.cells].forEach((cell, j) => { cell.dataset.column = columns[j].textContent; });
      row.dataset.shape = shape;
    }
    cells.forEach((c, j) => update(row.cells[j], c));
  });
}

function make(c) {
  const cell = document.createElement(c.head ? "th" : "td");
  if (c.head) cell.scope = "row";
  if (c.span) cell.colSpan = c.span;
  const add = (parent, tag) => parent.appendChild(document.createElement(tag));
  if (c.parts) {
    add(cell, "span").className = "hidden";
    c.parts.forEach(() => add(cell, "span").ariaHidden = "true");
  }
  if (c.bar) {
    const bar = add(cell, "div");
    bar.className = "bar";
    bar.ariaHidden = "true";
    c.bar.forEach(() => add(bar, "i"));
  }
  return cell;
}

function update(cell, c) {
  if (typeof c === "string") return put(cell, c);
  put2(cell, c.cls || "");
  if (c.parts) {
    put(cell.children[0], c.label);
    c.parts.forEach((p, i) => { put(cell.children[i + 1], p.text); put2(cell.children[i + 1], p.cls); });
  } else if (c.bar) {
    c.bar.forEach((p, i) => {
      const part = cell.firstChild.children[i], from = (100 * p.from).toFixed(2) + "%", width = (100 * p.share).toFixed(2) + "%";
      put2(part, p.cls);
      part.style.left = from;
      if (p.share != null) part.style.width = width;
    });
  } else put(cell, c.text);
}

// The parts of the page.
function matrix(w) {
  const up = new Map(w.state.ports.map(p => [p.port, p.up]));
  let window = 0;
  const rows = w.state.pfc.map(p => {
    window = Math.max(window, ...p.priorities.map(q => q.recent ? q.recent.interval_ns : 0));
    const cells = p.priorities.map(q => pair(q, q.recent && q.recent.received_paused_share, q.recent && q.recent.sent_paused_share));
    if (cells.length === 1) cells[0].span = 8;
    return [warn(up.get(p.port) ? p.port : p.port + " (down)", !up.get(p.port))].map(c => ({ ...c, head: true })).concat(cells);
  });
  put($("window"), window ? (window / 1e9).toFixed(1) + " s" : "seconds (not known yet)");
  fill("matrix-rows", rows, "No port is open.");
}

function pair(q, received, sent) {
  if (q.state === "off" && !q.received_frames && !q.sent_frames) {
    return { parts: [{ text: "·", cls: "part off" }, { text: "·", cls: "part off" }], label: "not lossless" };
  }
  const held = q.state === "paused by peer" || q.state === "both", holds = q.state === "holding peer" || q.state === "both";
  const part = (arrow, share, now) => ({ text: arrow + (now ? "‖" : "") + percent(share), cls: "part s" + level(share) + (now ? " now" : "") });
  const told = share => share == null ? "not known yet" : percent(share) + " %";
  return {
    parts: [part("▼", received, held), part("▲", sent, holds)],
    label: `received ${told(received)}${held ? ", paused now" : ""}; sent ${told(sent)}${holds ? ", holding now" : ""}`,
  };
}

function figures(w) {
  const rows = [];
  w.state.pfc.forEach(p => p.priorities.forEach(q => {
    if (!q.lossless && !q.received_frames && !q.sent_frames) return;
    const share = key => num(q.recent ? (100 * q.recent[key]).toFixed(2) + " %" : "–");
    rows.push([head(p.port), String(q.priority), q.state, num(count(q.received_frames)), num(lasted(q.received_paused_ns)), share("received_paused_share"),
      num(count(q.sent_frames)), num(lasted(q.sent_paused_ns)), share("sent_paused_share")]);
  }));
  fill("pauses-rows", rows, "No priority is lossless.");
}

function pools(w) {
  const rows = [];
  w.state.pools.forEach(p => ["private", "shared", "headroom"].forEach(name => {
    const s = p.segments[name];
    if (!s) return;
    const part = { cls: name === "headroom" ? "head" : "", from: 0, share: s.size_bytes ? s.used_bytes / s.size_bytes : 0 };
    const most = { cls: "line", from: s.size_bytes ? Math.min(0.995, s.max_since_start_bytes / s.size_bytes) : 0 };
    rows.push([head(p.pool), name, { bar: [part, most] }, num(bytes(s.used_bytes)), num(bytes(s.size_bytes)), num(bytes(s.max_since_start_bytes))]);
  }));
  fill("pools-rows", rows, "There is none.");
}

function ingress(w) {
  const rows = [];
  w.state.buffer.forEach(p => p.ingress_queues.forEach(q => {
    const s = q.segments, used = s.private.used_bytes + s.shared.used_bytes, xoff = s.private.size_bytes + q.threshold_bytes;
    const whole = Math.max(1, xoff + s.headroom.size_bytes, used + s.headroom.used_bytes), line = Math.min(0.995, xoff / whole);
    const bar = [{ cls: "", from: 0, share: used / whole }, { cls: "head", from: Math.max(line, used / whole), share: s.headroom.used_bytes / whole }, { cls: "line", from: line }];
    rows.push([head(p.port + (p.removed ? " (removed)" : "")), String(q.priority), { bar }, q.off ? "held" : "runs", num(bytes(used)), num(bytes(xoff)),
      num(bytes(s.headroom.used_bytes)), num(bytes(s.headroom.size_bytes)), num(bytes(s.headroom.max_since_start_bytes)),
      tally(q.dropped_frames, "bad")]);
  }));
  fill("ingress-rows", rows, "No priority is lossless.");
}

function egress(w) {
  const rows = [];
  w.state.queues.forEach(p => p.queues.forEach(q => {
    if (!q.frames && !q.max_since_start_bytes && !q.dropped_frames) return;
    rows.push([head(p.port), String(q.queue), q.paused_by_peer ? "paused" : q.frames ? "sending" : "empty", num(count(q.frames)), num(bytes(q.bytes)),
      num(bytes(q.max_since_start_bytes)), num(count(q.ecn_marked_frames)), num(count(q.dropped_frames))]);
  }));
  fill("egress-rows", rows, "Nothing has waited yet.");
}

function ports(w) {
  fill("ports-rows", w.state.ports.map(p => [head(p.port), warn(p.up ? "up" : p.reason || "down", !p.up), num(speed(p.speed_bits_per_second)),
    (p.flow_control || "–") + (p.lossless_priorities.length && p.flow_control === "pfc" ? " " + p.lossless_priorities.join(",") : ""),
    num(count(p.receive_frames)), num(count(p.transmit_frames)), num(count(p.dropped_frames)),
    tally(p.lossless_drops, "bad"), tally(p.lossless_discarded_frames, "amber"),
    ...["receive", "transmit"].map(way => num(p.recent ? rate(p.recent[way + "_bits_per_second"]) : "–"))]), "No port is configured.");
}

function neighbors(w) {
  const rows = [];
  w.state.lldp.forEach(p => {
    const d = p.dcbx, verdict = d.mismatch ? "PFC differs: " + d.reason : d.peer ? "agreed" + (d.measurement_agreed ? ", measures" : "") : "no DCBX";
    p.neighbors.forEach(n => rows.push([head(p.port), n.system_name || n.chassis_id, n.port_id, n.pfc ? n.pfc.priorities.join(",") || "none" : "–",
      n.dcbx_versions.join(",") || "–", warn(verdict, d.mismatch), num(lasted(n.age_ns) + " ago")]));
    if (!p.neighbors.length) rows.push([head(p.port), "none was heard", "–", "–", "–", "–", num("–")]);
  });
  fill("neighbors-rows", rows, "No port speaks LLDP.");
}

function headroom(w) {
  fill("headroom-rows", w.state.headroom.map(p => {
    const most = Math.max(0, ...p.queues.map(q => q.peak_bytes)), waited = p.queues.reduce((n, q) => n + q.ring_frames, 0);
    const hint = text => ({ text, cls: p.manual_required ? "amber" : "" });
    return [head(p.port), hint(p.state), num(bytes(p.calculated_bytes)), num(p.measured ? bytes(p.measured.bytes) : "–"),
      num(bytes(p.holds_bytes)), num(bytes(most)), num(count(waited)), hint(p.remedy || "–")];
  }), "No port has flow control.");
}

function watchdog(w) {
  fill("watchdog-rows", w.state.watchdog.map(q => [head(q.port), String(q.priority), warn(q.state, q.state === "stormed" || q.state === "closed"), q.action,
    num(count(q.storms_detected)), num(count(q.storms_restored)), num(count(q.storm_sent_frames)), num(count(q.storm_dropped_frames))]), "No queue is watched.");
}

function trunks(w) {
  const all = w.state.trunks, ports = [], priorities = [], sum = (list, of) => list.reduce((n, x) => n + of(x), 0);
  const state = p => warn(!p.up ? "down" : p.paused_by_peer && p.held ? "both" : p.paused_by_peer ? "paused by peer" : p.held ? "holding peer" : "running", !p.up);
  const colours = p => [num(count(p.green.frames)), num(count(p.yellow.frames)), num(count(p.red.frames))];
  $("trunks").hidden = $("trunks-link").hidden = all.length === 0;
  all.forEach(t => {
    t.members.forEach(m => ports.push([head(t.trunk), m.port, "member", state(m), num(bytes(m.share_bytes)), num(bytes(m.area_bytes)),
      num(count(m.collected_frames)), num(count(m.sent_frames))]));
    ports.push([head(t.trunk), t.uplink.port, "uplink, " + t.distribution, state(t.uplink), num(bytes(sum(t.members, m => m.area_bytes))),
      num(bytes(t.uplink.bytes)), num(count(sum(t.members, m => m.distributed_frames))), num(count(t.uplink.sent_frames))]);
    t.priorities.forEach(p => {
      if (!p.green.frames && !p.yellow.frames && !p.red.frames && !p.member_holds && !p.uplink_holds) return;
      priorities.push([head(t.trunk), String(p.priority), ...colours(p), num(count(p.meter_dropped.frames)), num(count(p.red_dropped.frames)),
        p.members_held && p.uplink_held ? "both" : p.members_held ? "members" : p.uplink_held ? "uplink" : "–", num(count(p.member_holds)), num(count(p.uplink_holds))]);
    });
    priorities.push([head(t.trunk), "total", ...colours(t.total), num("–"), num(count(t.total.red_dropped.frames)), "–",
      num(count(sum(t.members, m => m.holds))), num(count(t.uplink.holds))]);
  });
  fill("trunks-ports-rows", ports, "There is no trunk.");
  fill("trunks-priorities-rows", priorities, "There is no trunk.");
}

function events(w) {
  fill("events-rows", w.state.events.toReversed().map(e => [wall(e.time), warn(e.kind, ["lossless-drop", "deadlock", "deadlock-recurring"].includes(e.kind)), e.port || "–",
    e.priority == null ? "–" : String(e.priority), num(count(e.count)), { text: e.text + (e.peer ? " (peer " + e.peer + ")" : ""), cls: "row" }]), "Nothing has happened.");
}

// answered are the switches that have answered, each once, whatever labels it has.
const answered = () => view.switches.filter(w => w.state).filter((w, i, all) => i === all.findIndex(o => o.state.switch === w.state.switch && o.state.started === w.state.started));

// drops are the large figures: of all switches of the page.
function drops() {
  const all = answered(), sum = key => all.reduce((n, w) => n + w.state[key], 0), several = view.switches.length > 1;
  const n = sum("lossless_drops_since_start"), discarded = sum("lossless_discarded_since_start_frames");
  const of = several ? `of ${all.length === 1 ? "one switch" : all.length + " switches"} ` : "", at = key => several ? all.filter(w => w.state[key]).map(w => w.label).join(", ") + ": " : "";
  put($("drops-number"), count(n));
  put2($("drops"), n ? "drops lost" : discarded ? "drops other" : "drops");
  put($("drops-verdict"), of + (n ? `— frames that had to arrive were lost: ${at("lossless_drops_since_start")}see Events` : discarded ? "" : "— nothing that had to arrive was lost"));
  put($("discarded-number"), count(discarded));
  put2($("discarded"), discarded ? "drops discarded" : "drops");
  put($("discarded-verdict"), discarded ? "— " + at("lossless_discarded_since_start_frames") + reasons(all.flatMap(w => w.state.ports), discarded) : "");
}

// reasons lists why frames were discarded. What no port of now has, ports had that were removed.
function reasons(ports, discarded) {
  const by = new Map();
  ports.forEach(p => p.lossless_discarded_by.forEach(d => by.set(d.reason, (by.get(d.reason) || 0) + d.frames)));
  const here = [...by.values()].reduce((n, m) => n + m, 0);
  if (discarded > here) by.set("at removed ports", discarded - here);
  return [...by].map(([reason, n]) => `${reason} ${count(n)}`).join(", ") + (here ? ": see Ports" : "");
}

// Several switches.
function overview() {
  $("switches").hidden = view.switches.length < 2;
  if (view.switches.length < 2) return;
  fill("switches-rows", view.switches.map(w => {
    let row = [head(w.label), warn("its numbers cannot be shown", true), ...unknown];
    attempt("overview of " + w.label, () => { row = summary(w); });
    return row;
  }));
  const labels = view.switches.map(w => w.label), options = [...$("choice").options].map(o => o.value);
  if (labels.join("\n") !== options.join("\n")) {
    $("choice").replaceChildren(...labels.map(l => new Option(l, l)));
    $("choice").value = chosen;
  }
}
function summary(w) {
  const s = w.state, link = head(title(w));
  if (!s) return [link, warn("no answer yet: " + w.error, true), ...unknown];
  const paused = s.pfc.reduce((n, p) => n + p.priorities.filter(q => ["paused by peer", "holding peer", "both"].includes(q.state)).length, 0);
  const most = Math.max(0, ...s.pfc.flatMap(p => p.priorities.flatMap(q => q.recent ? [q.recent.received_paused_share, q.recent.sent_paused_share] : [])));
  return [link, warn(w.answers ? "runs" : `no answer for ${clock(w.silent_ns / 1e6)} (since ${wall(w.last_answer)}): ${w.error}`, !w.answers),
    tally(s.lossless_drops_since_start, "bad"), tally(s.lossless_discarded_since_start_frames, "amber"),
    num(s.ports.filter(p => p.up).length + " of " + s.ports.length), num(w.answers ? count(paused) : "–"), num(w.answers ? percent(most) + " %" : "–")];
}
const title = w => w.state && w.state.switch !== w.label ? `${w.label} (${w.state.switch})` : w.label;

function render() {
  broken = [];
  attempt("page", draw);
}

// attempt does a part: one that fails, on numbers such as a switch of another version may send, leaves the others alone.
function attempt(part, f) {
  try {
    f();
  } catch (e) {
    broken.push(part);
    console.error(e);
  }
}

function draw() {
  let w = view.switches.find(w => w.label === chosen);
  if (!w) w = view.switches[0];
  chosen = w.label;
  overview();
  attempt("topology", topology);
  $("figures").hidden = answered().length === 0;
  attempt(drops.name, drops);
  $("one").hidden = !w.state;
  const name = w.state ? w.state.switch : w.label;
  put($("name"), name);
  document.title = name + " – pfcswitch";
  if (!w.state) return;
  const s = w.state;
  put($("about"), `pfcswitch ${s.version}, runs for ${clock(s.elapsed_ns / 1e6)}, as of ${wall(s.time)}`);
  [matrix, figures, minutes, pools, ingress, egress, ports, neighbors, headroom, watchdog, trunks, events, tell].forEach(show => attempt(show.name, () => show(w)));
}

// tell announces what has changed, and only then.
function tell(w) {
  announce("drops " + w.label, w.state.lossless_drops_since_start, n => `${w.state.switch}: ${count(n)} lossless drops`);
  announce("discarded " + w.label, w.state.lossless_discarded_since_start_frames > 0, on => `${w.state.switch}: ${on ? "" : "no "}frames of lossless priorities discarded on purpose`);
  w.state.ports.forEach(p => announce(`port ${w.label} ${p.port}`, p.up, up => `${w.state.switch}: port ${p.port} is ${up ? "up" : "down"}`));
  w.state.watchdog.forEach(q => announce(`queue ${w.label} ${q.port} ${q.priority}`, q.state, s => `${w.state.switch}: watchdog, port ${q.port}, priority ${q.priority}: ${s}`));
}
function announce(subject, value, text) {
  if (subject in said && said[subject] !== value) put($("say"), text(value));
  said[subject] = value;
}

// contact says whether what is shown is true now.
function contact() {
  const quiet = performance.now() - came, w = view && view.switches.find(w => w.label === chosen);
  let text, dead = true;
  if (!view) {
    text = source.readyState === EventSource.OPEN ? "Waiting for the first numbers …" : "No contact with pfcswitch yet. Trying again …";
    dead = source.readyState !== EventSource.OPEN;
  } else if (quiet > silence || source.readyState !== EventSource.OPEN) {
    text = `No contact with pfcswitch since ${wall(cameWall)}, for ${clock(quiet)}. What stands below is of that time. Trying again …`;
  } else if (w && !w.answers) {
    text = `${w.label} does not answer${w.last_answer ? ` since ${wall(w.last_answer)}, for ${clock(w.silent_ns / 1e6)}` : ""}: ${w.error}.` +
      (w.state ? " What stands below is of that time." : "");
  } else if (broken.length) {
    text = `Connected, but these parts of the page cannot be shown: ${broken.join(", ")}. Is the switch of another version?`;
  } else {
    text = "Connected";
    dead = false;
  }
  put($("contact"), text);
  put2($("contact"), dead ? "contact dead" : "contact");
  put2($("one"), dead ? "stale" : "");
  put2($("figures"), dead || view && view.switches.some(w => !w.answers) ? "stale" : "");
  announce("contact", dead, d => d ? text : "Connected again");
}

function connect() {
  source = new EventSource("v1/view");
  const mine = source;
  source.onmessage = e => {
    view = JSON.parse(e.data);
    came = performance.now();
    cameWall = new Date();
    render();
    contact();
  };
  source.onerror = contact;
  // The browser connects again by itself, but not after an error of HTTP nor where nobody says that the other end has gone.
  const start = performance.now();
  const check = setInterval(() => {
    const quiet = performance.now() - Math.max(came, start);
    if (mine.readyState === EventSource.CLOSED || quiet > 4 * silence) {
      clearInterval(check);
      mine.close();
      connect();
    }
  }, 3000);
}

function choose(label) {
  chosen = $("choice").value = label;
  render();
  contact();
}

$("choice").addEventListener("change", e => choose(e.target.value));
addEventListener("DOMContentLoaded", () => { // the other scripts are there
  connect();
  setInterval(contact, 500);
});
