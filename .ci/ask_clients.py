"""Asks switchtower through the official clients, each call as their documentation shows it.

Run by `clients`, which provides the packages. Every text is known beforehand: the scripted upstream
says which connection and which model it answered with.
"""

import sys
import tempfile
import traceback

import anthropic
import openai

from tower import Tally, Tower

USER = [{"role": "user", "content": "Say hello"}]


def text_of(connection, model):
    return f"demo answer from connection {connection} with model {model}"


def chat(client, tally):
    answer = client.chat.completions.create(model="demo-b/steady", messages=USER)
    tally.check(answer.choices[0].message.content == text_of("demo-b-1", "steady"), "chat: the text", repr(answer))
    tally.check(answer.choices[0].finish_reason == "stop" and answer.usage.total_tokens > 0, "chat: finish and usage", repr(answer))
    for number in range(8):
        answer = client.chat.completions.create(model="demo", messages=USER)
        tally.check(answer.choices[0].message.content.startswith("demo answer from connection demo-"), f"chat: combo demo, {number}")
    answer = client.chat.completions.create(model="demo-down", messages=USER)
    tally.check(answer.choices[0].message.content == text_of("demo-b-1", "steady"), "chat: demo-down is served by the other", repr(answer))


def chat_stream(client, tally):
    stream = client.chat.completions.create(
        model="demo-fast", messages=USER, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    said = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    tally.check(said in (text_of("demo-a-1", "steady"), text_of("demo-a-2", "steady"), text_of("demo-b-1", "steady")), "chat stream: the text", repr(said))
    finishes = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    tally.check(finishes == ["stop"], "chat stream: one finish", repr(finishes))
    usage = [chunk.usage for chunk in chunks if chunk.usage]
    tally.check(len(usage) == 1 and usage[0].completion_tokens == len(said.split()), "chat stream: usage", repr(usage))


def responses(client, tally):
    answer = client.responses.create(model="demo-responses", input="Say hello")
    tally.check(answer.output_text == text_of("responses-a-1", "steady"), "responses: the text", repr(answer))
    tally.check(answer.status == "completed", "responses: completed", repr(answer.status))
    events = list(client.responses.create(model="demo-responses", input="Say hello", stream=True))
    said = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    tally.check(said == text_of("responses-a-1", "steady"), "responses stream: the text", repr(said))
    tally.check(events[0].type == "response.created" and events[-1].type == "response.completed",
                "responses stream: its ends", repr([event.type for event in events]))
    numbers = [event.sequence_number for event in events]
    tally.check(numbers == sorted(set(numbers)), "responses stream: rising numbers", repr(numbers))


def embeddings(client, tally):
    answer = client.embeddings.create(model="demo-b/steady", input=["one", "two"])
    tally.check([item.index for item in answer.data] == [0, 1], "embeddings: one for each input", repr(answer)[:300])
    tally.check(all(isinstance(value, float) for item in answer.data for value in item.embedding) and answer.data[0].embedding,
                "embeddings: numbers")


def models(client, tally, name):
    listed = [model.id for model in client.models.list()]
    combos = {"demo", "demo-down", "demo-fast", "demo-claude", "demo-responses"}
    tally.check(combos <= set(listed), f"{name} models.list: every combo", repr(listed))
    tally.check(client.models.retrieve("demo").id == "demo", f"{name} models.retrieve: one of them")


def openai_errors(client, tally):
    fails(tally, "openai: an unknown model", openai.NotFoundError, 404, "model_not_found",
          lambda: client.chat.completions.create(model="nobody-knows", messages=USER))
    fails(tally, "openai: another format", openai.BadRequestError, 400, "format_not_supported",
          lambda: client.chat.completions.create(model="claude-a/steady", messages=USER))
    fails(tally, "openai: an upstream's own error", openai.BadRequestError, 400, None,
          lambda: client.chat.completions.create(model="demo-b/status-400", messages=USER))


def fails(tally, claim, kind, status, code, ask):
    try:
        answer = ask()
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        tally.check(isinstance(error, kind) and error.status_code == status, f"{claim}: {kind.__name__}", repr(error))
        body = error.body if isinstance(error.body, dict) else {}
        found = body.get("error", body)
        if code is not None:
            tally.check(found.get("code") == code, f"{claim}: code {code}", repr(error.body))
        tally.check(bool(found.get("message")), f"{claim}: says why", repr(error.body))
    else:
        tally.check(False, f"{claim}: is an error", repr(answer))


def messages(client, tally):
    answer = client.messages.create(model="claude-b/steady", max_tokens=64, messages=USER)
    tally.check(answer.content[0].text == text_of("claude-b-1", "steady"), "messages: the text", repr(answer))
    tally.check(answer.stop_reason == "end_turn" and answer.usage.output_tokens > 0, "messages: stop and usage", repr(answer))
    for number in range(8):
        answer = client.messages.create(model="demo-claude", max_tokens=64, messages=USER)
        tally.check(answer.content[0].text.startswith("demo answer from connection claude-"), f"messages: combo demo-claude, {number}")
    with client.messages.stream(model="claude-b/steady", max_tokens=64, messages=USER) as stream:
        said = "".join(stream.text_stream)
        final = stream.get_final_message()
    tally.check(said == text_of("claude-b-1", "steady"), "messages stream: the text", repr(said))
    tally.check(final.stop_reason == "end_turn" and final.content[0].text == said, "messages stream: the final message", repr(final))
    counted = client.messages.count_tokens(model="claude-b/steady", messages=USER)
    tally.check(counted.input_tokens > 0, "count_tokens", repr(counted))


def anthropic_errors(client, tally):
    ask = lambda model: lambda: client.messages.create(model=model, max_tokens=64, messages=USER)
    fails(tally, "anthropic: an unknown model", anthropic.NotFoundError, 404, "model_not_found", ask("nobody-knows"))
    fails(tally, "anthropic: another format", anthropic.BadRequestError, 400, "format_not_supported", ask("demo-b/steady"))


def main():
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="switchtower-clients-") as folder:
        tower = Tower(folder).start().wait_ready()
        url = "http://{}:{}".format(*tower.address)
        # retries of the clients would hide what switchtower answered
        talks = openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0, timeout=30)
        claude = anthropic.Anthropic(base_url=url, api_key="any", max_retries=0, timeout=30)
        steps = [
            lambda: chat(talks, tally), lambda: chat_stream(talks, tally), lambda: responses(talks, tally),
            lambda: embeddings(talks, tally), lambda: models(talks, tally, "openai"), lambda: openai_errors(talks, tally),
            lambda: messages(claude, tally), lambda: models(claude, tally, "anthropic"), lambda: anthropic_errors(claude, tally),
        ]
        for step in steps:
            try:
                step()
            except Exception:  # the client refused an answer: that is a finding, the next step still runs
                tally.check(False, "the client accepts the answer", traceback.format_exc(limit=4))
        tally.check(tower.stop() == 0, "it stops with exit code 0")
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
