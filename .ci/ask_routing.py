"""What the official clients see of routing: names, keys, waits, panels, sessions and leases.

Everything is made over the management API of a running process, and asked for as the clients'
documentation shows it: an error must be the class that a program catches. Run by `clients`, as
`ask_clients.py` is.
"""

import sys
import tempfile
import time

import anthropic
import openai

from tower import Tally, Tower

USER = [{"role": "user", "content": "Who answers?"}]
# a combo would sit such waits out; here the client is told of them
SETTINGS = {"RESILIENCE__COMBO_COOLDOWN_WAIT__ENABLED": "false"}
OWNER = "vlo_" + "A" * 43
OTHER = "vlo_" + "B" * 43


def said_by(connection):
    return f"demo answer from connection {connection} with model steady"


class Under:
    """A tally whose claims name the rule or the field case that they are of."""

    def __init__(self, tally, rule):
        self.tally, self.rule = tally, rule

    def check(self, holds, claim, evidence=""):
        return self.tally.check(holds, f"{self.rule}: {claim}", evidence)


class Way:
    """One client: its error classes, and how it asks for a text, whole or streamed."""

    def __init__(self, name, package, client, ask, stream):
        self.name, self.package, self.client, self.ask, self.stream = name, package, client, ask, stream


def ways(tower, key, retries=0):
    url = "http://{}:{}".format(*tower.address)
    # its own retries would hide what switchtower answered
    talks = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=retries, timeout=30)
    claude = anthropic.Anthropic(base_url=url, api_key=key, max_retries=retries, timeout=30)

    def chat(model, **headers):
        answer = talks.chat.completions.create(model=model, messages=USER, extra_headers=headers)
        assert len(answer.choices) == 1 and answer.choices[0].finish_reason == "stop", answer
        return answer.choices[0].message.content

    def chat_stream(model):
        with talks.chat.completions.stream(model=model, messages=USER) as stream:
            said = "".join(event.delta for event in stream if event.type == "content.delta")
            assert stream.get_final_completion().choices[0].finish_reason == "stop"
            return said

    def message(model, **headers):
        answer = claude.messages.create(model=model, max_tokens=64, messages=USER, extra_headers=headers)
        assert len(answer.content) == 1 and answer.stop_reason, answer
        return answer.content[0].text

    def message_stream(model):
        with claude.messages.stream(model=model, max_tokens=64, messages=USER) as stream:
            said = "".join(stream.text_stream)
            assert stream.get_final_message().stop_reason
            return said

    return {
        "demo": Way("openai", openai, talks, chat, chat_stream),
        "claude": Way("anthropic", anthropic, claude, message, message_stream),
    }


def raises(tally, claim, kind, status, code, ask):
    """The client raises this class, and its error tells status and code; its response, if it did."""
    try:
        answer = ask()
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        body = error.body if isinstance(error.body, dict) else {}
        found = body.get("error", body)
        tally.check(isinstance(error, kind), f"{claim}: {kind.__name__}", repr(error))
        tally.check((error.status_code, found.get("code")) == (status, code), f"{claim}: {status} {code}", repr(error.body))
        return error.response
    tally.check(False, f"{claim}: is an error", repr(answer))
    return None


def wait_of(tally, claim, response):
    """Retry-After, s."""
    stated = int(response.headers.get("retry-after", 0)) if response is not None else 0
    tally.check(stated >= 1, f"{claim}: Retry-After", stated)
    return stated


def key_of(operator, **fields):
    return operator.send("POST", "/api/keys", fields)["key"]


def furnish(tower):
    """What is asked for below, by API alone; the key of an unrestricted client."""
    operator = tower.operator()
    for side in ("demo", "claude"):
        operator.send("POST", "/api/combos", {"name": f"{side}-mine", "targets": [f"{side}-b/steady"]})
        two = [f"{side}-a/steady", f"{side}-b/steady"]
        operator.send("POST", "/api/combos", {"name": f"{side}-turns", "strategy": "round-robin", "targets": two})
        operator.send("POST", "/api/combos", {"name": f"{side}-council", "strategy": "fusion", "targets": two})
        mapping = {"pattern": f"{side}-wild-*", "comboId": f"{side}-mine"}
        operator.send("POST", "/api/model-combo-mappings", mapping)
    nicks = {f"{side}-nick": {"provider": f"{side}-b", "model": "steady"} for side in ("demo", "claude")}
    operator.send("POST", "/api/models/alias", {"aliases": nicks})
    return key_of(operator, name="plain")


def names(tally, tower, key):
    """Each name leads where it was said to, whole and streamed."""
    for side, way in ways(tower, key).items():
        expected = said_by(f"{side}-b-1")
        for model in (f"{side}-mine", f"combo/{side}-mine", f"{side}-nick", f"{side}-wild-7"):
            said = [way.ask(model), way.stream(model)]
            tally.check(said == [expected, expected], f"{way.name}, {model}: the text", repr(said))
        said = [way.ask("auto"), way.stream("auto"), way.ask("auto/fast")]
        tally.check(all(text.startswith("demo answer from connection ") for text in said), f"{way.name}, auto: a text", repr(said))
        raises(tally, f"{way.name}, nobody's model", way.package.NotFoundError, 404, "model_not_found",
               lambda: way.ask(f"{side}-b-of-nobody"))


def keys(tally, tower, _):
    """A key reaches what it names, as often as it may."""
    operator = tower.operator()
    for side in ("demo", "claude"):
        narrow = key_of(operator, name=f"{side}-narrow", allowedModels=[f"{side}-b/*"], allowedCombos=[f"{side}-mine"])
        way = ways(tower, narrow)[side]
        denied = way.package.PermissionDeniedError
        said = [way.ask(f"{side}-b/steady"), way.ask(f"{side}-mine")]
        tally.check(said == [said_by(f"{side}-b-1")] * 2, f"{way.name}, narrow key: what it names", repr(said))
        raises(tally, f"{way.name}, another model", denied, 403, "model_not_allowed", lambda: way.ask(f"{side}-a/steady"))
        raises(tally, f"{way.name}, streamed", denied, 403, "model_not_allowed", lambda: way.stream(f"{side}-a/steady"))
        raises(tally, f"{way.name}, another combo", denied, 403, "combo_not_allowed", lambda: way.ask(f"{side}-turns"))
        raises(tally, f"{way.name}, a combo that it does not see", way.package.NotFoundError, 404, "model_not_found",
               lambda: way.client.models.retrieve(f"{side}-turns"))
        brief = key_of(operator, name=f"{side}-brief", rateLimits=[{"limit": 2, "window": "1h"}])
        way = ways(tower, brief)[side]
        said = [way.ask(f"{side}-mine") for _ in range(2)]
        tally.check(said == [said_by(f"{side}-b-1")] * 2, f"{way.name}, within its rate", repr(said))
        claim = f"{way.name}, over its rate"
        limited = raises(tally, claim, way.package.RateLimitError, 429, "key_rate_limited", lambda: way.ask(f"{side}-mine"))
        stated = wait_of(tally, claim, limited)
        tally.check(3500 < stated <= 3600, f"{claim}: the hour that began with its first request", stated)


def waits(tally, tower, key):
    """A client that waits as it is told is served."""
    operator = tower.operator()
    holds = [("provider", "trip", "InternalServerError", 503, "all_targets_cooling_down"),
             ("connection", "cool", "RateLimitError", 429, "ALL_TARGETS_SKIPPED")]
    for side, way in ways(tower, key).items():
        for kind, order, error, status, code in holds:
            who = f"{side}-b" if kind == "provider" else f"{side}-b-1"
            actor, claim = f"/api/actors/{kind}/{who}/messages", f"{way.name}, {order}"
            operator.post(actor, {"message": order, "for": "1s"})
            for ask in (way.ask, way.stream):
                refused = raises(tally, claim, getattr(way.package, error), status, code, lambda: ask(f"{side}-mine"))
                tally.check(wait_of(tally, claim, refused) == 1, f"{claim}: one second")
            tower.clear_upstream_log()
            began = time.monotonic()
            said = ways(tower, key, retries=1)[side].ask(f"{side}-mine")
            tally.check(said == said_by(f"{side}-b-1"), f"{claim}: the client's own retry is served", repr(said))
            tally.check(time.monotonic() - began >= 0.5, f"{claim}: after the wait", time.monotonic() - began)
            tally.check(len(tower.upstream_log()) == 1, f"{claim}: nothing was sent before", repr(tower.upstream_log()))
            operator.post(actor, {"message": "reset"})


def council(tally, tower, key):
    """A panel and a judge are one answer."""
    for side, way in ways(tower, key).items():
        for name, ask in (("whole", way.ask), ("streamed", way.stream)):
            tower.clear_upstream_log()
            said, claim = ask(f"{side}-council"), f"{way.name}, fusion, {name}"
            tally.check(said.count("demo answer from connection ") == 1, f"{claim}: one answer", repr(said))
            asked = len(tower.upstream_log())
            tally.check(asked == 3, f"{claim}: two of the panel and a judge were asked", asked)


def sessions(tally, tower, key):
    """A session stays where it began; without one each request has its turn."""
    for side, way in ways(tower, key).items():
        def ask(**headers):
            return [way.ask(f"{side}-turns", **headers) for _ in range(6)]
        free = ask()
        tally.check(len(set(free)) > 1, f"{way.name}, without a session: in turn", repr(free))
        for session in ("one", "two"):
            stays = ask(**{"X-Session-Id": f"{side}-{session}"})
            tally.check(len(set(stays)) == 1, f"{way.name}, session {session}: one account", repr(stays))


def leases(tally, tower, plain):
    """Under its lease a client has its account, and nobody else has."""
    operator = tower.operator()
    for side in ("demo", "claude"):
        account, model = f"{side}-b-1", f"{side}-b/steady"
        key = key_of(operator, name=f"{side}-lessee", scopes=["inference", "lease:exclusive"], allowedConnections=[account])
        way, conflict = ways(tower, key)[side], ways(tower, key)[side].package.ConflictError
        named = {"X-OmniRoute-Lease-Owner": OWNER}

        def fenced(generation):
            return {**named, "X-OmniRoute-Lease-Generation": str(generation)}

        def lease(owner, **body):
            headers = {"authorization": f"Bearer {key}", "content-type": "application/json", "X-OmniRoute-Lease-Owner": owner}
            return operator.send("POST", "/v1/session-leases", body, headers)

        raises(tally, f"{way.name}, before its lease", conflict, 409, "LEASE_REQUIRED", lambda: way.ask(model, **fenced(1)))
        held = lease(OWNER, action="acquire", model=model)["generation"]
        said = way.ask(model, **fenced(held))
        tally.check(said == said_by(account), f"{way.name}, under its lease: its account", repr(said))
        raises(tally, f"{way.name}, another generation", conflict, 409, "LEASE_FENCE_STALE", lambda: way.ask(model, **fenced(held + 1)))
        raises(tally, f"{way.name}, an owner without a lease", conflict, 409, "LEASE_REQUIRED",
               lambda: way.ask(model, **{**fenced(held), "X-OmniRoute-Lease-Owner": OTHER}))
        other = ways(tower, plain)[side]
        raises(tally, f"{way.name}, a client without a lease", other.package.InternalServerError, 503, "no_usable_connection",
               lambda: other.ask(model))
        lease(OWNER, action="release", generation=held)
        raises(tally, f"{way.name}, after its lease", conflict, 409, "LEASE_REQUIRED", lambda: way.ask(model, **fenced(held)))


# In this order: once keys lease accounts these are for leases alone.
ACTS = [
    (names, "routing 2.1, 5.1, 12.3, FC-123"),
    (keys, "routing 10.5, 13.3"),
    (waits, "routing 9.2 A and G, 9.3, FC-068"),
    (council, "routing 6.1"),
    (sessions, "rules 6, FC-100"),
    (leases, "rules 7.3, 7.6, FC-046, FC-102"),
]


def main():
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="switchtower-routing-") as folder:
        tower = Tower(folder, **SETTINGS).start().wait_ready()
        try:
            key = furnish(tower)
            for act, rule in ACTS:
                act(Under(tally, rule), tower, key)
        finally:
            tally.check(tower.stop() == 0, "it stops with exit code 0")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
