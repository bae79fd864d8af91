// What the page is made of. Names of models, keys and upstreams' words are strangers' text: they
// only ever become text nodes.

/// Characters that show nothing, or turn the text around them about: a name with them could pass for
/// another, or for a status that stands beside it.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const plain = (text) => String(text).replace(UNSEEN, "\ufffd");

/// A node with attributes of ours, and children that are nodes or text.
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  for (const child of children) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : document.createTextNode(plain(child)));
  }
  return node;
}

export const byId = (id) => document.getElementById(id);

export function say(id, text) {
  byId(id).textContent = plain(text);
}

/// A state in a word, with one of the colours `good`, `warn`, `bad`, `quiet`.
export const state = (word, tone) => el("span", { class: `state ${tone}` }, word);

// === time ===

/// The server's clock less ours, ms.
let skew = 0;

export function clock(serverTime) {
  skew = Date.parse(serverTime) - Date.now();
}

/// An instant as what is left until then; it counts down by itself.
export function until(instant) {
  if (!instant) return null;
  const node = el("time", { datetime: instant, title: instant });
  node.textContent = left(instant);
  return node;
}

/// When it was, by the clock of this machine.
export function when(instant) {
  const at = new Date(instant);
  const text = Number.isNaN(at.getTime()) ? instant : at.toLocaleTimeString();
  return el("span", { class: "at", title: instant }, text);
}

function left(instant) {
  const seconds = Math.ceil((Date.parse(instant) - Date.now() - skew) / 1000);
  if (!(seconds > 0)) return "now";
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min` : `${Math.floor(seconds / 86400)} days`;
}

export function tick() {
  for (const node of document.querySelectorAll("time")) node.textContent = left(node.dateTime);
}

// === tables ===

/// Shows one row per item. A row whose item is as before stays as it is, and so do its focus and
/// what is open in it.
export function fill(id, items, key, cells) {
  const body = byId(id);
  const labels = [...body.parentElement.querySelectorAll("th")].map((head) => head.textContent);
  const old = new Map([...body.children].map((row) => [row.itemKey, row]));
  let place = body.firstElementChild;
  for (const item of items) {
    const [name, text] = [key(item), JSON.stringify(item)];
    const before = old.get(name);
    old.delete(name);
    if (before && before.itemText === text) {
      if (before === place) place = place.nextElementSibling;
      else body.insertBefore(before, place);
      continue;
    }
    const row = el("tr", {}, ...cells(item).map((cell, column) => el("td", { "data-label": labels[column] }, cell)));
    row.itemKey = name;
    row.itemText = text;
    if (before) {
      if (before === place) place = place.nextElementSibling;
      replace(before, row);
    }
    body.insertBefore(row, place);
    if (row.wantsFocus) row.wantsFocus.focus();
  }
  for (const row of old.values()) row.remove();
}

/// The same button has the focus afterwards, and what was open is open.
function replace(before, row) {
  const focused = [...before.querySelectorAll("button, summary")].indexOf(document.activeElement);
  if (focused >= 0) row.wantsFocus = [...row.querySelectorAll("button, summary")][focused];
  const open = before.querySelector("details")?.open;
  if (open && row.querySelector("details")) row.querySelector("details").open = true;
  before.remove();
}

// === orders ===

/// Asks before something is done; resolves to whether it may be.
export function confirmed(title, text, verb) {
  const dialog = byId("confirm");
  say("confirm-title", title);
  say("confirm-text", text);
  say("confirm-yes", verb);
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

export function button(word, act) {
  const node = el("button", { type: "button" }, word);
  node.addEventListener("click", act);
  return node;
}
