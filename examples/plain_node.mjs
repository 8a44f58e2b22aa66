// ThreadProtocol in one file of plain Node: a server and a client that tpharness can certify.
//
// It needs Node 20 and nothing else, and shares no code with tpharness. Read it from top to bottom:
//
//   1. Journal   what has happened in a thread, and how it is written down in the three versions of the protocol
//   2. Server    the events of a model and its tools → the journal, and the chunks that tell a client
//   3. Wire      bytes → events of the stream → chunks
//   4. Client    chunks → the journal
//   5. AG-UI     the other wire: chunks as events of AG-UI, and back
//   6. stdio     one JSON object a line, in and out
//   7. HTTP      the same as a web server, with live runs: cancel, disconnect, limits, resume
//
//     node examples/plain_node.mjs --stdio
//     node examples/plain_node.mjs --http 127.0.0.1:0
//
// The numbers R1–R46 are the rulings in conformance/rulings.md. Time is data here: it comes with each event and packet.
// A string of JavaScript is UTF-16, so two halves of a character that came in two deltas are whole once joined (R43).

import { createHash } from "node:crypto";
import { once } from "node:events";
import http from "node:http";

const MOST = 64 << 20; // bytes of a request, and characters of a line of a stream
const CAPABILITIES = {
  contract: "1.2",
  name: "plain-node",
  version: "1.0",
  roles: ["server", "client"],
  versions: ["2.0.0", "0.0.3", "0.0.4"],
  carriers: true,
  marks: true,
  cancel: true,
  disconnect: ["stop", "continue"],
  limits: true,
  resume: true,
  integrity: true,
  hash: true,
  migrate: true,
  history: true,
  wires: ["vsp", "ag-ui"],
  detects: ["network_failure", "timeout", "user_cancelled"],
};
const KNOWN_REASONS = new Set(["user_cancelled", "network_failure", "timeout", "safety_halt", "error"]);

// ---------------------------------------------------------------------------------------------------- small tools

/** Those of the fields that are there; null is the same as absent (R37). */
const pick = (source, ...names) =>
  Object.fromEntries(names.filter((name) => source?.[name] != null).map((name) => [name, source[name]]));

/** An object without the fields that are null. */
const dense = (source, ...except) =>
  Object.fromEntries(Object.entries(source).filter(([name, value]) => value != null || except.includes(name)));

/** To look names up that others have chosen: a plain object would know `constructor` and `toString` too. */
const table = (entries) => ({ __proto__: null, ...entries });

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string";
const isFlag = (value) => typeof value === "boolean";
const compact = (value) => JSON.stringify(value); // half a character travels as an escape

/** The value of a JSON text, undefined where it is not JSON, or has a number that nothing can write again (R38). */
function valueOf(text) {
  try {
    return JSON.parse(text, (_, value) => {
      if (value === Infinity || value === -Infinity) throw new RangeError("a number is too large");
      return value;
    });
  } catch {
    return undefined;
  }
}

/** R12: arguments are the JSON value that they say; text that is not JSON stays text. */
function parsed(args) {
  if (args == null || args === "") return {};
  const value = isText(args) ? valueOf(args) : args;
  return value === undefined ? args : value;
}

const FINISH = table({ "tool-calls": "tool_call", tool_calls: "tool_call", "content-filter": "content_filter", safety_filter: "content_filter" });

/** R16: five words, and any other is `error`. */
function finishWord(word) {
  if (word == null) return null;
  const named = FINISH[word] ?? word;
  return ["stop", "length", "content_filter", "tool_call"].includes(named) ? named : "error";
}

// R17: the words of libraries for what the protocol counts.
const COUNTS = table({
  inputTokens: "input_tokens",
  outputTokens: "output_tokens",
  totalTokens: "total_tokens",
  reasoningTokens: "thinking_tokens",
  output_reasoning_tokens: "thinking_tokens",
});

/** R17: the tokens that were used, or null. Zeros say nothing, and requests and calls are not tokens. */
function tokens(usage) {
  const isUsed = ([name, count]) => Number.isInteger(count) && count > 0 && name !== "requests" && name !== "tool_calls";
  const used = isObject(usage) ? Object.entries(usage).filter(isUsed) : [];
  return used.length ? Object.fromEntries(used.map(([name, count]) => [COUNTS[name] ?? name, count])) : null;
}

const DENIAL = "The tool call was denied.";

/** A list of one text is that text: the stream cannot tell them apart (R9, R44). */
const plain = (content) => (Array.isArray(content) && content.length === 1 && isText(content[0]) ? content[0] : content);

const CARRIED = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$/; // the form of RFC 3339 (R47)
const TIME = /^(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:[.,](\d+))?(.*)$/;

/** Whether a text is a time: the 30th of February is none. */
function isTime(at) {
  const [day] = (TIME.test(at) && /^[\d-]+/.exec(at)) || [];
  return day !== undefined && !Number.isNaN(instant(at)[0]) && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/** Something to compare times by, whatever their offset and however fine their fraction. */
function instant(at) {
  const [, whole, fraction, zone] = TIME.exec(at);
  return [Date.parse(whole.replace(/[t ]/, "T") + (zone.toUpperCase() || "Z")), (fraction ?? "").replace(/0+$/, "")];
}

/** The latest of some times. */
function latest(times) {
  return times.reduce((one, other) => (byTime({ at: one, order: 0 }, { at: other, order: 0 }) < 0 ? other : one));
}

function byTime(a, b) {
  const [[wholeA, fineA], [wholeB, fineB]] = [instant(a.at), instant(b.at)];
  return wholeA - wholeB || (fineA < fineB ? -1 : fineA > fineB ? 1 : a.order - b.order);
}

// ==================================================================================================== 1. Journal
//
// A turn has items: responses, returns, requests, events. They are plain objects, so that a turn can be copied whole.
//   response  one answer of the model; `open` while it streams. Only a finished one can be canonical (R20, R40).
//   part      a part of a response; in the thread once `done`: when its end was seen (R10).
//   returns   the request that answers calls within one turn: those of one response (R11), or all of earlier turns (R61).
//   request   a prompt inside an agent turn (R9, R44).
//   event     a fact of its own (R25); a source has a `response` that it belongs to.

/** Complete calls of a response that somebody has to answer; a provider's own are not among them (R42). */
const callsOf = (response) => response.parts.filter((part) => part.done && part.doc.part_kind === "tool-call");

const answeredIn = (turn) =>
  new Set(turn.items.filter((item) => item.is === "returns").flatMap((item) => item.answers.map(([part]) => part)));

// What a custom event has beside the fields of the application's own.
const CUSTOM_FIELDS = "event_kind at name event_name tool_name tool_call_id data payload".split(" ");

// R1, R34: the normative events have other names before 0.0.4, and 2.0.0 strips `data-` from all others.
const NEW_NAMES = table({
  "agent.handoff": "data-tp-agent_handoff",
  "thread.spawn": "data-tp-thread_spawn",
  "thread.merge": "data-tp-thread_merge",
  "thread.end": "data-tp-thread_end",
  error: "data-tp-error",
});
const inverted = (names) => table(Object.fromEntries(Object.entries(names).map(([key, value]) => [value, key])));
const OLD_NAMES = inverted(NEW_NAMES);

function eventName(name, version) {
  if (version === "0.0.4") return name;
  const old = OLD_NAMES[name] ?? name;
  return version === "2.0.0" ? old.replace(/^data-(?=.)/s, "") : old;
}

/** The journal of one thread. Both sides write it, and only here is decided what of it is canonical. */
class Thread {
  constructor(header) {
    this.header = header;
    this.turns = []; // a user turn is the document that it is
    this.calls = new Map(); // by id: {part, response, answered}
    this.response = null; // that which streams
    this.order = 0;
  }

  // ---------------------------------------------------------------- what happens

  addUserTurn(turn) {
    this.turns.push(turn);
  }

  /** One run of an agent. `end` is when it ended, `reason` why it was interrupted, null if it was not. */
  begin(agentId, at) {
    this.response = null;
    const turn = { is: "turn", agentId, startedAt: at, items: [], usage: new Map(), last: null };
    // `last` is the finish reason of its last response, `error` the turn as it stood at an error (R27)
    this.turns.push(Object.assign(turn, { end: null, reason: null, error: null }));
    return turn;
  }

  get turn() {
    return this.turns.at(-1);
  }

  add(item) {
    item.order = ++this.order;
    this.turn.items.push(item);
    return item;
  }

  beginResponse(at, facts) {
    this.turn.last = null;
    this.response = this.add({ is: "response", at, facts, parts: [], open: true });
    return this.response;
  }

  forgetCalls(gone) {
    for (const [id, call] of this.calls) if (gone(call)) this.calls.delete(id);
  }

  /** What is open in it is discarded (R28), calls too. */
  finishResponse() {
    const response = this.response;
    if (!response) return;
    response.open = false;
    this.forgetCalls((call) => call.response === response && !call.part.done);
    this.response = null;
  }

  /** R44: the parts go, and the sources with them. */
  dropResponse() {
    const gone = this.response;
    this.response = null;
    if (!gone) return;
    this.turn.items = this.turn.items.filter((item) => item !== gone && item.response !== gone);
    this.forgetCalls((call) => call.response === gone);
    this.waitAgain(new Set([gone.order]));
  }

  /** R42: what a provider returns is a part of the response with which it comes. */
  addOutput(call, doc) {
    call.answered = true;
    call.output = this.response.order;
    return Object.assign(this.addPart(doc, true), { of: call.response.order });
  }

  /** R42: an output goes with its response, and its call waits for another. */
  waitAgain(gone) {
    for (const call of this.calls.values()) if (gone.has(call.output)) Object.assign(call, { answered: false, output: null });
  }

  addPart(doc, done = false) {
    const part = { doc, text: "", args: null, done, order: ++this.order };
    this.response.parts.push(part);
    if (doc.part_kind === "tool-call" || doc.part_kind === "builtin-tool-call") {
      this.calls.set(doc.tool_call_id, { part, response: this.response, answered: false });
    }
    return part;
  }

  /** R15: the event names the provider, else the carrier or request, else the registry, else nobody knows. */
  endThinking(part) {
    const registry = this.header.agents[this.turn.agentId] ?? {};
    part.doc.provider_name ??= this.response?.facts.provider_name ?? registry.provider_name ?? "unknown";
  }

  /** Record the return of a call; the first one stands (R14). */
  answer(call, doc, at) {
    if (call.answered) return;
    call.answered = true;
    const mine = new Set(this.turn.items.filter((item) => item.is === "response").map((item) => item.order));
    const together = (one, other) => one === other || (!mine.has(one) && !mine.has(other));
    let item = this.turn.items.find((i) => i.is === "returns" && together(i.response.order, call.response.order));
    if (!item) {
      item = { is: "returns", response: call.response, answers: [] };
      this.turn.items.push(item);
    }
    item.at = at; // R25: the time of its last return
    item.order = ++this.order;
    const { part_kind = "tool-return", ...rest } = doc;
    if (isObject(rest.content_ref)) rest.content_ref = withHashName(rest.content_ref);
    const { tool_name, tool_call_id } = call.part.doc;
    item.answers.push([call.part, { part_kind, tool_name, tool_call_id, ...rest }]);
    item.answers.sort(([one], [other]) => one.order - other.order); // R11: in order of the calls
  }

  allAnswered(response) {
    const answered = answeredIn(this.turn);
    return callsOf(response).every((part) => answered.has(part));
  }

  /** R8, R9: system prompts are never stored, and what the user turn holds is not stored again. */
  addRequest(parts, at) {
    const isMessage = (item) => item.is !== "event" && (item.is !== "response" || item.parts.some((part) => part.done));
    const before = this.turn.items.some(isMessage) ? null : this.turns.findLast((turn) => turn.turn_type === "user");
    const said = new Set((before?.parts ?? []).map((part) => compact(plain(part.content))));
    said.add("[]"); // R52: a prompt without any content says nothing
    const asked = parts.filter((part) => part.part_kind === "user-prompt").map((part) => plain(part.content));
    const kept = asked.filter((content) => !said.has(compact(content)));
    return kept.map((content) => this.add({ is: "request", at, parts: [{ part_kind: "user-prompt", content }] })); // R44
  }

  addEvent(name, data, at, more = {}) {
    const isSource = name === "source.url" || name === "source.document";
    const owner = isSource ? this.turn.items.findLast((item) => item.is === "response") : null; // R25: the one before it
    const doc = { event_type: NEW_NAMES[name] ?? name, event_data: data, ...more };
    this.add({ is: "event", at, doc, response: owner });
  }

  /** R17: what was used was paid for, also when its response is dropped. */
  addUsage(usage) {
    for (const [name, count] of Object.entries(usage ?? {})) {
      this.turn.usage.set(name, (this.turn.usage.get(name) ?? 0) + count);
    }
  }

  /** R27: the turn stands as it is now, unless it finishes all the same. */
  addError(text, at) {
    this.addEvent("data-tp-error", { error: text }, at);
    if (this.turn.error) return;
    // returns that come after it answer nothing, unless the turn finishes all the same
    this.callsAtError = new Map([...this.calls].map(([id, call]) => [id, { ...call }]));
    this.turn.error = { ...structuredClone(this.turn), end: at, reason: "error" };
  }

  complete(at) {
    this.finishResponse();
    this.turn.end ??= at;
  }

  /** R26: the first interruption stands, and one after the end changes nothing. */
  interrupt(reason, at) {
    let turn = this.turn;
    if (turn.end != null) return;
    if (turn.error) {
      turn = this.turns[this.turns.length - 1] = turn.error;
      this.calls = this.callsAtError;
    } else Object.assign(turn, { end: at, reason: reason === "incomplete_stream" ? "network_failure" : reason });
    this.response = null;
    const mine = turn.items.filter((item) => item.is === "response");
    const orders = (responses) => new Set(responses.map((response) => response.order));
    this.waitAgain(orders(mine.filter((response) => response.open || !this.allAnswered(response))));
    const made = orders(mine);
    this.forgetCalls((call) => made.has(call.response.order));
  }

  /** The stream says `finish`, or the run its result; the last response has finished before. */
  finish(reason, at) {
    if (reason === "error" && this.turn.error) return this.interrupt("error", at);
    const halted = finishWord(reason) === "content_filter" || finishWord(this.turn.last) === "content_filter";
    if (halted) return this.interrupt("safety_halt", at);
    if (reason === "interrupted") return this.interrupt("user_cancelled", at); // R44
    return this.complete(at);
  }

  // ---------------------------------------------------------------- what is canonical

  /** Write the thread as of now; a turn that still runs is not in it (R18). */
  document(version) {
    const turns = [];
    const kept = new Set(); // responses that stand in the thread, for returns in later turns
    let updated = this.header.created_at;
    for (const turn of this.turns) {
      if (turn.is !== "turn") {
        turns.push(turn);
        updated = turn.submitted_at;
      } else if (turn.end != null && (turn.reason == null || version === "0.0.4")) {
        const messages = this.messages(turn, version, kept);
        const facts = messages.some((message) => message.event_type?.startsWith("data-tp-"));
        if (turn.reason != null && !facts && messages.every((m) => m.message_type === "system")) continue; // R24
        turns.push(this.turnDocument(turn, messages, version));
        updated = turn.end;
      }
    }
    return { version, ...pick(this.header, "thread_id", "created_at", "agents"), updated_at: updated, turns };
  }

  turnDocument(turn, messages, version) {
    const doc = { turn_type: "agent", agent_id: turn.agentId, started_at: turn.startedAt, messages };
    if (turn.usage.size) doc.total_usage = Object.fromEntries(turn.usage);
    if (turn.reason == null) doc.completed_at = turn.end;
    else doc.interruption = { reason: turn.reason, interrupted_at: turn.end };
    if (version === "0.0.4") doc.completion_status = turn.reason == null ? "complete" : "interrupted";
    return doc;
  }

  messages(turn, version, kept) {
    const answered = answeredIn(turn);
    for (const item of turn.items) {
      // R20: a response that streams when its turn is cut goes whole. R21: so does one with an open call.
      if (item.is !== "response" || item.open) continue;
      if (turn.reason == null || callsOf(item).every((part) => answered.has(part))) kept.add(item.order);
    }
    const told = turn.items.map((item) => ({ at: item.at, order: item.order, message: this.message(item, turn, version, kept) }));
    return told.filter(({ message }) => message).sort(byTime).map(({ message }) => message); // R25
  }

  message(item, turn, version, kept) {
    const head = { timestamp: item.at, agent_id: turn.agentId };
    if (item.is === "response") {
      const stays = (part) => part.done && (part.of == null || kept.has(part.of)); // R42: no output without its call
      const parts = item.parts.filter(stays).map((part) => part.doc);
      if (!parts.length || !kept.has(item.order)) return null;
      return { message_type: "response", ...head, parts, ...item.facts };
    }
    if (item.is === "returns") {
      if (!kept.has(item.response.order)) return null; // R23: no return without its call
      const parts = item.answers.map(([, answer]) => answer);
      if (version !== "2.0.0") return { message_type: "request", ...head, parts };
      const referring = parts.map((part) => ("content_ref" in part ? { ...part, content: part.content_ref } : part)); // R6
      return { message_type: "request", ...head, parts: referring };
    }
    if (item.is === "request") return { message_type: "request", ...head, parts: item.parts };
    if (item.response && !kept.has(item.response.order)) return null;
    const event_type = eventName(item.doc.event_type, version);
    return { message_type: "system", timestamp: item.at, ...item.doc, event_type };
  }
}

// ===================================================================================================== 2. Server

const STATUS = table({ success: "success", failed: "error", denied: "error", retried: "validation_error" }); // R22
const OUTCOMES = table({ success: "success", validation_error: "retried" }); // of a status that stands alone
const FAMILIES = ["image", "audio", "video"];
const WIRE_FINISH = table({
  stop: "stop",
  length: "length",
  content_filter: "content-filter",
  tool_call: "tool-calls",
  error: "other",
});
const DELTAS = table({ text: "text", thinking: "thinking" });
const STANDING = new Set(["timestamp", "agent_id", "model_name", "provider_name"]);
const METADATA = ["id", "thinking_id", "signature", "provider_name"];
const SOURCES = table({ "source-url": "source.url", "source-document": "source.document" });
const WIRE_NAMES = table({ source_id: "sourceId", media_type: "mediaType" });
const THREAD_NAMES = inverted(WIRE_NAMES);
const renamed = (data, names) => Object.fromEntries(Object.entries(data).map(([name, value]) => [names[name] ?? name, value]));

// What each event has to have; `name?` may be absent. An event that does not fit changes nothing (R36).
const REQUEST_PARTS = ["system-prompt", "user-prompt", "tool-return", "retry-prompt"];
const isIndex = (value) => Number.isInteger(value) && value >= 0;
const isArgs = (value) => isText(value) || isObject(value);
const isContent = (item) => isText(item) || isObject(item);
const isPrompt = (value) => isText(value) || (Array.isArray(value) && value.every(isContent));
const texts = (names) => Object.fromEntries(names.split(" ").map((name) => [`${name}?`, isText]));
/** An object whose field of that name says which shape it has; one that is not listed may have any (R7). */
const oneOf = (tag, shapes) => (value) => isText(value?.[tag]) && matches(value, table(shapes)[value[tag]] ?? {});
const CALL = { tool_name: isText, tool_call_id: isText, "args?": isArgs };
const PART = oneOf("part_kind", {
  ...Object.fromEntries(REQUEST_PARTS.map((kind) => [kind, () => false])), // no part of a response
  text: texts("content id"),
  thinking: texts("content signature provider_name id"),
  "tool-call": CALL,
  "builtin-tool-call": { ...CALL, ...texts("provider_name") },
  "builtin-tool-return": { tool_call_id: isText, ...texts("tool_name provider_name") },
  file: { content: texts("kind media_type data url identifier"), ...texts("id") },
});
const DELTA = oneOf("part_delta_kind", {
  text: { content_delta: isText },
  thinking: texts("content_delta signature_delta provider_name"),
  tool_call: { "args_delta?": isArgs, ...texts("tool_name_delta tool_call_id") },
});
const RESULT = { tool_call_id: isText, "content_ref?": isObject, ...texts("part_kind tool_name outcome status") };
const REQUEST = { "parts?": [oneOf("part_kind", { "user-prompt": { content: isPrompt } })] };
const EVENTS = table({
  part_start: { index: isIndex, part: PART },
  part_delta: { index: isIndex, delta: DELTA },
  part_end: { index: isIndex, part: PART },
  function_tool_call: { part: { ...CALL, ...texts("part_kind") } },
  function_tool_result: { part: RESULT },
  tool_progress: { tool_call_id: isText, content: (value) => value !== undefined },
  model_request: { ...REQUEST, ...texts("model_name provider_name") },
  enqueued_messages: { "messages?": [REQUEST] },
  model_response_end: { "usage?": isObject, ...texts("finish_reason model_name provider_name provider_response_id") },
  system_event: { event_type: isText, "target_agents?": [isText], "transient?": isFlag, ...texts("source_agent") },
  custom: texts("name event_name"),
  error: { error_text: isText },
  response_reset: {},
  agent_start: { agent_id: (value) => isText(value) && value !== "" },
  agent_run_result: { "usage?": isObject, ...texts("finish_reason") },
});
for (const kind of "stall final_result deferred_tool_requests deferred_tool_results".split(" ")) EVENTS[kind] = {};
EVENTS.output_tool_call = EVENTS.function_tool_call;
EVENTS.output_tool_result = EVENTS.function_tool_result;

/**
 * One run on the server: each event goes into the journal, and comes back as the chunks that tell the client.
 *
 * A real server does this where its model streams. Each `on_…` takes one kind of event, writes the journal, and yields
 * chunks.
 */
class Run {
  constructor(thread, agentId, startedAt, carriers) {
    this.thread = thread;
    this.turn = thread.begin(agentId, startedAt);
    this.at = startedAt;
    this.carriers = carriers;
    this.asked = {}; // model and provider of the next response
    this.told = {}; // what carriers have said and still holds
    this.blocks = new Map(); // index of an event → its block on the wire, its part
    this.unsent = new Set(); // calls whose input the client has not been given
    this.step = null; // the response of the step that is open on the wire
    this.count = 0;
  }

  // ---------------------------------------------------------------- the life of a run

  start(messageId) {
    const chunk = messageId == null ? { type: "start" } : { type: "start", messageId };
    return [chunk, ...this.carry({ agent_id: this.turn.agentId, started_at: this.turn.startedAt })];
  }

  /** Play one event. After the end of the run nothing happens any more. */
  feed(event) {
    const kind = event.event_kind;
    if (!EVENTS[kind] || !matches(event, EVENTS[kind])) return []; // R36
    this.at = event.at ?? this.at;
    return this.thread.turn.end == null ? [...(this[`on_${kind}`]?.(event) ?? [])] : [];
  }

  /** Cut the run; tell the client with an abort, or not at all. */
  interrupt(reason, at, tell) {
    if (this.thread.turn.end != null) return [];
    this.thread.interrupt(reason, at);
    this.at = at;
    const own = KNOWN_REASONS.has(reason) ? null : reason; // R27: only a carrier can name it
    return tell ? [...this.carry({ reason: own }), { type: "abort", reason }] : [];
  }

  /** Tell what the stream does not say (R39). What holds already is not said again. */
  *carry(facts = {}) {
    const news = {};
    for (const [name, value] of Object.entries({ timestamp: this.at, ...facts })) {
      if (value == null || (STANDING.has(name) && this.told[name] === value)) continue;
      news[name] = value;
      if (STANDING.has(name)) this.told[name] = value;
    }
    if (this.carriers && Object.keys(news).length) yield { type: "data-sys-tp", data: news, transient: true };
  }

  // ---------------------------------------------------------------- the model's response

  *on_model_request(event) {
    yield* this.endStep(); // R40
    yield* this.ask(event.parts ?? []);
    Object.assign(this.asked, pick(event, "model_name", "provider_name")); // they stand until others are named (R39)
  }

  *on_enqueued_messages(event) {
    for (const { parts } of event.messages ?? []) yield* this.ask(parts ?? []);
  }

  /** A prompt ends the response before it (R44); the client hears of one that is not the user turn's. */
  *ask(parts) {
    const prompts = parts.filter((part) => part.part_kind === "user-prompt" && compact(part.content) !== "[]"); // R52
    if (prompts.length) yield* this.endStep();
    for (const request of this.thread.addRequest(prompts, this.at)) {
      yield* this.carry();
      yield steering(request.parts[0].content, this.blockId("steering"));
    }
  }

  *beginResponse() {
    yield* this.endStep();
    this.blocks = new Map();
    this.step = this.thread.beginResponse(this.at, { ...this.asked });
    yield* this.carry(this.asked);
    yield { type: "start-step" };
  }

  *on_part_start(event) {
    const index = event.index;
    const doc = dense(event.part);
    const kind = doc.part_kind;
    const known = kind.endsWith("tool-call") && this.thread.calls.get(doc.tool_call_id);
    if (known && !known.answered) return; // R36: an id can name another call once it has its return
    if (isFile(doc)) doc.content = { ...pick(doc.content, ...FILE_FIELDS), identifier: nameOf(doc.content) };
    if (!this.thread.response || this.blocks.has(index)) yield* this.beginResponse(); // again: another model call
    if (kind === "text" || kind === "thinking") yield* this.startText(index, doc);
    else if (kind === "tool-call" || kind === "builtin-tool-call") yield* this.startCall(index, doc);
    else if (kind !== "builtin-tool-return" || this.takeOutput(doc)) {
      const call = kind === "builtin-tool-return" ? this.thread.calls.get(doc.tool_call_id) : null;
      if (call) yield* this.endProvidersCall(call.part);
      const part = call ? this.thread.addOutput(call, stored(doc)) : this.thread.addPart(stored(doc), true);
      this.blocks.set(index, ["", part]);
      yield* wholePart(doc);
    }
  }

  /** The call of that id which a tool of ours has to answer; a provider answers its own (R42). */
  toolCall(id) {
    const call = this.thread.calls.get(id);
    return call?.part.doc.part_kind === "tool-call" ? call : undefined;
  }

  /** Whether a provider's call waits for this output, which is its provider's; the first one stands (R14, R42). */
  takeOutput(output) {
    const call = this.thread.calls.get(output.tool_call_id);
    if (!call || call.answered) return false;
    Object.assign(output, pick(call.part.doc, "tool_name", "provider_name")); // the stream names neither beside an output
    return true;
  }

  /** A provider's call is complete when its output comes, or at the end of its response (R10, R42). */
  *endProvidersCall(part) {
    if (part.done) return;
    part.done = true;
    part.doc.args = argsOf(part);
    yield inputAvailable(part.doc);
  }

  *startText(index, doc) {
    const word = doc.part_kind === "text" ? "text" : "reasoning";
    const part = this.thread.addPart(stored(doc));
    const block = this.blockId(word);
    this.blocks.set(index, [block, part]);
    yield { type: `${word}-start`, id: block };
    yield* this.delta(index, { content_delta: doc.content }); // what the start holds already
  }

  *startCall(index, { args, ...doc }) {
    const part = this.thread.addPart(stored(doc));
    this.blocks.set(index, [doc.tool_call_id, part]);
    yield { type: "tool-input-start", toolCallId: doc.tool_call_id, toolName: doc.tool_name, ...providerExecuted(part.doc) };
    yield* this.delta(index, { args_delta: args });
  }

  *on_part_delta(event) {
    yield* this.delta(event.index, event.delta);
  }

  *delta(index, delta) {
    const [block, part] = this.blocks.get(index) ?? [];
    if (!part || part.done) return; // R36: a delta without its start
    const kind = part.doc.part_kind;
    if (delta.part_delta_kind && delta.part_delta_kind !== (DELTAS[kind] ?? "tool_call")) return; // or of another kind
    const spoken = kind === "text" || kind === "thinking";
    if (kind === "tool-call") part.doc.tool_name += delta.tool_name_delta ?? "";
    if (kind === "thinking" && delta.signature_delta) part.doc.signature = (part.doc.signature ?? "") + delta.signature_delta;
    if (kind === "thinking" && delta.provider_name) part.doc.provider_name = delta.provider_name;
    const said = spoken ? delta.content_delta : delta.args_delta;
    if (said == null || said === "") return;
    if (isObject(said)) {
      part.args = { ...part.args, ...said }; // R12: such arguments are merged, and have no text to stream
      return;
    }
    part.text += said;
    if (spoken) yield { type: kind === "text" ? "text-delta" : "reasoning-delta", id: block, delta: said };
    else yield { type: "tool-input-delta", toolCallId: block, inputTextDelta: said };
  }

  *on_part_end(event) {
    const [block, part] = this.blocks.get(event.index) ?? [];
    const kind = part?.doc.part_kind;
    if (!part || part.done || kind.endsWith("tool-call")) return; // a call goes on until its response ends (R10)
    const last = stored(dense(event.part ?? {}));
    if ((last.part_kind ?? kind) !== kind) return; // R36
    Object.assign(part.doc, pick(last, ...METADATA), { content: part.text });
    const facts = Object.entries(pick(part.doc, ...METADATA)).map(([name, value]) => [name.replace("thinking_", ""), value]);
    if (kind === "thinking") this.thread.endThinking(part);
    const end = { type: kind === "text" ? "text-end" : "reasoning-end", id: block };
    yield facts.length ? { ...end, providerMetadata: { pydantic_ai: Object.fromEntries(facts) } } : end;
    part.done = true;
  }

  *on_model_response_end(event) {
    const named = pick(event, "model_name", "provider_name");
    Object.assign(this.asked, named);
    const facts = { ...named, ...pick({ ...event, usage: tokens(event.usage) }, "provider_response_id", "finish_reason", "usage") };
    this.thread.addUsage(facts.usage);
    this.turn.last = facts.finish_reason ?? null; // in the model's word: R44 knows one that is not the protocol's
    if (this.turn.last != null) facts.finish_reason = finishWord(this.turn.last);
    if (this.thread.response) {
      Object.assign(this.thread.response.facts, facts);
      yield* this.carry(facts);
      yield* this.endResponse(this.thread.response);
    } else if (this.step) {
      Object.assign(this.step.facts, facts); // R40: one of its tools has ended it, and not all of them have returned
      yield* this.carry(facts);
    } else if (Object.keys(facts).length) {
      yield { type: "start-step" }; // a response without a part is not a message, and was paid for
      yield* this.carry(facts);
      yield { type: "finish-step" };
    }
  }

  /** R10, R40: the response has finished, and its calls are complete with the arguments that they have now. */
  *endResponse(response) {
    for (const part of response.parts) {
      if (part.doc.part_kind === "builtin-tool-call") yield* this.endProvidersCall(part);
      if (part.doc.part_kind !== "tool-call") continue;
      part.done = true;
      this.unsent.add(this.thread.calls.get(part.doc.tool_call_id));
    }
    this.thread.finishResponse();
    this.blocks = new Map();
    for (const call of [...this.unsent]) if (hasArgs(call.part)) yield* this.sendInput(call);
    if (!callsOf(response).length) yield* this.endStep();
  }

  *sendInput(call) {
    if (!this.unsent.delete(call)) return;
    call.part.doc.args = argsOf(call.part);
    yield inputAvailable(call.part.doc);
  }

  *endStep() {
    if (this.thread.response) yield* this.endResponse(this.thread.response);
    for (const call of [...this.unsent]) yield* this.sendInput(call); // nobody has said its arguments
    if (!this.step) return;
    this.step = null;
    yield { type: "finish-step" };
  }

  *on_response_reset() {
    if (!this.thread.response) return;
    this.thread.dropResponse();
    Object.assign(this, { blocks: new Map(), last: null });
    this.step = null;
    yield { type: "reset-step" };
  }

  // ---------------------------------------------------------------- tools

  *on_function_tool_call(event) {
    const call = this.toolCall(event.part.tool_call_id);
    if (!call) return; // nobody has made it
    const { args } = event.part;
    const streams = call.response === this.thread.response;
    const held = isText(args) ? { text: args, args: null } : { args };
    if (args != null && (streams || !hasArgs(call.part))) Object.assign(call.part, held);
    if (streams) yield* this.endResponse(call.response); // R40: its first tool starts, so the response is over
    yield* this.sendInput(call);
  }

  /** The calls that the user has to approve: the stream asks, and the thread has nothing of it (R64). */
  *on_deferred_tool_requests({ requests }) {
    const named = Array.isArray(requests?.approvals) ? requests.approvals : [];
    for (const toolCallId of new Set(named.filter(isObject).map((call) => call.tool_call_id))) {
      const call = this.toolCall(toolCallId);
      const made = call && this.turn.items.includes(call.response) && call.response !== this.thread.response;
      if (!made || call.answered) continue;
      yield* this.sendInput(call);
      yield { type: "tool-approval-request", approvalId: toolCallId, toolCallId };
    }
  }

  *on_tool_progress(event) {
    const { tool_call_id: toolCallId, content: output } = event;
    if (this.toolCall(toolCallId)) yield { type: "tool-output-available", toolCallId, output, preliminary: true };
  }

  *on_function_tool_result(event) {
    const part = dense(event.part, "content");
    const call = this.toolCall(part.tool_call_id);
    const outcome = part.outcome || (part.status ? (OUTCOMES[part.status] ?? "failed") : "success"); // R62
    if (!call || call.answered) return; // R36, R14
    if (call.response === this.thread.response) yield* this.endResponse(call.response); // R40: its tool has started
    yield* this.sendInput(call);
    if (outcome === "interrupted") return; // R41
    const status = STATUS[outcome] ?? "error";
    const retry = part.part_kind === "retry-prompt"; // which has its content and no more
    const doc = retry ? { part_kind: "retry-prompt" } : { status };
    if ("content_ref" in part && !retry) doc.content_ref = part.content_ref;
    else doc.content = part.content ?? (outcome === "denied" ? DENIAL : null);
    const sent = (Array.isArray(part.metadata) ? part.metadata : []).filter(isDataChunk);
    if (part.metadata != null && !sent.length && !retry) doc.metadata = part.metadata;
    yield* this.tellReturn(call.part.doc, doc, outcome === "denied");
    this.thread.answer(call, doc, this.at);
    for (const { type, data } of sent) {
      this.thread.addEvent(type, data, this.at); // a tool's own events
      yield { type, data };
    }
    if (this.step === call.response && this.thread.allAnswered(call.response)) yield* this.endStep();
  }

  /** The wire has one way for each status; what it cannot say goes with a carrier. */
  *tellReturn(call, doc, denied) {
    const content = doc.content;
    const toolCallId = call.tool_call_id;
    const text = typeof content === "string" ? content : compact(content ?? null);
    const told = pick(doc, "part_kind", "content_ref", "metadata");
    if (doc.status !== "success" && typeof content !== "string" && "content" in doc) told.content = content;
    yield* this.carry({ tool_return: Object.keys(told).length ? told : null });
    if (doc.status === "success") {
      yield { type: "tool-output-available", toolCallId, output: content ?? null };
    } else if (denied) {
      const approvalId = this.blockId("approval");
      yield { type: "tool-approval-request", approvalId, toolCallId };
      yield { type: "tool-approval-response", approvalId, approved: false, reason: text };
      yield { type: "tool-output-denied", toolCallId };
    } else if (doc.status === "validation_error") {
      yield { type: "tool-input-error", toolCallId, toolName: call.tool_name, input: call.args, errorText: text };
    } else {
      yield { type: "tool-output-error", toolCallId, errorText: text };
    }
  }

  on_output_tool_call(event) {
    return this.on_function_tool_call(event);
  }

  on_output_tool_result(event) {
    return this.on_function_tool_result(event);
  }

  // ---------------------------------------------------------------- everything else

  *on_system_event(event) {
    const data = event.event_data ?? null;
    const told = String(NEW_NAMES[event.event_type] ?? event.event_type);
    const source = Object.keys(SOURCES).find((wire) => SOURCES[wire] === told);
    const name = source || /^(data-|meta:)/.test(told) ? told : `data-${told}`; // R34: a name of the application's own
    const more = pick(event, "source_agent", "target_agents");
    const kept = !event.transient || name.startsWith("data-tp-");
    if (kept) this.thread.addEvent(name, data, this.at, more);
    if (source && !kept) return; // its chunk cannot say that it is transient
    yield* this.carry(kept ? more : {}); // else the next event would have them
    if (source) {
      yield { type: source, ...renamed(isObject(data) ? data : {}, WIRE_NAMES) };
    } else {
      const chunk = { type: name.startsWith("data-") ? name : `data-${name}`, data };
      yield event.transient ? { ...chunk, transient: true } : chunk;
    }
  }

  *on_custom(event) {
    const name = event.name || event.event_name;
    const held = pick(event, "data", "payload");
    const own = Object.entries(event).filter(([key]) => !CUSTOM_FIELDS.includes(key)); // of the application's class
    const data = own.length ? { ...Object.fromEntries(own), ...held } : Object.values(held)[0] ?? null;
    if (name) yield* this.on_system_event({ event_type: name, event_data: data });
  }

  *on_error(event) {
    yield* this.carry();
    this.thread.addError(event.error_text, this.at);
    yield { type: "error", errorText: event.error_text };
  }

  /** R45: another agent goes on in the same stream; the turn before is complete. */
  *on_agent_start(event) {
    if (event.agent_id === this.turn.agentId) return;
    yield* this.endStep();
    if (this.turn.items.length) {
      this.thread.complete(this.at);
      this.turn = this.thread.begin(event.agent_id, this.at);
    } else {
      Object.assign(this.turn, { agentId: event.agent_id, startedAt: this.at, last: null }); // nothing was said in another's name
    }
    this.told = {};
    this.asked = {}; // the name of a model goes with its agent (R45)
    yield* this.carry({ agent_id: event.agent_id, started_at: this.at });
  }

  *on_agent_run_result(event) {
    yield* this.endStep();
    const filtered = finishWord(this.turn.last) === "content_filter";
    const reason = filtered ? this.turn.last : event.finish_reason || this.turn.last;
    const usage = this.turn.usage.size ? null : tokens(event.usage); // what the responses have told is not counted again
    this.thread.addUsage(usage);
    yield* this.carry({ completed_at: this.at, usage });
    this.thread.finish(reason, this.at);
    if (reason == null) return yield { type: "finish" };
    const plain = reason === "error" || reason === "interrupted";
    return yield { type: "finish", finishReason: plain ? reason : WIRE_FINISH[finishWord(reason)] };
  }

  blockId(word) {
    return `${word}-${++this.count}`;
  }
}

/** The arguments that a part of a call holds: objects, or the text that has streamed (R12). */
const argsOf = (part) => part.args ?? parsed(part.text);
const hasArgs = (part) => part.args != null || part.text !== "";

const FILE_FIELDS = ["kind", "data", "url", "media_type", "identifier"]; // what the stream has a place for
const isFile = (doc) => ["file", "custom:reasoning-file"].includes(doc.part_kind) && isObject(doc.content);

const STORED = table({
  text: ["id"],
  thinking: ["thinking_id", "signature", "provider_name"],
  "tool-call": ["tool_name", "tool_call_id"],
  "builtin-tool-call": ["tool_name", "tool_call_id", "provider_name"],
  "builtin-tool-return": ["tool_name", "tool_call_id", "content", "provider_name"],
  file: ["content", "id"],
});

/** The fields of a model's part that a thread has. */
function stored(part) {
  const fields = STORED[part.part_kind];
  if (!fields) return { ...part };
  const named = "id" in part ? { ...part, thinking_id: part.id } : { ...part };
  if (part.part_kind === "builtin-tool-return") named.content ??= null;
  return Object.fromEntries(["part_kind", ...fields].filter((name) => name in named).map((name) => [name, named[name]]));
}

/** Whether a tool sends this along for the thread: what is transient is only for the screen, unless it is normative. */
function isDataChunk(item) {
  if (!isObject(item) || !isText(item.type) || !("data" in item)) return false;
  return item.type.startsWith(item.transient ? "data-tp-" : "data-");
}

/** R42: calls of the provider are parts of their response, and the wire says so. */
function providerExecuted(doc) {
  if (!doc.part_kind.startsWith("builtin-")) return {};
  const named = doc.provider_name && { providerMetadata: { pydantic_ai: { provider_name: doc.provider_name } } };
  return { providerExecuted: true, ...named };
}

const inputAvailable = (doc) => ({
  type: "tool-input-available",
  toolCallId: doc.tool_call_id,
  toolName: doc.tool_name,
  input: doc.args,
  ...providerExecuted(doc),
});

/** R63: a file by its address may have the range of its kind for a media type; its own names travel beside it. */
function fileFields(content, id) {
  const family = content.kind?.split("-")[0];
  const mediaType = content.media_type || (FAMILIES.includes(family) ? `${family}/*` : "*/*");
  const { data } = content;
  const url = content.url || `data:${content.media_type ?? ""};base64,${data}`;
  const names = dense({ id, identifier: content.identifier === nameOf({ data, url }) ? null : content.identifier });
  return { url, mediaType, ...(Object.keys(names).length && { providerMetadata: { pydantic_ai: names } }) };
}

/** Parts that do not stream: a file, an output of the provider, a kind of the application. */
function* wholePart(doc) {
  const kind = doc.part_kind;
  if (isFile(doc)) {
    yield { type: kind.replace("custom:", ""), ...fileFields(doc.content, doc.id) };
  } else if (kind === "builtin-tool-return") {
    const output = doc.content ?? null;
    yield { type: "tool-output-available", toolCallId: doc.tool_call_id, output, providerExecuted: true };
  } else if (kind.startsWith("custom:")) {
    const more = "provider_metadata" in doc ? { providerMetadata: doc.provider_metadata } : {};
    yield { type: "custom", kind: kind.slice("custom:".length), ...more };
  }
}

function steering(content, id) {
  const items = typeof content === "string" ? [content] : content;
  const said = items.map((item) => {
    if (typeof item === "string") return { type: "text", text: item };
    return { type: "file", ...fileFields(item) };
  });
  return { type: "steering-message", id, parts: said };
}

/** R6: the hash of a reference names its algorithm. */
function withHashName(ref) {
  const bare = typeof ref.hash === "string" && /^[0-9a-fA-F]{64}$/.test(ref.hash);
  return bare ? { ...ref, hash: `sha256:${ref.hash.toLowerCase()}` } : ref;
}

// ======================================================================================================= 3. Wire

const DONE = "data: [DONE]\n\n";
const frame = (chunk) => `data: ${compact(chunk)}\n\n`;

/** Bytes → events, as the WHATWG describes: any line end, any split between reads, one byte order mark. */
class SseReader {
  constructor() {
    this.decoder = new TextDecoder("utf-8");
    this.line = "";
    this.afterCr = false;
    this.clear();
  }

  clear() {
    this.data = [];
    this.name = "";
  }

  /** Yield ["data", text, name] for each event and ["comment", text] for each comment. */
  *feed(bytes) {
    let text = this.decoder.decode(bytes, { stream: true });
    if (!text) return;
    if (this.afterCr && text[0] === "\n") text = text.slice(1);
    this.afterCr = text ? text.endsWith("\r") : false;
    const lines = text.split(/\r\n|\r|\n/);
    lines[0] = this.line + lines[0];
    this.line = lines.pop();
    for (const line of lines) yield* this.take(line);
    if (this.line.length > MOST) throw new Error(`a line of the stream has more than ${MOST} characters`);
  }

  *take(line) {
    if (!line) {
      if (this.data.length) yield ["data", this.data.join("\n"), this.name];
      this.clear();
      return;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (!name) yield ["comment", value];
    else if (name === "data") this.data.push(value);
    else if (name === "event") this.name = value;
  }
}

const TEXTS = {};
for (const [word, kind] of [["text", "text"], ["reasoning", "thinking"]]) {
  for (const verb of ["start", "delta", "end"]) TEXTS[`${word}-${verb}`] = [kind, verb];
}

// What each chunk has to have; a chunk of another name is unknown, and kept as an event (R7).
const FIELDS = {
  "text-start": "id",
  "text-delta": "id delta",
  "text-end": "id",
  "reasoning-start": "id",
  "reasoning-delta": "id delta",
  "reasoning-end": "id",
  "tool-input-start": "toolCallId toolName",
  "tool-input-delta": "toolCallId inputTextDelta",
  "tool-input-available": "toolCallId toolName input",
  "tool-input-error": "toolCallId toolName input errorText",
  "tool-approval-request": "toolCallId approvalId",
  "tool-approval-response": "approvalId approved",
  "tool-output-available": "toolCallId output",
  "tool-output-error": "toolCallId errorText",
  "tool-output-denied": "toolCallId",
  "source-url": "sourceId url",
  "source-document": "sourceId mediaType title",
  file: "url mediaType",
  "reasoning-file": "url mediaType",
  custom: "kind",
  "steering-message": "id parts",
  error: "errorText",
};
for (const name of "start finish abort message-metadata start-step finish-step reset-step".split(" ")) FIELDS[name] = "";
const HOLDS = {
  input: () => true,
  output: () => true,
  data: () => true,
  approved: isFlag,
  parts: Array.isArray,
  toolName: (value) => isText(value) && value !== "",
  mediaType: (value) => isText(value) && value !== "",
};
/** What a field of chunks with these beginnings has to be, or null. */
const OPTIONAL = [
  ["messageId", isText, ["start"]],
  ["finishReason", isText, ["finish"]],
  ["reason", isText, ["abort", "tool-approval-"]],
  ["title", isText, ["tool-input-", "source-url"]],
  ["filename", isText, ["source-document"]],
  ["inputEncoding", isText, ["tool-input-start"]],
  ["signature", isText, ["tool-approval-request"]],
  ["citations", Array.isArray, ["text-end"]],
  ["toolMetadata", isObject, ["tool-input-", "tool-output-"]],
  ["providerMetadata", isObject, ["text-", "reasoning-", "tool-", "source-", "file", "custom"]],
  ["id", isText, ["data-"]],
];
const FLAGS = table({ tool: ["providerExecuted", "preliminary", "dynamic"], data: ["transient"] });

/** The chunk that an event holds, or null. */
function readChunk(text) {
  try {
    return chunkOf(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The chunk that a value is, or null: what is not a chunk changes nothing (R36). */
function chunkOf(chunk) {
  if (!isObject(chunk) || !isText(chunk.type) || !chunk.type) return null;
  if (chunk.type === "data" && isText(chunk.name) && chunk.name.startsWith("data-")) {
    if (!("value" in chunk)) return null;
    const { name, value, ...rest } = chunk; // R33
    chunk = { ...rest, type: name, data: value };
  }
  const spelled = chunk.type.replace(/^thinking-/, "reasoning-");
  if (Object.hasOwn(FIELDS, spelled)) chunk.type = spelled;
  const needed = chunk.type.startsWith("data-") ? "data" : Object.hasOwn(FIELDS, chunk.type) ? FIELDS[chunk.type] : "";
  const good = needed.split(" ").every((name) => !name || (name in chunk && (HOLDS[name] ?? isText)(chunk[name])));
  const flags = FLAGS[chunk.type.split("-")[0]] ?? [];
  const known = needed === "data" || Object.hasOwn(FIELDS, chunk.type);
  const more = OPTIONAL.filter(([, , types]) => known && types.some((type) => chunk.type.startsWith(type)));
  const fits = more.every(([name, holds]) => chunk[name] == null || holds(chunk[name]));
  return good && fits && flags.every((name) => isFlag(chunk[name] ?? false)) ? chunk : null;
}

// ===================================================================================================== 4. Client

const FACT_TYPES = table({ usage: isObject, tool_return: isObject, target_agents: Array.isArray }); // all others are text
const TIMES = new Set(["timestamp", "started_at", "completed_at", "interrupted_at"]);

/** The client's side of a thread: streams go in, the journal comes out. */
class Client {
  constructor(header) {
    this.thread = new Thread(header);
    this.over = true;
    this.approvals = new Map(); // a later stream may answer them (R30)
  }

  /** A stream opens. */
  begin(agentId, at, wire) {
    this.sse = new SseReader();
    this.events = READERS[wire ?? "vsp"](this.thread);
    this.beginTurn(agentId, at);
  }

  beginTurn(agentId, at) {
    Object.assign(this, { agentId, received: at, started: false, over: false, inStep: false });
    Object.assign(this, { facts: {}, last: null }); // what carriers have told, the latest response of the step
    this.stated = null; // the latest time that an event has stated itself
    this.blocks = new Map();
  }

  /** Take in one read; return the comments that it held. */
  feed(bytes, at) {
    const comments = [];
    for (const [kind, text, name] of this.sse.feed(bytes)) {
      if (kind === "comment") comments.push(text);
      else if (this.events) for (const chunk of this.events.read(text)) this.takeMeant(chunk, at);
      else if (name !== "ping") this.take(text, at);
    }
    return comments;
  }

  /** A chunk that an event of AG-UI means, or the begin of another run in the same body. */
  takeMeant(chunk, at) {
    if (chunk !== NEXT_TURN) return this.takeChunk(chunkOf(chunk), at);
    this.end(null, at);
    return this.beginTurn(this.agentId, at);
  }

  take(text, at) {
    if (text !== "[DONE]") this.takeChunk(readChunk(text), at);
    else this.over = true;
  }

  takeChunk(chunk, at) {
    if (!chunk || this.over) return; // R35, R40: after finish, abort and the end marker nothing counts
    this.received = at;
    const name = chunk.type;
    if (name === "data-sys-tp") this.carrier(chunk.data);
    else if (name.startsWith("data-")) {
      if (!chunk.transient || name.startsWith("data-tp-")) this.event(name.replace(/^data-meta:/, "meta:"), chunk.data);
    } else if (Object.hasOwn(TEXTS, name)) this.text(...TEXTS[name], chunk);
    else if (Object.hasOwn(FIELDS, name)) this[`on_${name.replaceAll("-", "_")}`]?.(chunk);
    else {
      const { type, ...data } = chunk;
      this.event(type, data); // R7
    }
  }

  /** R45: the turn begins with the first chunk that counts. What is ignored leaves no trace, nor a turn (R36). */
  enter() {
    if (this.started) return;
    this.thread.begin(this.facts.agent_id ?? this.agentId, this.facts.started_at ?? this.at);
    this.started = true;
  }

  /** The stream has ended. One that was rejected has failed, if anything of it counts (G9). */
  close(reason, at) {
    if (this.events?.rejected && this.started) {
      const errorText = "the client rejects the stream";
      for (const chunk of [{ type: "error", errorText }, { type: "finish", finishReason: "error" }]) this.takeChunk(chunk, at);
    }
    this.end(reason, at);
  }

  /** The turn ends. Without finish and abort that is an interruption (R27). */
  end(reason, at) {
    if (this.started && !this.over) this.useUp();
    if (this.started) this.thread.interrupt(reason || "network_failure", this.facts.interrupted_at ?? at);
    this.over = true;
  }

  /** When a thing happened: as a carrier says, else when it was received, and not before what was before it. */
  get at() {
    return String(this.facts.timestamp ?? latest([this.received, ...(this.stated ? [this.stated] : [])]));
  }

  // ---------------------------------------------------------------- carriers

  /** Each fact holds for what follows; those of one response belong to the one that streams (R39). */
  carrier(data) {
    const good = ([name, fact]) => (FACT_TYPES[name] ?? isText)(fact) && (!TIMES.has(name) || (CARRIED.test(fact) && isTime(fact)));
    const told = isObject(data) ? Object.fromEntries(Object.entries(data).filter(good)) : {};
    const agent = told.agent_id;
    if ("finish_reason" in told) told.finish_reason = finishWord(told.finish_reason);
    if (agent === "") delete told.agent_id; // R2
    const current = this.started ? this.thread.turn.agentId : (this.facts.agent_id ?? this.agentId);
    if (agent && agent !== current) for (const name of ["model_name", "provider_name"]) delete this.facts[name]; // R45
    if (this.started && agent && agent !== current) {
      if (this.thread.turn.items.length) {
        this.finishResponse();
        this.thread.complete(told.started_at ?? told.timestamp ?? this.at);
        this.thread.begin(agent, told.timestamp ?? this.at);
        this.facts = pick(this.facts, "timestamp");
        this.last = null;
      }
      Object.assign(this.thread.turn, { agentId: agent, last: null });
    }
    if (this.started && told.started_at) this.thread.turn.startedAt = told.started_at;
    // the end of a response may name the model that answered
    if (this.started && this.thread.response) Object.assign(this.thread.response.facts, pick(told, "model_name", "provider_name"));
    Object.assign(this.facts, told);
    if (this.started && !this.thread.response && this.waitingResponse) this.useUp();
  }

  /** The response that streams, or the one before it while one of its tools still runs (R40). */
  get waitingResponse() {
    if (this.thread.response || !this.last) return this.thread.response;
    return this.thread.allAnswered(this.last) ? null : this.last;
  }

  /** What carriers told of the response that ends, or of the run, is its; usage counts without a response too. */
  useUp() {
    const names = ["provider_response_id", "finish_reason", "usage"];
    const facts = pick({ ...this.facts, usage: tokens(this.facts.usage) }, ...names);
    for (const name of names) delete this.facts[name];
    this.thread.addUsage(facts.usage);
    const told = Object.keys(facts).length > 0;
    const response = this.waitingResponse;
    if (told && response) Object.assign(response.facts, pick(this.facts, "model_name", "provider_name"), facts);
    if (told && this.thread.turn.end == null) this.thread.turn.last = facts.finish_reason ?? null;
  }

  // ---------------------------------------------------------------- responses and steps

  /** A part starts: it belongs to the response that streams, or begins one (R40). */
  respond() {
    this.responded = true;
    this.enter();
    if (!this.thread.response) this.thread.beginResponse(this.at, pick(this.facts, "model_name", "provider_name"));
    this.last = this.thread.response;
  }

  finishResponse() {
    if (this.started) this.useUp();
    this.thread.finishResponse();
    this.blocks = new Map();
  }

  on_start() {
    this.enter();
  }

  on_start_step() {
    this.enter();
    this.finishResponse();
    Object.assign(this, { inStep: true, responded: false, last: null });
  }

  on_finish_step() {
    this.finishResponse();
    Object.assign(this, { inStep: false, responded: false, last: null });
  }

  on_reset_step() {
    if (!this.thread.response) return;
    this.useUp();
    this.thread.dropResponse();
    this.blocks = new Map();
  }

  // ---------------------------------------------------------------- texts and thoughts

  /** A start, a delta or an end. Texts and thoughts have ids apart; what has no start is nothing (R36). */
  text(kind, verb, chunk) {
    const block = `${kind} ${chunk.id}`;
    let part = this.blocks.get(block);
    if (verb === "start" && !part) {
      this.respond();
      part = this.thread.addPart({ part_kind: kind });
      this.blocks.set(block, part);
    }
    if (!part) return;
    if (kind === "thinking" || verb !== "delta") Object.assign(part.doc, metadata(kind, chunk));
    if (verb === "delta") part.text += chunk.delta;
    if (verb !== "end") return;
    this.blocks.delete(block);
    part.doc.content = part.text;
    if (kind === "thinking") this.thread.endThinking(part);
    part.done = true;
  }

  // ---------------------------------------------------------------- calls and their returns

  /** A new call, or undefined when one of that id waits for its arguments or its return (R36). */
  openCall(chunk) {
    const known = this.thread.calls.get(chunk.toolCallId);
    if (known && (!known.answered || known.response === this.thread.response)) return undefined;
    this.respond();
    const part_kind = chunk.providerExecuted ? "builtin-tool-call" : "tool-call";
    const doc = { part_kind, tool_call_id: chunk.toolCallId };
    this.thread.addPart({ ...doc, ...metadata(part_kind, chunk) });
    return this.thread.calls.get(chunk.toolCallId);
  }

  completeCall(call, chunk) {
    if (chunk.providerExecuted) call.part.doc.part_kind = "builtin-tool-call"; // which the start need not say
    const named = { tool_name: chunk.toolName, args: chunk.input }; // the start may have had a piece of the name alone
    Object.assign(call.part.doc, named, metadata(call.part.doc.part_kind, chunk));
    call.part.done = true;
  }

  on_tool_input_start(chunk) {
    this.openCall(chunk);
  }

  on_tool_input_available(chunk) {
    let call = this.thread.calls.get(chunk.toolCallId);
    if (!call || call.answered) call = this.openCall(chunk);
    if (call && !call.part.done) this.completeCall(call, chunk);
  }

  /** The call is complete and refused at once; no tool has run, so its response goes on (R40). */
  on_tool_input_error(chunk) {
    let call = this.thread.calls.get(chunk.toolCallId);
    if (!call || call.answered) call = this.openCall(chunk);
    if (!call) return;
    if (!call.part.done) this.completeCall(call, chunk);
    if (call.part.doc.part_kind === "builtin-tool-call") this.output(chunk, { content: chunk.errorText });
    else this.answer(call, { status: "validation_error", content: chunk.errorText });
  }

  on_tool_approval_request(chunk) {
    const call = this.thread.calls.get(chunk.toolCallId);
    if (call) this.approvals.set(chunk.approvalId, call);
  }

  on_tool_approval_response(chunk) {
    const call = this.approvals.get(chunk.approvalId);
    if (call && !chunk.approved && isText(chunk.reason)) call.denial = chunk.reason;
  }

  on_tool_output_available(chunk) {
    if (!chunk.preliminary) this.output(chunk, { status: "success", content: chunk.output }); // R14: progress is not a return
  }

  on_tool_output_error(chunk) {
    this.output(chunk, { status: "error", content: chunk.errorText });
  }

  on_tool_output_denied(chunk) {
    const content = this.thread.calls.get(chunk.toolCallId)?.denial ?? DENIAL;
    this.output(chunk, { status: "error", content });
  }

  output(chunk, doc) {
    const call = this.thread.calls.get(chunk.toolCallId);
    if (!call || !call.part.done || call.answered) return; // R36, R14
    if (call.part.doc.part_kind === "builtin-tool-call") {
      this.respond(); // R42: a part of the response with which it comes, and no return
      const { part_kind, args, ...head } = call.part.doc;
      this.thread.addOutput(call, { part_kind: "builtin-tool-return", ...head, content: doc.content });
      return;
    }
    if (call.response === this.thread.response) this.finishResponse(); // R40: tools run after their response
    this.answer(call, doc);
  }

  answer(call, doc) {
    this.enter(); // also with the return of a call that another turn has left (R30)
    const { tool_return: told, ...rest } = this.facts;
    this.facts = rest;
    if (isObject(told)) {
      if ("content_ref" in told) delete doc.content; // instead of the content, unless the carrier has both (R6)
      const odd = !["success", "error", "validation_error"].includes(told.status); // R22
      const names = ["part_kind", ...(odd ? [] : ["status"]), "content", "content_ref", "metadata"].filter((name) => name in told);
      for (const name of names) doc[name] = told[name];
      if (doc.part_kind === "retry-prompt") delete doc.status;
    }
    this.thread.answer(call, doc, this.at);
  }

  // ---------------------------------------------------------------- whole parts, requests, events

  whole(doc) {
    this.respond();
    this.thread.addPart(doc, true);
  }

  on_file(chunk) {
    this.whole({ part_kind: "file", content: contentOf(chunk), ...pick(ownNames(chunk), "id") });
  }

  on_reasoning_file(chunk) {
    this.whole({ part_kind: "custom:reasoning-file", content: contentOf(chunk), ...pick(ownNames(chunk), "id") });
  }

  on_custom(chunk) {
    const more = chunk.providerMetadata != null ? { provider_metadata: chunk.providerMetadata } : {};
    this.whole({ part_kind: `custom:${chunk.kind}`, ...more });
  }

  on_steering_message(chunk) {
    const isSaid = { text: ({ text }) => isText(text), file: ({ url }) => isText(url) && url !== "" };
    const items = chunk.parts.filter((part) => isObject(part) && table(isSaid)[part.type]?.(part));
    const said = items.map((part) => (part.type === "text" ? part.text : contentOf(part)));
    if (!said.length) return; // R52
    this.enter();
    this.finishResponse();
    this.thread.addRequest([{ part_kind: "user-prompt", content: said }], this.at);
  }

  event(name, data) {
    this.enter();
    const own = name.startsWith("data-tp-") && isObject(data) ? data.timestamp : null;
    if (isText(own) && isTime(own) && !this.facts.timestamp) {
      this.stated = latest([own, this.thread.turn.startedAt, ...this.thread.turn.items.map((item) => item.at)]);
      this.received = this.stated;
    }
    const { source_agent, target_agents, ...rest } = this.facts;
    this.thread.addEvent(name, data, this.at, pick(this.facts, "source_agent", "target_agents"));
    this.facts = rest;
  }

  /** A source belongs to the response of its step, outside of steps to the one before it (R25). */
  on_source_url(chunk) {
    if (this.inStep && !this.responded) this.respond();
    const named = pick(chunk, "sourceId", "url", "title", "mediaType", "filename");
    this.event(SOURCES[chunk.type], renamed(named, THREAD_NAMES));
  }

  on_source_document(chunk) {
    this.on_source_url(chunk);
  }

  // ---------------------------------------------------------------- how a turn ends

  on_error(chunk) {
    this.enter();
    this.useUp();
    this.thread.addError(chunk.errorText, this.at);
  }

  on_abort(chunk) {
    this.enter();
    this.useUp();
    const reason = this.facts.reason || (KNOWN_REASONS.has(chunk.reason) ? chunk.reason : "user_cancelled"); // R27
    this.thread.interrupt(reason, this.facts.interrupted_at ?? this.at);
    this.over = true;
  }

  on_finish(chunk) {
    this.enter();
    const end = this.facts.completed_at || this.facts.interrupted_at || this.at;
    // Outside of a step it is the usage of the result, which repeats those of the responses (R17).
    if (this.thread.turn.usage.size && !this.inStep && !this.responded) delete this.facts.usage;
    this.finishResponse();
    this.thread.finish(isText(chunk.finishReason) ? chunk.finishReason : null, end);
    this.over = true;
  }
}

/** What a chunk's providerMetadata says of a part: ids, signatures, the provider. */
function metadata(kind, chunk) {
  const said = {};
  for (const [space, values] of Object.entries(isObject(chunk.providerMetadata) ? chunk.providerMetadata : {})) {
    if (!isObject(values)) continue;
    const own = space === "pydantic_ai" ? values : {}; // ids of other name spaces are not of the part
    const found = {
      id: kind === "text" ? own.id : null,
      thinking_id: kind === "thinking" ? own.id : null,
      signature: kind === "thinking" ? values.signature : null,
      provider_name: kind === "text" || kind === "tool-call" ? null : space === "pydantic_ai" ? values.provider_name : space,
    };
    for (const [name, value] of Object.entries(found)) if (isText(value)) said[name] = value;
  }
  return said;
}

/** A file by data is held, any other is named; a range says of which kind, and is not a media type (R63). */
function contentOf(chunk) {
  const { url, mediaType } = chunk;
  const media_type = isText(mediaType) && mediaType ? mediaType : "application/octet-stream"; // steering may lack it
  const { identifier } = ownNames(chunk);
  const data = /^data:[^,]*;base64,([^]*)$/.exec(url)?.[1];
  if (data !== undefined && isBase64(data)) return { kind: "binary", data, media_type, identifier: nameOf({ identifier, data }) };
  const family = media_type.split("/")[0];
  const kind = `${FAMILIES.includes(family) ? family : "document"}-url`;
  return { kind, url, ...(!media_type.endsWith("/*") && { media_type }), identifier: nameOf({ identifier, url }) };
}

/** The id and identifier that a file has of its own. */
function ownNames({ providerMetadata }) {
  const { id, identifier } = providerMetadata?.pydantic_ai ?? {};
  return { ...(isText(id) && { id }), ...(isText(identifier) && { identifier }) };
}

function isBase64(data) {
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(data) && data.replace(/=+$/, "").length % 4 !== 1;
}

/** The identifier of a file, as Pydantic AI gives it: the beginning of a digest. */
function nameOf({ identifier, data, url }) {
  if (identifier != null) return identifier;
  if (data == null) return url; // a file by its address is named by it
  const bytes = isBase64(data) ? Buffer.from(data, "base64") : Buffer.from(data);
  return createHash("sha1").update(bytes).digest("hex").slice(0, 6);
}

// ===================================================================================================== 5. AG-UI
//
// The other wire: chunks as events of AG-UI 1.0, and back (docs/AG_UI_STREAM.md). What AG-UI has no member for stands
// under `threadprotocol` in the metadata of an event, and a chunk for which it has no event is a CUSTOM event. The
// numbers G1–G11 are the rulings in conformance/statements/ag-ui-rulings.md.

const OURS = "threadprotocol";
const CUT = { cut: true };
const marked = (event, facts) => (Object.keys(facts).length ? { ...event, metadata: { [OURS]: facts } } : event);
const YES_OR_NO = ["announced", "cut", "empty", "json", "provider_executed", "reported", "step", "text_open"];
const IN_WORDS = ["finish_reason", "outcome", "reason", "tool_call_id", "tool_name"];

/** The facts of an event. One of another form is not ours. */
function ours({ metadata }) {
  const said = isObject(metadata?.[OURS]) ? metadata[OURS] : {};
  const fits = ([name, fact]) =>
    YES_OR_NO.includes(name) ? typeof fact === "boolean" : IN_WORDS.includes(name) ? isText(fact) : name !== "provider_metadata" || isObject(fact);
  return Object.fromEntries(Object.entries(said).filter(fits));
}

/** What a chunk says of the provider, as a fact of its event. */
const providerFacts = ({ providerMetadata, providerExecuted }) => ({
  ...(providerMetadata && { provider_metadata: providerMetadata }),
  ...(providerExecuted && { provider_executed: true }),
});

/** The value of arguments, undefined where they are not JSON; no text at all is a call without arguments (G4). */
const argumentsOf = (text) => (text.trim() ? valueOf(text) : {});

/** Writes one run. Whatever its chunks are, everything is closed before RUN_FINISHED (G3). */
class AgUiWriter {
  constructor(threadId, runId) {
    this.names = { threadId, runId };
    this.open = new Map(); // a text, thought or call by the id of its chunks: the event that ends it, whether it has said a word
    this.calls = new Map(); // by the id of a call: its id on the wire, its name, the text of its arguments
    this.pending = new Set(); // ids on the wire of calls without a result
    this.asked = new Map(); // by the id of an approval its call
    Object.assign(this, { count: 0, steps: 0, step: null, message: null, error: null, agent: null, over: false });
  }

  write(chunks) {
    return chunks.flatMap((chunk) => [...this.events(chunk)]).map(frame);
  }

  /** What the end marker is here: an error that nothing has followed ends the run. */
  end() {
    return this.error != null && !this.over ? [frame(this.failed({}))] : [];
  }

  *events(chunk) {
    const handler = this[`on_${chunk.type.replaceAll("-", "_")}`];
    if (handler) yield* handler.call(this, chunk);
    else yield this.carry(chunk);
  }

  carry({ type, ...value }) {
    return { type: "CUSTOM", name: `${OURS}.${type}`, value };
  }

  fresh() {
    return `${this.names.runId}-${++this.count}`;
  }

  // ---------------------------------------------------------------- runs and responses

  *on_start() {
    yield { type: "RUN_STARTED", ...this.names, protocolVersion: "1.0" };
  }

  *on_finish({ finishReason }) {
    const facts = dense({ finish_reason: finishReason });
    if (this.error != null && ["error", "interrupted", "content-filter"].includes(finishReason)) {
      yield this.failed(finishReason === "error" ? {} : facts);
      return;
    }
    if (finishReason === "interrupted") {
      yield* this.finished({ type: "cancelled" }, facts); // stopped on purpose is never a success (R27)
      return;
    }
    const asked = [...this.asked].map(([id, call]) => ({ id, reason: "tool_call", toolCallId: this.calls.get(call)?.id }));
    const interrupts = asked.filter(({ toolCallId }) => this.pending.has(toolCallId));
    const pending = this.pending.size ? { pendingToolCallIds: [...this.pending] } : {};
    yield* this.finished(interrupts.length ? { type: "interrupt", interrupts } : { type: "success", ...pending }, facts);
  }

  *on_abort({ reason }) {
    yield* this.finished({ type: "cancelled" }, { reason });
  }

  *on_error(chunk) {
    this.error = chunk.errorText; // the run may go on: what ends it is not known yet (R27)
    yield this.carry(chunk);
  }

  *on_data_sys_tp(chunk) {
    const agent = chunk.data?.agent_id;
    if (isText(agent) && agent !== this.agent) Object.assign(this, { agent, error: null }); // R45: the turn before is complete
    yield this.carry(chunk);
  }

  failed(facts) {
    this.over = true;
    return marked({ type: "RUN_ERROR", message: this.error }, { reported: true, ...facts });
  }

  *finished(outcome, facts) {
    yield* this.closeAll();
    yield* this.endStep({});
    yield marked({ type: "RUN_FINISHED", ...this.names, outcome }, facts);
    this.over = true;
  }

  *closeAll() {
    for (const { end } of this.open.values()) yield marked(end, CUT);
    this.open.clear();
  }

  *on_start_step() {
    yield* this.endStep({});
    this.step = `response-${++this.steps}`;
    this.message = null;
    yield marked({ type: "STEP_STARTED", stepName: this.step }, { step: true });
  }

  *on_finish_step() {
    yield* this.endStep({ step: true });
  }

  *endStep(facts) {
    if (this.step) yield marked({ type: "STEP_FINISHED", stepName: this.step }, facts);
    this.step = null;
  }

  *on_reset_step(chunk) {
    yield* this.closeAll();
    yield this.carry(chunk);
  }

  // ---------------------------------------------------------------- texts and thoughts

  *start(kind, chunk, more) {
    const messageId = this.fresh();
    this.open.set(chunk.id, { id: messageId, end: { type: `${kind}_END`, messageId }, said: false });
    yield marked({ type: `${kind}_START`, messageId, ...more }, providerFacts(chunk));
    return messageId;
  }

  *content(kind, chunk) {
    const item = this.open.get(chunk.id);
    item.said ||= chunk.delta !== "";
    yield marked({ type: `${kind}_CONTENT`, messageId: item.id, delta: chunk.delta }, providerFacts(chunk));
  }

  *ended(chunk, facts) {
    const { end } = this.open.get(chunk.id);
    this.open.delete(chunk.id);
    yield marked(end, { ...providerFacts(chunk), ...facts });
  }

  *on_text_start(chunk) {
    this.message = yield* this.start("TEXT_MESSAGE", chunk, { role: "assistant" });
  }

  on_text_delta(chunk) {
    return this.content("TEXT_MESSAGE", chunk);
  }

  on_text_end(chunk) {
    return this.ended(chunk, this.open.get(chunk.id).said ? {} : { empty: true }); // G11
  }

  on_reasoning_start(chunk) {
    return this.start("REASONING_MESSAGE", chunk, { role: "reasoning" });
  }

  on_reasoning_delta(chunk) {
    return this.content("REASONING_MESSAGE", chunk);
  }

  on_reasoning_end(chunk) {
    return this.ended(chunk, {});
  }

  // ---------------------------------------------------------------- calls and their results

  /** Open a call. An id that the run has used is another call's on the wire, where a client would append to that one. */
  *on_tool_input_start(chunk) {
    const { toolCallId, toolName } = chunk;
    const again = this.calls.has(toolCallId);
    const id = again ? this.fresh() : toolCallId;
    this.message ??= this.fresh(); // the calls of a response are of one message
    const silent = [...this.open.values()].some((item) => item.id === this.message && !item.said);
    const facts = { ...providerFacts(chunk), ...(again && { tool_call_id: toolCallId }), ...(silent && { text_open: true }) };
    this.calls.set(toolCallId, { id, name: toolName, text: "" });
    this.open.set(toolCallId, { id, end: { type: "TOOL_CALL_END", toolCallId: id } });
    this.pending.add(id);
    yield marked({ type: "TOOL_CALL_START", toolCallId: id, toolCallName: toolName, parentMessageId: this.message }, facts);
  }

  *on_tool_input_delta({ toolCallId, inputTextDelta }) {
    const call = this.calls.get(toolCallId);
    call.text += inputTextDelta;
    yield { type: "TOOL_CALL_ARGS", toolCallId: call.id, delta: inputTextDelta };
  }

  *on_tool_input_available(chunk) {
    const { toolCallId, toolName, input } = chunk;
    const call = this.calls.get(toolCallId);
    if (!call.text) yield* this.on_tool_input_delta({ toolCallId, inputTextDelta: compact(input) });
    const said = argumentsOf(call.text);
    const facts = { ...(said === undefined || jcs(said) !== jcs(input) ? { input } : {}), ...(toolName !== call.name && { tool_name: toolName }) };
    yield* this.ended({ ...chunk, id: toolCallId }, facts);
  }

  *result({ toolCallId, providerExecuted }, content, facts) {
    const id = this.calls.get(toolCallId)?.id ?? toolCallId;
    this.pending.delete(id);
    const own = providerExecuted ? { provider_executed: true } : {};
    yield marked({ type: "TOOL_CALL_RESULT", messageId: this.fresh(), toolCallId: id, content }, { ...facts, ...own });
  }

  *on_tool_approval_request(chunk) {
    this.asked.set(chunk.approvalId, chunk.toolCallId); // the end of the run asks (R64)
    yield this.carry(chunk);
  }

  *on_tool_output_available(chunk) {
    const { output } = chunk;
    if (chunk.preliminary) yield this.carry(chunk);
    else yield* isText(output) ? this.result(chunk, output, {}) : this.result(chunk, compact(output), { json: true });
  }

  on_tool_output_error(chunk) {
    return this.result(chunk, chunk.errorText, { outcome: "error" });
  }

  on_tool_output_denied(chunk) {
    return this.result(chunk, "", { outcome: "denied" });
  }

  on_tool_input_error(chunk) {
    return this.result(chunk, chunk.errorText, { outcome: "refused" });
  }}

// What an event has: `name?` may be absent and is never null, `name=kind` is of that kind and any other a text.
const S = "subagentRunId?";
const AG_UI_FIELDS = table({
  RUN_STARTED: "threadId runId protocolVersion? parentRunId? input?=object",
  RUN_FINISHED: "threadId runId outcome?=outcome result?=any usage?=usage",
  RUN_ERROR: "message code? usage?=usage",
  STEP_STARTED: `stepName ${S}`,
  STEP_FINISHED: `stepName ${S}`,
  TEXT_MESSAGE_START: `messageId role? name? ${S}`,
  TEXT_MESSAGE_CONTENT: `messageId delta ${S}`,
  TEXT_MESSAGE_END: `messageId ${S}`,
  TEXT_MESSAGE_CHUNK: `messageId? role? delta? name? ${S}`,
  TOOL_CALL_START: `toolCallId toolCallName parentMessageId? ${S}`,
  TOOL_CALL_ARGS: `toolCallId delta ${S}`,
  TOOL_CALL_END: `toolCallId ${S}`,
  TOOL_CALL_CHUNK: `toolCallId? toolCallName? parentMessageId? delta? ${S}`,
  TOOL_CALL_RESULT: `messageId toolCallId content=parts role? ${S}`,
  REASONING_START: `messageId ${S}`,
  REASONING_END: `messageId ${S}`,
  REASONING_MESSAGE_START: `messageId role=reasoning ${S}`,
  REASONING_MESSAGE_CONTENT: `messageId delta ${S}`,
  REASONING_MESSAGE_END: `messageId ${S}`,
  REASONING_MESSAGE_CHUNK: `messageId? delta? ${S}`,
  REASONING_ENCRYPTED_VALUE: `subtype entityId encryptedValue ${S}`,
  STATE_SNAPSHOT: `snapshot=any ${S}`,
  STATE_DELTA: `delta=patch ${S}`,
  MESSAGES_SNAPSHOT: `messages=messages ${S}`,
  ACTIVITY_SNAPSHOT: `messageId activityType content=object replace?=flag ${S}`,
  ACTIVITY_DELTA: `messageId activityType patch=patch ${S}`,
  SUBAGENT_STARTED: "subagentRunId name description? parentSubagentRunId? parentToolCallId? parentMessageId?",
  SUBAGENT_FINISHED: "subagentRunId result?=any outcome?=object",
  SUBAGENT_ERROR: "subagentRunId message code?",
  RAW: `event=any source? ${S}`,
  CUSTOM: `name value=any ${S}`,
});
const SOURCE = oneOf("type", { data: { value: isText, mimeType: isText }, url: { value: isText }, file: { value: isText } });
const MEDIA = { source: SOURCE, ...texts("id") };
const PARTS = [oneOf("type", { text: { text: isText }, image: MEDIA, audio: MEDIA, video: MEDIA, document: MEDIA })];
const isParts = (value) => isText(value) || matches(value, PARTS);
const isPointer = (value) => isText(value) && /^($|[/])/.test(value);
const OF_PATH = { path: isPointer };
const OF_VALUE = { ...OF_PATH, value: (value) => value !== undefined };
const OPERATION = { add: OF_VALUE, replace: OF_VALUE, test: OF_VALUE, remove: OF_PATH, move: { ...OF_PATH, from: isPointer }, copy: { ...OF_PATH, from: isPointer } };
const ASKED = { id: isText, reason: isText };
const AG_UI_KINDS = table({
  text: isText,
  any: (value) => value !== undefined,
  object: isObject,
  flag: isFlag,
  whole: Number.isInteger,
  reasoning: (value) => value === "reasoning",
  parts: isParts,
  patch: [oneOf("op", OPERATION)],
  usage: [isObject],
  outcome: oneOf("type", { interrupt: { interrupts: (value) => matches(value, [ASKED]) && value.length > 0 } }),
  messages: [oneOf("role", { tool: { id: isText, toolCallId: isText, content: isParts } })],
});
const AG_UI_SHAPES = table({});
for (const [type, fields] of Object.entries(AG_UI_FIELDS)) {
  const named = `${fields} timestamp?=whole rawEvent?=any metadata?=object`.split(" ").map((field) => field.split("="));
  AG_UI_SHAPES[type] = named.map(([name, kind]) => [name.replace("?", ""), name.endsWith("?"), AG_UI_KINDS[kind ?? "text"]]);
}

// What streams: its events, and what its start says that a later chunk may repeat.
const FAMILY = table({
  text: { stem: "TEXT_MESSAGE", add: "CONTENT", key: "messageId", opener: ["role", "name"] },
  call: { stem: "TOOL_CALL", add: "ARGS", key: "toolCallId", opener: ["toolCallName", "parentMessageId"] },
  reasoning: { stem: "REASONING_MESSAGE", add: "CONTENT", key: "messageId", opener: [] },
  span: { stem: "REASONING", add: null, key: "messageId" },
});
const ACTS = table({});
for (const [family, { stem, add, key }] of Object.entries(FAMILY)) {
  for (const [act, word] of [["start", "START"], ["add", add], ["end", "END"]]) if (word) ACTS[`${stem}_${word}`] = { family, act, key };
}
const SHORTHAND = table({ TEXT_MESSAGE_CHUNK: "text", TOOL_CALL_CHUNK: "call", REASONING_MESSAGE_CHUNK: "reasoning" });
const ENDS_NOTHING = ["RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"];
const ENDS_ALL = ["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"];
const URL_KINDS = table({ image: "image-url", audio: "audio-url", video: "video-url", document: "document-url" });
const NEXT_TURN = { type: "" }; // no chunk: the body holds another run (G1)

/** An event for which a client has to reject the stream (G9). */
class Rejected extends Error {}

function insist(holds, why) {
  if (!holds) throw new Rejected(why);
}

/** The event that data hold, null if AG-UI does not know it; what is malformed rejects the stream. */
function readAgUi(text) {
  let event = null;
  try {
    event = JSON.parse(text);
  } catch {
    // not an event either
  }
  insist(isText(event?.type), "the data are not an event");
  const shape = AG_UI_SHAPES[event.type];
  if (!shape) return null;
  for (const [name, may, kind] of shape) {
    const fits = name in event && !(may && event[name] === null) ? matches(event[name], kind) : may && !(name in event);
    insist(fits, `${name} of ${event.type}`);
  }
  return event;
}

/** The content of a result: one text part alone is that text (G6). */
function resultContent(content) {
  if (isText(content)) return content;
  const known = content.filter((part) => part.type === "text" || (part.type in URL_KINDS && ["data", "url", "file"].includes(part.source.type)));
  return plain(known.map(partContent));
}

function partContent(part) {
  if (part.type === "text") return part.text;
  const { type, value, mimeType } = part.source;
  const identifier = part.id || null;
  if (type === "data" && isBase64(value)) {
    return { kind: "binary", data: value, media_type: mimeType, identifier: nameOf({ identifier, data: value }) };
  }
  if (type !== "url") return part; // a provider's handle: nothing of it may be read
  return { kind: URL_KINDS[part.type], url: value, ...(mimeType && { media_type: mimeType }), identifier: identifier ?? value };
}

/** Reads the body of an answer: verifies each event, and says in chunks what it means. */
class AgUiReader {
  constructor(thread) {
    this.thread = thread;
    this.state = "new";
    this.items = new Map(); // what streams or has streamed, by family and id
    this.lanes = new Map(); // what is open in shorthand, by its owner
    this.rejected = false;
    this.ran = false;
    this.beginRun();
  }

  beginRun() {
    this.steps = new Set();
    this.subagents = new Map(); // whether it is active
    this.run = {};
    this.texts = new Map(); // arguments of open calls
    this.named = new Map(); // by the id of a call: the name of its tool, its id in the thread
    this.unparsed = new Map(); // arguments that are not JSON, of calls that have ended (G4)
    this.thought = null; // one that has ended, and waits for its signature (G5)
    this.said = new Map(); // what the user says inside of the run
    this.silent = new Map(); // texts of which no word has come (G11)
    this.usageTold = false;
  }

  read(text) {
    const chunks = [];
    try {
      if (!this.rejected) for (const event of this.expanded(readAgUi(text))) chunks.push(...this.meaning(event));
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      this.rejected = true;
    }
    return chunks;
  }

  // ---------------------------------------------------------------- whether an event has its place

  /** Yield the events that one stands for, each where it has its place. */
  *expanded(event) {
    if (!event) return;
    const begins = event.type === "RUN_STARTED";
    const fits = begins ? this.state !== "running" : event.type === "RUN_ERROR" ? this.state !== "failed" : this.state === "running";
    insist(fits, `${event.type} where the stream is ${this.state}`);
    if (event.type in SHORTHAND) {
      for (const one of this.longhand(event, SHORTHAND[event.type])) yield this.placed(one);
      return;
    }
    for (const lane of this.endedBy(event)) for (const end of this.endsOf(lane)) yield this.placed(end);
    yield this.placed(event);
  }

  endedBy(event) {
    if (ENDS_ALL.includes(event.type)) return [...this.lanes.keys()];
    return ENDS_NOTHING.includes(event.type) ? [] : [this.ownerOf(event)];
  }

  /** In whose lane an event is: that of its tag, else that of what it continues. */
  ownerOf(event) {
    const { family, act, key } = ACTS[event.type] ?? {};
    const continued = act && act !== "start" ? this.items.get(`${family} ${event[key]}`) : null;
    return event.subagentRunId ?? continued?.owner ?? null;
  }

  endsOf(lane) {
    const item = this.lanes.get(lane);
    if (!item) return [];
    this.lanes.delete(lane);
    const { stem, key } = FAMILY[item.family];
    return [{ type: `${stem}_END`, [key]: item.id }];
  }

  *longhand(chunk, family) {
    const { stem, add, key, opener } = FAMILY[family];
    const id = chunk[key];
    const tag = chunk.subagentRunId ?? null;
    const open = this.continuedBy(family, id, tag);
    const tagged = pick(chunk, "subagentRunId", "metadata");
    if (open) {
      const before = { ...(family === "text" && { role: "assistant" }), ...open.opener };
      insist(opener.every((name) => chunk[name] == null || chunk[name] === before[name]), "a chunk says otherwise what its first has said");
    } else {
      insist(id != null && (family !== "call" || chunk.toolCallName != null), "a first chunk does not name what it opens");
      yield* this.endsOf(tag);
      this.lanes.set(tag, { family, id, opener: pick(chunk, ...opener) });
      yield { type: `${stem}_START`, [key]: id, ...pick(chunk, ...opener), ...tagged };
    }
    if (chunk.delta != null) yield { type: `${stem}_${add}`, [key]: open?.id ?? id, delta: chunk.delta, ...tagged };
  }

  continuedBy(family, id, tag) {
    const mine = [...this.lanes].filter(([, item]) => item.family === family);
    if (id != null) {
      const [owner, item] = mine.find(([, one]) => one.id === id) ?? [];
      insist(!item || tag == null || tag === owner, "a chunk is of another owner than what it continues");
      return item;
    }
    const [, item] = mine.find(([owner]) => owner === tag) ?? [];
    if (item || tag != null) return item;
    insist(mine.length < 2, "a chunk could continue several");
    return mine[0]?.[1];
  }

  /** Take an event into the account of what is open, or reject the stream. */
  placed(event) {
    const tag = event.subagentRunId ?? null;
    if (event.type in ACTS) this.stream(event, tag, ACTS[event.type]);
    else if (event.type.startsWith("STEP_")) this.span(this.steps, `${tag} ${event.stepName}`, event.type === "STEP_STARTED");
    else if (event.type === "SUBAGENT_STARTED") {
      insist(!this.subagents.has(tag), "an invocation of a subagent comes twice");
      this.subagents.set(tag, true);
    } else if (event.type.startsWith("SUBAGENT_")) {
      insist(this.subagents.get(tag), "a subagent ends that is not active");
      this.subagents.set(tag, false);
    } else if (event.type.startsWith("RUN_")) this.turnOver(event.type);
    return event;
  }

  span(open, name, starts) {
    insist(open.has(name) !== starts, `${name} ${starts ? "is open already" : "is not open"}`);
    if (starts) open.add(name);
    else open.delete(name);
  }

  stream(event, tag, { family, act, key }) {
    const name = `${family} ${event[key]}`;
    const item = this.items.get(name);
    if (act === "start") {
      insist(!item?.open && (!item || item.owner === tag || item.run !== this.run), `${name} is open already, or another's`);
      this.items.set(name, { open: true, owner: tag, run: this.run });
    } else {
      insist(item?.open && (tag == null || tag === item.owner), `${name} is not open, or another's`);
      item.open = act === "add";
    }
  }

  turnOver(type) {
    const left = [...this.items.values()].some((item) => item.open) || this.steps.size || [...this.subagents.values()].includes(true);
    insist(type !== "RUN_FINISHED" || !left, "something is open where the run finishes");
    for (const item of this.items.values()) item.open = false;
    this.state = { RUN_STARTED: "running", RUN_FINISHED: "finished", RUN_ERROR: "failed" }[type];
  }

  // ---------------------------------------------------------------- what an event means

  *meaning(event) {
    const handler = this[`on_${event.type}`];
    if (!handler || this.ownerOf(event) != null) return; // what a subagent does is not a turn of the agent (G8)
    if (this.thought && event.type !== "REASONING_ENCRYPTED_VALUE") {
      yield { type: "reasoning-end", ...this.thought };
      this.thought = null;
    }
    yield* this.settle(event);
    yield* handler.call(this, event, ours(event));
  }

  /** Silent texts are texts once another event comes, unless a call names one as its message (G11). */
  *settle(event) {
    const held = this.silent.get(event.parentMessageId);
    if (held && !ours(event).text_open) held.carries = true;
    for (const [id, { chunks, carries }] of this.silent) {
      if (carries ? chunks.length > 1 : id !== event.messageId) this.silent.delete(id);
      if (!carries && id !== event.messageId) yield* chunks;
    }
  }

  *on_RUN_STARTED(event, { announced }) {
    if (this.ran) yield NEXT_TURN; // a run before it in the same body (G1)
    this.ran = true;
    this.beginRun();
    if (announced !== false) yield { type: "start" };
  }

  *on_RUN_FINISHED(event, { reason, finish_reason }) {
    if (event.outcome?.type === "cancelled" && finish_reason !== "interrupted") {
      yield { type: "abort", reason };
      return;
    }
    yield* this.whole([...this.unparsed.keys()]);
    const usage = this.usageTold ? {} : totalOf(event.usage ?? []);
    if (Object.keys(usage).length) yield* [{ type: "finish-step" }, { type: "data-sys-tp", data: { usage } }];
    yield { type: "finish", finishReason: finish_reason };
  }

  *on_RUN_ERROR(event, { reported, finish_reason, reason = event.code }) {
    this.ran = true;
    if (reason !== "error" && KNOWN_REASONS.has(reason)) yield { type: "abort", reason };
    else {
      if (!reported) yield { type: "error", errorText: event.message };
      yield { type: "finish", finishReason: isText(finish_reason) ? finish_reason : "error" };
    } // behind the end of a run nothing of it counts: a turn that is complete is not taken back (G2)
  }

  *on_STEP_STARTED(event, { step }) {
    if (step) yield { type: "start-step" };
  }

  *on_STEP_FINISHED(event, { step }) {
    if (step) yield { type: "finish-step" };
  }

  *on_TEXT_MESSAGE_START({ messageId: id, role = "assistant" }, { provider_metadata }) {
    if (role === "user") this.said.set(id, "");
    else if (!["developer", "system"].includes(role)) {
      this.silent.set(id, { chunks: [{ type: "text-start", id, providerMetadata: provider_metadata }], carries: false });
    }
  }

  *on_TEXT_MESSAGE_CONTENT({ messageId: id, delta }) {
    if (this.said.has(id)) this.said.set(id, this.said.get(id) + delta);
    else if (delta) {
      const held = this.silent.get(id);
      this.silent.delete(id);
      yield* [...(held?.chunks ?? []), { type: "text-delta", id, delta }];
    }
  }

  *on_TEXT_MESSAGE_END({ messageId: id }, { cut, empty, provider_metadata }) {
    if (this.said.has(id)) {
      yield { type: "steering-message", id, parts: [{ type: "text", text: this.said.get(id) }] }; // R44
      this.said.delete(id);
      return;
    }
    if (cut) return; // its run was cut: its model has not ended it (G3)
    const held = this.silent.get(id);
    const end = { type: "text-end", id, providerMetadata: provider_metadata };
    if (held && !empty) {
      held.chunks.push(end);
      if (held.carries) this.silent.delete(id);
      return;
    }
    this.silent.delete(id);
    yield* [...(held?.chunks ?? []), end];
  }

  *on_REASONING_MESSAGE_START({ messageId: id }, { provider_metadata }) {
    yield { type: "reasoning-start", id, providerMetadata: provider_metadata };
  }

  *on_REASONING_MESSAGE_CONTENT({ messageId: id, delta }, { provider_metadata }) {
    yield { type: "reasoning-delta", id, delta, providerMetadata: provider_metadata };
  }

  *on_REASONING_MESSAGE_END({ messageId: id }, { cut, provider_metadata }) {
    if (!cut) this.thought = { id, providerMetadata: isObject(provider_metadata) ? structuredClone(provider_metadata) : {} };
  }

  *on_REASONING_ENCRYPTED_VALUE({ subtype, entityId, encryptedValue }) {
    if (subtype !== "message" || entityId !== this.thought?.id) return;
    const own = (this.thought.providerMetadata.pydantic_ai ??= {});
    own.signature ??= encryptedValue;
  }

  *on_TOOL_CALL_START({ toolCallId: id, toolCallName: name }, facts) {
    this.named.set(id, { name, id: isText(facts.tool_call_id) ? facts.tool_call_id : id });
    this.texts.set(id, "");
    yield { type: "tool-input-start", toolCallId: this.idOf(id), toolName: name, ...spoken(facts) };
  }

  *on_TOOL_CALL_ARGS({ toolCallId: id, delta }) {
    this.texts.set(id, (this.texts.get(id) ?? "") + delta);
    yield { type: "tool-input-delta", toolCallId: this.idOf(id), inputTextDelta: delta };
  }

  *on_TOOL_CALL_END({ toolCallId: id }, facts) {
    if (facts.cut) return; // half of them: its run was cut (G3)
    const call = this.named.get(id);
    if (call && isText(facts.tool_name)) call.name = facts.tool_name;
    const text = this.texts.get(id) ?? "";
    const input = "input" in facts ? facts.input : argumentsOf(text);
    if (input === undefined) this.unparsed.set(id, text);
    else yield this.available(id, input, facts);
  }

  available(id, input, facts = {}) {
    return { type: "tool-input-available", toolCallId: this.idOf(id), toolName: this.named.get(id)?.name, input, ...spoken(facts) };
  }

  idOf(id) {
    return this.named.get(id)?.id ?? id;
  }

  /** Calls whose arguments are not JSON, and were whole, as what comes behind them shows (G4). */
  *whole(ids) {
    for (const id of ids) {
      if (this.unparsed.has(id)) yield this.available(id, this.unparsed.get(id));
      this.unparsed.delete(id);
    }
  }

  *on_TOOL_CALL_RESULT({ toolCallId: id, content }, facts) {
    yield* this.whole([id]);
    const said = resultContent(content);
    const value = facts.json && isText(said) ? valueOf(said) : undefined;
    yield this.output(id, value === undefined ? said : value, facts);
  }

  output(id, content, { outcome, provider_executed }) {
    const named = { toolCallId: this.idOf(id), ...(provider_executed && { providerExecuted: true }) };
    if (outcome === "denied") return { type: "tool-output-denied", ...named };
    if (outcome === "error" && isText(content)) return { type: "tool-output-error", ...named, errorText: content };
    const toolName = this.thread.calls.get(named.toolCallId)?.part.doc.tool_name; // of an earlier run, perhaps
    if (outcome === "refused" && isText(content) && toolName) return { type: "tool-input-error", ...named, toolName, input: null, errorText: content };
    return { type: "tool-output-available", ...named, output: content };
  }

  /** Results that only a snapshot has; one that is known stands (G7). */
  *on_MESSAGES_SNAPSHOT({ messages }) {
    for (const { role, toolCallId: id, content, error } of messages) {
      if (role !== "tool" || !this.named.has(id)) continue;
      yield* this.whole([id]);
      yield this.output(id, error ?? resultContent(content), error == null ? {} : { outcome: "error" });
    }
  }

  *on_CUSTOM({ name, value }) {
    if (!name.startsWith(`${OURS}.`) || !isObject(value)) return; // an application's own is shown and not kept (G8)
    const type = name.slice(OURS.length + 1);
    if (type === "data-sys-tp" && isObject(value.data) && "usage" in value.data) this.usageTold = true;
    yield { ...value, type };
  }
}

/** What the facts of a call say of its provider, as fields of its chunks. */
const spoken = ({ provider_metadata, provider_executed }) => ({
  ...(isObject(provider_metadata) && { providerMetadata: provider_metadata }),
  ...(provider_executed && { providerExecuted: true }),
});

const AG_UI_COUNTS = table({
  inputTokens: "input_tokens",
  outputTokens: "output_tokens",
  totalTokens: "total_tokens",
  reasoningTokens: "thinking_tokens",
  cachedInputTokens: "cache_read_tokens",
  cacheWriteInputTokens: "cache_write_tokens",
});

/** The tokens of a run over all of its models (R17). */
function totalOf(usage) {
  const total = {};
  for (const one of usage) {
    for (const [name, word] of Object.entries(AG_UI_COUNTS)) if (one[name]) total[word] = (total[word] ?? 0) + one[name];
  }
  return total;
}

// The two wires: what writes a run, with an end that says that no more comes; what reads an answer, where events are not chunks.
const WRITERS = table({
  vsp: () => ({ write: (chunks) => chunks.map(frame), end: () => [DONE] }),
  "ag-ui": (thread) => new AgUiWriter(thread.header.thread_id, `run-${thread.turns.length}`),
});
const READERS = table({ vsp: () => null, "ag-ui": (thread) => new AgUiReader(thread) });

// ====================================================================================================== 6. stdio

/** What the other side is told instead of an answer; the status is that of HTTP. */
class Refusal extends Error {
  constructor(message, status = 400) {
    super(message);
    this.status = status;
  }
}

function readJson(bytes, what) {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (error) {
    throw new Refusal(`${what} is not JSON: ${error.message}`);
  }
}

/**
 * Refuse a request before anything of it has happened, naming the place that is wrong.
 *
 * A shape is a test, an array with the shape of each item, or an object of shapes, where `name?` may be absent.
 */
function check(value, shape, where = "") {
  if (typeof shape === "function" ? !shape(value) : Array.isArray(shape) ? !Array.isArray(value) : !isObject(value)) {
    throw new Refusal(`${where || "the request"} is missing or of the wrong kind`);
  }
  if (Array.isArray(shape)) value.forEach((item, index) => check(item, shape[0], `${where}/${index}`));
  else if (isObject(shape)) {
    for (const [name, inner] of Object.entries(shape)) {
      const field = name.replace("?", "");
      if (field === name || value[field] != null) check(value[field], inner, `${where}/${field}`);
    }
  }
}

/** Whether a value has a shape. */
function matches(value, shape) {
  try {
    check(value, shape);
    return true;
  } catch {
    return false;
  }
}

const isPositive = (value) => typeof value === "number" && value > 0;
const isDuration = (value) => typeof value === "number" && value >= 0;
const isVersion = (value) => CAPABILITIES.versions.includes(value);
const LIMITS = { "stream_seconds?": isPositive, "heartbeat_seconds?": isPositive };
const USER_TURN = { turn_type: (value) => value === "user", submitted_at: isText, parts: [{ part_kind: isText }] };
const RUN_TURN = {
  agent_id: isText,
  started_at: isText,
  events: [{ event_kind: isText, "at?": isText, "seconds?": isDuration }],
  "interruption?": { reason: isText, at: isText },
};
const STREAM_TURN = {
  agent_id: isText,
  begun_at: isText,
  end: { at: isText, "reason?": isText },
  "packets?": [{ at: isText, "data?": isText, "data_base64?": isText }],
  "url?": (value) => isText(value) && /^http:[/][/]/.test(value) && URL.canParse(value),
  "limits?": LIMITS,
};
const HEADER = { created_at: isText, agents: isObject };
const isWire = (value) => CAPABILITIES.wires.includes(value);
const CASE = { ...HEADER, "wire?": isWire, thread_id: isText, versions: [isVersion], turns: [isObject] };
const RUN_REQUEST = {
  ...HEADER,
  run: RUN_TURN,
  "wire?": isWire,
  "user?": [USER_TURN],
  "hold?": { at: isText },
  "limits?": LIMITS,
  "time_scale?": isDuration,
};

/** Check a case for one role; `turn` is the shape of its agent turns. */
function checkCase(case_, turn) {
  check(case_, CASE);
  case_.turns.forEach((item, index) => check(item, item.turn_type === "user" ? USER_TURN : turn, `/turns/${index}`));
}

/** Play a whole case as a server: what it ended up with, and for each run the packets that it sent. */
function serveCase(case_) {
  checkCase(case_, RUN_TURN);
  const thread = new Thread(case_);
  const streams = [];
  for (const turn of case_.turns) {
    if (turn.turn_type === "user") {
      thread.addUserTurn(turn);
      continue;
    }
    const run = new Run(thread, turn.agent_id, turn.started_at, case_.carriers ?? false);
    const wire = WRITERS[case_.wire ?? "vsp"](thread);
    const packet = (chunks, at, end = []) => ({ data: [...wire.write(chunks), ...end].join(""), at });
    const packets = [packet(run.start(turn.message_id), run.at)];
    turn.events.forEach((event, index) => packets.push({ ...packet(run.feed(event), run.at), event: index }));
    const cut = turn.interruption;
    if (!cut) {
      run.interrupt("network_failure", run.at, false); // only a result ends a run well
      packets.push(packet([], run.at, wire.end()));
    } else if (thread.turn.end != null || cut.tell === "abort") {
      const last = packet(run.interrupt(cut.reason, cut.at, true), cut.at);
      packets.push({ ...last, data: last.data + wire.end().join("") });
    } else {
      run.interrupt(cut.reason, cut.at, false);
    }
    streams.push(packets);
  }
  return { threads: documents(thread, case_.versions), streams };
}

const documents = (thread, versions) => Object.fromEntries(versions.map((version) => [version, thread.document(version)]));

/** Play a whole case as a client. A stream comes as packets, or has a URL to get it from. */
async function receiveCase(case_) {
  checkCase(case_, STREAM_TURN);
  const client = new Client(case_);
  for (const turn of case_.turns) {
    if (turn.turn_type === "user") {
      client.thread.addUserTurn(turn);
      continue;
    }
    client.begin(turn.agent_id, turn.begun_at, case_.wire);
    const seen = turn.url ? await download(client, turn) : null;
    for (const { data, data_base64, at } of turn.packets ?? []) {
      client.feed(data == null ? Buffer.from(data_base64 ?? "", "base64") : Buffer.from(data), at);
    }
    client.close(seen ?? turn.end.reason, turn.end.at);
  }
  return { threads: documents(client.thread, case_.versions) };
}

/** R56: give out a stored content only if it is the one that the reference names. */
function resolve({ content_ref, data_base64 }) {
  check({ content_ref, data_base64 }, { content_ref: isObject, data_base64: isText });
  const data = Buffer.from(data_base64, "base64");
  const { hash, size_bytes } = withHashName(content_ref);
  const digest = `sha256:${createHash("sha256").update(data).digest("hex")}`;
  if (hash != null && hash !== digest) return { refused: "its bytes have another hash" };
  if (size_bytes != null && size_bytes !== data.length) return { refused: `it has ${data.length} bytes` };
  return { data_base64 };
}

// ============================================================================ What it says of a thread (contract 1.2)

const VERSIONS = ["2.0.0", "0.0.3", "0.0.4"]; // in the order of their lineage (R1)
const DATA = ["args", "content", "event_data"]; // a null in them is the data
const KNOWN_PARTS = new Set(["text", "thinking", "tool-call", "tool-return", "retry-prompt", "user-prompt", "file"]);
const clear = (value) => dense(value, ...DATA);
const each = (list, change) => (Array.isArray(list) ? list.map(change) : list);
const begins = (text, starts) => starts.some((start) => String(text ?? "").startsWith(start));

/** R37: in UTC, without zeros at the end of the fraction; a time without an offset is one in UTC (R47). */
function canonicalTime(text) {
  if (!isText(text) || !isTime(text)) return text;
  const [milliseconds, fraction] = instant(text);
  return `${new Date(milliseconds).toISOString().slice(0, 19)}${fraction && `.${fraction}`}Z`;
}

function canonicalTimes(source, ...names) {
  for (const name of names) if (isText(source[name])) source[name] = canonicalTime(source[name]);
  return source;
}

function canonicalPart(part) {
  if (!KNOWN_PARTS.has(part?.part_kind)) return part; // R7
  const out = clear(part);
  if (["user-prompt", "file"].includes(part.part_kind)) {
    if (Array.isArray(out.content)) out.content = out.content.map((item) => (isObject(item) ? clear(item) : item));
    else if (isObject(out.content)) out.content = clear(out.content);
  }
  if (out.content == null && (part.part_kind !== "tool-return" || isObject(out.content_ref))) delete out.content; // R6
  if (isObject(out.content_ref)) out.content_ref = withHashName(clear(out.content_ref));
  return out;
}

const canonicalParts = (parts) =>
  each(Array.isArray(parts) ? parts.filter((part) => !begins(part?.part_kind, ["meta:", "data-sys-"])) : parts, canonicalPart);

function canonicalMessage(message) {
  const out = canonicalTimes(clear(message), "timestamp");
  if (out.parts) out.parts = canonicalParts(out.parts);
  if (isObject(out.usage)) out.usage = clear(out.usage);
  return out;
}

function canonicalTurn(turn, leftOut) {
  const out = canonicalTimes(clear(turn), "submitted_at", "started_at", "completed_at");
  const isKept = (message) => message.message_type !== "system" || !begins(message.event_type, leftOut);
  if (out.messages) out.messages = out.messages.filter(isKept).map(canonicalMessage);
  if (out.parts) out.parts = canonicalParts(out.parts);
  if (isObject(out.interruption)) out.interruption = canonicalTimes(clear(out.interruption), "interrupted_at");
  if (isObject(out.total_usage)) out.total_usage = clear(out.total_usage);
  return out;
}

/** RFC 8785: keys by their UTF-16 units, and numbers and strings as JSON.stringify writes them. */
function jcs(value) {
  if (Array.isArray(value)) return `[${value.map(jcs).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${jcs(value[key])}`).join(",")}}`;
}

/** R37: the hash of version and turns; telemetry and metadata are left out, in 2.0.0 under their short names too (R50). */
function hashOf({ version, turns }) {
  const leftOut = ["meta:", "data-sys-", ...(version === "2.0.0" ? ["sys-"] : [])];
  const bytes = jcs({ version, turns: turns.map((turn) => canonicalTurn(turn, leftOut)) });
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** R1: the thread in another version, one step of the lineage after the other, and the places of what was dropped. */
function migrate(thread, to) {
  const target = VERSIONS.indexOf(to);
  let at = VERSIONS.indexOf(thread.version);
  if (target < 0 || at < 0) throw new Refusal(`there is no way from ${thread.version} to ${to}`);
  const dropped = [];
  let turns = thread.turns.map((turn, index) => [`/turns/${index}`, turn]);
  for (; at !== target; at += Math.sign(target - at)) {
    const next = VERSIONS[at + Math.sign(target - at)];
    if (next === "0.0.3" && at === 2) {
      for (const [place, turn] of turns) if (turn.completion_status === "interrupted") dropped.push(place); // R18
      turns = turns.filter(([, turn]) => turn.completion_status !== "interrupted");
    }
    turns = turns.map(([place, turn]) => [place, turn.turn_type === "user" ? turn : migrateTurn(turn, VERSIONS[at], next)]);
  }
  return { thread: { ...thread, version: to, turns: turns.map(([, turn]) => turn) }, dropped };
}

function migrateTurn({ completion_status, ...turn }, from, to) {
  const names = from === "0.0.4" ? OLD_NAMES : to === "0.0.4" ? NEW_NAMES : table({});
  const messages = turn.messages.map((message) => {
    if (message.message_type === "system") return { ...message, event_type: names[message.event_type] ?? message.event_type };
    if (from !== "2.0.0" && to !== "2.0.0") return message;
    return { ...message, parts: message.parts.map((part) => migratePart(part, to)) };
  });
  return { ...turn, messages, ...(to === "0.0.4" ? { completion_status: "complete" } : {}) };
}

/** R6: 2.0.0 has no references, so the content of a return is the reference itself there. */
function migratePart(part, to) {
  if (part.part_kind !== "tool-return" || part.content_ref == null) return part;
  if (to === "2.0.0") return { ...part, content: part.content_ref };
  const { content, ...rest } = part;
  return jcs(content ?? null) === jcs(part.content_ref) ? rest : part;
}

// What a part is in the messages of Pydantic AI, in which histories are given.
const providerOf = (part) => (isText(part.provider_name) ? pick(part, "provider_name") : {});
const inText = (value) => (isText(value) ? value : compact(value));
const isBinary = (item) => item?.kind === "binary" && isText(item.data);
const callForModel = (part) => ({
  ...pick(part, "tool_name", "tool_call_id"),
  args: part.args == null || isObject(part.args) ? (part.args ?? null) : inText(part.args),
  ...providerOf(part),
});
const FOR_MODEL = table({
  "response text": (part) => pick(part, "content", "id"),
  "response thinking": (part) => ({
    content: part.content || "",
    ...pick(part, "signature", ...(part.provider_name === "unknown" ? [] : ["provider_name"])), // R15
    ...(part.thinking_id == null ? {} : { id: part.thinking_id }),
  }),
  "response tool-call": callForModel,
  "response builtin-tool-call": callForModel,
  "response builtin-tool-return": (part) => ({
    ...pick(part, "tool_name", "tool_call_id"),
    content: part.content ?? null,
    ...providerOf(part),
  }),
  "response file": (part) => (isBinary(part.content) ? pick(part, "content", "id") : null),
  "request user-prompt": ({ content }) => {
    if (isText(content)) return { content };
    const kept = content.filter((item) => isText(item) || isBinary(item) || String(item.kind).endsWith("-url"));
    return kept.length || !content.length ? { content: kept } : null;
  },
  "request tool-return": (part) => ({
    ...pick(part, "tool_name", "tool_call_id", "metadata"),
    content: part.content ?? null,
    outcome: part.status ? (OUTCOMES[part.status] ?? "failed") : "success", // R62
  }),
  "request retry-prompt": (part) => ({ ...pick(part, "tool_name", "tool_call_id"), content: inText(part.content) }),
});

/** The messages that the next call of a model gets: of other agents by name (R25), no call without its return (R46). */
function historyOf(thread, { viewing_agent, system_prompt, returns = {} }) {
  const messages = system_prompt == null ? [] : [{ kind: "request", parts: [{ part_kind: "system-prompt", content: system_prompt }] }];
  let waiting = null; // a response with calls: it is told with all of their returns, or without its calls

  const partsOf = (holder, role, at) =>
    (holder.parts ?? []).flatMap((part) => {
      const told = FOR_MODEL[`${role} ${part.part_kind}`]?.(part);
      const time = role === "request" && at != null ? { timestamp: canonicalTime(at) } : {};
      return told ? [{ part_kind: part.part_kind, ...told, ...time }] : [];
    });
  const message = (kind, parts, at) => ({ kind, parts, ...(at == null ? {} : { timestamp: canonicalTime(at) }) });
  const tellCycle = (at) => {
    const { response, calls, answers } = waiting;
    messages.push(response, message("request", [...calls.keys()].map((call) => answers.get(call)), at));
    waiting = null;
  };
  const flush = () => {
    if (!waiting) return;
    const { response, calls, answers } = waiting;
    const missing = [...calls.keys()].filter((call) => !answers.has(call));
    if (missing.every((call) => Object.hasOwn(returns, call))) {
      for (const call of missing) {
        answers.set(call, { part_kind: "tool-return", tool_name: calls.get(call), tool_call_id: call, content: returns[call] });
      }
      return tellCycle(response.timestamp);
    }
    const parts = response.parts.filter((part) => part.part_kind !== "tool-call");
    if (parts.length) messages.push({ ...response, parts });
    waiting = null;
  };
  const request = (holder, at) => {
    const others = [];
    const isElsewhere = (part) => part.part_kind === "tool-return" && part.content_ref != null && part.content == null; // R6
    const parts = (holder.parts ?? []).filter((part) => !isElsewhere(part));
    for (const part of partsOf({ parts }, "request", at)) {
      if (!["tool-return", "retry-prompt"].includes(part.part_kind) || !part.tool_call_id) others.push(part);
      else if (waiting?.calls.has(part.tool_call_id)) {
        waiting.answers.set(part.tool_call_id, { tool_name: waiting.calls.get(part.tool_call_id), ...part });
      }
    }
    if (waiting && waiting.answers.size === waiting.calls.size) tellCycle(at);
    if (!others.length) return;
    flush();
    messages.push(message("request", others, at));
  };
  const named = (part, agent) => {
    if (viewing_agent == null || agent === viewing_agent || part.part_kind !== "text") return part;
    return { ...part, content: `{agent:${thread.agents?.[agent]?.agent_name ?? agent}}: ${part.content ?? ""}` };
  };
  const response = (told) => {
    const parts = partsOf(told, "response").map((part) => named(part, told.agent_id));
    const { total_tokens, thinking_tokens, ...counts } = told.usage ?? {};
    const usage = thinking_tokens == null ? counts : { ...counts, output_reasoning_tokens: thinking_tokens };
    const facts = pick(told, "model_name", "provider_name", "provider_response_id", "finish_reason");
    const sent = { ...message("response", parts, told.timestamp), ...facts, ...(Object.keys(usage).length ? { usage } : {}) };
    const calls = new Map(parts.filter((part) => part.part_kind === "tool-call").map((part) => [part.tool_call_id, part.tool_name]));
    flush();
    if (calls.size) waiting = { response: sent, calls, answers: new Map() };
    else if (parts.length) messages.push(sent);
  };

  for (const turn of thread.turns) {
    if (turn.turn_type === "user") request(turn, turn.submitted_at);
    for (const told of turn.messages ?? []) {
      if (told.message_type === "response") response(told);
      else if (told.message_type !== "system") request(told, told.timestamp);
    }
  }
  flush();
  return messages;
}

const isThread = (value) => isObject(value) && isText(value.version) && Array.isArray(value.turns);
const QUESTIONS = table({
  hash: (asked) => ({ hash: hashOf(asked.thread) }),
  migrate: (asked) => migrate(asked.thread, asked.to),
  history: (asked) => ({ messages: historyOf(asked.thread, asked) }),
});

/** Answer a question about a thread, whoever wrote it. */
function answerQuestion(name, asked) {
  check(asked, { thread: isThread });
  return QUESTIONS[name](asked);
}

async function answerLine(request) {
  switch (request.op) {
    case "start":
      return { capabilities: CAPABILITIES };
    case "serve":
      return { served: serveCase(request.case) };
    case "receive":
      return { received: await receiveCase(request.case) };
    case "adopt": // R32: after a loss the server's threads are the client's
      return { received: { threads: request.threads } };
    case "resolve":
      return { resolved: resolve(request) };
    case "hash":
      return { hashed: answerQuestion("hash", request) };
    case "migrate":
      return { migrated: answerQuestion("migrate", request) };
    case "history":
      return { history: answerQuestion("history", request) };
    case "stop":
      return { stopped: true };
    default:
      throw new Refusal(`there is no op ${request.op}`);
  }
}

/** Yield the lines of a stream of bytes. `readline` would also end one at U+2028, which JSON may hold as it is. */
async function* linesOf(stream) {
  let pieces = [];
  let size = 0;
  for await (let bytes of stream) {
    for (let end; (end = bytes.indexOf(10)) >= 0; bytes = bytes.subarray(end + 1)) {
      yield Buffer.concat([...pieces, bytes.subarray(0, end)]);
      pieces = [];
      size = 0;
    }
    pieces.push(bytes);
    size += bytes.length;
    if (size > MOST) throw new Refusal(`a line has ${MOST} bytes at most`);
  }
  yield Buffer.concat(pieces);
}

async function stdio() {
  process.stdout.on("error", () => process.exit(0)); // nobody listens any more
  for await (const line of linesOf(process.stdin)) {
    if (!line.toString().trim()) continue;
    let request = {};
    let text;
    try {
      request = readJson(line, "the line");
      check(request, { op: isText });
      text = compact({ id: request.id, ...(await answerLine(request)) });
    } catch (error) {
      text = compact({ id: request?.id ?? null, error: { message: String(error.message) } }); // the next may be better
    }
    await new Promise((written) => process.stdout.write(`${text}\n`, written));
    if (request?.op === "stop") break;
  }
}

// ======================================================================================================= 7. HTTP

const LONGEST = 2 ** 31 / 1000 - 1; // seconds that a timer of Node can wait: beyond it would fire at once

/** A run that happens now. It is played on its own, and any number of connections follow its frames. */
class LiveRun {
  constructor(thread, request) {
    const script = request.run;
    this.request = request;
    this.run = new Run(thread, script.agent_id, script.started_at, request.carriers ?? false);
    this.wire = WRITERS[request.wire ?? "vsp"](thread);
    this.frames = []; // each with its number as id, counted from 1; marks are frames without one
    this.waiting = new Set(); // whoever waits for news
    this.stop = null; // why the run has to stop, and whether the client is told
    this.over = false;
    this.ended = this.play().catch((error) => this.fail(error));
  }

  tellAll() {
    for (const wake of this.waiting) wake();
    this.waiting.clear();
  }

  /** Wait for news, or for so many seconds; return whether there were news. */
  news(seconds = Infinity) {
    return new Promise((resolve) => {
      const wake = (news = true) => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        resolve(news);
      };
      const timer = seconds > LONGEST ? null : setTimeout(wake, seconds * 1000, false);
      this.waiting.add(wake);
    });
  }

  /** Play the script, hold if it says so, and end the stream. */
  async play() {
    const { run: script, hold, time_scale = 0 } = this.request;
    const { thread } = this.run;
    this.send(this.run.start(script.message_id), 0);
    for (const [index, event] of script.events.entries()) {
      if (event.event_kind === "stall") await this.silence((event.seconds ?? 0) * time_scale);
      if (this.stop) break;
      this.send(this.run.feed(event), index + 1);
    }
    if (hold && !this.stop && thread.turn.end == null) await this.silence(Infinity);
    const cut = script.interruption;
    let end = { reason: "network_failure", at: hold?.at ?? this.run.at, tell: false, done: true }; // only a result ends well
    if (this.stop) end = { ...end, reason: this.stop.reason, tell: this.stop.tell, done: this.stop.tell };
    else if (cut) end = { reason: cut.reason, at: cut.at, tell: cut.tell === "abort", done: cut.tell === "abort" };
    if (thread.turn.end != null) end.done = true;
    const chunks = this.run.interrupt(end.reason, end.at, end.tell);
    this.finish(chunks, end.done);
  }

  /** What nobody has foreseen interrupts the run; its clients are told, and the server goes on. */
  fail(error) {
    process.stderr.write(`the run of ${this.run.thread.header.thread_id} has failed: ${error.stack}\n`);
    this.finish(this.run.interrupt("error", this.run.at, true), true);
  }

  finish(chunks, done) {
    this.frames.push(...this.wire.write(chunks), ...(done ? this.wire.end() : []));
    this.over = true;
    this.tellAll();
  }

  send(chunks, mark) {
    this.frames.push(...this.wire.write(chunks));
    if (this.request.marks) this.frames.push(`: tp ${mark}\n\n`);
    this.tellAll();
  }

  /** Nothing happens for so long, or until something ends the run; beyond the limit it is a timeout (R27). */
  async silence(seconds) {
    const limit = this.request.limits?.stream_seconds ?? Infinity;
    const until = performance.now() + Math.min(seconds, limit) * 1000;
    while (!this.stop && performance.now() < until) await this.news((until - performance.now()) / 1000);
    if (limit < seconds) this.stop ??= { reason: "timeout", tell: true };
  }

  /** Stop the run; return whether there was one to stop, once the thread shows it. */
  async cancel(reason, tell) {
    const going = !this.over && !this.stop && this.run.thread.turn.end == null;
    if (going) {
      this.stop = { reason, tell };
      this.tellAll();
    }
    await this.ended;
    return going;
  }

  /** Yield each frame after one with its id, and a comment when there was nothing to say for so long. */
  async *follow(after, heartbeat) {
    for (let place = after; ; place++) {
      while (place >= this.frames.length) {
        if (this.over) return;
        if (!(await this.news(heartbeat ?? Infinity))) yield ": alive\n\n";
      }
      const data = this.frames[place];
      yield data.startsWith(":") ? data : `id: ${place + 1}\n${data}`;
    }
  }
}

/** The JSON of a body; what is left of one that is too large is not read, and the connection is closed. */
async function bodyOf(request) {
  const tooLarge = new Refusal(`a request has ${MOST} bytes at most`, 413);
  if (Number(request.headers["content-length"] ?? 0) > MOST) throw tooLarge;
  const pieces = [];
  let size = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    size += piece.length;
    if (size > MOST) throw tooLarge;
    pieces.push(piece);
  }
  return size ? readJson(Buffer.concat(pieces), "the body") : {};
}

function placeOf(request) {
  try {
    const url = new URL(request.url, "http://localhost");
    return { url, path: url.pathname.slice(1).split("/").map(decodeURIComponent) };
  } catch {
    throw new Refusal(`${request.url} is not a path`);
  }
}

/** conformance/control.openapi.yaml, request by request. */
class Server {
  constructor() {
    this.threads = new Map();
    this.runs = new Map(); // the latest run of each thread
  }

  async answer(request, response) {
    try {
      await this.route(request, response);
    } catch (error) {
      if (response.headersSent) return response.destroy();
      const status = error instanceof Refusal ? error.status : error instanceof TypeError ? 400 : 500;
      if (!request.complete) response.setHeader("connection", "close"); // the rest of its body is not read
      this.reply(response, status, { error: { message: String(error.message) } });
    }
  }

  async route(request, response) {
    const { url, path } = placeOf(request);
    const [first, name, verb, ...rest] = path;
    const body = await bodyOf(request);
    const asked = `${request.method} ${[first, name == null ? null : "*", verb, ...rest].filter((p) => p != null).join("/")}`;
    switch (asked) {
      case "GET capabilities":
        return this.reply(response, 200, CAPABILITIES);
      case "POST threads/*/runs":
        return this.startRun(name, body, response);
      case "POST threads/*/user-turns":
        check(body, USER_TURN);
        this.known(name).addUserTurn(body);
        return this.reply(response, 204);
      case "POST threads/*/cancel":
        check(body, { reason: isText });
        this.known(name);
        return this.reply(response, 200, { cancelled: (await this.runs.get(name)?.cancel(body.reason, true)) ?? false });
      case "GET threads/*/stream":
        return this.resume(name, request.headers["last-event-id"], response);
      case "GET threads/*":
        return this.reply(response, 200, this.known(name).document(this.version(url)));
      case "DELETE threads/*":
        await this.forget(name);
        return this.reply(response, 204);
      case "POST receive":
        return this.reply(response, 200, await receiveCase(body));
      case "POST adopt":
        check(body, { threads: isObject });
        return this.reply(response, 200, { threads: body.threads });
      case "POST resolve":
        return this.reply(response, 200, resolve(body));
      case "POST hash":
      case "POST migrate":
      case "POST history":
        return this.reply(response, 200, answerQuestion(first, body));
      default:
        throw new Refusal(`there is nothing at ${request.method} ${url.pathname}`, 404);
    }
  }

  known(name) {
    const thread = this.threads.get(name);
    if (!thread) throw new Refusal(`there is no thread ${name}`, 404);
    return thread;
  }

  version(url) {
    const version = url.searchParams.get("version") ?? "0.0.4";
    if (!isVersion(version)) throw new Refusal(`there is no version ${version}`);
    return version;
  }

  async startRun(name, body, response) {
    check(body, RUN_REQUEST);
    const before = this.runs.get(name);
    if (before && !before.over) throw new Refusal(`a run of thread ${name} goes on`, 409);
    const thread = this.threads.get(name) ?? new Thread({ thread_id: name, created_at: body.created_at, agents: {} });
    this.threads.set(name, thread);
    thread.header.agents = { ...thread.header.agents, ...body.agents };
    for (const turn of body.user ?? []) thread.addUserTurn(turn);
    const live = new LiveRun(thread, body);
    this.runs.set(name, live);
    const stayed = await this.stream(live, 0, response);
    if (!stayed && (body.on_disconnect ?? "stop") === "stop") await live.cancel("network_failure", false);
  }

  async resume(name, last, response) {
    this.known(name);
    const live = this.runs.get(name);
    const after = /^\d+$/.test(last ?? "") ? Number(last) : 0;
    if (!live || (live.over && after >= live.frames.length)) return this.reply(response, 204);
    return this.stream(live, after, response);
  }

  async forget(name) {
    const live = this.runs.get(name);
    this.runs.delete(name);
    this.threads.delete(name);
    await live?.cancel("user_cancelled", true);
  }

  /** Send frames as they come, until the run is over; return whether the client stayed. */
  async stream(live, after, response) {
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      "x-vercel-ai-ui-message-stream": "v1",
    });
    response.flushHeaders();
    const gone = new Promise((resolve) => response.once("close", () => resolve("gone")));
    const frames = live.follow(after, live.request.limits?.heartbeat_seconds);
    while (true) {
      const next = await Promise.race([frames.next(), gone]);
      if (next === "gone" || response.destroyed) return false;
      if (next.done) break;
      if (!response.write(next.value)) await Promise.race([new Promise((done) => response.once("drain", done)), gone]);
    }
    response.end();
    return true;
  }

  reply(response, status, document = null) {
    if (document === null) return response.writeHead(status).end();
    const body = Buffer.from(compact(document));
    return response.writeHead(status, { "content-type": "application/json", "content-length": body.length }).end(body);
  }
}

/** Reads a connection of a stream of which others have delivered the events with these ids (R31). */
class Reconnected extends SseReader {
  constructor(before) {
    super();
    this.before = before;
    this.ids = new Set(before); // of the events that are whole; the last one is where to go on from
    this.id = "";
  }

  *take(line) {
    if (line.startsWith("id:") && !line.includes("\0")) this.id = line.slice("id:".length).replace(/^ /, "");
    const events = [...super.take(line)];
    const again = !line && this.before.has(this.id); // what is delivered twice counts once
    if (!line && this.id) this.ids.add(this.id);
    if (!line) this.id = "";
    if (!again) yield* events;
  }
}

/** GET a stream and feed it to the client; reconnect where it left off. Return the reason that was observed. */
async function download(client, turn) {
  let reason = null;
  let ids = new Set();
  while (true) {
    client.sse = new Reconnected(ids); // half an event does not survive its connection
    const last = [...ids].at(-1);
    ids = client.sse.ids;
    try {
      const stopped = await read(client, turn, last);
      if (stopped) return stopped;
      reason = null;
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError) throw error; // our fault, and not the network's
      reason = "network_failure";
    }
    if (client.over || [...ids].at(-1) === last) return reason; // all is said, or nothing new came
  }
}

/** One connection, to its end; returns what the client observed by itself: a stop of the user, or silence. */
async function read(client, turn, last) {
  const headers = last === undefined ? {} : { "last-event-id": last };
  const request = http.get(turn.url, { headers, agent: false });
  let silent = false;
  request.on("error", () => {}); // whoever waits below is told too
  request.setTimeout((turn.limits?.stream_seconds ?? 60) * 1000, () => {
    silent = true;
    request.destroy();
  });
  try {
    const [response] = await once(request, "response");
    if (response.statusCode !== 200) return null;
    for await (const bytes of response) {
      if (client.feed(bytes, turn.begun_at).includes("tp stop")) return "user_cancelled"; // the user pressed stop
    }
    return null;
  } catch (error) {
    if (silent) return "timeout";
    throw error;
  } finally {
    request.destroy();
  }
}

/** Answer also what is no HTTP, as far as anybody is there to read it. */
function refuseSocket(error, socket) {
  if (!socket.writable) return socket.destroy();
  const body = compact({ error: { message: `this is not a request: ${error.message}` } });
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
  return socket.end(`HTTP/1.1 400 Bad Request\r\n${head}\r\n\r\n${body}`);
}

async function serveHttp(host, port) {
  const server = new Server();
  const listening = http.createServer((request, response) => server.answer(request, response));
  listening.on("clientError", refuseSocket);
  listening.listen({ host, port, backlog: 512 });
  await once(listening, "listening");
  const shown = host.includes(":") ? `[${host}]` : host;
  process.stdout.write(`listening on http://${shown}:${listening.address().port}\n`);
}

// ---------------------------------------------------------------------------------------------------- which of them

function leave(code, message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
}

async function main(mode, place) {
  const [, host, port] = /^\[?(.+?)\]?:(\d{1,5})$/.exec(place ?? "") ?? [];
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(0));
  if (mode === "--stdio") {
    await stdio().catch((error) => leave(1, error.message));
  } else if (mode !== "--http" || !host || port > 65535) {
    leave(2, "usage: plain_node.mjs --stdio | --http HOST:PORT");
  } else if (!/^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)) {
    leave(2, `${host} is not a loopback address: whoever reaches this example can make it do anything; use 127.0.0.1`);
  } else {
    await serveHttp(host, Number(port)).catch((error) => leave(1, `cannot listen on ${place}: ${error.message}`));
  }
}

await main(...process.argv.slice(2));
