// Listens to what changes. After a break it goes on behind the last event that it read; the
// server says how many are gone, if some are.

import { ask } from "./api.js";

const LONGEST_BLOCK = 1 << 20;
const LONGEST_PAUSE_MS = 15000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/// The blocks of a stream of events, each as a map of its fields.
async function* blocks(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    waiting += value;
    for (let end = waiting.indexOf("\n\n"); end >= 0; end = waiting.indexOf("\n\n")) {
      yield fields(waiting.slice(0, end));
      waiting = waiting.slice(end + 2);
    }
    if (waiting.length > LONGEST_BLOCK) throw new Error("a block without an end");
  }
}

export function fields(block) {
  const found = new Map();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) found.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
  }
  return found;
}

/// Follows until `signal` ends it or the session is over, which it throws.
export async function follow({ told, linked, signal }) {
  let last = null;
  let wait = 1000;
  while (!signal.aborted) {
    try {
      const headers = last === null ? {} : { "last-event-id": last };
      const answer = await ask("GET", "api/events", { headers, signal });
      linked(true);
      wait = 1000;
      for await (const block of blocks(answer.body)) {
        if (block.has("id")) last = block.get("id");
        if (block.has("data")) told(block.get("event"), block.get("id"), JSON.parse(block.get("data")));
      }
    } catch (fault) {
      if (signal.aborted) return;
      if (fault.status === 401) throw fault;
    }
    linked(false);
    await pause(wait);
    wait = Math.min(wait * 2, LONGEST_PAUSE_MS);
  }
}
