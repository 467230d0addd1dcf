"use strict";
// What the report and the studio share: the interactive graph, the list of facts, and saving. Names are hostile: they only
// ever reach a page through textContent.
const drboParts = (() => {
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

  function elements(data) {
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
      { selector: "edge[weights]", style: {
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
      { selector: "edge.news", style: {
        width: 2.4, "arrow-scale": 0.9, "curve-style": "straight", "source-endpoint": "outside-to-node", "target-endpoint": "outside-to-node",
        "target-arrow-shape": "data(head)", "line-style": "dashed", opacity: 1, ...line("mark-line") } },
      { selector: ".gone, .far", style: { display: "none" } },
    ];
  }

  // Draw a graph into an element. Its frame takes the height of the graph, as far as the window allows.
  function graph(canvas, data, whenLarge) {
    const cy = cytoscape({
      container: canvas, elements: elements(data), style: stylesheet(), layout: { name: "preset" },
      minZoom: 0.05, maxZoom: 6, boxSelectionEnabled: false, autoungrabify: false,
      userZoomingEnabled: false, userPanningEnabled: !matchMedia("(pointer: coarse)").matches,
    });
    const fit = () => {
      cy.fit(cy.elements(":visible"), MARGIN);
      if (cy.zoom() > LARGEST) { cy.zoom(LARGEST); cy.center(); }
    };
    function frame() {
      const box = cy.elements().boundingBox();
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
      whenLarge();
    }
    open();
    // The wheel and the finger scroll the page until the graph is clicked.
    function activate(on) {
      canvas.classList.toggle("active", on);
      cy.userZoomingEnabled(on);
      cy.userPanningEnabled(on || !matchMedia("(pointer: coarse)").matches);
    }
    canvas.addEventListener("pointerdown", () => activate(true));
    document.addEventListener("pointerdown", (event) => { if (!canvas.contains(event.target)) activate(false); });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") activate(false); });
    let width = canvas.clientWidth;
    new ResizeObserver(() => {
      if (canvas.clientWidth && canvas.clientWidth !== width) { open(); width = canvas.clientWidth; }
    }).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => cy.style(stylesheet()));
    const zoom = (factor) =>
      cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
    const whole = () => { cy.elements().removeClass("far"); fit(); };
    const near = (node) => {
      const around = node.closedNeighborhood();
      cy.elements().not(around.union(around.edgesWith(around))).addClass("far");
      fit();
    };
    const mark = (element) => {
      cy.elements().removeClass("chosen faded");
      if (!element) return;
      const around = element.isEdge() ? element.connectedNodes() : element.closedNeighborhood();
      cy.elements().not(".band").not(around).not(element).addClass("faded");
      element.addClass("chosen");
    };
    // A tap on anything but an edge or a variable takes the choice away.
    const onTap = (choose) =>
      cy.on("tap", (event) => choose(event.target === cy || event.target.hasClass("band") ? null : event.target));
    return { cy, open, zoom, whole, near, mark, onTap };
  }

  function facts(list, found) {
    list.replaceChildren(...found.flatMap(([name, value, meaning]) => {
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

  function save(name, content) {
    const link = document.createElement("a");
    link.download = name;
    link.href = URL.createObjectURL(content);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  async function copy(button, text) {
    const said = button.textContent;
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Selected: copy with Ctrl+C";
    }
    setTimeout(() => { button.textContent = said; }, 2000);
  }

  return { graph, facts, save, copy, colour };
})();
