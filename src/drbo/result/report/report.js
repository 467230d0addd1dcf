"use strict";
// The interactive graph over the static one; graph.js draws it.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("graph-data").textContent);
  const rows = Array.from(document.querySelectorAll("#edge-table tbody tr"));
  document.body.classList.add("live");
  for (const part of [document.querySelector(".tools"), byId("canvas"), byId("details")]) part.hidden = false;
  const drawn = drboParts.graph(byId("canvas"), data, () => {
    byId("details-hint").textContent = "The graph is larger than its frame: drag it, or select a variable and then Neighbours.";
  });
  const cy = drawn.cy;
  window.drbo = { cy };  // for tests and for the curious

  document.addEventListener("keydown", (event) => { if (event.key === "Escape") choose(null); });

  let chosen = null;
  const known = { forbid: new Set(), require: new Set(), tiers: new Map() };

  function show(title, facts) {
    byId("details-title").textContent = title;
    byId("details-hint").hidden = facts.length > 0;
    drboParts.facts(byId("details-list"), facts);
  }

  function choose(element) {
    drawn.mark(element);
    for (const row of rows) row.classList.remove("chosen");
    chosen = element;
    byId("marks").hidden = !element || !element.isEdge();
    byId("tier").hidden = byId("near").hidden = !element || !element.isNode();
    if (!element) return show("Details", []);
    if (element.isNode()) byId("tier-number").value = known.tiers.get(element.data("index")) ?? "";
    const index = element.data("index");
    if (element.isNode()) return show(data.nodes[index].name, data.nodes[index].facts);
    const edge = data.edges[index];
    const names = [edge.source, edge.target].map((k) => data.nodes[k].name);
    for (const row of rows) row.classList.toggle("chosen", Number(row.dataset.edge) === index);
    return show(names.join(` ${edge.between} `), edge.facts);
  }
  drawn.onTap(choose);
  for (const row of rows) {
    row.tabIndex = 0;
    const pick = () => { choose(cy.getElementById(`e${row.dataset.edge}`)); };
    row.addEventListener("click", pick);
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(); });
  }

  byId("closer").addEventListener("click", () => drawn.zoom(1.3));
  byId("further").addEventListener("click", () => drawn.zoom(1 / 1.3));
  byId("whole").addEventListener("click", drawn.whole);
  byId("near").addEventListener("click", () => drawn.near(chosen));
  if (data.focus !== null) {  // of a large graph, the outcome and what is linked to it
    choose(drawn.cy.getElementById(`n${data.focus}`));
    drawn.near(chosen);
  }

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
  const save = (ending, content) => drboParts.save(`graph.${ending}`, content);
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
    save("png", await cy.png({ full: true, scale: 2, bg: drboParts.colour("paper"), output: "blob-promise" }));
  });
  byId("save-svg").addEventListener("click", () => save("svg", new Blob([svg()], { type: "image/svg+xml" })));
  byId("save-csv").addEventListener("click", () => save("csv", new Blob(["\ufeff", csv()], { type: "text/csv" })));
  if (!rows.length) byId("save-csv").hidden = true;
  const copy = (button, id) => byId(button)?.addEventListener("click", () => drboParts.copy(byId(button), byId(id)));
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
})();
