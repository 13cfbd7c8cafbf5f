"use strict";

const HINT_MS = 2000;

/** Say what a row of a picture's table says: "ratio 0.9 · state pool 26". */
function sentence(table, row) {
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const cells = [...table.tBodies[0].rows[row].cells];
  const parts = cells.map((cell, index) =>
    cell.querySelector("data") ? `${heads[index]} ${cell.textContent}` : cell.textContent,
  );
  return parts.join(" · ");
}

function liven(figure) {
  const plot = figure.querySelector(".plot");
  const readout = figure.querySelector(".readout");
  const table = figure.querySelector("table");
  const count = table.tBodies[0].rows.length;
  let shown = -1;

  function show(row) {
    if (row === shown) return;
    for (const spot of plot.querySelectorAll(".spot")) {
      const on = Number(spot.dataset.row) === row;
      spot.classList.toggle("on", on);
      spot.querySelector("rect").classList.toggle("on", on);
    }
    readout.textContent = row < 0 ? "" : sentence(table, row);
    shown = row;
  }

  function point(event) {
    // A finger stays with the place that it came down on: ask what lies below it.
    const found = document.elementFromPoint(event.clientX, event.clientY);
    const spot = found && found.closest(".spot");
    if (spot && plot.contains(spot)) show(Number(spot.dataset.row));
  }

  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") show(-1);
  });
  plot.addEventListener("keydown", (event) => {
    const next = {
      ArrowRight: Math.min(shown + 1, count - 1),
      ArrowLeft: shown < 0 ? count - 1 : Math.max(shown - 1, 0),
      Home: 0,
      End: count - 1,
      Escape: -1,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    show(next);
  });
}

/** Copy the text of *code*; where no page may write to the clipboard, select it. */
async function copied(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return document.execCommand("copy");
  }
}

async function copy(button) {
  const label = button.textContent;
  const done = await copied(button.parentElement.querySelector("code"));
  button.textContent = done ? "Copied" : "Press Ctrl+C";
  document.getElementById("status").textContent = button.textContent;
  setTimeout(() => {
    button.textContent = label;
  }, HINT_MS);
}

for (const hint of document.querySelectorAll(".hint")) hint.hidden = false;
for (const figure of document.querySelectorAll("figure.picture")) liven(figure);
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}

let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
});
