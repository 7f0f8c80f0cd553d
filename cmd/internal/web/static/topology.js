"use strict";
// The picture of the switches, their neighbors by LLDP and the links between them. Columns from left to right: hosts,
// the switches next to them, the switches behind these. One or two switches have hosts on both sides, where there is room.

const svgNode = (parent, tag, attributes = {}) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  return parent.appendChild(node);
};
function change(node, key, value) {
  if (node.getAttribute(key) !== value) node.setAttribute(key, value);
}
const line = 20, gapY = 12, letter = 6.4; // of the picture: px of a port or a name, between boxes, of a letter
const gapX = 90, beside = 60;             // between columns: two arrows with their labels; links within the last column, with labels
let drawn = ""; // what the picture shows now: its boxes, links and width

// network returns boxes and links. A box is a switch of the view, a neighbor, or what is said of a port without one.
// A link has ends of a box and a port; the state of the port is known at switches.
function network() {
  const boxes = [], links = [], ends = new Map();
  const box = (id, name, w) => {
    let b = boxes.find(b => b.id === id);
    if (!b) boxes.push(b = { id, name, w, switch: !!w, left: [], right: [] });
    return b;
  };
  const own = (w, port) => w.state.lldp.find(p => p.port === port);
  const key = p => p.chassis_id + " " + p.port_id, heard = said => said && (said.neighbors.find(n => n.followed) || said.neighbors[0]);
  const shown = view.switches.filter(w => w.state && !w.state.lldp.some(p => ends.has(key(p))) && // else it is there by another label
    w.state.lldp.every(p => ends.set(key(p), { w, port: p.port })));
  shown.forEach(w => box("switch " + w.label, shown.some(o => o !== w && o.state.switch === w.state.switch) ? w.label : w.state.switch, w));
  shown.forEach(w => w.state.ports.forEach(p => {
    const said = own(w, p.port), n = heard(said), peer = n && ends.get(key(n)), back = peer && heard(own(peer.w, peer.port));
    const end = { box: box("switch " + w.label), port: p.port, w };
    if (peer && (back ? key(back) === key(said) : !w.answers)) { // else a host calls itself a switch; a dead one is forgotten
      if (links.some(l => l.b.w === w && l.b.port === p.port)) return; // it was seen from the other end
      links.push({ a: end, b: { box: box("switch " + peer.w.label), port: peer.port, w: peer.w } });
    } else if (n) {
      links.push({ a: end, b: { box: box("chassis " + n.chassis_id, n.system_name || n.chassis_id), port: n.port_id } });
    } else {
      const none = box(`none ${w.label} ${p.port}`, p.up ? "no LLDP" : "down");
      none.none = true;
      links.push({ a: end, b: { box: none, port: "" } });
    }
  }));
  return { boxes, links };
}

// arrange gives every box its column, and a place in it.
function arrange({ boxes, links }, width) {
  const switches = boxes.filter(b => b.switch), around = b => links.flatMap(l => l.a.box === b ? [l.b.box] : l.b.box === b ? [l.a.box] : []);
  boxes.forEach(b => { b.column = b.switch ? null : 0; });
  if (switches.length <= 2 && width >= 640) {
    switches.forEach((s, i) => { s.column = i + 1; });
    boxes.filter(b => !b.switch).forEach((b, i, all) => {
      const right = switches.length === 1 ? i >= all.length / 2 : around(b)[0] === switches[1];
      b.column = right ? switches.length + 1 : 0;
    });
  } else {
    for (let tier = 1, left = switches; left.length; tier++) {
      const next = left.filter(s => around(s).some(o => o.column === tier - 1));
      (next.length ? next : left).forEach(s => { s.column = tier; });
      left = left.filter(s => s.column == null);
    }
  }
  links.forEach(l => {
    const loop = l.a.box.column === l.b.box.column;
    [[l.a, l.b], [l.b, l.a]].forEach(([end, other]) => {
      end.right = loop || other.box.column > end.box.column;
      const side = end.right ? end.box.right : end.box.left;
      end.row = side.push(end) - 1;
    });
  });
  const count = 1 + Math.max(0, ...boxes.map(b => b.column)), columns = [...Array(count)].map((_, i) => boxes.filter(b => b.column === i));
  const room = width - 2 - (links.some(l => l.a.box.column === l.b.box.column) ? beside : 0);
  const size = Math.min(150, Math.max(count > 3 ? 44 : 64, (room - gapX * (count - 1)) / count));
  const step = Math.min(size + Math.max(gapX, size * 0.55), (room - size) / Math.max(1, count - 1));
  boxes.forEach(b => { b.height = b.switch ? line * (1 + Math.max(1, b.left.length, b.right.length)) : line * Math.max(1, b.left.length, b.right.length); });
  const tall = list => list.reduce((sum, b) => sum + b.height + gapY, -gapY), height = Math.max(line, ...columns.map(tall)) + 8;
  const at = end => end.box.y + line * (end.row + (end.box.switch ? 1.5 : 0.5));
  const stack = list => list.reduce((y, b) => { b.y = y; return y + b.height + gapY; }, (height - tall(list)) / 2);
  columns.forEach(stack);
  for (let sweep = 0; sweep < 4; sweep++) {
    columns.forEach(list => {
      const mean = b => {
        const ys = links.flatMap(l => l.a.box === b ? [at(l.b)] : l.b.box === b ? [at(l.a)] : []);
        return ys.reduce((sum, y) => sum + y, 0) / (ys.length || 1);
      };
      const means = new Map(list.map(b => [b, mean(b)]));
      stack(list.sort((a, b) => means.get(a) - means.get(b)));
    });
  }
  const margin = (room - size - (count - 1) * step) / 2;
  boxes.forEach(b => { b.x = 1 + margin + b.column * step; b.width = size - 2; });
  links.forEach(l => [l.a, l.b].forEach(e => { e.x = e.box.x + (e.right ? e.box.width : 0); e.y = at(e); }));
  return height;
}

// way is the path of a link, off px below its middle, from end a to end b.
function way({ a, b }, off) {
  const bow = a.box.column === b.box.column ? 16 + Math.min(16, Math.abs(a.y - b.y) / 16) : Math.abs(b.x - a.x) / 2;
  const pull = e => e.x + (e.right ? bow : -bow);
  return `M${a.x} ${a.y + off}C${pull(a)} ${a.y + off} ${pull(b)} ${b.y + off} ${b.x} ${b.y + off}`;
}

// fit shortens a name, in its middle: what tells ports and hosts apart stands at the end.
function fit(text, px) {
  const n = Math.max(3, Math.floor(px / letter));
  return text.length <= n ? text : text.slice(0, Math.floor((n - 1) / 2)) + "…" + text.slice(-Math.ceil((n - 1) / 2));
}

// drawTopology makes the picture anew.
function drawTopology(svg, { boxes, links }, width, height) {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const labels = document.createElementNS("http://www.w3.org/2000/svg", "g"); // before all else
  links.forEach(l => {
    const loop = l.a.box.column === l.b.box.column; // its label is beside the bows of all
    const group = svgNode(svg, "g", { class: "link" });
    svgNode(group, "title");
    svgNode(group, "path", { class: "cable", d: way(l, 0) });
    [[l.b, -3], [l.a, 3]].forEach(([held, off]) => {
      const g = svgNode(group, "g"), tip = held.x, back = tip + (held.right ? 9 : -9), y = held.y + off;
      svgNode(g, "path", { d: way(l, off) });
      svgNode(g, "path", { class: "tip", d: `M${tip} ${y}L${back} ${y - 4.5}V${y + 4.5}Z` });
      svgNode(labels, "text", { x: loop ? tip + 28 : held.right ? back + 2 : back - 2, y: y + 4, "text-anchor": held.right ? "start" : "end" });
    });
  });
  boxes.forEach(b => {
    const group = svgNode(svg, "g", { class: "box" + (b.switch ? " switch" : b.none ? " none" : "") });
    svgNode(group, "title").textContent = b.name;
    if (!b.none) svgNode(group, "rect", { x: b.x, y: b.y, width: b.width, height: b.height, rx: 3 });
    const [x, anchor] = !b.none ? [b.x + b.width / 2, "middle"] : b.left.length ? [b.x + 4, "start"] : [b.x + b.width - 4, "end"];
    svgNode(group, "text", { x, y: b.y + (b.switch ? line / 2 : b.height / 2) + 4, "text-anchor": anchor }).textContent = fit(b.name, b.width - 6);
    if (!b.switch) return;
    const room = b.width / (b.left.length && b.right.length ? 2 : 1) - 6;
    [...b.left, ...b.right].forEach(e => svgNode(group, "text", { class: "port", x: e.x + (e.right ? -4 : 4), y: e.y + 4, "text-anchor": e.right ? "end" : "start" })
      .textContent = fit(e.port, room));
    group.addEventListener("click", () => choose(b.w.label));
  });
  labels.setAttribute("class", "labels");
  svg.appendChild(labels);
}

// pausing is how long one end of a link was held of late, and whether it is now, by what a switch knows at either end.
function pausing(held, holder) {
  const known = (end, share, state) => {
    const p = end.w && end.state.pfc.find(p => p.port === end.port);
    return p && { share: Math.max(0, ...p.priorities.map(q => q.recent ? q.recent[share] : 0)), now: p.priorities.some(q => [state, "both"].includes(q.state)) };
  };
  return known(holder, "sent_paused_share", "holding peer") || known(held, "received_paused_share", "paused by peer") || { share: 0, now: false };
}

function topology() {
  const svg = $("topology-picture"), net = network(), width = Math.max(280, svg.parentNode.clientWidth);
  $("topology").hidden = net.links.length === 0;
  if (net.links.length === 0) return;
  const shape = JSON.stringify([width, net.boxes.map(b => [b.id, b.name]), net.links.map(l => [l.a.box.id, l.a.port, l.b.box.id, l.b.port])]);
  if (shape !== drawn) {
    drawTopology(svg, net, width, arrange(net, width));
    drawn = shape;
  }
  let held = 0;
  const groups = svg.querySelectorAll("g.link"), labels = svg.querySelector("g.labels").children, now = new Map(view.switches.map(w => [w.label, w.state]));
  net.links.forEach((l, i) => {
    [l.a, l.b].forEach(e => { e.state = e.w && now.get(e.w.label); });
    const [title, cable, ...ways] = groups[i].children, p = l.a.state.ports.find(p => p.port === l.a.port), r = p.recent, of = p.speed_bits_per_second;
    cable.style.strokeWidth = r && of ? 1 + 4 * Math.min(1, Math.max(r.receive_bits_per_second, r.transmit_bits_per_second) / of) : 1;
    cable.classList.toggle("down", !p.up);
    const name = e => [e.box.name, e.port].filter(Boolean).join(" ");
    let text = `${name(l.a)} – ${name(l.b)}` + (p.up ? r ? `: ${rate(r.transmit_bits_per_second)} →, ${rate(r.receive_bits_per_second)} ← bit/s` : "" : ": down");
    [[l.b, l.a], [l.a, l.b]].forEach(([end, holder], j) => {
      const { share, now } = pausing(end, holder), on = share > 0 || now;
      if (on) held++;
      const colour = "k" + Math.max(1, level(share)), label = labels[2 * i + j];
      change(ways[j], "class", "way " + colour + (on ? "" : " off"));
      change(label, "class", colour);
      put(label, on ? (now ? "‖" : "") + percent(share) : "");
      if (on) text += `; ${name(holder)} holds ${name(end)}: ${percent(share)} %${now ? ", now" : ""}`;
    });
    put(title, text);
  });
  svg.querySelectorAll("g.switch").forEach((g, i) => {
    const w = net.boxes[i].w, s = w.state;
    change(g, "class", "box switch" + (!w.answers || s.lossless_drops_since_start ? " bad" : s.lossless_discarded_since_start_frames ? " amber" : ""));
  });
  const says = `${net.boxes.filter(b => b.switch).length} switches and ${net.links.length} links; pausing in ${held} directions`;
  change(svg, "aria-label", says);
}
