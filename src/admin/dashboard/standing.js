// How things stand: providers, connections and barred models, and the orders that they take.

import { call } from "./api.js";
import { button, byId, confirmed, el, fill, say, state, until } from "./dom.js";

const TONES = {
  closed: "good", ready: "good", degraded: "warn", half_open: "warn", cooling: "warn", draining: "warn",
  observe: "warn", inactive: "quiet", open: "bad", isolated: "bad", banned: "bad", expired: "bad", credits_exhausted: "bad",
};
/// What a state means to somebody who did not read the manual.
const MEANS = {
  half_open: "half open: one probe at a time", degraded: "degraded: still asked", open: "open: not asked",
  isolated: "isolated by an operator", observe: "observed only", credits_exhausted: "credits exhausted",
};
const shown = (word) => state(MEANS[word] ?? word, TONES[word] ?? "quiet");

/// Gives an order after asking; `done` shows what came of it.
async function order({ title, text, verb, send }, done) {
  if (!(await confirmed(title, text, verb))) return;
  try {
    await send();
    done(null);
  } catch (refused) {
    done(`${title} ${refused.message}`);
  }
}

const message = (kind, id, word) => () =>
  call("POST", `api/actors/${encodeURIComponent(kind)}/${encodeURIComponent(id)}/messages`, { message: word });

const ORDERS = {
  resetProvider: (id) => ({ title: `Reset provider ${id}?`, text: "Its breaker closes and forgets its failures: the next requests go there.", verb: "Reset", send: message("provider", id, "reset") }),
  resetConnection: (id) => ({ title: `Reset connection ${id}?`, text: "Its rest, its terminal state and the locks of its models end.", verb: "Reset", send: message("connection", id, "reset") }),
  drain: (id) => ({ title: `Drain connection ${id}?`, text: "It gets no new requests until that is taken back; those in flight end well.", verb: "Drain", send: message("connection", id, "drain") }),
  undrain: (id) => ({ title: `Take requests on ${id} again?`, text: "It may be asked from now on.", verb: "Undrain", send: message("connection", id, "undrain") }),
  unlock: (lock) => ({
    title: `Allow ${lock.model} on ${lock.connection} again?`, text: "All that bars this model on this connection is removed.", verb: "Allow",
    send: () => call("DELETE", "api/resilience/model-cooldowns", { provider: lock.provider, connection: lock.connection, model: lock.model }),
  }),
};

// === providers ===

function provider(breaker, actors) {
  const last = breaker.transitionHistory.at(-1);
  const row = actors.get(`provider ${breaker.provider}`);
  const word = row?.state ?? breaker.state.toLowerCase();
  const end = { open: breaker.openUntil, degraded: breaker.quietUntil }[word];
  return {
    id: breaker.provider, word, until: end ?? null, why: word === "closed" ? "" : last?.why ?? "",
    kind: word === "closed" ? null : breaker.lastFailureKind, failures: breaker.failureCount,
  };
}

export function providers(health, actors, done) {
  const all = health.providerBreakers.map((breaker) => provider(breaker, actors));
  all.sort((a, b) => (a.word === "closed") - (b.word === "closed") || a.id.localeCompare(b.id));
  fill("providers", all, (item) => item.id, (item) => [
    item.id, shown(item.word), until(item.until), [item.why, item.kind].filter(Boolean).join(", "), item.failures,
    el("span", {}, button("Reset", () => order(ORDERS.resetProvider(item.id), done))),
  ]);
  return all.filter((item) => item.word !== "closed").length;
}

// === connections ===

function connection(id, view, cooldown) {
  const terminal = view.terminal ? view.terminal.reason : null;
  const error = view.lastErrorType ? `${view.lastErrorType}${view.errorCode ? ` (${view.errorCode})` : ""}` : null;
  const word = view.state;
  return {
    id, name: cooldown?.name ?? id, provider: view.provider, word, draining: view.draining,
    until: view.rateLimitedUntil ?? view.providerCooldownUntil, inFlight: view.inFlight,
    why: word === "ready" ? "" : [terminal, error].filter(Boolean).join(": "),
    combos: view.providerCooldownUntil !== null, level: view.backoffLevel,
  };
}

function connectionOrders(item, done) {
  const drain = item.draining ? "undrain" : "drain";
  return el("span", {},
    button("Reset", () => order(ORDERS.resetConnection(item.id), done)),
    button(item.draining ? "Undrain" : "Drain", () => order(ORDERS[drain](item.id), done)));
}

export function connections(health, cooldowns, done) {
  const names = new Map(cooldowns.connections.map((row) => [row.connectionId, row]));
  const all = Object.entries(health.connectionHealth).map(([id, view]) => connection(id, view, names.get(id)));
  const calm = (item) => item.word === "ready" && !item.combos;
  all.sort((a, b) => calm(a) - calm(b) || a.id.localeCompare(b.id));
  fill("connections", all, (item) => item.id, (item) => [
    item.name === item.id ? item.id : `${item.name} (${item.id})`, item.provider,
    el("span", {}, shown(item.word), item.combos ? " (left out of combos)" : null), until(item.until),
    item.why + (item.level > 1 ? `, level ${item.level}` : ""), item.inFlight, connectionOrders(item, done),
  ]);
  return all.filter((item) => !calm(item)).length;
}

// === barred models ===

export function locks(list, done) {
  const all = list.items.map(({ provider, connection, model, scope, reason, expiresAt, failureCount }) => (
    { provider, connection, model, scope, reason, expiresAt, failureCount }));
  fill("locks", all, (item) => `${item.connection} ${item.scope} ${item.model}`, (item) => [
    item.scope === "family" ? `${item.model} and its family` : item.model, `${item.provider}, ${item.connection}`,
    until(item.expiresAt), item.reason, item.failureCount, el("span", {}, button("Allow", () => order(ORDERS.unlock(item), done))),
  ]);
  byId("locks-none").hidden = all.length > 0;
  return all.length;
}

/// One line for somebody who has just opened the page.
export function summary(health, { providers, connections, locks }) {
  const said = [];
  if (health.draining) said.push("shutting down");
  if (health.store?.failing) said.push("the store cannot write");
  if (health.status !== "healthy" && said.length === 0) said.push("degraded");
  if (providers) said.push(`${providers} ${providers === 1 ? "provider is" : "providers are"} not closed`);
  if (connections) said.push(`${connections} ${connections === 1 ? "connection is" : "connections are"} not ready`);
  if (locks) said.push(`${locks} barred ${locks === 1 ? "model" : "models"}`);
  say("summary", said.length ? said.join(", ") : "everything is well");
  byId("summary").className = said.length ? "state warn" : "state good";
  document.title = said.length ? `(${said.length}) switchtower` : "switchtower";
}
