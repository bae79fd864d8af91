// What operators have changed, by whatever way: this page, the API, the command line.

import { byId, el, fill, when } from "./dom.js";

/// Longest text of a state that is shown; the API has the rest.
const LONGEST = 2000;

function states({ before, after }) {
  if (before === null && after === null) return "";
  const text = (state) => {
    const whole = state === null ? "nothing" : JSON.stringify(state);
    return whole.length > LONGEST ? `${whole.slice(0, LONGEST)}…` : whole;
  };
  return el("details", {}, el("summary", {}, "before and after"),
    el("p", {}, "before: ", el("code", {}, text(before))), el("p", {}, "after: ", el("code", {}, text(after))));
}

export function audit(list) {
  // The same twice in one instant is told apart from below: what is new comes above.
  const seen = new Map();
  const items = list.items.toReversed().map((item) => {
    const name = `${item.at} ${item.action} ${item.target}`;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return { ...item, name: `${name} ${seen.get(name)}` };
  }).reverse();
  fill("audit", items, (item) => item.name, (item) => [
    when(item.at), item.who, item.action, item.target ?? "", states(item),
  ]);
  byId("audit-none").hidden = items.length > 0;
}
