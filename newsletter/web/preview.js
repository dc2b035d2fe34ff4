// The preview, alive: it asks for the page again when the server says that it has changed, and exchanges the parts that
// differ. What the editor has open, typed, scrolled and focused stays. Without this script the page works by reloading.
"use strict";

const root = document.documentElement;
const shown = new Map(); // part -> its HTML as the server sent it
for (const part of document.querySelectorAll("[data-part]")) shown.set(part.id, part.outerHTML);
let asked = 0; // the newest question; what an older one brings is thrown away

// -- exchanging parts -----------------------------------------------------------------------------------------------

function exchange(page, { quietly = false } = {}) {
  if (!page.getElementById("stage")) { location.reload(); return; }
  const focused = document.activeElement?.id;
  document.title = page.title;
  Object.assign(root.dataset, page.documentElement.dataset);
  for (const next of page.querySelectorAll("[data-part]")) {
    const part = document.getElementById(next.id);
    if (!part) { location.reload(); return; }
    if (shown.get(next.id) === next.outerHTML) continue;
    if (quietly && next.id === "note" && !next.textContent) continue; // what was just said stays until the next step
    shown.set(next.id, next.outerHTML);
    if (next.id === "stage" && part.querySelector("iframe") && next.querySelector("iframe")) showFrame(part, next);
    else replace(part, document.importNode(next, true));
  }
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

function replace(part, next) {
  const open = new Set([...part.querySelectorAll("details[open]")].map((one) => one.id));
  const typed = [...part.querySelectorAll("input[type=email]")].map((one) => [one.id, one.value]);
  const scrolled = part.querySelector("pre")?.scrollTop;
  part.replaceWith(next);
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const [id, value] of typed) { const field = document.getElementById(id); if (field && !field.value) field.value = value; }
  if (scrolled) next.querySelector("pre")?.scrollTo(0, scrolled);
  remember();
}

// The new message is loaded behind the old one and takes its place, and its scroll position, when it is there.
function showFrame(part, next) {
  const box = part.querySelector(".frame"), old = box.querySelector("iframe:not(.coming)");
  const wanted = next.querySelector(".frame"), frame = document.importNode(wanted.querySelector("iframe"), true);
  box.className = wanted.className;
  part.className = next.className;
  for (const late of box.querySelectorAll("iframe.coming")) late.remove();
  if (old.getAttribute("src") === frame.getAttribute("src") && old.dataset.stamp === frame.dataset.stamp) {
    old.title = frame.title;
    return;
  }
  frame.classList.add("coming");
  frame.addEventListener("load", () => {
    if (!frame.isConnected) return;
    const before = old.contentWindow, after = frame.contentWindow;
    after?.scrollTo(before?.scrollX ?? 0, before?.scrollY ?? 0);
    frame.classList.remove("coming");
    const reading = document.activeElement === old;
    old.remove();
    if (reading) frame.focus({ preventScroll: true });
    keys(frame.contentDocument);
  }, { once: true });
  box.append(frame);
}

async function load(address, options = {}) {
  const mine = options.method ? asked : ++asked; // what an act answers is always shown
  let answer, text;
  try {
    answer = await fetch(address, options);
    text = await answer.text();
  } catch {
    say("The preview does not answer: is it still running?");
    return false;
  }
  if (!options.method && mine !== asked) return false;
  const isPage = answer.headers.get("content-type")?.startsWith("text/html");
  if (isPage) exchange(new DOMParser().parseFromString(text, "text/html"), options);
  else say(text);
  return answer.ok;
}

function say(text, failed = true) {
  const note = document.getElementById("note");
  if (!note) return;
  note.textContent = text;
  note.classList.toggle("failed", failed);
  shown.delete("note");
}

// -- what the editor does -------------------------------------------------------------------------------------------

async function go(address, push = true) {
  if (push) history.pushState(null, "", address);
  await load(address);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap]");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.href);
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.hasAttribute("data-swap")) {
    event.preventDefault();
    const fields = [...new FormData(form)].filter(([, value]) => value);
    go(`${form.getAttribute("action")}?${new URLSearchParams(fields)}`);
  } else if (form.hasAttribute("data-act")) {
    event.preventDefault();
    const body = new URLSearchParams(new FormData(form)), button = form.querySelector("button");
    if (body.get("to")) localStorage.setItem("preview-to", body.get("to"));
    button.disabled = true;
    await load(form.getAttribute("action") + location.search, { method: "POST", body });
    button.disabled = false;
    stream?.close(); // the answer may be older than what was told meanwhile: whoever listens anew is told at once
    stream = null;
    listen();
    document.getElementById("note")?.scrollIntoView({ block: "nearest" });
  }
});

window.addEventListener("popstate", () => go(location.href, false));

function remember() {
  const to = document.getElementById("to"), on = document.getElementById("keys-on");
  if (to && !to.value) to.value = localStorage.getItem("preview-to") ?? "";
  if (on) on.checked = localStorage.getItem("preview-keys") !== "off";
}

document.addEventListener("change", (event) => {
  if (event.target.id === "keys-on") localStorage.setItem("preview-keys", event.target.checked ? "on" : "off");
});

// -- keys -----------------------------------------------------------------------------------------------------------

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input:not([type=checkbox]), textarea, select")) return;
  if (localStorage.getItem("preview-keys") === "off") return;
  if (event.key === "j" || event.key === "u") {
    const editions = [...document.querySelectorAll("a[data-edition]")];
    const at = editions.findIndex((one) => one.hasAttribute("aria-current"));
    editions[at + (event.key === "j" ? 1 : -1)]?.click();
    return;
  }
  if (/^[a-z]$/.test(event.key)) document.querySelector(`a[data-key="${event.key}"]`)?.click();
}

function keys(page) {
  page?.addEventListener("keydown", pressed);
}

// -- alive ----------------------------------------------------------------------------------------------------------

let stream = null, lost = false;

// The message first, and then what is said about it: the checks of many editions take longer.
async function refresh(stamp) {
  root.dataset.stamp = stamp;
  ++asked; // a page that is under way may be older than this
  const address = location.pathname + location.search, part = document.getElementById("stage");
  const frame = part?.querySelector("iframe:not(.coming)");
  if (frame) {
    const next = part.cloneNode(true);
    for (const late of next.querySelectorAll("iframe.coming")) late.remove();
    next.querySelector("iframe").dataset.stamp = stamp;
    await new Promise((done) => {
      showFrame(part, next);
      const coming = part.querySelector("iframe.coming");
      if (coming) coming.addEventListener("load", done, { once: true });
      else done();
    });
  }
  await load(address, { quietly: true });
}

function listen() {
  if (stream || root.dataset.issue === undefined) return;
  stream = new EventSource(`/events?issue=${encodeURIComponent(root.dataset.issue)}`);
  stream.onmessage = (event) => { if (event.data !== root.dataset.stamp) refresh(event.data); };
  stream.onerror = () => { lost = true; say("The preview has stopped. Start it again, and this page goes on by itself."); };
  stream.onopen = () => { if (lost) say("", false); lost = false; };
}

// A browser keeps six connections to a host: a page that nobody looks at gives its own back.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { stream?.close(); stream = null; }
  else listen();
});

remember();
keys(document);
for (const frame of document.querySelectorAll("iframe")) {
  keys(frame.contentDocument); // it may be there already
  frame.addEventListener("load", () => keys(frame.contentDocument));
}
listen();
