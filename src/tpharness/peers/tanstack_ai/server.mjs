// `peer:tanstack-ai-server`: `chat` of TanStack AI behind the control contract, its model's adapter replaced by the script.
//
// The body is that of `toServerSentEventsResponse`. The thread is made of what a middleware, which is how an application
// keeps threads there, is told: the messages when a run is over, the value of each tool, and how each answer ended.

import { readFileSync } from "node:fs";
import * as tanstack from "@tanstack/ai";
import { serveApplication, textOf, words } from "./application.mjs";
import { CannotPlay, needed } from "./control.mjs";
import { FINISH, ScriptedAdapter } from "./scripted_adapter.mjs";

const VERSION = JSON.parse(readFileSync(new URL("../../package.json", import.meta.resolve("@tanstack/ai")))).version;
const CALLED = ["RUN_CANCEL_REASON", "chat", "toServerSentEventsResponse"];
const { RUN_CANCEL_REASON, chat, toServerSentEventsResponse } = needed(tanstack, `@tanstack/ai ${VERSION}`, CALLED);
const FINISHED = Object.fromEntries(Object.entries(FINISH).map(([ours, theirs]) => [theirs, ours]));
const ORDER = ["thinking", "text", "tool-call"];

const capabilities = {
  contract: "1.2",
  name: "TanStack AI server",
  version: VERSION,
  roles: ["server"],
  carriers: false,
  wires: ["ag-ui"],
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
      if (typeof item !== "string") throw new CannotPlay("a user prompt that is not text");
      content.push({ type: "text", content: item });
    }
  }
  return { role: "user", content };
}

/** Refuse what a message of TanStack AI does not hold, and tools that do not run one after the other. */
function refuse(story) {
  for (const answer of story.answers) {
    const kinds = [...answer.parts.values()].map((part) => part.part_kind);
    for (const kind of kinds) if (!ORDER.includes(kind)) throw new CannotPlay(`a part of kind ${kind}`);
    if (kinds.some((kind, at) => at > 0 && ORDER.indexOf(kind) < ORDER.indexOf(kinds[at - 1]))) {
      throw new CannotPlay("an answer whose parts have another order than a thought, a text, calls");
    }
    for (const kind of ["thinking", "text"]) {
      if (kinds.filter((one) => one === kind).length > 1) throw new CannotPlay(`an answer with two parts of kind ${kind}`);
    }
    let open = null;
    for (const [, { event_kind: what, index }] of answer.events) {
      if (what === "part_start" && open !== null) throw new CannotPlay("parts of an answer that stream at the same time");
      if (what !== "part_delta") open = what === "part_start" ? index : null;
    }
    for (const part of answer.parts.values()) refuseArguments(part, answer);
    refuseTools(answer, story);
  }
}

/** An adapter gives arguments as text, and a tool whose arguments are not JSON is not run. */
function refuseArguments(part, answer) {
  const given = answer.events.filter(([, { index }]) => answer.parts.get(index) === part).map(([, event]) => event);
  const objects = given.filter(({ delta, part: whole }) => typeof (delta?.args_delta ?? whole?.args ?? "") === "object");
  if (objects.length > 0 && given.some(({ delta }) => delta?.args_delta != null)) {
    throw new CannotPlay("arguments that come as objects");
  }
  if (part.part_kind !== "tool-call" || typeof part.args !== "string" || !answer.calls.includes(part.tool_call_id)) return;
  try {
    JSON.parse(part.args.trim() || "{}");
  } catch {
    throw new CannotPlay("arguments that are not JSON: the tool is not run");
  }
}

/** Each tool runs when the one before has returned; that one was asked for earlier makes no difference here. */
function refuseTools(answer, story) {
  let before = null;
  for (const id of answer.calls) {
    const run = answer.tools.get(id) ?? {};
    if (before !== null && before.returnedAt === undefined && run.returnedAt !== undefined) {
      throw new CannotPlay("tools that run at the same time: here they run one after the other");
    }
    if (before !== null && run.returnedAt < before.returnedAt) {
      throw new CannotPlay("tools that return in another order than they were called: here they run one after the other");
    }
    if (before !== null && run.startedAt !== undefined && !(run.startedAt > before.returnedAt)) story.quiet.add(run.startedAt);
    before = run;
  }
}

// ---------------------------------------------------------------------------------------------------- one run

/** Stream one run into the response. */
async function answer({ thread, story, playback, live, res }) {
  const { controller } = live;
  Object.assign(live, { ends: [], results: new Map(), held: thread.history });
  const adapter = new ScriptedAdapter(story, playback, controller.signal);
  const keep = (ctx) => void (live.held = ctx.messages);
  const middleware = {
    name: "keep",
    onChunk: (_, chunk) => {
      if (chunk.type === "RUN_FINISHED") live.ends.push(chunk);
      if (chunk.type === "RUN_ERROR" && !controller.signal.aborted) live.failure ??= chunk.message;
    },
    onAfterToolCall: (_, { toolCallId, ok, result, error }) => {
      live.results.set(`${adapter.asked}:${toolCallId}`, { ok, value: ok ? result : words(error), at: playback.now });
    },
    onFinish: keep,
    onAbort: keep,
    onError: keep,
  };
  const rounds = story.resultAt === null ? 1000 : story.answers.length;
  const stream = chat({
    adapter,
    messages: thread.history,
    threadId: thread.thread_id,
    runId: `run-${thread.turns.length}`,
    tools: scriptedTools(adapter),
    agentLoopStrategy: ({ iterationCount }) => iterationCount < rounds,
    abortController: controller,
    middleware: [middleware],
    debug: false,
  });
  const { status, headers, body } = toServerSentEventsResponse(stream, { abortController: controller });
  res.writeHead(status, Object.fromEntries(headers));
  const reader = body.getReader();
  let left = null;
  res.once("close", () => (left = reader.cancel().catch(() => {})));
  for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) res.write(value);
  await left; // the package has then ended the run for whose client it was
}

/** The tools that the story calls; each waits for its turn, does what the script says, and heeds the signal that it gets. */
function scriptedTools(adapter) {
  const { story, playback } = adapter;
  const parts = story.answers.flatMap(({ parts }) => [...parts.values()]);
  const names = new Set(parts.filter((part) => part.part_kind === "tool-call").map((part) => part.tool_name));
  return [...names].map((name) => ({
    name,
    description: "a tool of the script",
    inputSchema: { type: "object" },
    execute: async (_input, { toolCallId }) => {
      const run = adapter.current?.tools.get(toolCallId) ?? {};
      if (run.startedAt !== undefined && !story.quiet.has(run.startedAt)) {
        await adapter.turn(run.startedAt);
        await playback.happened(run.startedAt);
      }
      await adapter.turn(run.returnedAt ?? story.failedAt ?? story.count);
      if (run.returnedAt === undefined) throw new Error(story.failure);
      playback.happened(run.returnedAt);
      if (run.part.outcome === "failed") throw new Error(run.part.content);
      return run.part.content;
    },
  }));
}

// ---------------------------------------------------------------------------------------------------- the thread

/** What a run has added: the messages that it holds more than before, and whether the last answer was halted. */
function added({ thread, story, live }) {
  const entries = [];
  const usage = {};
  const messages = live.held.slice(thread.history.length);
  thread.history = live.held;
  let number = 0;
  for (const message of messages) {
    if (message.role === "assistant") {
      const entry = responseOf(message, story.answers[number], live.ends[number], live.playback);
      for (const [name, count] of Object.entries(entry.facts.usage ?? {})) usage[name] = (usage[name] ?? 0) + count;
      number += 1;
      entries.push(entry);
    } else if (message.role === "tool") {
      entries.push(...returned(message, number, entries.at(-1), live));
    }
  }
  return { entries, usage, halted: finishOf(live.ends.at(-1)) === "content_filter" };
}

function responseOf(message, answer, end, playback) {
  const parts = (message.thinking ?? []).map(({ content, signature }) => {
    return { part_kind: "thinking", content, ...(signature && { signature }), provider_name: "unknown" };
  });
  if (message.content) parts.push({ part_kind: "text", content: message.content });
  for (const { id, function: called } of message.toolCalls ?? []) {
    parts.push({ part_kind: "tool-call", tool_name: called.name, tool_call_id: id, args: valueOf(called.arguments) });
  }
  const facts = { model_name: end?.metadata?.tanstack?.model ?? answer?.request.model_name };
  if (FINISHED[finishOf(end)]) facts.finish_reason = FINISHED[finishOf(end)];
  const counts = countsOf(end?.usage?.[0] ?? end?.usage);
  if (Object.keys(counts).length > 0) facts.usage = counts;
  const begun = answer?.events[0]?.[0];
  return { kind: "response", order: begun, at: playback.times[begun] ?? playback.now, parts, facts, finished: true };
}

/** Results that follow one another are one entry. */
function returned(message, number, before, live) {
  const { ok = true, value = message.content, at = live.playback.now } = live.results.get(`${number}:${message.toolCallId}`) ?? {};
  const names = (before?.kind === "returns" ? before.names : before?.parts.map((one) => [one.tool_call_id, one.tool_name])) ?? [];
  const tool_name = new Map(names).get(message.toolCallId);
  const part = { part_kind: "tool-return", tool_name, tool_call_id: message.toolCallId, status: ok ? "success" : "error", content: value };
  if (before?.kind !== "returns") return [{ kind: "returns", at, parts: [part], names }];
  before.parts.push(part);
  before.at = at;
  return [];
}

const finishOf = (end) => end?.finishReason ?? end?.metadata?.tanstack?.finishReason;

function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return textOf(text);
  }
}

function countsOf(usage) {
  const counts = {
    input_tokens: usage?.inputTokens ?? usage?.promptTokens,
    output_tokens: usage?.outputTokens ?? usage?.completionTokens,
    cache_read_tokens: usage?.cachedInputTokens ?? usage?.promptTokensDetails?.cachedTokens,
    reasoning_tokens: usage?.reasoningTokens ?? usage?.completionTokensDetails?.reasoningTokens,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)); // R17: zeros are left out
}

/** An event of the application, as AG-UI has it. */
const notice = ({ type, ...value }) => ({ type: "CUSTOM", name: `threadprotocol.${type}`, value });

serveApplication({
  capabilities,
  finishReasons: Object.keys(FINISH),
  userMessage,
  refuse,
  answer,
  added,
  notice,
  cancelled: RUN_CANCEL_REASON,
});
