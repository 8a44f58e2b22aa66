// The events of a run → what the model answers and what its tools return. What `streamText` cannot make happen is refused.

import { CannotPlay } from "./control.mjs";

const NEVER = {
  agent_start: "a hand-off to another agent inside one stream",
  response_reset: "a model's answer that is retracted",
  tool_progress: "output of a tool before its result",
  enqueued_messages: "a message that is inserted during the run",
};
const QUIET = new Set(["final_result", "stall", "deferred_tool_requests", "deferred_tool_results"]);
const PARTS = new Set(["text", "thinking", "tool-call", "builtin-tool-call", "builtin-tool-return", "file"]);

export function readStory(events) {
  const story = { count: events.length, answers: [], quiet: new Set(), notices: new Map(), failedAt: null, failure: "", resultAt: null };
  let answer = null;
  let open = new Set();

  const unanswered = () => answer !== null && answer.calls.some((id) => answer.tools.get(id)?.returnedAt === undefined);
  const begin = (first) => {
    if (answer !== null) {
      if (answer.calls.length === 0) throw new CannotPlay("a model that is asked again though it has called no tool");
      if (unanswered()) throw new CannotPlay("a model that is asked again before every tool has returned");
    }
    answer = { first, events: [], parts: new Map(), calls: [], tools: new Map(), request: {}, end: {}, ended: false };
    open = new Set();
    story.answers.push(answer);
  };
  const grow = (part, delta) => {
    for (const [name, more] of [["content", "content_delta"], ["args", "args_delta"], ["signature", "signature_delta"]]) {
      const added = delta[more];
      if (added == null) continue;
      if (typeof added === "object") part[name] = { ...part[name], ...added }; // arguments that come as objects
      else part[name] = typeof part[name] === "string" ? part[name] + String(added) : added;
    }
  };

  events.forEach((event, index) => {
    const kind = event.event_kind;
    if (QUIET.has(kind)) return void story.quiet.add(index);
    if ((kind === "system_event" || kind === "custom") && story.resultAt === null && story.failedAt === null) {
      story.quiet.add(index);
      return void story.notices.set(index, readNotice(event));
    }
    if (NEVER[kind]) throw new CannotPlay(`${NEVER[kind]} (${kind}) cannot be played by an agent loop`);
    if (story.resultAt !== null) throw new CannotPlay(`${kind} after the end of the run`);
    if (story.failedAt !== null) {
      if (kind === "agent_run_result" && event.finish_reason === "error") return void story.quiet.add(index);
      throw new CannotPlay("an error is the end of a run here");
    }
    if (kind === "model_request") {
      if (event.parts?.length) throw new CannotPlay("a prompt that is put in while the run goes on");
      begin(index);
      answer.request = event;
    } else if (kind === "part_start") {
      if (answer === null || answer.ended) begin(index);
      const part = event.part;
      if (!PARTS.has(part.part_kind)) throw new CannotPlay(`a part of kind ${part.part_kind} in an answer of the model`);
      if (answer.parts.has(event.index)) throw new CannotPlay("two parts of one answer with the same index");
      if (part.part_kind === "tool-call") {
        const ids = [...answer.parts.values()].map((p) => p.tool_call_id);
        if (!part.tool_call_id || !part.tool_name || ids.includes(part.tool_call_id)) {
          throw new CannotPlay("a call without an id and a name of its own");
        }
      }
      answer.parts.set(event.index, { ...part });
      open.add(event.index);
      answer.events.push([index, event]);
    } else if (kind === "part_delta" || kind === "part_end") {
      if (answer === null || !open.has(event.index)) throw new CannotPlay(`${kind} for a part that is not open`);
      const part = answer.parts.get(event.index);
      if (kind === "part_delta") {
        grow(part, event.delta);
        part.provider_name = event.delta.provider_name ?? part.provider_name;
      } else {
        open.delete(event.index);
        if (["text", "thinking"].includes(part.part_kind) && (event.part.content ?? part.content) !== part.content) {
          throw new CannotPlay("a part that ends with another content than was streamed");
        }
        if (part.part_kind === "thinking") part.signature = event.part.signature ?? part.signature;
        part.provider_name = event.part.provider_name ?? part.provider_name;
        if (part.part_kind === "tool-call") answer.calls.push(part.tool_call_id);
      }
      answer.events.push([index, event]);
    } else if (kind === "model_response_end") {
      if (answer === null || answer.ended) throw new CannotPlay("the end of an answer that has not begun");
      if (open.size) throw new CannotPlay("an answer that ends while a part of it is open");
      Object.assign(answer, { end: event, ended: true, endedAt: index });
    } else if (kind === "function_tool_call" || kind === "function_tool_result") {
      const id = event.part?.tool_call_id;
      if (answer === null || !answer.calls.includes(id)) {
        throw new CannotPlay(`${kind} for a call that the model has not just made`);
      }
      if (open.size) throw new CannotPlay("a tool that runs while its call's answer is still streaming");
      answer.ended = true;
      const run = answer.tools.get(id) ?? {};
      answer.tools.set(id, run);
      if (kind === "function_tool_call") {
        if (event.args_valid === false) throw new CannotPlay("arguments that do not fit their tool: the tools here take any");
        run.startedAt = index;
      } else if (run.returnedAt !== undefined) {
        throw new CannotPlay("a second return for one call");
      } else {
        run.returnedAt = index;
        run.part = event.part;
        refuseReturn(event.part);
      }
    } else if (kind === "error") {
      if (answer?.ended && unanswered()) throw new CannotPlay("a tool whose failure is the end of the run");
      if (answer?.ended && answer.calls.length === 0) {
        throw new CannotPlay("an error between the end of the last answer and the end of the run");
      }
      story.failedAt = index;
      story.failure = event.error_text || "error";
    } else if (kind === "agent_run_result") {
      if (answer === null) throw new CannotPlay("a run that ends without any answer of the model");
      if (unanswered()) throw new CannotPlay("a run that ends regularly while calls have no return");
      if (open.size) throw new CannotPlay("a run that ends regularly while a part is open");
      answer.ended = true;
      story.resultAt = index;
      story.result = event;
    } else {
      throw new CannotPlay(`${kind} is not an event of an agent loop`);
    }
  });
  for (const each of story.answers) {
    const last = each === story.answers.at(-1);
    if (each.events.length === 0 && !(last && story.resultAt === null)) {
      throw new CannotPlay("an answer of the model without content");
    }
    for (const part of each.parts.values()) refusePart(part, each);
    if (!last && ![undefined, null, "tool_call"].includes(each.end.finish_reason)) {
      throw new CannotPlay(`a model that is asked again after the finish reason ${each.end.finish_reason}`);
    }
    const done = Math.max(...each.events.map(([at]) => at), ...[...each.tools.values()].map((t) => t.returnedAt ?? 0));
    const goesOn = each.calls.length > 0 && story.resultAt === null; // the model is asked again, which can be held
    if (last && !goesOn && [...story.notices.keys()].some((at) => at > done)) {
      throw new CannotPlay("an event between the end of the last answer and the end of the run");
    }
    if (last && each.endedAt === events.length - 1 && each.calls.length === 0) {
      throw new CannotPlay("a cut between the end of the last answer and the end of the run");
    }
  }
  return story;
}

const NORMATIVE = {
  "agent.handoff": "data-tp-agent_handoff",
  "thread.spawn": "data-tp-thread_spawn",
  "thread.merge": "data-tp-thread_merge",
  "thread.end": "data-tp-thread_end",
  error: "data-tp-error",
};

const HELD = ["data", "payload"];
const ENVELOPE = [...HELD, "event_kind", "at", "_t_ms", "name", "event_name", "tool_name", "tool_call_id"];

/** The data of a custom event: its `data` or `payload`, or the fields of its own class beside its name, or both. */
function customData(event) {
  const own = Object.entries(event).filter(([name]) => !ENVELOPE.includes(name));
  const held = HELD.filter((name) => event[name] != null).map((name) => [name, event[name]]);
  return own.length ? Object.fromEntries([...own, ...held]) : (held[0]?.[1] ?? null);
}

/** A system event of the application: what it says on the wire, and records in the thread (R34). */
function readNotice(event) {
  const custom = event.event_kind === "custom";
  const type = custom ? event.name || event.event_name : event.event_type;
  if (!type || type.startsWith("source.")) {
    throw new CannotPlay(`an event ${type} of the model in the middle of its answer`);
  }
  const known = NORMATIVE[type] ?? type;
  const name = /^(data-|meta:)/.test(known) ? known : `data-${known}`;
  const data = custom ? customData(event) : (event.event_data ?? null);
  const flags = custom ? {} : event; // those of a custom event are fields of its own (R34)
  const agents = {
    ...(flags.source_agent != null && { source_agent: flags.source_agent }),
    ...(flags.target_agents != null && { target_agents: flags.target_agents }),
  };
  return {
    name,
    data,
    agents,
    kept: !flags.transient || name.startsWith("data-tp-"),
    chunk: {
      type: name.startsWith("meta:") ? `data-${name}` : name,
      data,
      ...(flags.transient && { transient: true }),
    },
  };
}

function refusePart(part, answer) {
  if (part.part_kind === "builtin-tool-return" && part.content == null) {
    throw new CannotPlay("a provider's result that is null");
  }
  if (part.part_kind === "builtin-tool-return") {
    const calls = [...answer.parts.values()].filter((p) => p.part_kind === "builtin-tool-call");
    if (!calls.some((p) => p.tool_call_id === part.tool_call_id)) {
      throw new CannotPlay("a provider's result without its call in the same answer");
    }
  }
}

function refuseReturn(part) {
  const outcome = part.outcome ?? "success";
  if (part.part_kind === "retry-prompt" || !["success", "failed"].includes(outcome)) {
    throw new CannotPlay(`a return of kind ${part.part_kind} with outcome ${outcome}`);
  }
  if (part.content_ref != null || part.status != null) throw new CannotPlay("a return whose content lies elsewhere");
  if (part.metadata != null) throw new CannotPlay("metadata beside a return");
  if (outcome === "failed" && typeof part.content !== "string") throw new CannotPlay("a failure that is not text");
  if (part.content === undefined) throw new CannotPlay("a return without content");
}
