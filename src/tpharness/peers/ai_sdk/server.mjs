// `peer:ai-sdk-server`: `streamText` of the `ai` package behind the control contract, its model replaced by the script.
//
// The body is what the package pipes to Node's response. The thread is made of what the package tells the server when a
// step has ended; of a step that is interrupted it tells nothing.

import { createRequire } from "node:module";
import * as ai from "ai";
import * as testing from "ai/test";
import { serveApplication, textOf, words } from "./application.mjs";
import { CannotPlay, needed } from "./control.mjs";

const VERSION = createRequire(import.meta.url)("ai/package.json").version;
const CALLED = ["jsonSchema", "pipeUIMessageStreamToResponse", "stepCountIs", "streamText", "tool", "toUIMessageStream"];
const { jsonSchema, pipeUIMessageStreamToResponse, stepCountIs, streamText, tool, toUIMessageStream } = needed(
  ai,
  `ai ${VERSION}`,
  CALLED,
);
const { MockLanguageModelV4 } = needed(testing, `ai ${VERSION}`, ["MockLanguageModelV4"]);
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

// ---------------------------------------------------------------------------------------------------- one run

/** Stream one run into the response; it is over when the package has ended the body. */
async function answer({ thread, request, story, playback, live, res }) {
  Object.assign(live, { steps: [], returnedAt: new Map() });
  const model = new PlayedModel(story, playback);
  const tools = scriptedTools(model, live);
  const result = streamText({
    model,
    messages: thread.history,
    tools,
    stopWhen: stepCountIs(story.resultAt === null ? 1000 : story.answers.length),
    maxRetries: 0,
    abortSignal: live.controller.signal,
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
  const closing = new Promise((close) => {
    res.end = () => close(); // the last mark comes before the end of the body
    res.once("close", () => close());
  });
  pipeUIMessageStreamToResponse({ response: res, stream });
  await closing;
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
    const facts = { ...(part.signature && { signature: part.signature }), ...(part.id && { itemId: part.id }) };
    const metadata = metadataOf(part, facts);
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
      yield { type: "tool-call", ...call, input: whole, ...provided, ...metadataOf(part, {}) };
    }
  } else if (part.part_kind === "builtin-tool-return" && end) {
    yield { type: "tool-result", ...call, result: event.part.content ?? part.content, providerExecuted: true, dynamic: true };
  } else if (part.part_kind === "file" && end) {
    yield { type: "file", mediaType: delta?.content?.media_type ?? part.content.media_type, data: { type: "data", data: part.content.data } };
  }
}

/** What a provider says of a part, under its name, as the package's providers do. */
function metadataOf(part, facts) {
  const named = part.provider_name !== undefined || Object.keys(facts).length > 0;
  return named ? { providerMetadata: { [part.provider_name ?? "test"]: facts } } : {};
}

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

/** What a run has added: the steps that the package has reported, and whether one was halted. */
function added({ thread, story, live }) {
  const entries = [];
  const usage = {};
  live.steps.forEach((step, number) => {
    thread.history.push(...step.response.messages);
    for (const [name, count] of Object.entries(countsOf(step.usage))) usage[name] = (usage[name] ?? 0) + count;
    entries.push(...entriesOf(step, number + 1, live, story.answers[number]));
  });
  return { entries, usage, halted: live.steps.at(-1)?.finishReason === "content-filter" };
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
      const name = part.providerExecuted ? { provider_name: providerOf(part) ?? "test" } : {};
      parts.push({ part_kind: kind, ...call, args: part.input, ...name });
    } else if (part.type === "tool-result" && part.providerExecuted) {
      parts.push({ part_kind: "builtin-tool-return", ...call, content: part.output, provider_name: providerOf(part) ?? "test" });
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

const providerOf = (part) => Object.keys(part.providerMetadata ?? {})[0];

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

serveApplication({ capabilities, finishReasons: Object.keys(FINISH), userMessage, answer, added });
