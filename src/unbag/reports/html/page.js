"use strict";
addEventListener("beforeprint", () => document.querySelectorAll(".set").forEach((each) => { each.open = true; }));
// Filters for the examples. Without this script the page shows all examples.
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const PAGE = 24; // equals the number that the style sheet shows before this script runs
  const items = [...document.querySelectorAll(".example")];
  const texts = items.map((item) => item.textContent.toLowerCase());
  const selects = [...form.querySelectorAll("select")];
  const [search, count, more] = ["f-text", "count", "more"].map((id) => document.getElementById(id));
  let limit = PAGE;

  for (const select of selects) {
    for (const value of new Set(items.map((item) => item.dataset[select.name]))) {
      const words = value.replaceAll("_", " ");
      select.append(new Option(words, value));
    }
  }

  function show() {
    const words = search.value.trim().toLowerCase();
    let matching = 0;
    items.forEach((item, place) => {
      const fits = selects.every((each) => !each.value || item.dataset[each.name] === each.value);
      const matches = fits && texts[place].includes(words);
      matching += matches;
      item.hidden = !matches || matching > limit;
    });
    count.textContent = `${matching} of ${items.length} examples` + (matching > limit ? `, ${limit} shown` : "");
    more.hidden = matching <= limit;
  }

  function start() {
    limit = PAGE;
    show();
  }

  form.addEventListener("input", start);
  form.addEventListener("reset", () => setTimeout(start));
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => {
    limit += PAGE;
    show();
  });
  form.hidden = false;
  document.getElementById("list").classList.add("live");
  start();
})();
