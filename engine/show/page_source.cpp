// SPDX-License-Identifier: MIT
// The HTML of the page that shows a graph, self-contained; its data replaces DATA.
#include "engine/show/page.hpp"

namespace tyto::run {

const char* const page_source = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Tyto graph</title>
<style>
  :root { font: 13px/1.4 system-ui, sans-serif; color: #222; }
  body { margin: 0; display: grid; grid-template: auto 1fr / 1fr fit-content(340px); height: 100vh; }
  header { grid-column: 1 / 3; padding: 8px 12px; border-bottom: 1px solid #ccc; display: flex; gap: 16px; align-items: center; flex-wrap: wrap; }
  header b { font-size: 15px; }
  button { font: inherit; padding: 3px 10px; border: 1px solid #bbb; background: #f6f6f6; border-radius: 4px; cursor: pointer; }
  button.on { background: #234; color: #fff; border-color: #234; }
  main { overflow: hidden; position: relative; background: #fff; }
  main > div { position: absolute; inset: 0; overflow: auto; display: none; }
  main > div.on { display: block; }
  aside { border-left: 1px solid #ccc; padding: 10px; overflow: auto; }
  svg { width: 100%; height: 100%; cursor: grab; display: block; }
  svg text { font: 10px system-ui, sans-serif; pointer-events: none; }
  .node rect { stroke: #555; stroke-width: .6; }
  .node.picked rect { stroke: #c00; stroke-width: 2; }
  .edge { fill: none; stroke: #888; stroke-width: .6; }
  .edge.picked { stroke: #c00; stroke-width: 1.6; }
  table { border-collapse: collapse; }
  td, th { padding: 2px 8px; text-align: right; white-space: nowrap; }
  td:first-child, th:first-child, td.text, th.text { text-align: left; }
  tr:nth-child(even) { background: #f6f6f6; }
  tr.call { background: #fdeccb; }
  .bar { display: inline-block; height: 9px; background: #69c; vertical-align: middle; }
</style>
</head>
<body>
<header><b>Tyto graph</b><span id="tabs"></span><input id="search" placeholder="find an operator or a label"><span id="summary"></span></header>
<main id="views"></main>
<aside id="details">Click a node.<br>Drag to move,<br>wheel to zoom,<br>double-click to<br>see all of it.</aside>
<script type="application/json" id="data">DATA</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const svgNamespace = "http://www.w3.org/2000/svg";
const bytes = n => n < 1024 ? n + " B" : n < 1 << 20 ? (n / 1024).toFixed(1) + " KiB" : (n / (1 << 20)).toFixed(2) + " MiB";
const element = (name, attributes, parent, text) => {
  const made = document.createElementNS(svgNamespace, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
};
const cell = (row, tag, text, kind) => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  row.appendChild(made);
  return made;
};
// One colour a memory slot: the same address is the same colour in the graph and in the heap map.
const colour = slot => slot === null || slot === undefined ? "#fff" : `hsl(${(Math.imul(slot / 64, 2654435761) >>> 0) % 360} 65% 80%)`;

const views = document.getElementById("views"), tabs = document.getElementById("tabs");
function addView(title, fill) {
  const view = document.createElement("div"), tab = document.createElement("button");
  tab.textContent = title;
  let filled = false;
  tab.onclick = () => {
    for (const other of views.children) other.classList.remove("on");
    for (const other of tabs.children) other.classList.remove("on");
    view.classList.add("on");
    tab.classList.add("on");
    if (!filled) fill(view);
    filled = true;
  };
  views.appendChild(view);
  tabs.appendChild(tab);
  return tab;
}

// Drag to move, wheel to zoom, double-click to see all or to come back. Opens at a size at which its text can be read,
// at the middle of its first row.
function movable(svg, width, height) {
  let x = 0, y = 0, scale = 1, from = null, fits = true;
  const box = svg.getBoundingClientRect(), fit = Math.max(width / box.width, height / box.height);
  const toggle = (px, py) => {
    const readable = 1 / fit < 0.8 && fits;
    fits = !readable;
    scale = readable ? 1 / fit : 1;
    x = readable ? px - box.width / 2 : 0;
    y = readable ? Math.max(0, py - box.height / 2) : 0;
    show();
  };
  const show = () => svg.setAttribute("viewBox", `${x} ${y} ${width * scale} ${height * scale}`);
  svg.addEventListener("wheel", event => {
    event.preventDefault();
    const box = svg.getBoundingClientRect(), factor = event.deltaY > 0 ? 1.15 : 1 / 1.15;
    x += (event.clientX - box.left) / box.width * width * scale * (1 - factor);
    y += (event.clientY - box.top) / box.height * height * scale * (1 - factor);
    scale *= factor;
    show();
  }, { passive: false });
  svg.addEventListener("pointerdown", event => { from = [event.clientX, event.clientY]; });
  svg.addEventListener("pointermove", event => {
    if (!from || !event.buttons) return;
    const box = svg.getBoundingClientRect(), step = Math.max(width * scale / box.width, height * scale / box.height);
    x -= (event.clientX - from[0]) * step;
    y -= (event.clientY - from[1]) * step;
    from = [event.clientX, event.clientY];
    show();
  });
  svg.addEventListener("pointerup", () => { from = null; });
  svg.addEventListener("dblclick", event => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    toggle(point.x, point.y);
  });
  svg.setAttribute("preserveAspectRatio", "xMidYMin");
  toggle(width / 2, 0);
}

// Layers by the longest way from the inputs; within a layer by the mean place of neighbours, swept down and up.
function layout(nodes) {
  const depth = nodes.map(() => 0), readers = nodes.map(() => []);
  nodes.forEach((node, i) => {
    for (const input of node.inputs) {
      depth[i] = Math.max(depth[i], depth[input] + 1);
      readers[input].push(i);
    }
  });
  // Leaves stand right above their first reader.
  nodes.forEach((node, i) => {
    if (node.inputs.length === 0 && readers[i].length) depth[i] = Math.max(0, Math.min(...readers[i].map(r => depth[r])) - 1);
  });
  const layers = [];
  nodes.forEach((node, i) => (layers[depth[i]] ||= []).push(i));
  const place = nodes.map(() => 0);
  for (const layer of layers) layer?.forEach((node, at) => { place[node] = at; });
  const sweep = (order, neighbours) => {
    for (const layer of order) {
      if (!layer) continue;
      const mean = new Map(layer.map(i => {
        const near = neighbours(i);
        return [i, near.length ? near.reduce((sum, n) => sum + place[n], 0) / near.length : place[i]];
      }));
      layer.sort((a, b) => mean.get(a) - mean.get(b));
      layer.forEach((node, at) => { place[node] = at; });
    }
  };
  for (let round = 0; round < 4; ++round) {
    sweep(layers, i => nodes[i].inputs);
    sweep([...layers].reverse(), i => readers[i]);
  }
  const widest = Math.max(1, ...layers.map(layer => layer ? layer.length : 0));
  return nodes.map((node, i) => ({
    x: (place[i] + (widest - layers[depth[i]].length) / 2) * 130 + 10,
    y: depth[i] * 76 + 10, readers: readers[i]
  }));
}

const drawn = [], title = node => node.members ? node.op + " " + node.members : node.op;
function drawGraph(view, nodes) {
  const svg = element("svg", {}, view), places = layout(nodes);
  const edges = nodes.map(() => []), boxes = [];
  nodes.forEach((node, i) => {
    for (const input of node.inputs) {
      const a = places[input], b = places[i], middle = (a.y + 50 + b.y) / 2;
      const path = element("path", { class: "edge", d: `M${a.x + 58} ${a.y + 50}C${a.x + 58} ${middle} ${b.x + 58} ${middle} ${b.x + 58} ${b.y}` }, svg);
      edges[i].push(path);
      edges[input].push(path);
    }
  });
  const show = i => {
    svg.querySelectorAll(".picked").forEach(picked => picked.classList.remove("picked"));
    boxes[i].classList.add("picked");
    edges[i].forEach(path => path.classList.add("picked"));
    const details = document.getElementById("details"), node = nodes[i];
    details.replaceChildren();
    const table = document.createElement("table");
    const add = (name, value) => {
      if (value === undefined || value === null || value === "") return;
      const row = table.insertRow();
      cell(row, "td", name, "text");
      cell(row, "td", value, "text");
    };
    add("node", i);
    add("operator", node.op);
    add("members", node.members);
    add("label", node.label);
    add("input", node.name);
    add("type", node.type);
    add("bytes", bytes(node.bytes));
    add("attributes", node.attributes);
    for (const region of node.regions || []) {
      const block = document.createElement("pre");
      block.textContent = region;
      table.insertRow().insertCell().appendChild(block).parentNode.colSpan = 2;
    }
    add("address", node.slot);
    add("reads", node.inputs.join(", "));
    add("read by", places[i].readers.join(", "));
    details.appendChild(table);
  };
  nodes.forEach((node, i) => {
    const group = element("g", { class: "node", transform: `translate(${places[i].x} ${places[i].y})` }, svg);
    element("rect", { width: 116, height: 50, rx: 5, fill: node.name ? "#eef6ff" : colour(node.slot) }, group);
    element("text", { x: 5, y: 14 }, group, (node.name || title(node)).slice(0, 19));
    element("text", { x: 5, y: 28, fill: "#666" }, group, node.type.slice(0, 21));
    element("text", { x: 5, y: 42, fill: "#06c" }, group, (node.label || "").slice(0, 21));
    element("title", {}, group, `${i} ${node.name || title(node)} ${node.type}${node.label ? "\n" + node.label : ""}`);
    group.addEventListener("click", () => show(i));
    boxes.push(group);
  });
  movable(svg, Math.max(...places.map(p => p.x), 0) + 140, Math.max(...places.map(p => p.y), 0) + 74);
  drawn.push({ nodes, boxes });
}

const isCall = step => step.exchanged !== null;
function drawSchedule(view, isShown) {
  const table = document.createElement("table"), head = table.createTHead().insertRow();
  for (const title of ["step", "operator", "label", "result", "live bytes", "", "ms", "GB/s", "Gop/s"]) cell(head, "th", title, "text");
  const most = Math.max(1, ...data.steps.map(step => step.live));
  data.steps.forEach((step, i) => {
    if (!isShown(step)) return;
    const row = table.insertRow();
    if (isCall(step)) row.className = "call";
    cell(row, "td", i);
    cell(row, "td", step.name, "text");
    cell(row, "td", step.label, "text");
    cell(row, "td", step.type + (isCall(step) ? ", " + bytes(step.exchanged) : ""), "text");
    cell(row, "td", bytes(step.live));
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.style.width = 160 * step.live / most + "px";
    cell(row, "td", "", "text").appendChild(bar);
    const timed = data.profile[i];
    cell(row, "td", timed ? timed.milliseconds.toFixed(4) : "");
    cell(row, "td", timed && timed.milliseconds ? (timed.bytes / timed.milliseconds / 1e6).toFixed(2) : "");
    cell(row, "td", timed && timed.milliseconds ? (timed.operations / timed.milliseconds / 1e6).toFixed(2) : "");
  });
  view.appendChild(table);
}

function drawMemory(view) {
  const svg = element("svg", {}, view), width = 1000, height = 600, left = 70, above = 34;
  const last = Math.max(1, ...data.blocks.map(block => block.upper)), top = Math.max(1, data.summary.peak);
  for (const block of data.blocks) {
    if (!block.size || block.upper === block.lower) continue;
    const rect = element("rect", {
      class: "block", x: left + block.lower / last * width, y: above + (1 - (block.offset + block.size) / top) * height,
      width: (block.upper - block.lower) / last * width, height: block.size / top * height,
      fill: colour(block.offset), stroke: "#444", "stroke-width": .3
    }, svg);
    element("title", {}, rect, `${block.label}\n${bytes(block.size)} at ${block.offset}, steps ${block.first} to ${block.past}`);
    const wide = (block.upper - block.lower) / last * width, name = block.label.slice(0, Math.floor(wide / 5.5));
    if (block.size / top * height > 14 && name.length > 3) {
      element("text", {
        x: left + block.lower / last * width + 4, y: above + (1 - (block.offset + block.size / 2) / top) * height + 3
      }, svg, name);
    }
  }
  const inUnitOfTop = n => top < 1 << 20 ? (n / 1024).toFixed(1) + " KiB" : (n / (1 << 20)).toFixed(2) + " MiB";
  for (let tick = 0; tick <= 4; ++tick) {
    const y = above + (1 - tick / 4) * height, x = left + tick / 4 * width;
    element("line", { x1: left - 5, x2: left, y1: y, y2: y, stroke: "#444" }, svg);
    element("text", { x: left - 8, y: y + 3, "text-anchor": "end" }, svg, inUnitOfTop(tick / 4 * top));
    element("line", { x1: x, x2: x, y1: above + height, y2: above + height + 5, stroke: "#444" }, svg);
    element("text", { x, y: above + height + 16, "text-anchor": "middle" }, svg, Math.round(tick / 4 * last));
  }
  element("path", { d: `M${left} ${above}V${above + height}H${left + width}`, fill: "none", stroke: "#444" }, svg);
  element("text", { x: left + width / 2, y: above + height + 32, "text-anchor": "middle" }, svg,
    data.blocks.every(block => block.upper === block.past) ? "step" : "time, steps that run together once");
  const bound = above + (1 - data.summary.bound / top) * height;
  element("line", { x1: left, x2: left + width, y1: bound, y2: bound, stroke: "#c00", "stroke-dasharray": "6 4" }, svg);
  element("text", { x: left, y: 16 }, svg, "Address of each value while it is alive. " +
    "Boxes of one colour begin at one address; point at a box for its name. Dashed: the least that this order can take, " +
    bytes(data.summary.bound) + ".");
  movable(svg, left + width + 20, above + height + 44);
}

document.getElementById("summary").textContent =
  `${data.recorded.length} nodes recorded, ${data.optimised.length} after the passes, ${data.steps.length} steps; ` +
  `peak ${bytes(data.summary.peak)}, bound ${bytes(data.summary.bound)}, without reuse ${bytes(data.summary.naive)}, by ${data.summary.strategy}; states ${bytes(data.summary.states)}` +
  (data.steps.some(isCall) ? `; ${bytes(data.steps.reduce((sum, step) => sum + step.exchanged, 0))} exchanged with other processes each run` : "");
const first = addView("recorded", view => drawGraph(view, data.recorded));
addView("optimised", view => drawGraph(view, data.optimised));
addView(data.profile.length ? "schedule and profile" : "schedule", view => drawSchedule(view, () => true));
addView("memory", drawMemory);
if (data.steps.some(isCall)) addView("with other processes", view => drawSchedule(view, isCall));
document.getElementById("search").oninput = event => {
  const wanted = event.target.value.toLowerCase();
  for (const { nodes, boxes } of drawn) {
    nodes.forEach((node, i) => {
      const text = `${node.op} ${node.label || ""} ${node.name || ""}`.toLowerCase();
      boxes[i].style.opacity = !wanted || text.includes(wanted) ? 1 : .15;
    });
  }
};
// Everything is drawn once at the start when asked to: a test looks at what came out.
if (location.hash === "#all") for (const tab of tabs.children) tab.click();
first.click();
document.body.dataset.ready = "true";
</script>
</body>
</html>
)html";

}  // namespace tyto::run
