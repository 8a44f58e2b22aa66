// `peer:ai-sdk-server`: `streamText` of the `ai` package behind the control contract, its model replaced by the script.
//
// The body is what the package pipes to Node's response. The thread is made of what the package tells the server when a
// step has ended; of a step that is interrupted it tells nothing.

import { createRequire } from "node:module";
import * as ai from "ai";
import * as testing from "ai/test";
import { CannotPlay, Refusal, json, needed, portOf, serve } from "./control.mjs";
import { render } from "./document.mjs";
import { Playback } from "./playback.mjs";
import { readStory } from "./story.mjs";

const VERSION = createRequire(import.meta.url)("ai/package.json").version;
const CALLED = ["jsonSchema", "pipeUIMessageStreamToResponse", "stepCountIs", "streamText", "tool", "toUIMessageStream"];
const { jsonSchema, pipeUIMessageStreamToResponse, stepCountIs, streamText, tool, toUIMessageStream } = needed(
  ai,
  `ai ${VERSION}`,
  CALLED,
);
const { MockLanguageModelV4 } = needed(testing, `ai ${VERSION}`, ["MockLanguageModelV4"]);
const threads = new Map();
globalThis.AI_SDK_LOG_WARNINGS = false;

const FINISH = { stop: "stop", length: "length", content_filter: "content-filter", tool_call: "tool-calls", error: "error" };
const FINISHED = Object.fromEntries(Object.entries(FINISH).map(([ours, theirs]) => [theirs, ours]));

const capabilities = {
  contract: "1.1",
  name: "AI SDK server",
  version: VERSION,
  roles: ["server"],
  carriers: false,
  marks: true,
  cancel: true,
  disconnect: ["stop"],
};

// ---------------------------------------------------------------------------------------------------- requests

function prepared(request) {
  if (request.seed) throw new CannotPlay("a thread that is handed over");
  const story = readStory(request.run.events);
  for (const answer of story.answers) {
    const reason = answer.end.finish_reason;
    if (reason != null && !FINISH[reason]) throw new CannotPlay(`a model that ends with the finish reason ${reason}`);
  }
  const reason = story.result?.finish_reason;
  if (reason != null && !FINISH[reason]) throw new CannotPlay(`a run that ends with the finish reason ${reason}`);
  const users = (request.user ?? []).map(userMessage).filter((message) => message.content.length > 0);
  const ended = story.resultAt !== null || story.failedAt !== null;
  const cut = request.run.interruption;
  if (!ended && !request.hold && !cut) throw new CannotPlay("a model that falls silent for good");
  if (!ended && cut && ["error", "safety_halt"].includes(cut.reason)) {
    throw new CannotPlay(`an interruption for ${cut.reason} from outside`);
  }
  return { story, users, ended };
}

function userMessage(turn) {
  const content = [];
  for (const part of turn.parts) {
    if (part.part_kind === "system-prompt") continue;
    if (part.part_kind !== "user-prompt") throw new CannotPlay(`a user turn with a part of kind ${part.part_kind}`);
    for (const item of Array.isArray(part.content) ? part.content : [part.content]) {
      if (typeof item === "string") content.push({ type: "text", text: item });
      else if (item?.kind === "binary") content.push({ type: "file", mediaType: item.media_type, data: item.data });
      else if (item?.url) content.push({ type: "file", mediaType: item.media_type ?? "image/*", data: new URL(item.url) });
      else throw new CannotPlay("a user prompt that a model message cannot have");
    }
  }
  return { role: "user", content };
}

function startRun({ id, value: request, res }) {
  let thread = threads.get(id);
  if (thread?.live) throw new Refusal(409, "a run of this thread is in progress");
  const { story, users, ended } = prepared(request);
  if (!thread) {
    if (users.length === 0) throw new CannotPlay("a conversation that begins without a word of the user");
    thread = { thread_id: id, created_at: request.created_at, agents: request.agents, turns: [], history: [] };
    threads.set(id, thread);
  }
  for (const user of request.user ?? []) thread.turns.push({ user });
  thread.history.push(...users);
  thread.live = run(thread, request, story, ended, res);
}

// ---------------------------------------------------------------------------------------------------- one run

function run(thread, request, story, ended, res) {
  const controller = new AbortController();
  const live = { controller, cut: null, failure: null, steps: [], returnedAt: new Map(), holdAt: request.hold?.at };
  let written = 0;
  const raw = res.write.bind(res);
  res.write = (...args) => {
    written += 1;
    return raw(...args);
  };
  const cutNow = () => {
    if (request.hold || live.cut) return;
    live.cut = { reason: request.run.interruption.reason, at: request.run.interruption.at };
    if (request.run.interruption.tell === "abort") controller.abort(live.cut.reason);
    else res.socket?.write("", () => res.destroy()); // when what was sent is on its way
  };
  let at = request.run.started_at;
  const playback = new Playback({
    times: request.run.events.map((event) => (at = event.at ?? at)),
    startedAt: at,
    marks: request.marks,
    quiet: story.quiet,
    notices: story.notices,
    write: (text) => !res.destroyed && raw(text),
    written: () => written,
    atEnd: ended ? undefined : cutNow,
  });
  live.playback = playback;
  res.on("close", () => {
    if (res.writableFinished) return;
    live.cut ??= { reason: "network_failure", at: request.hold?.at ?? playback.now };
    controller.abort(live.cut.reason); // what an application does that does not work for nobody
  });

  const model = new PlayedModel(story, playback);
  const tools = scriptedTools(model, live);
  const result = streamText({
    model,
    messages: thread.history,
    tools,
    stopWhen: stepCountIs(story.resultAt === null ? 1000 : story.answers.length),
    maxRetries: 0,
    abortSignal: controller.signal,
    onError: ({ error }) => void (live.failure ??= words(error)),
    onStepEnd: (step) => void live.steps.push(step),
  });
  const stream = toUIMessageStream({
    stream: result.stream,
    tools,
    sendSources: true,
    onError: words,
    ...(request.run.message_id && { generateMessageId: () => request.run.message_id, originalMessages: [] }),
  });
  live.ended = (async () => {
    try {
      const end = res.end.bind(res);
      let close;
      const closing = new Promise((done) => (close = done));
      res.end = () => close(); // the last mark comes before the end of the body
      res.once("close", () => close());
      pipeUIMessageStreamToResponse({ response: res, stream });
      await closing;
      if (!live.cut) playback.over();
      if (!res.destroyed) end();
    } finally {
      playback.stop();
      record(thread, request, story, live);
      thread.live = undefined;
    }
  })();
  return live;
}

/** The package's mock model; its answers are those of the script. */
class PlayedModel extends MockLanguageModelV4 {
  constructor(story, playback) {
    super({ provider: "test", modelId: "scripted", supportedUrls: { "*/*": [/.*/] }, doStream: () => this.answer() });
    this.story = story;
    this.playback = playback;
    this.asked = 0;
  }

  get current() {
    return this.story.answers[this.asked - 1];
  }

  async answer() {
    const { story, playback } = this;
    this.asked += 1;
    const answer = this.current;
    if (!answer) {
      await playback.turn(story.failedAt ?? story.count);
      throw new Error(story.failure);
    }
    await playback.turn(answer.first);
    if (answer.request.event_kind) await playback.happened(answer.first);
    const parts = this.parts(answer);
    return {
      stream: new ReadableStream({
        async pull(controller) {
          const { value, done } = await parts.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
      }, { highWaterMark: 0 }),
    };
  }

  async *parts(answer) {
    const { story, playback } = this;
    yield { type: "stream-start", warnings: [] };
    yield {
      type: "response-metadata",
      id: answer.end.provider_response_id ?? undefined,
      modelId: answer.end.model_name ?? answer.request.model_name ?? "scripted",
      timestamp: new Date(answer.events.length ? playback.times[answer.events[0][0]] : playback.now),
    };
    for (const [index, event] of answer.events) {
      await playback.turn(index);
      yield* chunksOf(event, answer);
      await playback.happened(index);
    }
    const last = answer === story.answers.at(-1);
    if (last && story.failedAt !== null && !answer.ended) {
      await playback.turn(story.failedAt);
      yield { type: "error", error: new Error(story.failure) };
      yield { type: "finish", finishReason: { unified: "error", raw: "error" }, usage: usageOf({}) };
      return;
    }
    if (!answer.ended) await playback.turn(story.count);
    if (answer.endedAt !== undefined) await playback.turn(answer.endedAt);
    const told_ = answer.end.finish_reason ?? (last ? story.result?.finish_reason : null);
    const reason = FINISH[told_] ?? (answer.calls.length ? "tool-calls" : "stop");
    yield { type: "finish", finishReason: { unified: reason, raw: reason }, usage: usageOf(answer.end.usage ?? {}) };
    if (answer.endedAt !== undefined) playback.happened(answer.endedAt);
  }
}

/** What a model's stream says for one event of the script. */
function* chunksOf(event, answer) {
  const id = `p${event.index}`;
  const part = answer.parts.get(event.index);
  const provided = part.part_kind === "builtin-tool-call" ? { providerExecuted: true, dynamic: true } : {};
  const call = { toolCallId: part.tool_call_id, toolName: part.tool_name };
  const delta = event.event_kind === "part_start" ? event.part : event.delta;
  const args = event.event_kind === "part_start" ? event.part.args : event.delta?.args_delta;
  const text = event.event_kind === "part_start" ? event.part.content : event.delta?.content_delta;
  const start = event.event_kind === "part_start";
  const end = event.event_kind === "part_end";
  if (part.part_kind === "text" || part.part_kind === "thinking") {
    const name = part.part_kind === "text" ? "text" : "reasoning";
    const provider = part.provider_name ?? "test";
    const facts = { ...(part.signature && { signature: part.signature }), ...(part.id && { itemId: part.id }) };
    const metadata = Object.keys(facts).length > 0 ? { providerMetadata: { [provider]: facts } } : {};
    if (start) yield { type: `${name}-start`, id };
    if (!end && text) yield { type: `${name}-delta`, id, delta: text };
    if (end) yield { type: `${name}-end`, id, ...metadata };
  } else if (part.part_kind === "tool-call" || part.part_kind === "builtin-tool-call") {
    if (start) yield { type: "tool-input-start", id: part.tool_call_id, toolName: part.tool_name, ...provided };
    if (!end && args != null && args !== "") {
      yield { type: "tool-input-delta", id: part.tool_call_id, delta: textOf(args) };
    }
    if (end) {
      yield { type: "tool-input-end", id: part.tool_call_id };
      const whole = part.args == null || part.args === "" ? "{}" : textOf(part.args);
      yield { type: "tool-call", ...call, input: whole, ...provided };
    }
  } else if (part.part_kind === "builtin-tool-return" && end) {
    yield { type: "tool-result", ...call, result: event.part.content ?? part.content, providerExecuted: true, dynamic: true };
  } else if (part.part_kind === "file" && end) {
    yield { type: "file", mediaType: delta?.content?.media_type ?? part.content.media_type, data: { type: "data", data: part.content.data } };
  }
}

const words = (error) => (error instanceof Error ? error.message : String(error));

const textOf = (args) => (typeof args === "string" ? args : JSON.stringify(args));

function usageOf(counts) {
  return {
    inputTokens: { total: counts.input_tokens, noCache: undefined, cacheRead: counts.cache_read_tokens, cacheWrite: counts.cache_write_tokens },
    outputTokens: { total: counts.output_tokens, text: undefined, reasoning: counts.reasoning_tokens },
  };
}

/** The tools that the story calls; each waits for its turn and does what the script says. */
function scriptedTools(model, live) {
  const { story, playback } = model;
  const tools = {};
  for (const answer of story.answers) {
    for (const part of answer.parts.values()) {
      if (part.part_kind !== "tool-call") continue;
      tools[part.tool_name] = tool({
        description: "a tool of the script",
        inputSchema: jsonSchema({}),
        execute: async (_input, { toolCallId }) => {
          const run = model.current.tools.get(toolCallId) ?? {};
          if (run.startedAt !== undefined) {
            await playback.turn(run.startedAt);
            await playback.happened(run.startedAt);
          }
          if (run.returnedAt === undefined) {
            await playback.turn(story.failedAt ?? story.count);
            throw new Error(story.failure);
          }
          await playback.turn(run.returnedAt);
          live.returnedAt.set(`${model.asked}:${toolCallId}`, playback.times[run.returnedAt]);
          playback.happened(run.returnedAt);
          if (run.part.outcome === "failed") throw new Error(run.part.content);
          return run.part.content;
        },
      });
    }
  }
  return tools;
}

// ---------------------------------------------------------------------------------------------------- the thread

/** Keep the run: the steps that the package has reported, and how it ended. */
function record(thread, request, story, live) {
  const entries = [];
  const usage = {};
  live.steps.forEach((step, number) => {
    thread.history.push(...step.response.messages);
    for (const [name, count] of Object.entries(countsOf(step.usage))) usage[name] = (usage[name] ?? 0) + count;
    entries.push(...entriesOf(step, number + 1, live, story.answers[number]));
  });
  const at = live.playback.now;
  let cut = live.cut;
  if (!cut && live.failure !== null) cut = { reason: "error", at };
  if (!cut && live.steps.at(-1)?.finishReason === "content-filter") cut = { reason: "safety_halt", at }; // R27
  for (const [index, { name, data, agents, kept }] of story.notices) {
    if (index < live.playback.done && kept) {
      entries.push({ kind: "event", at: live.playback.times[index], order: index, name, data, agents });
    }
  }
  if (live.failure !== null) {
    const when = story.failedAt === null ? at : live.playback.times[story.failedAt];
    entries.push({ kind: "event", at: when, name: "data-tp-error", data: { error: live.failure } });
  }
  entries.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || (a.order ?? Infinity) - (b.order ?? Infinity)); // R25
  thread.turns.push({
    agent_id: request.run.agent_id,
    started_at: request.run.started_at,
    ended_at: at,
    entries,
    usage,
    cut,
  });
}

function entriesOf(step, number, live, answer) {
  const parts = [];
  const returns = [];
  for (const part of step.content) {
    const call = { tool_name: part.toolName, tool_call_id: part.toolCallId };
    if (part.type === "text") parts.push({ part_kind: "text", content: part.text, ...itemId(part, "id") });
    else if (part.type === "reasoning") parts.push(thinking(part));
    else if (part.type === "tool-call") {
      const kind = part.providerExecuted ? "builtin-tool-call" : "tool-call";
      const name = part.providerExecuted ? { provider_name: "test" } : {};
      parts.push({ part_kind: kind, ...call, args: part.input, ...name });
    } else if (part.type === "tool-result" && part.providerExecuted) {
      parts.push({ part_kind: "builtin-tool-return", ...call, content: part.output, provider_name: "test" });
    } else if (part.type === "tool-result") {
      returns.push({ part_kind: "tool-return", ...call, status: "success", content: part.output });
    } else if (part.type === "tool-error") {
      returns.push({ part_kind: "tool-return", ...call, status: "error", content: words(part.error) });
    } else if (part.type === "file") {
      const content = { kind: "binary", data: part.file.base64, media_type: part.file.mediaType };
      parts.push({ part_kind: "file", content });
    }
  }
  const facts = { model_name: step.response.modelId, provider_name: answer?.request.provider_name ?? "test" };
  if (step.response.id && answer?.end.provider_response_id) facts.provider_response_id = step.response.id;
  if (FINISHED[step.finishReason]) facts.finish_reason = FINISHED[step.finishReason];
  const counts = countsOf(step.usage);
  if (Object.keys(counts).length > 0) facts.usage = counts;
  const order = parts.filter((p) => p.part_kind === "tool-call").map((p) => p.tool_call_id);
  returns.sort((a, b) => order.indexOf(a.tool_call_id) - order.indexOf(b.tool_call_id)); // R11
  const begun = answer?.events[0]?.[0];
  const response = { kind: "response", order: begun, at: timeOf(step.response.timestamp), parts, facts, finished: step.finishReason !== "error" };
  if (returns.length === 0) return [response];
  const times = returns.map((p) => live.returnedAt.get(`${number}:${p.tool_call_id}`) ?? response.at);
  const latest = times.reduce((a, b) => (Date.parse(b) > Date.parse(a) ? b : a));
  const returned = [...(answer?.tools.values() ?? [])].map((run) => run.returnedAt ?? 0);
  return [response, { kind: "returns", order: Math.max(...returned), at: latest, parts: returns }];
}

function thinking(part) {
  const [provider, metadata] = Object.entries(part.providerMetadata ?? {})[0] ?? ["unknown", {}];
  const signed = metadata.signature ? { signature: metadata.signature } : {};
  const id = itemId(part, "thinking_id");
  return { part_kind: "thinking", content: part.text, ...id, ...signed, provider_name: provider };
}

/** The provider's own id of a part, which the package's providers keep as `itemId`. */
function itemId(part, name) {
  const [metadata] = Object.values(part.providerMetadata ?? {});
  return metadata?.itemId ? { [name]: metadata.itemId } : {};
}

function countsOf(usage) {
  const counts = {
    input_tokens: usage?.inputTokens,
    output_tokens: usage?.outputTokens,
    cache_read_tokens: usage?.inputTokenDetails?.cacheReadTokens,
    cache_write_tokens: usage?.inputTokenDetails?.cacheWriteTokens,
    reasoning_tokens: usage?.outputTokenDetails?.reasoningTokens,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)); // R17: zeros are left out
}

const timeOf = (date) => new Date(date).toISOString().replace(/\.?0*Z$/, "Z");

// ---------------------------------------------------------------------------------------------------- the contract

const found = (id) => {
  const thread = threads.get(id);
  if (!thread) throw new Refusal(404, "there is no such thread", "a run creates its thread");
  return thread;
};

serve(portOf(process.argv), [
  ["GET", /^\/capabilities$/, ({ res }) => json(res, capabilities)],
  ["POST", /^\/threads\/([^/]+)\/runs$/, startRun],
  ["POST", /^\/threads\/([^/]+)\/user-turns$/, ({ id, value, res }) => {
    found(id).turns.push({ user: value });
    res.writeHead(204).end();
  }],
  ["POST", /^\/threads\/([^/]+)\/cancel$/, async ({ id, value, res }) => {
    const { live } = found(id);
    if (!live) return json(res, { cancelled: false });
    live.cut ??= { reason: value.reason, at: live.holdAt ?? live.playback.now };
    live.controller.abort(value.reason);
    await live.ended;
    return json(res, { cancelled: true });
  }],
  ["GET", /^\/threads\/([^/]+)$/, ({ id, res, query }) => json(res, render(found(id), query.get("version") ?? "0.0.4"))],
  ["DELETE", /^\/threads\/([^/]+)$/, ({ id, res }) => {
    threads.get(id)?.live?.controller.abort("deleted");
    threads.delete(id);
    res.writeHead(204).end();
  }],
]);
