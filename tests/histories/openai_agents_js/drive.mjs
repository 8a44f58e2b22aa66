// The first events of a run, played by the real package with OpenAI's client, until it is stopped: a line in, a line out.
//
// {"events": …, "at": …, "stop": "signal" | "loop" | "error", "model": "chat" | "responses"}

import { createInterface } from "node:readline";
import {
  Agent,
  MemorySession,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";

setTracingDisabled(true);
const ROUNDS = 60; // rounds of the event loop in which what has happened is noticed
const rounds = async () => {
  for (let round = 0; round < ROUNDS; round += 1) await new Promise((done) => setImmediate(done));
};
const MODELS = { chat: OpenAIChatCompletionsModel, responses: OpenAIResponsesModel };
const modelOf = (name, fetch) =>
  new MODELS[name](new OpenAI({ apiKey: "none", baseURL: "http://localhost/v1", maxRetries: 0, fetch }), "m");
const streamOf = (pieces) => {
  const body = ReadableStream.from(pieces).pipeThrough(new TextEncoderStream());
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
};

/** A model and its tools; what comes after the first `at` events happens once the run was stopped. */
class Script {
  constructor({ events, at, stop, model }) {
    Object.assign(this, { events, at, asked: 0, fails: stop === "error", model, problem: null });
    this.reached = new Promise((done) => (this.reach = done));
    this.stopped = new Promise((done) => (this.goOn = done));
    const names = events.flatMap(({ part }) => (part?.part_kind === "tool-call" ? [part.tool_name] : []));
    this.tools = [...new Set(names)].map((name) =>
      tool({
        name,
        description: "a tool",
        parameters: { type: "object", properties: {}, required: [], additionalProperties: true },
        strict: false,
        execute: (_input, _context, { toolCall }) => this.returned(toolCall.callId),
        errorFunction: null,
      }),
    );
  }

  async wait(index, { model }) {
    if (index < this.at) return;
    this.reach();
    await this.stopped;
    if (model && this.fails) throw new Error("the model's server has died");
  }

  /** The events of the next response of the model. */
  async *response() {
    const begins = this.events.flatMap((event, index) => (event.event_kind === "model_request" ? [index] : []));
    if (this.asked === begins.length) this.problem = "the program asks the model once more";
    for (let index = begins[this.asked++]; index < this.events.length; index += 1) {
      await this.wait(index, { model: true });
      yield this.events[index];
      if (this.events[index].event_kind === "model_response_end") return;
    }
  }

  async returned(id) {
    const index = this.events.findIndex((e) => e.event_kind === "function_tool_result" && e.part.tool_call_id === id);
    await this.wait(index === -1 ? this.events.length : index, { model: false });
    if (index === -1) await new Promise(() => {});
    return this.events[index].part.content;
  }

  /** What a server of OpenAI's API streams. */
  async *pieces() {
    for await (const said of WRITERS[this.model](this.response())) yield `data: ${JSON.stringify(said)}\n\n`;
    if (this.model === "chat") yield "data: [DONE]\n\n";
  }
}

const textOf = (said) => said?.content ?? said?.content_delta ?? "";
const argumentsOf = (said) => {
  const given = said?.args ?? said?.args_delta ?? "";
  return typeof given === "string" ? given : JSON.stringify(given);
};

async function* asChat(events) {
  const piece = (delta, finish_reason = null) => ({
    ...{ id: "x", object: "chat.completion.chunk", created: 1, model: "m" },
    choices: [{ index: 0, delta, finish_reason }],
  });
  const calls = new Map();
  const kinds = new Map();
  for await (const { event_kind: kind, index, part, delta } of events) {
    const said = part ?? delta;
    if (kind === "model_response_end") yield piece({}, calls.size ? "tool_calls" : "stop");
    if (kind === "part_start") kinds.set(index, part.part_kind);
    if (kind !== "part_start" && kind !== "part_delta") continue;
    if (kinds.get(index) === "text") {
      if (textOf(said)) yield piece({ role: "assistant", content: textOf(said) });
      continue;
    }
    if (kind === "part_start") calls.set(index, calls.size);
    const named = kind === "part_start" ? { id: part.tool_call_id, type: "function" } : {};
    const name = kind === "part_start" ? { name: part.tool_name } : {};
    const call = { index: calls.get(index), ...named, function: { ...name, arguments: argumentsOf(said) } };
    yield piece({ tool_calls: [call] });
  }
}

async function* asResponses(events) {
  const items = new Map();
  const response = { id: "r", object: "response", created_at: 1, model: "m" };
  let sequence_number = 0;
  const event = (type, fields) => ({ type, sequence_number: sequence_number++, ...fields });
  yield event("response.created", { response: { ...response, status: "in_progress", output: [] } });
  for await (const { event_kind: kind, index: output_index, part, delta } of events) {
    if (kind === "model_response_end") {
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
      const output = [...items.entries()].sort(([a], [b]) => a - b).map(([, item]) => item);
      yield event("response.completed", { response: { ...response, status: "completed", output, usage } });
    }
    if (kind === "part_start" && part.part_kind === "text") {
      const content = [{ type: "output_text", text: "", annotations: [] }];
      items.set(output_index, { id: `m${output_index}`, type: "message", role: "assistant", status: "in_progress", content });
    } else if (kind === "part_start") {
      const call = { call_id: part.tool_call_id, name: part.tool_name, arguments: "" };
      items.set(output_index, { id: `f${output_index}`, type: "function_call", status: "in_progress", ...call });
    }
    if (!["part_start", "part_delta", "part_end"].includes(kind)) continue;
    const item = items.get(output_index);
    const place = { output_index, item_id: item.id };
    if (kind === "part_start") yield event("response.output_item.added", { output_index, item: structuredClone(item) });
    if (kind === "part_end") {
      item.status = "completed";
      if (item.type === "function_call") item.arguments ||= "{}";
      yield event("response.output_item.done", { output_index, item: structuredClone(item) });
      continue;
    }
    const said = part ?? delta;
    if (item.type === "message") {
      const text = textOf(said);
      item.content[0].text += text;
      if (text) yield event("response.output_text.delta", { ...place, content_index: 0, delta: text, logprobs: [] });
    } else {
      item.arguments += argumentsOf(said);
      if (argumentsOf(said)) yield event("response.function_call_arguments.delta", { ...place, delta: argumentsOf(said) });
    }
  }
}

const WRITERS = { chat: asChat, responses: asResponses };
const settled = (promise) => promise.then(() => null, (error) => error);

async function played(asked) {
  const script = new Script(asked);
  const session = new MemorySession();
  const controller = new AbortController();
  const model = modelOf(asked.model, async () => streamOf(script.pieces()));
  const agent = new Agent({ name: "a", model, tools: script.tools });
  const result = await run(agent, "q", { stream: true, session, signal: controller.signal });
  let left = () => {};
  const leaving = new Promise((done) => (left = done));
  const reading = (async () => {
    const iterator = result[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([iterator.next(), leaving]);
      if (next === undefined) return void (await iterator.return?.());
      if (next.done) return;
    }
  })();
  const read = settled(reading);
  await Promise.race([script.reached, read]);
  await rounds();
  if (asked.stop === "signal") controller.abort();
  if (asked.stop === "loop") left();
  await rounds();
  const atOnce = structuredClone(result.history);
  const ended = !result.cancelled && result.state._currentStep?.type === "next_step_final_output";
  script.goOn();
  await read;
  await Promise.race([settled(result.completed), rounds()]);
  await rounds();
  const kept = { session: await session.getItems(), "at once": atOnce, list: result.history };
  const asks = {};
  for (const name of Object.keys(MODELS)) {
    asks[`session ${name}`] = await next(name, "Go on.", session);
    asks[`list ${name}`] = await next(name, [...kept.list, { role: "user", content: "Go on." }]);
  }
  return { kept, asks, ended, problem: script.problem, error: result.error && String(result.error) };
}

/** What the next run sends the model's API. */
async function next(name, input, session) {
  const stored = session && new MemorySession({ initialItems: await session.getItems() });
  let sent = null;
  const fetch = async (_url, { body }) => {
    sent = JSON.parse(body);
    async function* ok() {
      yield { event_kind: "part_start", index: 0, part: { part_kind: "text", content: "ok" } };
      yield { event_kind: "part_end", index: 0 };
      yield { event_kind: "model_response_end" };
    }
    return streamOf(
      (async function* () {
        for await (const said of WRITERS[name](ok())) yield `data: ${JSON.stringify(said)}\n\n`;
      })(),
    );
  };
  try {
    const options = { stream: true, ...(stored && { session: stored }) };
    const result = await run(new Agent({ name: "a", model: modelOf(name, fetch) }), input, options);
    for await (const _ of result);
    await result.completed;
  } catch (error) {
    return { error: String(error) };
  }
  return sent.messages ?? sent.input;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await played(JSON.parse(line)))}\n`);
}
process.exit(0);
