"use strict";
// The interactive graph over the static one. Names are hostile: they only ever reach the page through textContent.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("graph-data").textContent);
  const rows = Array.from(document.querySelectorAll("#edge-table tbody tr"));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const HEIGHT = 22, LABEL = 10.5;
  const READABLE = 9 / LABEL;  // the smallest zoom at which labels can be read
  const LARGEST = 1.8, MARGIN = 18;

  // A line through points, as cytoscape wants it: shares along and distances beside the straight way between the ends.
  function segments(points) {
    const [ax, ay] = points[0], [bx, by] = points[points.length - 1];
    const dx = bx - ax, dy = by - ay, square = dx * dx + dy * dy, length = Math.sqrt(square);
    const inner = points.slice(1, -1);
    return {
      weights: inner.map(([x, y]) => ((x - ax) * dx + (y - ay) * dy) / square),
      distances: inner.map(([x, y]) => ((x - ax) * dy - (y - ay) * dx) / -length),
    };
  }

  const shapeOf = (mark) => ({ none: "none", circle: "circle" }[mark] || "triangle");
  const fillOf = (mark) => (mark === "solid" ? "filled" : "hollow");

  function elements() {
    const bands = data.bands.map((band, k) => ({
      group: "nodes", classes: `band band-${k % 2}`, selectable: false, grabbable: false, pannable: true,
      data: { id: `b${k}`, label: band.name, width: band.width, height: band.bottom - band.top },
      position: { x: band.left + band.width / 2, y: (band.top + band.bottom) / 2 },
    }));
    const nodes = data.nodes.map((node, k) => ({
      group: "nodes", classes: "variable", data: { id: `n${k}`, index: k, label: node.label, width: node.width },
      position: { x: node.x, y: node.y },
    }));
    const edges = data.edges.map((edge, k) => {
      const from = data.nodes[edge.source], to = data.nodes[edge.target];
      const first = edge.points[0], last = edge.points[edge.points.length - 1];
      const shape = segments(edge.points);
      return {
        group: "edges", classes: edge.sign,
        data: {
          id: `e${k}`, index: k, source: `n${edge.source}`, target: `n${edge.target}`, width: edge.width,
          head: shapeOf(edge.head), fill: fillOf(edge.head), tail: shapeOf(edge.start), tailFill: fillOf(edge.start),
          dashes: edge.weak ? "dashed" : "solid", weights: shape.weights, distances: shape.distances,
          start: `${first[0] - from.x}px ${first[1] - from.y}px`, end: `${last[0] - to.x}px ${last[1] - to.y}px`,
        },
      };
    });
    return [...bands, ...nodes, ...edges];
  }

  function stylesheet() {
    const line = (name) => ({ "line-color": colour(name), "target-arrow-color": colour(name), "source-arrow-color": colour(name) });
    return [
      { selector: "node.variable", style: {
        shape: "round-rectangle", "corner-radius": 6, width: "data(width)", height: HEIGHT, label: "data(label)",
        "text-valign": "center", "text-halign": "center", "font-size": LABEL,
        "font-family": getComputedStyle(document.body).fontFamily, color: colour("ink"),
        "background-color": colour("node"), "border-color": colour("node-line"), "border-width": 0.8 } },
      { selector: "node.band", style: {
        shape: "rectangle", width: "data(width)", height: "data(height)", label: "data(label)", events: "no",
        "background-color": colour("paper"), "border-width": 0, "z-index": 0, "z-compound-depth": "bottom",
        "text-valign": "top", "text-halign": "left", "text-margin-x": 34, "text-margin-y": 14, "font-size": 9,
        color: colour("muted") } },
      { selector: "node.band-1", style: { "background-color": colour("band") } },
      { selector: "edge", style: {
        width: "data(width)", "curve-style": "round-segments", "edge-distances": "endpoints",
        "segment-weights": "data(weights)", "segment-distances": "data(distances)", "segment-radii": 30,
        "source-endpoint": "data(start)", "target-endpoint": "data(end)", "target-arrow-shape": "data(head)",
        "target-arrow-fill": "data(fill)", "source-arrow-shape": "data(tail)", "source-arrow-fill": "data(tailFill)", "line-style": "data(dashes)",
        "arrow-scale": 0.75, opacity: 0.85, ...line("plain") } },
      { selector: "edge.positive", style: line("positive") },
      { selector: "edge.negative", style: line("negative") },
      { selector: ".faded", style: { opacity: 0.28 } },
      { selector: "node.found", style: { "background-color": colour("mark"), "border-color": colour("mark-line"), "border-width": 2 } },
      { selector: "edge.chosen", style: { opacity: 1, "underlay-color": colour("mark-line"), "underlay-opacity": 0.45, "underlay-padding": 4 } },
      { selector: "node.chosen", style: { "border-color": colour("mark-line"), "border-width": 2.5 } },
      { selector: ".gone, .far", style: { display: "none" } },
    ];
  }

  document.body.classList.add("live");
  for (const part of [document.querySelector(".tools"), byId("canvas"), byId("details")]) part.hidden = false;
  const cy = cytoscape({
    container: byId("canvas"), elements: elements(), style: stylesheet(), layout: { name: "preset" },
    minZoom: 0.05, maxZoom: 6, boxSelectionEnabled: false, autoungrabify: false,
    userZoomingEnabled: false, userPanningEnabled: !matchMedia("(pointer: coarse)").matches,
  });
  const fit = () => {
    cy.fit(cy.elements(":visible"), MARGIN);
    if (cy.zoom() > LARGEST) { cy.zoom(LARGEST); cy.center(); }
  };
  // The frame takes the height of the graph, as far as the window allows; a wide graph has the whole width for itself.
  function frame() {
    const box = cy.elements().boundingBox(), canvas = byId("canvas");
    const zoom = () => Math.min(LARGEST, (canvas.clientWidth - 2 * MARGIN) / box.w);
    document.body.classList.remove("large");
    document.body.classList.toggle("large", zoom() < READABLE);
    const height = box.h * Math.max(READABLE, zoom()) + 2 * MARGIN;
    canvas.style.height = `${Math.max(220, Math.min(height, 0.8 * innerHeight))}px`;
    cy.resize();
  }
  // A large graph opens at a size that can be read, around the variable with most links, and no room is left empty.
  function open() {
    frame();
    fit();
    if (cy.zoom() >= READABLE) return;
    cy.zoom(READABLE);
    cy.center(cy.nodes(".variable").max((node) => node.degree()).ele);
    const box = cy.elements().renderedBoundingBox();
    const shift = (low, high, size) =>
      high - low + 2 * MARGIN <= size ? (size - low - high) / 2 : Math.min(0, MARGIN - low) + Math.max(0, size - MARGIN - high);
    cy.panBy({ x: shift(box.x1, box.x2, cy.width()), y: shift(box.y1, box.y2, cy.height()) });
    byId("details-hint").textContent = "The graph is larger than its frame: drag it, or select a variable and then Neighbours.";
  }
  open();
  window.drbo = { cy };  // for tests and for the curious

  // The wheel and the finger scroll the page until the graph is clicked.
  function activate(on) {
    byId("canvas").classList.toggle("active", on);
    cy.userZoomingEnabled(on);
    cy.userPanningEnabled(on || !matchMedia("(pointer: coarse)").matches);
  }
  byId("canvas").addEventListener("pointerdown", () => activate(true));
  document.addEventListener("pointerdown", (event) => { if (!byId("canvas").contains(event.target)) activate(false); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") { activate(false); choose(null); } });

  let chosen = null;
  const known = { forbid: new Set(), require: new Set(), tiers: new Map() };

  function show(title, facts) {
    byId("details-title").textContent = title;
    byId("details-hint").hidden = facts.length > 0;
    byId("details-list").replaceChildren(...facts.flatMap(([name, value, meaning]) => {
      const term = document.createElement("dt"), text = document.createElement("dd");
      term.textContent = name;
      text.textContent = value;
      if (meaning) {
        const small = document.createElement("small");
        small.textContent = meaning;
        text.append(small);
      }
      return [term, text];
    }));
  }

  function choose(element) {
    cy.elements().removeClass("chosen faded");
    for (const row of rows) row.classList.remove("chosen");
    chosen = element;
    byId("marks").hidden = !element || !element.isEdge();
    byId("tier").hidden = byId("near").hidden = !element || !element.isNode();
    if (!element) return show("Details", []);
    if (element.isNode()) byId("tier-number").value = known.tiers.get(element.data("index")) ?? "";
    const around = element.isEdge() ? element.connectedNodes() : element.closedNeighborhood();
    cy.elements().not(".band").not(around).not(element).addClass("faded");
    element.addClass("chosen");
    const index = element.data("index");
    if (element.isNode()) return show(data.nodes[index].name, data.nodes[index].facts);
    const edge = data.edges[index];
    const names = [edge.source, edge.target].map((k) => data.nodes[k].name);
    for (const row of rows) row.classList.toggle("chosen", Number(row.dataset.edge) === index);
    return show(names.join(` ${edge.between} `), edge.facts);
  }
  cy.on("tap", (event) => choose(event.target === cy || event.target.hasClass("band") ? null : event.target));
  for (const row of rows) {
    row.tabIndex = 0;
    const pick = () => { choose(cy.getElementById(`e${row.dataset.edge}`)); };
    row.addEventListener("click", pick);
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(); });
  }

  byId("closer").addEventListener("click", () => zoom(1.3));
  byId("further").addEventListener("click", () => zoom(1 / 1.3));
  byId("whole").addEventListener("click", () => { cy.elements().removeClass("far"); fit(); });
  byId("near").addEventListener("click", () => {
    const near = chosen.closedNeighborhood();
    cy.elements().not(near.union(near.edgesWith(near))).addClass("far");
    fit();
  });
  function zoom(factor) {
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }
  let width = byId("canvas").clientWidth;
  new ResizeObserver(() => {
    const now = byId("canvas").clientWidth;
    if (now !== width) { open(); width = byId("canvas").clientWidth; }
  }).observe(byId("canvas"));

  byId("names").replaceChildren(...data.nodes.map((node) => {
    const option = document.createElement("option");
    option.value = node.name;
    return option;
  }));
  byId("find").addEventListener("input", () => {
    const word = byId("find").value.trim().toLowerCase();
    cy.nodes(".variable").forEach((node) => {
      node.toggleClass("found", word !== "" && data.nodes[node.data("index")].name.toLowerCase().includes(word));
    });
    const found = cy.nodes(".found");
    if (found.length === 1) choose(found[0]);
    else if (word === "") choose(null);
    filter();
  });

  const shown = (edge) => !data.filter || edge.strength === null || edge.strength >= Number(byId("least").value) - 1e-9;
  function filter() {
    const word = byId("find").value.trim().toLowerCase();
    let count = 0;
    data.edges.forEach((edge, k) => {
      const visible = shown(edge);
      count += visible;
      cy.getElementById(`e${k}`).toggleClass("gone", !visible);
    });
    for (const row of rows) {
      const edge = data.edges[Number(row.dataset.edge)];
      const named = [edge.source, edge.target].some((k) => data.nodes[k].name.toLowerCase().includes(word));
      row.hidden = !shown(edge) || !named;
    }
    byId("least-value").textContent = Number(byId("least").value).toFixed(2);
    const none = word !== "" && cy.nodes(".found").empty();
    byId("count").textContent = none ? "No variable has this name" : `${count} of ${data.edges.length} edges`;
  }
  if (data.filter) {
    byId("slide").hidden = false;
    byId("slide-label").textContent = data.filter.label;
    byId("least").max = data.filter.max;
    byId("least").addEventListener("input", filter);
  }
  filter();

  // What somebody knows about edges and columns, as the command or the call that carries it.
  const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;
  function again() {
    const name = (k) => data.nodes[k].name;
    const pairs = (kind) => Array.from(known[kind], (pair) => pair.split(" ").map(name));
    const numbers = Array.from(new Set(known.tiers.values())).sort((a, b) => a - b);
    const tiers = numbers.map((n) => Array.from(known.tiers).filter(([, tier]) => tier === n).map(([k]) => name(k)));
    const words = [...pairs("forbid").flat(), ...pairs("require").flat(), ...tiers.flat()];
    byId("again").hidden = words.length === 0;
    const plain = data.call.startsWith("drbo ") && !words.some((word) => /[,;]|->|^\s|\s$/.test(word));
    if (plain) {
      const options = [["forbid", "--forbid"], ["require", "--require"]].flatMap(
        ([kind, option]) => pairs(kind).map((pair) => `${option} ${quoted(pair.join("->"))}`));
      if (tiers.length > 1) options.push(`--tiers ${quoted(tiers.map((tier) => tier.join(",")).join(";"))}`);
      byId("again-command").textContent = [data.call, ...options].join(" ");
    } else {
      const parts = [["forbidden", pairs("forbid")], ["required", pairs("require")], ["tiers", tiers.length > 1 ? tiers : []]];
      const given = parts.filter(([, list]) => list.length).map(([key, list]) => `${key}=${JSON.stringify(list)}`);
      byId("again-command").textContent = `knowledge=Knowledge(${given.join(", ")})`;
    }
  }
  for (const button of document.querySelectorAll("[data-mark]")) {
    button.addEventListener("click", () => {
      const edge = data.edges[chosen.data("index")], forward = `${edge.source} ${edge.target}`;
      const pair = button.dataset.mark === "reverse" ? `${edge.target} ${edge.source}` : forward;
      const [add, other] = button.dataset.mark === "require" ? ["require", "forbid"] : ["forbid", "require"];
      known[other].delete(pair);
      if (!known[add].delete(pair)) known[add].add(pair);
      again();
    });
  }
  byId("tier-number").addEventListener("input", () => {
    const tier = Number(byId("tier-number").value);
    if (tier >= 1) known.tiers.set(chosen.data("index"), tier);
    else known.tiers.delete(chosen.data("index"));
    again();
  });
  byId("forget").addEventListener("click", () => {
    for (const part of Object.values(known)) part.clear();
    byId("tier-number").value = "";
    again();
  });

  // Save what is shown. A cell that a spreadsheet would take for a formula begins with an apostrophe.
  function save(ending, content) {
    const link = document.createElement("a");
    link.download = `graph.${ending}`;
    link.href = URL.createObjectURL(content);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  function csv() {
    const cell = (text) => {
      const number = text.replace("−", "-").replace(/(\d),(?=\d{3})/g, "$1");
      const safe = Number.isFinite(Number(number)) ? number : text.replace(/^[=+\-@\t\r]/, "'$&");
      return `"${safe.replaceAll('"', '""')}"`;
    };
    const lines = [document.querySelector("#edge-table thead tr"), ...rows.filter((row) => !row.hidden)].map((row) =>
      Array.from(row.children).filter((_, k) => k !== 1).map((part) => cell(part.textContent.trim())).join(","));
    return `${lines.join("\r\n")}\r\n`;
  }
  function svg() {
    const picture = document.querySelector("#picture svg").cloneNode(true);
    const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    style.textContent = document.querySelector("style").textContent;
    picture.prepend(style);
    return new XMLSerializer().serializeToString(picture);
  }
  byId("save-png").addEventListener("click", async () => {
    save("png", await cy.png({ full: true, scale: 2, bg: colour("paper"), output: "blob-promise" }));
  });
  byId("save-svg").addEventListener("click", () => save("svg", new Blob([svg()], { type: "image/svg+xml" })));
  byId("save-csv").addEventListener("click", () => save("csv", new Blob(["\ufeff", csv()], { type: "text/csv" })));
  if (!rows.length) byId("save-csv").hidden = true;
  const copy = (button, id) => byId(button)?.addEventListener("click", async () => {
    const said = byId(button).textContent;
    try {
      await navigator.clipboard.writeText(byId(id).textContent);
      byId(button).textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(byId(id));
      byId(button).textContent = "Selected: copy with Ctrl+C";
    }
    setTimeout(() => { byId(button).textContent = said; }, 2000);
  });
  copy("copy-call", "call");
  copy("copy-again", "again-command");
  window.drbo.saved = { csv, svg };

  // A click on a title sorts the table: numbers by size, words by letter.
  const titles = Array.from(document.querySelectorAll("#edge-table th"));
  titles.forEach((title, column) => title.addEventListener("click", () => {
    const down = title.getAttribute("aria-sort") !== "descending";
    for (const other of titles) other.removeAttribute("aria-sort");
    title.setAttribute("aria-sort", down ? "descending" : "ascending");
    const text = (row) => row.children[column].textContent.trim();
    const number = (row) => Number(text(row).replace("−", "-").replace(/[+,]/g, ""));
    const numeric = rows.every((row) => text(row) === "" || Number.isFinite(number(row)));
    const order = rows.slice().sort((a, b) => numeric ? number(b) - number(a) : text(b).localeCompare(text(a)));
    if (!down) order.reverse();
    document.querySelector("#edge-table tbody").append(...order);
  }));

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => cy.style(stylesheet()));
})();
