// The page: signs in, shows how things stand, and follows what changes.

import { call, isIn, signIn, signOut } from "./api.js";
import { audit } from "./audit.js";
import { byId, clock, fill, say, tick, when } from "./dom.js";
import { follow } from "./events.js";
import * as explain from "./explain.js";
import { requests } from "./requests.js";
import * as standing from "./standing.js";

/// How often it looks at what no event tells: requests, and what is in flight.
const LOOK_MS = 5000;
/// Events that come together are one look.
const GATHER_MS = 250;
const EVENTS_SHOWN = 100;
const REQUESTS_SHOWN = 50;
const CHANGES_SHOWN = 20;

let session = null;
let looking = null;
let again = false;
let gathering = null;
let changes = [];

// === looking ===

async function look() {
  const mine = session;
  const [health, actors, cooldowns, locked, decisions, changed] = await Promise.all([
    call("GET", "api/monitoring/health"), call("GET", "api/actors"), call("GET", "api/resilience/cooldowns"),
    call("GET", "api/resilience/model-cooldowns"), call("GET", `api/decisions?limit=${REQUESTS_SHOWN}`),
    call("GET", `api/audit?limit=${CHANGES_SHOWN}`),
  ]);
  // who has left meanwhile is shown nothing more
  if (session !== mine) return;
  clock(health.timestamp);
  const rows = new Map(actors.actors.map((row) => [`${row.kind} ${row.id}`, row]));
  standing.summary(health, {
    providers: standing.providers(health, rows, ordered),
    connections: standing.connections(health, cooldowns, ordered),
    locks: standing.locks(locked, ordered),
  });
  requests(decisions);
  audit(changed);
}

/// One look at a time; what changes meanwhile is looked at behind it.
async function refresh() {
  if (session === null) return;
  if (looking) {
    again = true;
    return;
  }
  looking = look();
  try {
    await looking;
    say("notice", "");
  } catch (fault) {
    if (fault.status === 401) leave("The session is over.");
    else say("notice", `What is shown may be old: ${fault.message}`);
  }
  looking = null;
  if (again) {
    again = false;
    refresh();
  }
}

async function ordered(fault) {
  await refresh();
  if (fault) say("notice", fault);
}

// === what changes ===

function told(what, id, data) {
  const change = what === "missed"
    ? { id, at: null, what, of: "", moved: data.missed === null ? "some are not known any more" : `${data.missed} are not known any more`, reason: "", until: null }
    : { id, at: data.at, what, of: `${data.kind} ${data.id}`, moved: data.from === data.to ? data.to : `${data.from} → ${data.to}`, reason: data.reason, until: data.until };
  changes = [change, ...changes].slice(0, EVENTS_SHOWN);
  fill("events", changes, (item) => item.id, (item) => [
    item.at ? when(item.at) : "", item.what, item.of, item.moved, item.reason, item.until ? when(item.until) : "",
  ]);
  byId("events-none").hidden = true;
  gathering ??= setTimeout(() => {
    gathering = null;
    refresh();
  }, GATHER_MS);
}

function linked(is) {
  say("link", is ? "live" : "not connected, trying again");
  byId("link").className = is ? "quiet" : "state bad";
  if (is) refresh();
}

// === sessions ===

function enter() {
  session = new AbortController();
  byId("sign-in").hidden = true;
  byId("board").hidden = false;
  byId("leave").hidden = false;
  follow({ told, linked, signal: session.signal }).catch(() => leave("The session is over."));
}

function leave(why) {
  session?.abort();
  session = null;
  byId("board").hidden = true;
  byId("leave").hidden = true;
  byId("sign-in").hidden = false;
  say("sign-in-error", why);
  say("summary", "");
  say("link", "");
  document.title = "switchtower";
  byId("token").focus();
}

async function signing(event) {
  event.preventDefault();
  const field = byId("token");
  const token = field.value;
  field.value = "";
  try {
    await signIn(token);
    enter();
  } catch (refused) {
    leave(refused.message);
  }
}

async function start() {
  byId("sign-in-form").addEventListener("submit", signing);
  byId("only-bad").addEventListener("change", () => requests(null));
  byId("leave").addEventListener("click", async () => {
    try {
      await signOut();
      leave("");
    } catch (fault) {
      leave(`The session may be open still: ${fault.message}`);
    }
  });
  explain.start();
  setInterval(tick, 1000);
  setInterval(() => document.hidden || refresh(), LOOK_MS);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
  try {
    if (await isIn()) enter();
    else leave("");
  } catch (fault) {
    leave(fault.message);
  }
}

start();
