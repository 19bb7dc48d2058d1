// Small conveniences; every page works without them.
"use strict";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-confirm]");
  if (!button) return;
  if (button.dataset.confirm && !window.confirm(button.dataset.confirm)) {
    event.preventDefault();
    return;
  }
  if (!button.dataset.copy) return;
  await copy(button.dataset.copy);
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1500);
});

for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;

async function copy(text) {
  // It is there on https and on this machine itself only.
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.className = "hidden";
  area.value = text;
  document.body.append(area);
  const focused = document.activeElement;
  area.select();
  document.execCommand("copy");
  area.remove();
  focused.focus();
}

// Addresses of searches stay short: what asks for nothing is left out.
document.addEventListener("htmx:configRequest", (event) => {
  const parameters = event.detail.parameters;
  for (const name of [...Object.keys(parameters)]) {
    if (parameters[name] === "") delete parameters[name];
  }
});

// A page that says why there is no result replaces the results before it.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, xhr } = event.detail;
  if (xhr.status < 400 || target.id !== "results") return;
  event.detail.shouldSwap = xhr.responseText.includes('id="results"');
});

document.addEventListener("htmx:sendError", (event) => {
  if (event.detail.target.id !== "results") return;
  const note = document.createElement("p");
  note.className = "notice bad";
  note.setAttribute("role", "alert");
  note.textContent = "Voyager does not answer.";
  event.detail.target.replaceChildren(note);
});
