// Who would be asked for such a request now, and who not. Nothing is sent.

import { call } from "./api.js";
import { byId, fill, say, until } from "./dom.js";
import { target } from "./requests.js";

function asked(form) {
  const body = { model: form.get("model").trim() };
  for (const name of ["key", "session", "format"]) {
    if (form.get(name)) body[name] = form.get(name);
  }
  if (form.get("estimated_tokens")) body.estimated_tokens = Number(form.get("estimated_tokens"));
  return body;
}

function show({ strategy, order, excluded }) {
  const plain = ({ provider, model }) => target({ provider, model });
  fill("order", order.map((row, place) => ({ ...row, place: place + 1 })), (row) => String(row.place), (row) => [
    row.place, plain(row), row.connection, row.why, row.score === null ? "" : row.score.toFixed(3),
  ]);
  fill("excluded", excluded, (row) => `${plain(row)} ${row.connection} ${row.reason}`, (row) => [
    plain(row), row.connection ?? "all of them", row.reason, until(row.until),
  ]);
  byId("explain-shown").hidden = false;
  say("explain-said", order.length ? `${order.length} would be asked, by ${strategy}.` : `Nobody would be asked (${strategy}).`);
}

export function start() {
  const form = byId("explain");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    byId("explain-shown").hidden = true;
    try {
      show(await call("POST", "api/route/explain", asked(new FormData(form))));
    } catch (refused) {
      say("explain-said", refused.message);
    }
  });
}
