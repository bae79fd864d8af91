// The latest requests: what became of each, whose fault it was, and who was asked or left out.

import { byId, el, fill, state, until, when } from "./dom.js";

/// Whose a failure is, by the reason of its attempt.
const WHOSE = {
  rate_limit_exceeded: "the account: its limit", quota_exhausted: "the account: its quota", auth_error: "the account: its credential",
  concurrency_limited: "the account: busy", request_rejected: "the account: it refuses this", server_error: "the provider",
  model_capacity: "the provider: no capacity", not_found: "the provider: no such model", service_not_running: "our side: a service is down",
  dropped: "nobody: another one was faster", invalid_previous_response_binding: "the request: it names another account's response",
};

/// Where how it ended says more than the reason.
const OURS = { proxy_unreachable: "our side: the outbound proxy", local: "our side: nothing was sent" };

export function whose(request) {
  const failed = request.attempts.filter((attempt) => attempt.verdict !== "success");
  const last = failed.at(-1);
  const name = (attempt) => OURS[attempt.end] ?? WHOSE[attempt.reason] ?? (attempt.verdict === "neutral" ? "the client or its request" : "unclear");
  if (request.status === 499) return "the client left";
  if (request.status < 400) return last ? `${name(last)} (rescued)` : "";
  if (last) return name(last);
  if (request.excluded.length) return `nobody could be asked: ${request.excluded[0].reason}`;
  return "the request";
}

function tone(status) {
  if (status < 400) return "good";
  return status === 499 || status === 429 ? "warn" : "bad";
}

const target = (row) => `${row.provider}/${row.model}${row.connection ? ` on ${row.connection}` : ""}`;

function attempt(row) {
  const wait = row.waitMs === null ? "" : `, wait ${row.waitMs} ms`;
  const why = (row.reason && row.reason !== row.verdict ? `, ${row.reason}` : "") + (row.end ? `, ${row.end}` : "");
  return el("li", {}, `${target(row)}: `, state(`${row.status ?? "no answer"} ${row.verdict}`, row.verdict === "success" ? "good" : "warn"), `${why}${wait}, ${row.durationMs} ms`);
}

const left = (row) => el("li", {}, `${target(row)}: ${row.reason} `, until(row.until));

function story(request) {
  const parts = [`${request.attempts.length} ${request.attempts.length === 1 ? "attempt" : "attempts"}`];
  if (request.excluded.length) parts.push(`${request.excluded.length} left out`);
  if (request.strategy) parts.push(request.strategy);
  return el("details", {}, el("summary", {}, parts.join(", ")),
    el("ol", {}, ...request.attempts.map(attempt)), el("ul", {}, ...request.excluded.map(left)),
    el("p", { class: "quiet" }, `${request.id}, own time ${request.overheadUs} µs${request.session ? `, session ${request.session}` : ""}`));
}

let latest = [];

export function requests(list) {
  if (list) latest = list.decisions;
  const bad = byId("only-bad").checked;
  const all = latest.filter((request) => !bad || whose(request) !== "");
  fill("requests", all, (item) => item.id, (item) => [
    when(item.at), item.model, item.key ?? "", state(String(item.status), tone(item.status)), `${item.durationMs} ms`, whose(item), story(item),
  ]);
  byId("requests-none").hidden = all.length > 0;
}

export { target };
