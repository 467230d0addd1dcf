"use strict";
// The page of the studio. The server has the state; every change comes back as a new one. Names are hostile: they only ever
// reach the page through textContent.
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  let state = null, drawn = null, view = -1, chosen = null, held = null;

  // Talk to the server.
  async function send(path, content) {
    const body = content instanceof Blob ? content : JSON.stringify(content ?? {});
    const answer = await fetch(path, { method: "POST", body });
    const found = await answer.json();
    if (answer.ok) return found;
    throw new Error([found.error, found.hint].filter(Boolean).join(" — "));
  }
  const complain = (id, words) => { byId(id).textContent = words ?? ""; byId(id).hidden = !words; };
  async function told(id, path, content) {
    try {
      complain(id);
      return await send(path, content);
    } catch (error) {
      complain(id, error.message);
      return null;
    }
  }
  const edit = (content) => told("refused", "edit", content);

  async function refresh() {
    const answer = await fetch(`state?viewed=${state?.viewed ?? -1}`), next = await answer.json();
    if (state && next.viewed === state.viewed) next.view = state.view;  // it is large, and sent once
    state = next;
    show();
  }
  const events = new EventSource("events");
  let wanted = false, busy = false;
  events.onmessage = async () => {
    wanted = true;
    if (busy) return;
    busy = true;
    while (wanted) { wanted = false; await refresh(); }
    busy = false;
  };
  events.onerror = () => { byId("status").textContent = "The studio has ended: start drbo studio again."; };

  // Show the state.
  function show() {
    byId("title").textContent = state.table ? `${state.table} — drbo studio` : "drbo studio";
    document.title = byId("title").textContent;
    const running = state.phase.startsWith("searching");
    const news = state.view && !state.fitted && !running ? "The graph is not yet that of your statements." : "";
    byId("status").textContent = state.phase ? `${state.phase[0].toUpperCase()}${state.phase.slice(1)} …` : news;
    complain("error", state.error && [state.error.error, state.error.hint].filter(Boolean).join(" — "));
    for (const id of ["know", "graph", "take"]) byId(id).hidden = !state.columns;
    byId("headline").textContent = state.view ? `${state.view.headline}.` : "";
    if (state.columns) { columns(); tiers(); statements(); versions(); }
    byId("undo").disabled = !state.can_undo;
    byId("redo").disabled = !state.can_redo;
    byId("fit").hidden = running;
    byId("fit").textContent = state.view ? "Search again" : "Search";
    byId("stop").hidden = state.phase !== "searching";
    byId("resume").hidden = running || !state.view?.cut_short;
    byId("progress").textContent = state.progress;
    price();
    ask();
    byId("command").textContent = state.command_line;
    byId("code").textContent = state.code;
    byId("files").hidden = byId("result").hidden = !state.view;
    if (state.view && state.viewed !== view) result();
    view = state.view ? state.viewed : -1;
    preview();
  }

  const TYPES = ["", "number", "category", "ordered"];
  let shownColumns = "";
  function columns() {
    const now = JSON.stringify([state.columns, state.said]);
    if (now === shownColumns) return;
    shownColumns = now;
    const found = state.columns, problems = byId("findings");
    byId("columns-frame").hidden = problems.hidden = false;
    const lines = found.problems.map((one) => make("p", one.text, { class: one.blocks ? "problem" : "fine" }));
    const remedies = found.remedies, way = remedies.drop.length || remedies.missing || remedies.na.length || Object.keys(remedies.types).length;
    if (way) {
      const button = make("button", "Do what solves it", { type: "button", id: "solve" });
      button.addEventListener("click", () => edit({ do: "solve" }));
      lines.push(button);
    }
    for (const one of found.findings ?? []) lines.push(make("p", one.text, { class: one.serious ? "problem" : "fine" }));
    const size = `${found.n_rows.toLocaleString("en")} rows, ${found.n_columns} columns. `;
    lines.unshift(make("p", size + (found.score_name ? `Score: ${found.score_name}.` : "")));
    problems.replaceChildren(...lines);
    byId("names").replaceChildren(...found.names.map((name) => make("option", undefined, { value: name })));
    const chosenTypes = Object.fromEntries(state.said.types);
    document.querySelector("#columns tbody").replaceChildren(...found.columns.map((one) => {
      const row = make("tr", undefined, one.dropped ? { class: "dropped" } : {});
      const bars = make("td");
      bars.append(plots.histogram(one.bars));
      const use = make("td"), select = make("select", undefined, { "aria-label": `Use ${one.name} as` });
      const role = state.said.groups === one.name ? "groups" : state.said.roots.includes(one.name) ? "root" : state.said.randomised.includes(one.name) ? "randomised" : state.said.outcome === one.name ? "outcome" : one.dropped ? "drop" : chosenTypes[one.name] ?? "";
      const options = [...TYPES.map((type) => [type, type || "as it is"]), ["root", "root: nothing causes it"], ["randomised", "randomised by chance"], ["outcome", "the outcome"], ["groups", "groups of rows"], ["drop", "leave out"]];
      if (!options.some(([value]) => value === role)) options.push([role, role]);
      select.append(...options.map(([value, words]) => {
        const option = make("option", words, { value });
        option.selected = value === role;
        return option;
      }));
      select.addEventListener("change", () => use_as(one.name, role, select.value));
      use.append(select);
      row.append(make("td", one.name, { class: "name" }), bars, make("td", one.holds ? `${one.holds}: ${one.values}` : ""),
        make("td", one.missing ? `${Math.round(100 * one.missing)}%` : "", { class: "number" }), use);
      return row;
    }));
  }
  async function use_as(name, before, now) {
    const back = {
      groups: { do: "groups", name: "" }, outcome: { do: "outcome", name: "" }, root: { do: "root", name },
      randomised: { do: "randomised", name }, drop: { do: "keep", name },
    };
    if (before in back) await edit(back[before]);
    else if (before && (now === "" || now in back)) await edit({ do: "type", name, type: "" });
    if (now in back) await edit({ do: now, name });
    else if (now) await edit({ do: "type", name, type: now });
  }
  // Tiers: by drag, and by the arrow keys.
  let shownTiers = "";
  function tiers() {
    const now = JSON.stringify([state.columns.names, state.said.tiers]);
    if (now === shownTiers || held) return;
    shownTiers = now;
    const focused = document.activeElement?.dataset?.name;
    const placed = new Set(state.said.tiers.flat());
    const groups = [state.columns.names.filter((name) => !placed.has(name)), ...state.said.tiers, []];
    const titles = groups.map((_, k) => (k === 0 ? "No tier" : k === groups.length - 1 ? `New tier ${k}` : `Tier ${k}`));
    byId("tiers").replaceChildren(...groups.map((names, k) => {
      const tier = make("div", undefined, { class: "tier", "data-tier": k }), cards = make("div", undefined, { class: "cards", role: "group", "aria-label": titles[k] });
      cards.append(...names.map((name) => {
        const card = make("button", name, { type: "button", class: "card", "data-name": name });
        card.setAttribute("aria-label", `${name}, ${titles[k].toLowerCase()}. Left and right arrow keys move it.`);
        card.addEventListener("keydown", (event) => {
          const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
          if (step === undefined) return;
          event.preventDefault();
          const to = Math.min(groups.length - 1, Math.max(0, k + step));
          if (to !== k) edit({ do: "tier", name, to });
        });
        card.addEventListener("pointerdown", (event) => lift(event, card, name, k));
        return card;
      }));
      tier.append(make("h3", titles[k]), cards);
      return tier;
    }));
    if (focused !== undefined) {
      Array.from(document.querySelectorAll(".card")).find((card) => card.dataset.name === focused)?.focus();
    }
  }
  function lift(event, card, name, from) {
    if (event.button !== 0 || held) return;
    const ghost = make("div", name, { id: "ghost" }), start = [event.clientX, event.clientY];
    held = { ghost, over: null };
    const tierAt = (x, y) => document.elementFromPoint(x, y)?.closest("[data-tier]") ?? null;
    const move = (at) => {
      if (!ghost.isConnected && Math.hypot(at.clientX - start[0], at.clientY - start[1]) < 5) return;
      if (!ghost.isConnected) { document.body.append(ghost); card.classList.add("held"); }
      ghost.style.transform = `translate(${at.clientX + 6}px, ${at.clientY + 6}px)`;
      const over = tierAt(at.clientX, at.clientY);
      if (over !== held.over) { held.over?.classList.remove("over"); over?.classList.add("over"); held.over = over; }
    };
    const end = (at) => {
      for (const kind of ["pointermove", "pointerup", "pointercancel"]) document.removeEventListener(kind, kind === "pointermove" ? move : end);
      const over = at.type === "pointerup" && ghost.isConnected ? held.over : null;
      held.over?.classList.remove("over");
      card.classList.remove("held");
      ghost.remove();
      held = null;
      shownTiers = "";
      if (over && Number(over.dataset.tier) !== from) edit({ do: "tier", name, to: Number(over.dataset.tier) });
      else tiers();
    };
    document.addEventListener("pointermove", move);
    document.addEventListener("pointerup", end);
    document.addEventListener("pointercancel", end);
  }

  function statements() {
    byId("statements").replaceChildren(...state.statements.map((one) => {
      const line = make("li", one.words), button = make("button", "Remove", { type: "button", "aria-label": `Remove: ${one.words}` });
      button.addEventListener("click", () => edit(one.undo));
      line.prepend(button);
      return line;
    }));
  }

  // Versions: named, opened again, and two of them side by side.
  function versions() {
    const all = state.versions;
    byId("version-list").replaceChildren(...all.map((one, k) => {
      const line = make("li", `${one.name}${one.parent ? ` (from ${one.parent})` : ""}${one.name === state.at ? ": the last one" : ""}`);
      const button = make("button", "Open", { type: "button", "aria-label": `Open version ${one.name}` });
      button.addEventListener("click", () => edit({ do: "version", number: k }));
      line.prepend(button);
      return line;
    }));
    byId("compare").hidden = !all.length || !state.view;
    const options = () => [make("option", "now", { value: "" }), ...all.map((one, k) => make("option", one.name, { value: k }))];
    for (const [id, k] of [["first", 0], ["second", 1]]) {
      const before = byId(id).value, fresh = byId(id).options.length !== all.length + 1;
      if (!fresh) continue;
      byId(id).replaceChildren(...options());
      byId(id).value = before || k ? before : String(all.length - 1);
    }
    beside();
  }
  const beside = () => { byId("beside").href = `compare?a=${byId("first").value}&b=${byId("second").value}`; };
  for (const id of ["first", "second"]) byId(id).addEventListener("change", beside);
  byId("keep").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await told("refused", "keep", { name: byId("version-name").value })) byId("version-name").value = "";
  });

  let seen = "";
  byId("seen").addEventListener("click", () => { seen = JSON.stringify(state.edit); price(); });
  function price() {
    byId("price").hidden = !state.edit || JSON.stringify(state.edit) === seen;
    if (!state.edit) return;
    const words = state.edit.price === null ? `has no price yet: ${state.edit.words}` : state.edit.words;
    byId("price-words").textContent = `“${state.edit.what}” ${words}.`;
    byId("news").hidden = state.fitted || !state.edit.moved.length;
    const lines = state.edit.moved.map((one) => make("li", one.words));
    byId("moved").replaceChildren(...(lines.length || state.edit.price === null ? lines : [make("li", "Nothing moved.")]));
  }

  function ask() {
    const found = state.question;
    byId("ask").hidden = !found;
    if (!found) return;
    const settled = found.settles > 1 ? ` The answer settles ${found.settles.toFixed(1)} directions on average.` : "";
    byId("question").textContent = `Which of ${found.a} and ${found.b} can be a cause of the other?${settled}`;
    byId("only-a").textContent = `Only ${found.a}`;
    byId("only-b").textContent = `Only ${found.b}`;
  }

  // The graph, by the component that the report has.
  function result() {
    const data = state.view.graph;
    drawn?.cy.destroy();
    const fresh = make("div", undefined, { id: "canvas" });
    byId("canvas").replaceWith(fresh);
    drawn = drboParts.graph(fresh, data, () => {
      byId("details-hint").textContent = "The graph is larger than its frame: drag it, or select a variable and then Neighbours.";
    });
    window.drbo = { cy: drawn.cy };  // for tests and for the curious
    drawn.onTap((element) => choose(element?.hasClass("news") ? null : element));
    const kinds = Object.entries(state.view.kinds).map(([kind, count]) => `${count} ${kind}`);
    byId("count").textContent = `${data.edges.length} edges: ${kinds.join(", ")}`;
    byId("says").textContent = [...state.view.words.says, ...state.view.words.doubt].join(" ");
    document.querySelector("#edges tbody").replaceChildren(...data.edges.map((edge, k) => {
      const row = make("tr"), cell = make("td"), button = make("button", data.nodes[edge.source].name, { type: "button" });
      button.addEventListener("click", () => choose(drawn.cy.getElementById(`e${k}`)));
      cell.append(button);
      row.append(cell, make("td", data.nodes[edge.target].name), make("td", edge.direction), make("td", edge.facts[0][2]));
      return row;
    }));
    plots.trace(byId("trace"), state.view.trace, state.view.stopped);
    choose(null);
    if (data.focus !== null) {  // of a large graph, the outcome and what is linked to it
      choose(drawn.cy.getElementById(`n${data.focus}`));
      drawn.near(chosen);
    }
  }
  // Until the fit of an edit has ended, what moved is drawn over the graph that is there.
  function preview() {
    if (!drawn || !state.view) return;
    drawn.cy.remove("edge.news");
    drawn.cy.edges().removeClass("gone");
    if (state.fitted || !state.edit) return;
    const nodes = new Map(state.view.graph.nodes.map((node, k) => [node.name, `n${k}`]));
    for (const one of state.edit.moved) {
      const [a, b] = [nodes.get(one.source), nodes.get(one.target)].map((id) => drawn.cy.getElementById(id));
      a.edgesWith(b).addClass("gone");
      if (one.kind === "removed") continue;
      const data = { source: a.id(), target: b.id(), head: one.words.includes("→") ? "triangle" : "none" };
      drawn.cy.add({ group: "edges", classes: "news", data, selectable: false });
    }
  }
  const pairOf = (edge) => [edge.source, edge.target].map((k) => state.view.graph.nodes[k].name);
  function choose(element) {
    chosen = element;
    drawn.mark(element);
    byId("marks").hidden = !element?.isEdge();
    byId("near").hidden = !element?.isNode();
    byId("more").hidden = !element;
    byId("effect-words").hidden = byId("scatter").hidden = true;
    if (element?.isEdge()) scatter(element);
    byId("details-hint").hidden = Boolean(element);
    const graph = state.view.graph, index = element?.data("index");
    byId("effect").textContent = element?.isNode() ? "Its likely causes, with sizes" : "Effect";
    if (!element) byId("details-title").textContent = "Details";
    else if (element.isNode()) byId("details-title").textContent = graph.nodes[index].name;
    else byId("details-title").textContent = pairOf(graph.edges[index]).join(` ${graph.edges[index].between} `);
    drboParts.facts(byId("details-list"), element ? (element.isNode() ? graph.nodes : graph.edges)[index].facts : []);
  }
  async function scatter(edge) {
    const [cause, effect] = pairOf(state.view.graph.edges[edge.data("index")]);
    try {
      const found = await send("scatter", { cause, effect });
      if (chosen !== edge) return;  // another one was chosen meanwhile
      byId("scatter").hidden = false;
      const given = found.given.length ? `, given ${found.given.join(", ")}` : "";
      plots.scatter(document.querySelector("#scatter svg"), found, `${effect} against ${cause}${given}`);
      document.querySelector("#scatter figcaption").textContent = `What is left of ${effect} (upwards) against what is left of ${cause}${given}, in standard deviations, with a smooth curve.`;
    } catch { /* two columns of which one holds no numbers: there is no picture */ }
  }
  async function effect(source, target) {
    byId("effect-words").hidden = false;
    byId("effect-words").textContent = "Estimating …";
    const found = await told("refused", "effect", { source, target });
    byId("effect-words").textContent = found ? found.words : byId("refused").textContent;
  }

  // What can be pressed.
  for (const [id, path] of [["fit", "fit"], ["stop", "stop"], ["resume", "resume"]]) {
    byId(id).addEventListener("click", () => told("error", path));
  }
  byId("undo").addEventListener("click", () => edit({ do: "undo" }));
  byId("redo").addEventListener("click", () => edit({ do: "redo" }));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && drawn && state.view) choose(null);
    const typing = event.target.closest("input, select");
    if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
    event.preventDefault();
    edit({ do: event.shiftKey ? "redo" : "undo" });
  });
  byId("pair").addEventListener("submit", (event) => {
    event.preventDefault();
    const [a, b] = [byId("from").value, byId("to").value], what = event.submitter?.value ?? "forbid";
    if (what === "effect") effect(a || null, b);
    else edit({ do: what, a, b });
  });
  for (const button of document.querySelectorAll("[data-mark]")) {
    button.addEventListener("click", () => {
      const [a, b] = pairOf(state.view.graph.edges[chosen.data("index")]), mark = button.dataset.mark;
      edit(mark === "reverse" ? { do: "forbid", a: b, b: a } : { do: mark, a, b });
    });
  }
  byId("effect").addEventListener("click", () => {
    const index = chosen.data("index");
    if (chosen.isNode()) effect(null, state.view.graph.nodes[index].name);
    else effect(...pairOf(state.view.graph.edges[index]));
  });
  byId("sure").replaceChildren(...[[100, "certain"], [95, "95%"], [90, "90%"], [80, "80%"], [70, "70%"], [60, "60%"]].map(
    ([value, words]) => make("option", words, { value })));
  const answer = (cause) => told("error", "answer", { cause, sure: Number(byId("sure").value) });
  byId("only-a").addEventListener("click", () => answer(state.question.a));
  byId("only-b").addEventListener("click", () => answer(state.question.b));
  byId("unknown").addEventListener("click", () => answer(null));
  byId("closer").addEventListener("click", () => drawn.zoom(1.3));
  byId("further").addEventListener("click", () => drawn.zoom(1 / 1.3));
  byId("whole").addEventListener("click", () => drawn.whole());
  byId("near").addEventListener("click", () => drawn.near(chosen));
  byId("find").addEventListener("input", () => {
    const word = byId("find").value.trim().toLowerCase(), nodes = state.view.graph.nodes;
    const named = (node) => nodes[node.data("index")].name.toLowerCase();
    drawn.cy.nodes(".variable").forEach((node) => { node.toggleClass("found", word !== "" && named(node).includes(word)); });
    const exact = drawn.cy.nodes(".found").filter((node) => named(node) === word || drawn.cy.nodes(".found").length === 1);
    if (exact.length === 1) choose(exact[0]);
  });
  byId("png").addEventListener("click", async () => {
    drboParts.save("graph.png", await drawn.cy.png({ full: true, scale: 2, bg: drboParts.colour("paper"), output: "blob-promise" }));
  });
  byId("copy-command").addEventListener("click", () => drboParts.copy(byId("copy-command"), byId("command")));
  byId("copy-code").addEventListener("click", () => drboParts.copy(byId("copy-code"), byId("code")));

  // A table: chosen, dropped, or an included one.
  const upload = (file) => told("error", `table?name=${encodeURIComponent(file.name)}`, file);
  byId("file").addEventListener("change", () => { if (byId("file").files[0]) upload(byId("file").files[0]); });
  for (const button of document.querySelectorAll("[data-dataset]")) {
    button.addEventListener("click", () => told("error", "dataset", { name: button.dataset.dataset }));
  }
  for (const kind of ["dragover", "dragleave", "drop"]) {
    byId("drop").addEventListener(kind, (event) => {
      event.preventDefault();
      byId("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files[0]) upload(event.dataTransfer.files[0]);
    });
  }
})();
