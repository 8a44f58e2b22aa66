// The messages of an AG-UI agent → one UI message, whose parts `mapping.mjs` makes a thread of; and how a run ended.
//
// A response is what stands between two groups of results. What AG-UI has no member for is read from the metadata that the
// package keeps on messages and calls; what comes in CUSTOM events it shows to listeners, and keeps nowhere.

const REASONS = new Set(["user_cancelled", "timeout", "network_failure", "safety_halt", "error"]);

const BY_FINISH = { "content-filter": "safety_halt", interrupted: "user_cancelled" };

const factsOf = (one) => one.metadata?.threadprotocol ?? {};

/** How a run ended: null for a regular end, else the reason (R27), and the text of an error. */
export function cutOf({ ended, failed }, reason) {
  if (ended !== null && ended.outcome === "error") {
    const { event, facts } = ended;
    if (event.code === "abort") return { cut: reason ?? "user_cancelled", error: null }; // made up: the user pressed stop
    const said = facts.reason ?? event.code;
    if (said !== "error" && REASONS.has(said)) return { cut: said, error: null };
    return { cut: "error", error: event.message };
  }
  if (ended !== null && ended.outcome === "cancelled") {
    return { cut: REASONS.has(ended.facts.reason) ? ended.facts.reason : "user_cancelled", error: null };
  }
  if (ended !== null) return { cut: BY_FINISH[ended.facts.finish_reason] ?? null, error: null };
  if (failed?.name === "AbortError") return { cut: reason ?? "user_cancelled", error: null };
  if (failed !== null && !isNetworkError(failed)) return { cut: "error", error: failed.message };
  return { cut: reason ?? "network_failure", error: null }; // nothing has said the end
}

const isNetworkError = (error) => error instanceof TypeError && /terminated|fetch failed|network/.test(error.message);

/**
 * What the agent holds of all that was answered, as one message. `begins` says of each message that was there before
 * whether a response began with it: a result that comes later stands in front of messages that it does not part.
 */
export function messageOf(messages, begins = new Map()) {
  const tools = messages.filter(({ role }) => role === "tool").reverse();
  const results = new Map(tools.map((one) => [one.toolCallId, one])); // of several for one call the first (R14)
  const parts = [];
  let answered = true; // a response begins with what follows a result of the application, or a message of the user
  for (const message of messages) {
    if (message.role === "tool") {
      answered ||= factsOf(message).provider_executed !== true;
      continue;
    }
    if (message.role === "user" && message.id.startsWith("user-")) {
      answered = true;
      continue;
    }
    if (message.role === "user") {
      parts.push({ type: "steering-message", parts: [{ type: "text", text: message.content }] });
      continue;
    }
    if (!begins.has(message.id)) begins.set(message.id, answered);
    if (begins.get(message.id)) parts.push({ type: "step-start" });
    answered = false;
    parts.push(...partsOf(message, results));
  }
  return parts.length === 0 ? null : { id: "all", role: "assistant", parts };
}

function partsOf(message, results) {
  const { provider_metadata: providerMetadata, cut, empty } = factsOf(message);
  const state = cut ? "streaming" : "done";
  if (message.role === "reasoning") return [{ type: "reasoning", text: message.content, state, providerMetadata }];
  const carries = message.content === "" && message.toolCalls?.length > 0 && !empty; // it is there for its calls
  const text = message.content === undefined || carries ? [] : [{ type: "text", text: message.content, state }];
  return [...text, ...(message.toolCalls ?? []).map((call) => toolPart(call, results.get(call.id)))];
}

function toolPart(call, result) {
  const facts = factsOf(call);
  const part = {
    type: "dynamic-tool",
    toolCallId: facts.tool_call_id ?? call.id,
    toolName: facts.tool_name ?? call.function.name,
    state: facts.cut ? "input-streaming" : "input-available",
    input: "input" in facts ? facts.input : valueOf(call.function.arguments),
    providerExecuted: facts.provider_executed === true,
    callProviderMetadata: facts.provider_metadata,
  };
  return result === undefined ? part : { ...part, ...outputOf(result) };
}

/** A result is text; whether it is JSON, and whether the tool failed, the metadata says. */
function outputOf(result) {
  const { json, outcome } = factsOf(result);
  const text = typeof result.content === "string" ? result.content : JSON.stringify(result.content);
  if (outcome === "denied") return { state: "output-denied" };
  if (outcome === "error" || outcome === "refused" || result.error !== undefined) {
    const status = outcome === "refused" ? "validation_error" : "error";
    return { state: "output-error", errorText: result.error ?? text, status };
  }
  return { state: "output-available", output: json ? JSON.parse(text) : text };
}

/** Arguments as a value; a text that is not JSON stays a text, and no text is a call without arguments. */
function valueOf(text) {
  try {
    return text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}

/** What the user says, as AG-UI has it. */
export function contentsOf(parts) {
  if (parts.every(({ type }) => type === "text")) return parts.map(({ text }) => text).join("");
  return parts.map((part) => {
    if (part.type === "text") return part;
    const [kind] = part.mediaType.split("/");
    const type = ["image", "audio", "video"].includes(kind) ? kind : "document";
    const data = /^data:[^,]*;base64,(.*)$/.exec(part.url);
    const source = data ? { type: "data", value: data[1] } : { type: "url", value: part.url };
    return { type, source: { ...source, mimeType: part.mediaType } };
  });
}
