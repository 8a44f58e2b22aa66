// A UI message of the AI SDK → the entries of one agent turn. This is what an application can know that keeps threads by
// converting the messages of its chat: the parts with their states, and what the chat says of the end.
//
// A response is what stands between two `step-start`. It has finished when a later step follows, when one of its calls
// has an output, or when the chat says that the turn ended regularly; nothing else in a message tells (R40).

import { createHash } from "node:crypto";

const DENIAL = "The tool call was denied.";
const URL_KINDS = { image: "image-url", audio: "audio-url", video: "video-url" };

/** How the chat's turn ended: null for a regular end, else the reason (R27). `reason` is what else was observed. */
export function endOf(finish, reason) {
  if (finish.finishReason === "content-filter") return "safety_halt";
  if (finish.finishReason === "interrupted") return "user_cancelled";
  if (finish.finishReason === "error") return "error";
  if (finish.finishReason != null) return null; // what breaks off later changes nothing (R26)
  if (finish.isAbort) return "user_cancelled";
  if (finish.errorText !== null) return finish.isNetwork ? "network_failure" : "error";
  return reason; // the chat is ready, whether or not anything said the end
}

/**
 * The entries of a turn: `parts` of the message from `from` on, and outputs that came for parts before. `asked` is what
 * the user asked before it, which the turn does not begin with once more (R9).
 */
export function entriesOf({ parts, from, before, asked, at, finished, error }) {
  const entries = [];
  let response = null;
  let returns = null;
  let inStep = false;
  const open = () => {
    if (response === null) {
      response = { kind: "response", at, parts: [], facts: {}, finished: false };
      returns = { kind: "returns", at, parts: [] };
      entries.push(response, returns);
    }
    return response;
  };
  const close = () => {
    if (response !== null) response.finished = true;
    response = returns = null;
  };
  const late = lateReturns(parts.slice(0, from), before);
  if (late.length > 0) entries.push({ kind: "returns", at, parts: late }); // R30
  for (const part of parts.slice(from)) {
    if (part.type === "step-start") {
      close();
      inStep = true;
    } else if (part.type === "data-sys-tp") {
      continue; // a carrier that was not read is not an event of the thread
    } else if (part.type === "text") {
      if (part.state !== "streaming") open().parts.push({ part_kind: "text", content: part.text });
      else open();
    } else if (part.type === "reasoning") {
      if (part.state !== "streaming") open().parts.push(thinking(part));
      else open();
    } else if (part.type === "dynamic-tool" || part.type.startsWith("tool-")) {
      open();
      toolPart(part, response, returns);
    } else if (part.type === "file") {
      open().parts.push({ part_kind: "file", ...fileOf(part) });
    } else if (part.type === "reasoning-file") {
      open().parts.push({ part_kind: "custom:reasoning-file", ...fileOf(part) });
    } else if (part.type === "custom") {
      const metadata = part.providerMetadata === undefined ? {} : { provider_metadata: part.providerMetadata };
      open().parts.push({ part_kind: `custom:${part.kind}`, ...metadata });
    } else if (part.type === "steering-message") {
      const content = prompt(part);
      if (content.length === 0 && content !== "") continue; // R52
      close();
      const silent = (entry) => entry.kind === "event" || entry.parts.length === 0;
      if (JSON.stringify([content]) === asked && entries.every(silent)) continue; // R9
      entries.push({ kind: "returns", at, parts: [{ part_kind: "user-prompt", content }] }); // R44
    } else if (part.type === "source-url" || part.type === "source-document") {
      if (inStep) open();
      entries.push({ kind: "event", at, ...source(part) });
    } else if (part.type.startsWith("data-")) {
      entries.push({ kind: "event", at, name: part.type.replace(/^data-meta:/, "meta:"), data: part.data });
    }
  }
  if (response !== null && (finished || returns.parts.length > 0)) response.finished = true;
  if (error !== null) entries.push({ kind: "event", at, name: "data-tp-error", data: { error } });
  return entries.filter((entry) => entry.kind !== "returns" || entry.parts.length > 0);
}

function toolPart(part, response, returns) {
  const name = part.type === "dynamic-tool" ? part.toolName : part.type.slice("tool-".length);
  const call = { tool_name: name, tool_call_id: part.toolCallId };
  if (part.state === "input-streaming") return; // R10: not complete, whatever its input looks like
  const args = part.input === undefined ? (part.rawInput ?? null) : part.input;
  const own = part.providerExecuted ? providerOf(part.callProviderMetadata) : {};
  response.parts.push({ part_kind: part.providerExecuted ? "builtin-tool-call" : "tool-call", ...call, args, ...own });
  const content = contentOf(part);
  if (content === undefined) return;
  if (part.providerExecuted) {
    response.parts.push({ part_kind: "builtin-tool-return", ...call, content: content.value, ...own }); // R42
  } else {
    returns.parts.push({ part_kind: "tool-return", ...call, status: content.status, content: content.value });
  }
}

/** What came back for a call; undefined while nothing has, and for progress (R14). */
function contentOf(part) {
  if (part.state === "output-available" && !part.preliminary) return { status: "success", value: part.output };
  if (part.state === "output-error") return { status: part.status ?? "error", value: part.errorText }; // a part of the AI SDK does not have a status
  if (part.state === "output-denied") return { status: "error", value: (part.approval?.approved === false ? part.approval.reason : undefined) ?? DENIAL }; // R22
  return undefined;
}

/** Outputs of this turn for calls of earlier ones; `before` are the ids that had their output already. */
function lateReturns(parts, before) {
  const found = { parts: [] };
  for (const part of parts) {
    if (part.toolCallId && !before.has(part.toolCallId)) toolPart(part, { parts: [] }, found);
  }
  return found.parts;
}

/** The ids of calls that have their output. */
export function answered(parts) {
  return new Set(parts.filter((p) => p.toolCallId && contentOf(p) !== undefined).map((p) => p.toolCallId));
}

function providerOf(metadata) {
  const name = Object.keys(metadata ?? {})[0];
  return name === undefined ? {} : { provider_name: metadata.pydantic_ai?.provider_name ?? name };
}

function thinking(part) {
  const metadata = part.providerMetadata ?? {};
  const name = Object.keys(metadata)[0];
  const values = metadata[name] ?? {};
  return {
    part_kind: "thinking",
    content: part.text,
    ...(typeof values.signature === "string" && { signature: values.signature }),
    provider_name: values.provider_name ?? name ?? "unknown", // R15
  };
}

function prompt(part) {
  const contents = part.parts.map((one) => (one.type === "text" ? one.text : fileOf(one).content));
  return contents.length === 1 && typeof contents[0] === "string" ? contents[0] : contents;
}

/** R63: a file's own names stand in its metadata, and a range is not a media type. */
function fileOf(part) {
  const { id, identifier: named } = part.providerMetadata?.pydantic_ai ?? {};
  const own = id ? { id } : {};
  const match = /^data:[^,]*;base64,([A-Za-z0-9+/_-]*={0,2})$/.exec(part.url); // of anything else the address is kept (R49)
  if (match) {
    const identifier = named ?? createHash("sha1").update(Buffer.from(match[1], "base64")).digest("hex").slice(0, 6);
    return { content: { kind: "binary", data: match[1], media_type: part.mediaType, identifier }, ...own };
  }
  const kind = URL_KINDS[part.mediaType.split("/")[0]] ?? "document-url";
  const typed = part.mediaType.endsWith("/*") ? {} : { media_type: part.mediaType };
  return { content: { kind, url: part.url, identifier: named ?? part.url, ...typed }, ...own };
}

function source(part) {
  const fields =
    part.type === "source-url"
      ? { source_id: part.sourceId, url: part.url, title: part.title }
      : { source_id: part.sourceId, media_type: part.mediaType, title: part.title, filename: part.filename };
  const data = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  return { name: part.type.replace("-", "."), data };
}
