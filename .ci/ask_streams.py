"""What the official clients see of streams that go wrong: the next target's answer, or an error
that they raise as one. Never a short answer that looks complete.

Before the first word another target can still answer; after it the client is told, in the words of
its dialect, and the connection is closed before the last chunk. Run by `clients`, as
`ask_clients.py` is.
"""

import sys
import tempfile

import anthropic
import openai

from tower import Tally, Tower

USER = [{"role": "user", "content": "Tell me all of it"}]
LIMIT = "500ms"
LIMITS = {
    "STREAM__FIRST_CONTENT_TIMEOUT": LIMIT,
    "STREAM__CONTENT_STALL_TIMEOUT": LIMIT,
    "UPSTREAM__FIRST_BYTE_TIMEOUT": LIMIT,
}
EARLY = {"STREAM__EARLY_COMMIT": "50ms", "STREAM__HEARTBEAT": "100ms"}
PADDED = {"STREAM__EARLY_COMMIT_JSON": "50ms", "STREAM__HEARTBEAT": "100ms", "UPSTREAM__FIRST_BYTE_TIMEOUT": "3s"}

# A way to ask, the account that fails, the account that does not.
SIDES = [
    ("chat", "demo-b-1", "demo-a-1"),
    ("responses", "responses-a-1", "responses-a-2"),
    ("messages", "claude-b-1", "claude-a-1"),
]
# What goes wrong before the first word, and what it is called where nobody else is left; a status
# of None: whatever the upstream's own error stands for.
BEFORE = {
    "hang": (504, "gateway_timeout"),
    "stall-after-0": (504, "STREAM_READINESS_TIMEOUT"),
    "cut-after-0": (502, "bad_gateway"),
    "error-in-200": (None, None),
    "empty": (502, "empty_response"),
}
# What goes wrong after three words, and its code in the stream.
AFTER = {"stall-after-3": "STREAM_CONTENT_STALL", "cut-after-3": "upstream_truncated"}


class Side:
    """One way to ask: a client, its accounts, and what it reads of a stream.

    `read` and `helped` (the client's own helper) yield text, and True once at a complete end.
    """

    def __init__(self, name, first, second, read, helped):
        self.name, self.first, self.second, self.read, self.helped = name, first, second, read, helped
        self.provider = first.rsplit("-", 1)[0]
        self.actors = {first, second, self.provider, second.rsplit("-", 1)[0]}

    def collect(self, model, said, helped=False):
        """Puts into `said` what comes; whether the answer is complete."""
        complete = False
        for part in (self.helped if helped else self.read)(model):
            if part is True:
                complete = True
            elif part:
                said.append(part)
        return complete


def sides(tower):
    url = "http://{}:{}".format(*tower.address)
    # retries of the clients would hide what switchtower answered
    talks = openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0, timeout=30)
    claude = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0, timeout=30)

    def chat(model):
        for chunk in talks.chat.completions.create(model=model, messages=USER, stream=True):
            for choice in chunk.choices:
                yield choice.delta.content
                if choice.finish_reason:
                    yield True

    def chat_helped(model):
        with talks.chat.completions.stream(model=model, messages=USER) as stream:
            for event in stream:
                if event.type == "content.delta":
                    yield event.delta
            yield stream.get_final_completion().choices[0].finish_reason is not None

    def responses_events(events):
        for event in events:
            if event.type == "response.output_text.delta":
                yield event.delta
            elif event.type == "response.completed":
                yield True

    def responses(model):
        return responses_events(talks.responses.create(model=model, input="Tell me all of it", stream=True))

    def responses_helped(model):
        with talks.responses.stream(model=model, input="Tell me all of it") as stream:
            yield from responses_events(stream)
            stream.get_final_response()

    def messages(model):
        for event in claude.messages.create(model=model, max_tokens=64, messages=USER, stream=True):
            if event.type == "content_block_delta":
                yield event.delta.text
            elif event.type == "message_stop":
                yield True

    def messages_helped(model):
        with claude.messages.stream(model=model, max_tokens=64, messages=USER) as stream:
            yield from stream.text_stream
            yield stream.get_final_message().stop_reason is not None

    return [
        Side(*accounts, *reads)
        for accounts, reads in zip(SIDES, [(chat, chat_helped), (responses, responses_helped), (messages, messages_helped)])
    ]


def furnish(tower):
    """Each failure before a healthy target, each on an account of its own."""
    text = ['[[connections]]\nid = "responses-a-2"\nprovider = "responses-a"\ncredential = "demo-responses-a-2"\n']
    for name, first, second in SIDES:
        for behaviour in [*BEFORE, *AFTER]:
            targets = [(first, behaviour), (second, "steady")]
            targets = ", ".join(f'{{ model = "{at.rsplit("-", 1)[0]}/{model}", connection = "{at}" }}' for at, model in targets)
            text.append(f'[[combos]]\nname = "{name}-{behaviour}"\nstrategy = "priority"\ntargets = [{targets}]\n')
    with open(tower.folder / "config.toml", "a") as config:
        config.write("\n" + "\n".join(text))
    return tower


def forgive(tower, side):
    """What one case left behind is not the next one's affair."""
    operator = tower.operator()
    for actor in operator.get("/api/actors")["actors"]:
        if actor["kind"] in ("provider", "connection") and actor["id"] in side.actors:
            operator.post(f"/api/actors/{actor['kind']}/{actor['id']}/messages", {"message": "reset"})


def raised(side, model, helped=False):
    """What was said, and the error that the client raised; None: it took the answer for complete or just over."""
    said = []
    try:
        complete = side.collect(model, said, helped)
    except Exception as error:  # which one it is is what is asked
        return said, error
    return said, None if complete else RuntimeError("it ended without an end and without an error")


def facts(error):
    """The error's own object, whichever client has it."""
    body = error.body if isinstance(getattr(error, "body", None), dict) else {}
    return body.get("error", body)


def fails_over(tally, side, behaviour):
    claim = f"{side.name}, {behaviour} before a healthy target"
    said, error = raised(side, f"{side.name}-{behaviour}")
    expected = f"demo answer from connection {side.second} with model steady"
    tally.check(error is None and "".join(said) == expected, f"{claim}: the other's whole answer", f"{said} {error!r}")


def status(tally, side, behaviour):
    """Alone, and nothing was said: an error with its status."""
    claim = f"{side.name}, {behaviour} alone"
    expected, code = BEFORE[behaviour]
    said, error = raised(side, f"{side.provider}/{behaviour}")
    is_status = isinstance(error, (openai.APIStatusError, anthropic.APIStatusError))
    if not tally.check(is_status and not said, f"{claim}: raises a status error", f"{said} {error!r}"):
        return
    tally.check(error.status_code == expected if expected else error.status_code >= 500, f"{claim}: status {expected}", repr(error))
    tally.check(bool(facts(error).get("message")), f"{claim}: says why", repr(error.body))
    if code:
        tally.check(facts(error).get("code") == code, f"{claim}: code {code}", repr(error.body))


def told(tally, side, claim, model, code, words, helped=False):
    """The head was 200: the error stands in the stream, and is raised as the API's, not the network's."""
    said, error = raised(side, model, helped)
    tally.check(len(said) == words, f"{claim}: {words} words before it", repr(said))
    is_ours = type(error) is openai.APIError or isinstance(error, anthropic.APIStatusError)
    if tally.check(is_ours, f"{claim}: raises an error of the API", repr(error)):
        tally.check(facts(error).get("code") == code, f"{claim}: code {code}", repr(error.body))
        tally.check(bool(facts(error).get("message")), f"{claim}: says why", repr(error.body))


def held(tally, tower, side):
    for behaviour in BEFORE:
        forgive(tower, side)
        fails_over(tally, side, behaviour)
        forgive(tower, side)
        status(tally, side, behaviour)
    for behaviour, code in AFTER.items():
        for model, where in [(f"{side.name}-{behaviour}", "before a healthy target"), (f"{side.provider}/{behaviour}", "alone")]:
            for helped in (False, True):
                forgive(tower, side)
                claim = f"{side.name}{', by its helper' if helped else ''}, {behaviour} {where}"
                told(tally, side, claim, model, code, 3, helped)


def early(tally, tower, side):
    """The head and comments are out before anything is known: only the stream can tell."""
    for behaviour in ("hang", "stall-after-0"):
        forgive(tower, side)
        fails_over(tally, side, behaviour)
        forgive(tower, side)
        told(tally, side, f"{side.name}, {behaviour} alone, early", f"{side.provider}/{behaviour}", BEFORE[behaviour][1], 0)


def whole(tower, side, model):
    """An answer that is not streamed, by a client that gives up on 800 ms of silence, as a middlebox does."""
    url = "http://{}:{}".format(*tower.address)
    patient = openai.Timeout(30, read=0.8)
    talks = openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0, timeout=patient)
    patient = anthropic.Timeout(30, read=0.8)
    claude = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0, timeout=patient)
    if side.name == "chat":
        return talks.chat.completions.create(model=model, messages=USER).choices[0].message.content
    if side.name == "responses":
        return talks.responses.create(model=model, input=USER[0]["content"]).output_text
    return claude.messages.create(model=model, max_tokens=64, messages=USER).content[0].text


def asked_whole(tower, side, model):
    try:
        return whole(tower, side, model), None
    except Exception as error:  # which one it is is what is asked
        return None, error


def silent(tally, tower, side):
    """What `padded` is worth: without blank lines such a client gives up."""
    said, error = asked_whole(tower, side, f"{side.provider}/slow-2000ms")
    gave_up = isinstance(error, (openai.APITimeoutError, anthropic.APITimeoutError))
    tally.check(gave_up, f"{side.name}, a slow answer in silence: the client gives up", f"{said} {error!r}")


def padded(tally, tower, side):
    """The head and blank lines are out before anything is known."""
    said, error = asked_whole(tower, side, f"{side.provider}/slow-2000ms")
    tally.check(error is None and "slow-2000ms" in said, f"{side.name}, a slow answer behind blank lines: read", f"{said} {error!r}")
    forgive(tower, side)
    said, error = asked_whole(tower, side, f"{side.provider}/hang")
    broken = (openai.APIConnectionError, anthropic.APIConnectionError)
    tally.check(isinstance(error, broken), f"{side.name}, hang behind blank lines: raised, not taken for an answer", f"{said} {error!r}")


def main():
    tally = Tally()
    acts = [(held, LIMITS), (early, {**LIMITS, **EARLY}), (padded, PADDED)]
    acts.append((silent, {"UPSTREAM__FIRST_BYTE_TIMEOUT": "3s"}))
    for act, settings in acts:
        with tempfile.TemporaryDirectory(prefix="switchtower-streams-") as folder:
            tower = furnish(Tower(folder, **settings)).start().wait_ready()
            try:
                for side in sides(tower):
                    act(tally, tower, side)
            finally:
                tally.check(tower.stop() == 0, f"{act.__name__}: it stops with exit code 0")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
