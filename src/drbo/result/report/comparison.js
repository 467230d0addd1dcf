"use strict";
// Finds the link of a row in both pictures, and scrolls both pictures together.
(() => {
  document.body.classList.add("live");
  const rows = Array.from(document.querySelectorAll("#edge-table tbody tr"));
  const frames = Array.from(document.querySelectorAll(".pair .wide"));

  function choose(row) {
    const again = row.classList.contains("chosen");
    for (const other of document.querySelectorAll(".chosen")) other.classList.remove("chosen");
    if (again) return;
    row.classList.add("chosen");
    for (const edge of document.querySelectorAll(`.graph .link-${Number(row.dataset.link)}`)) {
      edge.classList.add("chosen");
      const frame = edge.closest(".wide"), box = edge.getBoundingClientRect(), view = frame.getBoundingClientRect();
      frame.scrollLeft += box.left + box.width / 2 - view.left - view.width / 2;
    }
  }
  for (const row of rows) {
    row.tabIndex = 0;
    row.addEventListener("click", () => choose(row));
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(row); }
    });
  }

  for (const frame of frames) {
    frame.addEventListener("scroll", () => {
      for (const other of frames) if (other !== frame && other.scrollLeft !== frame.scrollLeft) other.scrollLeft = frame.scrollLeft;
    });
  }
})();
