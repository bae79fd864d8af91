// Asks switchtower through packages of Node.js, each call as their documentation shows it. Every text
// is known beforehand: the scripted upstream says which connection and which model it answered with.

import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import OpenAI from "openai";

const ADDRESS = process.argv[2];
const USER = [{ role: "user", content: "Say hello" }];
const apiKey = "unused";
globalThis.AI_SDK_LOG_WARNINGS = false;
let passed = 0;
let failed = 0;

function check(holds, claim, evidence) {
  if (holds) passed += 1;
  else {
    failed += 1;
    console.log(`FAILED: ${claim} ${JSON.stringify(evidence) ?? evidence}`);
  }
}

const textOf = (connection, model) => `demo answer from connection ${connection} with model ${model}`;

/** What a call ends with: its value, or what it has thrown. */
async function end(call) {
  try {
    return { value: await call() };
  } catch (error) {
    return { error, status: error.statusCode ?? error.status };
  }
}

async function says(claim, call, text) {
  const { value, error } = await end(call);
  check(value === text, claim, value ?? String(error));
}

/** It is raised, with this status if there is one, and never a short answer. */
async function raises(claim, call, status) {
  const { value, error, ...ended } = await end(call);
  check(error !== undefined && (status === undefined || ended.status === status), claim, value ?? String(error));
}

async function streamed(model) {
  let text = "";
  let failure;
  const result = streamText({ model, messages: USER, maxRetries: 0, onError: ({ error }) => (failure = error) });
  for await (const part of result.textStream) text += part;
  if (failure) throw failure;
  check((await result.usage).outputTokens > 0, "AI SDK: usage of a stream", await result.usage);
  return text;
}

async function aiSdk() {
  const baseURL = `${ADDRESS}/v1`;
  const compatible = createOpenAICompatible({ name: "switchtower", baseURL, apiKey, includeUsage: true });
  const rows = [
    ["chat", compatible, ["demo-b", "demo-b-1"]],
    ["responses", createOpenAI({ baseURL, apiKey }), ["responses-a", "responses-a-1"]],
    ["messages", createAnthropic({ baseURL, apiKey }), ["claude-b", "claude-b-1"]],
  ];
  const whole = async (model) => (await generateText({ model, messages: USER, maxRetries: 0 })).text;
  for (const [name, provider, [id, connection]] of rows) {
    const model = (behaviour) => provider(`${id}/${behaviour}`);
    await says(`AI SDK, ${name}`, () => whole(model("steady")), textOf(connection, "steady"));
    await says(`AI SDK, ${name}, streamed`, () => streamed(model("steady")), textOf(connection, "steady"));
    await raises(`AI SDK, ${name}: a bad request`, () => whole(model("status-400")), 400);
    await raises(`AI SDK, ${name}: an empty answer`, () => whole(model("empty")), 502);
    await raises(`AI SDK, ${name}: an empty stream`, () => streamed(model("empty")), 502);
    // the last one: it puts the only account to rest
    await raises(`AI SDK, ${name}: a stream that is cut`, () => streamed(model("cut-after-3")));
  }
  await says("AI SDK: failover", () => streamed(compatible("demo-down")), textOf("demo-b-1", "steady"));
}

async function openai() {
  const client = new OpenAI({ baseURL: `${ADDRESS}/v1`, apiKey, maxRetries: 0 });
  const chat = async (model) => (await client.chat.completions.create({ model, messages: USER })).choices[0].message.content;
  await says("openai: failover", () => chat("demo-down"), textOf("demo-b-1", "steady"));
  const stream = (model) => client.chat.completions.stream({ model, messages: USER }).finalContent();
  await says("openai: a stream", () => stream("demo-b/steady"), textOf("demo-b-1", "steady"));
  const response = async () => (await client.responses.stream({ model: "responses-a/steady", input: "hello" }).finalResponse()).output_text;
  await says("openai: a response", response, textOf("responses-a-1", "steady"));
  await raises("openai: an unknown model", () => chat("nobody/nothing"), 404);
  await raises("openai: an error inside a 200", () => chat("demo-a/error-in-200"), 500);
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  check(names.includes("demo") && names.includes("demo-down"), "openai: models", names);
}

async function anthropic() {
  const client = new Anthropic({ baseURL: ADDRESS, apiKey, maxRetries: 0 });
  const ask = (model) => ({ model, max_tokens: 100, messages: USER });
  const whole = async () => (await client.messages.create(ask("claude-b/steady"))).content[0].text;
  await says("anthropic: a message", whole, textOf("claude-b-1", "steady"));
  const stream = (model) => client.messages.stream(ask(model)).finalText();
  await says("anthropic: a stream", () => stream("claude-b/steady"), textOf("claude-b-1", "steady"));
  const count = async () => (await client.messages.countTokens({ model: "claude-b/steady", messages: USER })).input_tokens > 0;
  await says("anthropic: token counts", count, true);
  await raises("anthropic: an error inside a stream", () => stream("claude-a/error-in-200"), 500);
  await raises("anthropic: a stream that is cut", () => stream("claude-b/cut-after-3"));
}

/** What failed on purpose has put accounts to rest. */
async function nobodyRests() {
  const headers = { authorization: `Bearer ${process.env.TOKEN}`, "content-type": "application/json" };
  const url = `${ADDRESS}/api/resilience/cooldowns`;
  const answer = await fetch(url, { method: "POST", headers, body: '{"all":true}' });
  check(answer.status === 200, "cooldowns can be cleared", answer.status);
}

for (const ask of [openai, anthropic, aiSdk]) {
  await ask();
  await nobodyRests();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
