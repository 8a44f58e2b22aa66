// `peer:tanstack-ai-client`: `ChatClient` of `@tanstack/ai-client` with its own connection over SSE, fed over HTTP.
//
// The connection's `fetchClient` gets the harness's stream instead of posting to an application, one event a read; all
// else is the package's. An application that keeps threads has the messages of the chat, and of the end of a run what
// `onChunk` and `onError` say.

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import * as tanstack from "@tanstack/ai-client";
import { CannotPlay, json, needed, portOf, serve } from "./control.mjs";
import { received } from "./conversation.mjs";
import { cutOf } from "./messages.mjs";
import { regrouped } from "./reads.mjs";

const VERSION = JSON.parse(readFileSync(new URL("../../package.json", import.meta.resolve("@tanstack/ai-client")))).version;
const CALLED = ["ChatClient", "fetchServerSentEvents"];
const { ChatClient, fetchServerSentEvents } = needed(tanstack, `@tanstack/ai-client ${VERSION}`, CALLED);
const LOST = /^(Stream response body read failed|Stream ended with unterminated trailing data)/;

const capabilities = {
  contract: "1.2",
  name: "TanStack AI client",
  version: VERSION,
  roles: ["client"],
  carriers: false,
  wires: ["ag-ui"],
  detects: ["network_failure", "user_cancelled"],
};

/** What the harness asks of whoever plays a client. */
function player(threadId) {
  const heard = { events: 0 };
  const settled = async () => {
    for (let quiet = 0, seen = heard.events; quiet < 3; seen = heard.events) {
      await sleep(1); // the package takes one event a timer
      quiet = heard.events === seen ? quiet + 1 : 0;
    }
  };
  const stop = () => {
    heard.failed ??= { name: "AbortError" }; // the chat itself says nothing of it
    chat.stop();
  };
  const fetchClient = async (_url, { signal }) => {
    const response = await fetch(heard.stream.url, { signal, headers: { accept: "text/event-stream" } });
    return new Response(regrouped(response.body, false, stop, settled), response);
  };
  const chat = new ChatClient({
    threadId,
    connection: fetchServerSentEvents("http://localhost/chat", { fetchClient }),
    onChunk: (event) => {
      heard.events += 1;
      if (event.type === "RUN_FINISHED") heard.ended ??= { outcome: event.outcome?.type, facts: {} };
      if (event.type === "RUN_ERROR" && !LOST.test(event.message)) heard.ended ??= { outcome: "error", event, facts: {} };
    },
    onError: (error) => void (heard.failed ??= LOST.test(error.message) ? null : error),
  });
  return {
    async send(parts, stream) {
      if (parts === null) throw new CannotPlay("a run that no message of the user begins");
      if (chat.getPendingInterrupts().length > 0) throw new CannotPlay("a message while an interrupt waits, which the chat refuses");
      Object.assign(heard, { stream, ended: null, failed: null });
      await chat.sendMessage({ content: parts.map(contentOf) });
      const { cut, error } = cutOf(heard, stream.end.reason ?? null);
      return { message: messageOf(chat.getMessages()), finish: { cut, isNetwork: false, errorText: error } };
    },
  };
}

/** What the user says, as TanStack AI has it. */
function contentOf(part) {
  if (part.type !== "text") throw new CannotPlay("a message of the user that is not text");
  return { type: "text", content: part.text };
}

/** All that was answered as one message, whose parts `mapping.mjs` makes a thread of. */
function messageOf(messages) {
  const all = messages.flatMap(({ role, parts }) => (role === "assistant" ? parts : [{ type: "user" }]));
  const results = new Map(all.filter(({ type }) => type === "tool-result").map((one) => [one.toolCallId, one]));
  const parts = [];
  let begins = true; // a response begins with what follows a result, or a message of the user
  for (const part of all) {
    const made = partOf(part, results);
    if (made !== null && begins) parts.push({ type: "step-start" });
    if (made !== null) parts.push(made);
    begins = made === null && (begins || part.type === "tool-result" || part.type === "user");
  }
  return parts.length === 0 ? null : { id: "all", role: "assistant", parts };
}

function partOf(part, results) {
  if (part.type === "text") return { type: "text", text: part.content, state: "done" };
  if (part.type === "thinking") return { type: "reasoning", text: part.content, state: "done", providerMetadata: signed(part) };
  return part.type === "tool-call" ? toolPart(part, results.get(part.id)) : null;
}

const signed = ({ signature }) => (signature ? { unknown: { signature } } : undefined);

function toolPart(part, result) {
  const whole = part.state !== "awaiting-input" && part.state !== "input-streaming";
  const made = {
    type: "dynamic-tool",
    toolCallId: part.id,
    toolName: part.name,
    state: whole ? "input-available" : "input-streaming",
    input: part.input ?? part.arguments,
  };
  if (result === undefined) return made;
  if (result.state === "error") return { ...made, state: "output-error", errorText: result.error };
  return { ...made, state: "output-available", output: part.output ?? result.content };
}

console.warn = console.error = () => {}; // the package says there what it leaves out

serve(portOf(process.argv), [
  ["GET", /^\/capabilities$/, ({ res }) => json(res, capabilities)],
  [
    "POST",
    /^\/receive$/,
    async ({ value, res }) => json(res, { threads: await received(value, player(value.thread_id)) }),
  ],
  ["POST", /^\/adopt$/, ({ value, res }) => json(res, { threads: value.threads })],
]);
