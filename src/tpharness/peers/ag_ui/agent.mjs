// A page on `HttpAgent` of `@ag-ui/client`, without a screen; its buttons are pressed by lines.

import { HttpAgent } from "@ag-ui/client";
import { setTimeout as sleep } from "node:timers/promises";
import { pressed } from "./buttons.mjs";
import { StreamsRead } from "./streams_read.mjs";

const NOT_RUN = "The page has not run this tool.";

class Page {
  #streams = new StreamsRead();
  #error = null;

  /** `messages` are AG-UI's; `body` are the fields that every post has: the page's tools, context, forwardedProps. */
  constructor({ chat, api, messages, body }) {
    this.agent = new HttpAgent({ url: api, threadId: chat, initialMessages: messages, fetch: this.#streams.fetch });
    this.body = body;
  }

  async submit(text, id) {
    await this.#leaveAlone();
    this.#answerOwnTools();
    this.agent.addMessage({ id, role: "user", content: text });
    return this.#run();
  }

  async regenerate() {
    await this.#leaveAlone();
    const last = this.agent.messages.findLastIndex(({ role }) => role === "user");
    this.agent.setMessages(this.agent.messages.slice(0, last + 1));
    return this.#run();
  }

  async edit(text, messageId) {
    await this.#leaveAlone();
    const place = this.agent.messages.findIndex(({ id }) => id === messageId);
    const said = { id: messageId, role: "user", content: text };
    this.agent.setMessages([...this.agent.messages.slice(0, place), said]);
    return this.#run();
  }

  async resume() {
    throw new Error("AG-UI has no way to take up a stream");
  }

  /** Answer the interrupts that the user was asked about, when all are there; the others are cancelled. */
  async approve(approved, reason, requests) {
    const isThere = (id) => this.agent.pendingInterrupts.some((one) => one.id === id);
    for (let tries = 0; !requests.every(isThere) && tries < 400; tries += 1) await sleep(5);
    const given = new Map(requests.map((id, index) => [id, approved[index]]));
    return this.#run(({ id, expiresAt }) => {
      if (!given.has(id) || (expiresAt !== undefined && Date.parse(expiresAt) <= Date.now())) return undefined;
      return { approved: given.get(id), ...(reason === undefined ? {} : { reason }) };
    });
  }

  async stop(read) {
    await this.#streams.read(read);
    this.agent.abortRun();
    return this.#state();
  }

  async look(read) {
    await this.#streams.read(read);
    return { ...this.#state(), messages: this.agent.messages };
  }

  async close() {
    this.agent.abortRun();
  }

  /** Who writes while a run streams leaves that run alone. */
  async #leaveAlone() {
    await this.agent.detachActiveRun();
  }

  /** Post, and read the answer; `payload` gives what the user says to an interrupt, undefined where nothing was said. */
  async #run(payload = () => undefined) {
    this.#error = null;
    const resume = this.agent.pendingInterrupts.map((one) => {
      const said = payload(one);
      return { interruptId: one.id, ...(said ? { status: "resolved", payload: said } : { status: "cancelled" }) };
    });
    const { tools, context, forwardedProps } = this.body;
    const failed = ({ event }) => {
      if (event.code !== "abort") this.#error = event.message; // the package makes up an error where the user left
    };
    await this.agent
      .runAgent({ tools, context, forwardedProps, ...(resume.length > 0 && { resume }) }, { onRunErrorEvent: failed })
      .catch((error) => (this.#error = [error.message, error.cause?.message].filter(Boolean).join(": ")));
    return this.#state();
  }

  /** A thread goes on only when every call of a tool of the page has an answer; this page runs none. */
  #answerOwnTools() {
    const own = new Set((this.body.tools ?? []).map(({ name }) => name));
    const answered = new Set(this.agent.messages.map(({ toolCallId }) => toolCallId));
    const messages = [];
    const results = [];
    for (const message of this.agent.messages) {
      if (message.role !== "tool") messages.push(...results.splice(0));
      messages.push(message);
      for (const call of message.toolCalls ?? []) {
        if (!own.has(call.function.name) || answered.has(call.id)) continue;
        const id = `${call.id}-not-run`;
        results.push({ id, role: "tool", toolCallId: call.id, content: "", error: NOT_RUN });
      }
    }
    this.agent.setMessages([...messages, ...results]);
  }

  #state() {
    return { status: this.#error === null ? "ready" : "error", error: this.#error };
  }
}

// Where the package has rejected a stream, and the connection breaks afterwards, the error reaches nobody.
process.on("uncaughtException", (error) => {
  if (error.message === "terminated") return;
  console.error(error);
  process.exit(1);
});

console.error = console.warn = () => {}; // the package says there what it leaves out

pressed((options) => new Page(options));
