"use strict";
// Small pictures of the studio: the histogram of a column, the course of the search, and the two residuals of an edge.
const plots = (() => {
  const draw = (tag, attributes, parent) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    parent?.append(element);
    return element;
  };
  function histogram(counts) {
    const top = Math.max(1, ...counts);
    const svg = draw("svg", { class: "bars", viewBox: `0 0 ${6 * Math.max(1, counts.length)} 20`, "aria-hidden": "true" });
    counts.forEach((count, k) => draw("rect", { x: 6 * k, y: 20 - (18 * count) / top, width: 5, height: (18 * count) / top }, svg));
    return svg;
  }
  // Places of values between two margins; all in one place where they do not differ.
  function scale(values, from, to) {
    const low = Math.min(...values), width = Math.max(...values) - low || 1;
    return (value) => from + ((to - from) * (value - low)) / width;
  }
  const path = (points, x, y) => points.map((one, k) => `${k ? "L" : "M"}${x(one[0]).toFixed(1)} ${y(one[1]).toFixed(1)}`).join("");
  function trace(svg, course, stopped) {
    const points = course.filter((one) => one.every(Number.isFinite));
    svg.replaceChildren();
    svg.closest("figure").hidden = points.length < 2;
    if (points.length < 2) return;
    const ys = points.map((one) => one[1]);
    draw("path", { class: "course", d: path(points, scale(points.map((one) => one[0]), 4, 756), scale(ys, 84, 8)) }, svg);
    svg.setAttribute("viewBox", "0 0 760 90");
    svg.setAttribute("aria-label", `Best score over time: ${ys[0].toFixed(1)} to ${ys[ys.length - 1].toFixed(1)}; ${stopped}`);
  }
  function scatter(svg, found, label) {
    svg.replaceChildren();
    svg.setAttribute("viewBox", "0 0 300 200");
    svg.setAttribute("aria-label", label);
    const both = [...found.points, ...found.curve];
    const [x, y] = [scale(both.map((one) => one[0]), 8, 292), scale(both.map((one) => one[1]), 192, 8)];
    for (const [a, b] of found.points) draw("circle", { cx: x(a).toFixed(1), cy: y(b).toFixed(1), r: 1.8 }, svg);
    draw("path", { class: "course", d: path(found.curve, x, y) }, svg);
  }
  return { histogram, trace, scatter };
})();
