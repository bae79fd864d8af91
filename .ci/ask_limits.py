"""What the official clients see of limits that are switchtower's own: status, code, Retry-After.

A full line, a wait that is over, a call that runs too long: each is told to the client as README
says, and none of them is held against the connection. Run by `clients`, as `ask_clients.py` is.
"""

import json
import sys
import tempfile
import threading
import time

import anthropic
import openai

from tower import TOKEN, Tally, Tower

USER = [{"role": "user", "content": "Is there room?"}]
# longer than a request may wait, and than a call may run
HELD = "slow-4000ms"
WAIT_MS = 1500
LIMIT_S = 20


class Side:
    """One client, and the account that it asks."""

    def __init__(self, name, connection, ask):
        self.name, self.connection, self.ask = name, connection, ask


def sides(tower):
    url = "http://{}:{}".format(*tower.address)
    # retries of the clients would hide what switchtower answered
    talks = openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0, timeout=30)
    claude = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0, timeout=30)
    return [
        Side("openai", "demo-b-1", lambda model, stream=False: talks.chat.completions.create(
            model=f"demo-b/{model}", messages=USER, stream=stream)),
        Side("anthropic", "claude-b-1", lambda model, stream=False: claude.messages.create(
            model=f"claude-b/{model}", max_tokens=64, messages=USER, stream=stream)),
    ]


def refused(tally, claim, status, code, ask):
    """The client raises, and its error tells status, code and when to come again."""
    try:
        answer = ask()
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        body = error.body if isinstance(error.body, dict) else {}
        found = body.get("error", body)
        tally.check(error.status_code == status, f"{claim}: status {status}", repr(error))
        if status == 429:
            tally.check(isinstance(error, (openai.RateLimitError, anthropic.RateLimitError)), f"{claim}: RateLimitError", repr(error))
        tally.check(found.get("code") == code, f"{claim}: code {code}", repr(error.body))
        tally.check(bool(found.get("message")), f"{claim}: says why", repr(error.body))
        tally.check(int(error.response.headers.get("retry-after", 0)) >= 1, f"{claim}: Retry-After", repr(error.response.headers))
    else:
        tally.check(False, f"{claim}: is an error", repr(answer))


def await_in_flight(operator, kind, id, count):
    deadline = time.monotonic() + LIMIT_S
    while operator.get(f"/api/actors/{kind}/{id}")["inFlight"] != count:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{kind} {id} never had {count} in flight")
        time.sleep(0.005)


def is_healthy(tally, operator, claim, connection):
    actors = {(actor["kind"], actor["id"]): actor for actor in operator.get("/api/actors")["actors"]}
    state = actors["connection", connection]["state"]
    tally.check(state == "ready", f"{claim}: the connection is ready", state)
    state = actors["provider", connection.rsplit("-", 1)[0]]["state"]
    tally.check(state == "closed", f"{claim}: the breaker is closed", state)
    tally.check(not any(kind == "lockout" for kind, _ in actors), f"{claim}: no model is locked", repr(list(actors)))


def full(tally, tower, side, codes):
    """One call runs, one waits in vain, others are not let wait."""
    full_code, over_code, over_status = codes
    operator = tower.operator()
    held = threading.Thread(target=side.ask, args=(HELD,))
    held.start()
    await_in_flight(operator, "connection", side.connection, 1)
    claim = f"{side.name}: the wait is over"
    waits = threading.Thread(target=refused, args=(tally, claim, over_status, over_code, lambda: side.ask("steady")))
    waits.start()
    await_in_flight(operator, "router", "router", 2)
    for stream in (False, True):
        claim = f"{side.name}: the line is full, {'streamed' if stream else 'whole'}"
        refused(tally, claim, 429, full_code, lambda: side.ask("steady", stream))
    waits.join()
    is_healthy(tally, operator, side.name, side.connection)
    held.join()
    await_in_flight(operator, "router", "router", 0)
    side.ask("steady")
    is_healthy(tally, operator, f"{side.name}: afterwards", side.connection)


def too_long(tally, tower, side):
    """A call that runs for longer than it may."""
    for stream in (False, True):
        claim = f"{side.name}: it ran too long, {'streamed' if stream else 'whole'}"
        refused(tally, claim, 504, "RATE_LIMIT_EXECUTION_TIMEOUT", lambda: side.ask(HELD, stream))
    is_healthy(tally, tower.operator(), side.name, side.connection)
    side.ask("steady")


def cap(tower, connection):
    """The account takes one at a time."""
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    body = json.dumps({"maxConcurrent": 1}).encode()
    status, _, answer = tower.operator().ask("PATCH", f"/api/providers/{connection}", body, headers)
    if status != 200:
        raise RuntimeError(f"{connection} is not capped: {status} {answer[:300]!r}")


def gate(tally, tower, side):
    cap(tower, side.connection)
    full(tally, tower, side, ("SEMAPHORE_QUEUE_FULL", "SEMAPHORE_TIMEOUT", 429))


def limiter(tally, tower, side):
    full(tally, tower, side, ("RATE_LIMIT_QUEUE_FULL", "RATE_LIMIT_QUEUE_TIMEOUT", 503))


# what is tried, under which settings
ACTS = [
    (gate, {"RESILIENCE__CONCURRENCY__QUEUE_SIZE": 1, "RESILIENCE__CONCURRENCY__TIMEOUT_MS": WAIT_MS}),
    (limiter, {"RESILIENCE__REQUEST_QUEUE__CONCURRENT_REQUESTS": 1, "RESILIENCE__REQUEST_QUEUE__MAX_QUEUE_DEPTH": 1,
               "RESILIENCE__REQUEST_QUEUE__MAX_WAIT_MS": WAIT_MS}),
    (too_long, {"RESILIENCE__REQUEST_QUEUE__EXECUTION_MAX_WAIT_MS": 400}),
]


def main():
    tally = Tally()
    for act, settings in ACTS:
        with tempfile.TemporaryDirectory(prefix="switchtower-limits-") as folder:
            tower = Tower(folder, **settings).start().wait_ready()
            try:
                for side in sides(tower):
                    act(tally, tower, side)
            finally:
                tally.check(tower.stop() == 0, f"{act.__name__}: it stops with exit code 0")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
