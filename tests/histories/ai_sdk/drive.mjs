// The first events of a run, played by the real package until the user presses stop: a line of JSON in, one out.

import { createInterface } from "node:readline";
import * as ai from "ai";
import { MockLanguageModelV4 } from "ai/test";

const ROUNDS = 60; // rounds of the event loop in which what has happened is noticed
const ANY = { "*/*": [/.*/] };
const rounds = async () => {
  for (let round = 0; round < ROUNDS; round += 1) await new Promise((done) => setImmediate(done));
};
globalThis.AI_SDK_LOG_WARNINGS = false;

/** A model and its tools; what comes after the first `at` events never comes. */
class Script {
  constructor(events, at) {
    Object.assign(this, { events, at, asked: 0 });
    this.reached = new Promise((done) => (this.reach = done));
    const call = () => ({ stream: ReadableStream.from(this.response()) });
    this.model = new MockLanguageModelV4({ supportedUrls: ANY, doStream: call });
    const execute = (_input, { toolCallId }) => this.returned(toolCallId);
    const names = events.flatMap(({ part }) => (part?.part_kind === "tool-call" ? [part.tool_name] : []));
    const one = () => ai.tool({ description: "a tool", inputSchema: ai.jsonSchema({ type: "object" }), execute });
    this.tools = Object.fromEntries(names.map((name) => [name, one()]));
  }

  async wait(index) {
    if (index < this.at) return;
    this.reach();
    await new Promise(() => {});
  }

  async *response() {
    const begins = this.events.flatMap((event, index) => (event.event_kind === "model_request" ? [index] : []));
    const kinds = new Map();
    let provider = "test";
    yield { type: "stream-start", warnings: [] };
    for (let index = begins[this.asked++]; index < this.events.length; index += 1) {
      await this.wait(index);
      const event = this.events[index];
      provider = event.provider_name ?? provider;
      if (event.event_kind === "error") {
        yield { type: "error", error: new Error("the script says so") };
        return;
      }
      if (event.event_kind === "model_response_end") {
        const reason = [...kinds.values()].some((part) => part.part_kind === "tool-call") ? "tool-calls" : "stop";
        const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
        yield { type: "finish", finishReason: { unified: reason, raw: reason }, usage };
        return;
      }
      if (event.event_kind.startsWith("part_")) yield* told(event, kinds, provider);
    }
  }

  async returned(id) {
    const index = this.events.findIndex((e) => e.event_kind === "function_tool_result" && e.part.tool_call_id === id);
    await this.wait(index === -1 ? this.events.length : index);
    if (index === -1) return;
    const { part } = this.events[index];
    if (part.outcome === "failed" || part.part_kind === "retry-prompt") throw part.content; // as an error its text would have a prefix
    return part.content;
  }
}

/** What a provider's stream says for an event. */
function* told(event, kinds, provider) {
  if (event.event_kind === "part_start") kinds.set(event.index, { ...event.part, said: "" });
  const part = kinds.get(event.index);
  const id = String(event.index);
  const said = { part_start: event.part, part_delta: event.delta }[event.event_kind] ?? {};
  const name = { text: "text", thinking: "reasoning" }[part.part_kind];
  const signature = said.signature ?? said.signature_delta;
  const signed = signature ? { providerMetadata: { [provider]: { signature } } } : {};
  if (name) {
    if (event.event_kind === "part_start") yield { type: `${name}-start`, id };
    const delta = said.content ?? said.content_delta ?? "";
    if (delta || signature) yield { type: `${name}-delta`, id, delta, ...signed };
    if (event.event_kind === "part_end") yield { type: `${name}-end`, id };
  } else if (part.part_kind === "tool-call") {
    const call = { toolCallId: part.tool_call_id, toolName: part.tool_name };
    if (event.event_kind === "part_start") yield { type: "tool-input-start", id: call.toolCallId, toolName: call.toolName };
    let delta = said.args ?? said.args_delta ?? "";
    if (typeof delta !== "string") delta = JSON.stringify(delta);
    part.said += delta;
    if (delta) yield { type: "tool-input-delta", id: call.toolCallId, delta };
    if (event.event_kind === "part_end") {
      yield { type: "tool-input-end", id: call.toolCallId };
      yield { type: "tool-call", ...call, input: part.said || "{}" };
    }
  }
}

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => void (this.messages = [...this.messages, message]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) => void (this.messages = this.messages.with(index, message));
  snapshot = (value) => structuredClone(value);
}

class Chat extends ai.AbstractChat {}

const asJson = (value) => JSON.parse(JSON.stringify(value ?? null));

async function played({ events, at, said }) {
  const script = new Script(events, at);
  const server = {};
  const route = async (_url, init) => {
    const messages = JSON.parse(init.body).messages;
    const result = ai.streamText({
      model: script.model,
      messages: await ai.convertToModelMessages(messages),
      tools: script.tools,
      stopWhen: ai.stepCountIs(100),
      maxRetries: 0,
      abortSignal: init.signal,
      onError() {},
    });
    const stream = ai.toUIMessageStream({
      stream: result.stream,
      originalMessages: messages,
      generateMessageId: () => "answer",
      onEnd: ({ messages: kept, isAborted }) => Object.assign(server, { kept: asJson(kept), isAborted }),
    });
    return ai.createUIMessageStreamResponse({ stream, consumeSseStream: ai.consumeStream });
  };
  const state = new State();
  const transport = new ai.DefaultChatTransport({ api: "http://localhost", fetch: route });
  const chat = new Chat({ state, generateId: () => "asked", transport });
  const sent = chat.sendMessage({ text: said });
  await Promise.race([script.reached, sent]);
  await rounds();
  await chat.stop();
  await sent;
  await rounds();
  const messages = asJson(state.messages);
  return { client: messages, server, status: state.status, ...(await next(messages)) };
}

/** What the next question makes of kept messages: model messages, and what the model is sent. */
async function next(messages) {
  const told = {};
  const asked = [...messages, { id: "next", role: "user", parts: [{ type: "text", text: "Go on." }] }];
  try {
    await ai.validateUIMessages({ messages: asked });
    told.model = asJson(await ai.convertToModelMessages(asked));
    told.complete = asJson(await ai.convertToModelMessages(asked, { ignoreIncompleteToolCalls: true }));
    const model = new MockLanguageModelV4({
      supportedUrls: ANY,
      doGenerate: async ({ prompt }) => {
        told.sent = asJson(prompt);
        const usage = { inputTokens: {}, outputTokens: {} };
        return { content: [{ type: "text", text: "ok" }], finishReason: { unified: "stop" }, usage, warnings: [] };
      },
    });
    await ai.generateText({ model, messages: told.model, maxRetries: 0 });
  } catch (error) {
    told.error = error.name;
  }
  return told;
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let answer;
  if (asked.texts) {
    const values = await Promise.all(asked.texts.map((text) => ai.parsePartialJson(text)));
    answer = values.map(({ value }) => (value === undefined ? [] : [value]));
  } else {
    answer = asked.messages ? await next(asked.messages) : await played(asked);
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
