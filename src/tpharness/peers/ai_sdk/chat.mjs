// The chat class that `useChat` of `@ai-sdk/react` is made of, without a page around it; its buttons are pressed by lines.

import { Chat } from "@ai-sdk/react";
import * as ai from "ai";
import { setTimeout as sleep } from "node:timers/promises";
import { pressed } from "./buttons.mjs";
import { StreamsRead } from "./streams_read.mjs";

class Page {
  #streams = new StreamsRead();

  constructor({ chat, api, messages, body, ids }) {
    let made = 0;
    this.chat = new Chat({
      id: chat,
      messages,
      generateId: () => ids + String((made += 1)).padStart(4, "0"),
      transport: new ai.DefaultChatTransport({ api, body, fetch: this.#streams.fetch }),
      sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses, // as the documentation has it; new in 6
    });
  }

  async submit(text) {
    await this.chat.sendMessage({ text });
    return this.#state();
  }

  async regenerate() {
    await this.chat.regenerate();
    return this.#state();
  }

  async edit(text, messageId) {
    await this.chat.sendMessage({ text, messageId });
    return this.#state();
  }

  async resume() {
    await this.chat.resumeStream();
    return this.#state();
  }

  /** Answer the requests for approval of the last message, when all are there; the chat posts when the last is answered. */
  async approve(approved, reason) {
    const requests = () => this.chat.messages.at(-1).parts.filter((part) => part.state === "approval-requested");
    for (let tries = 0; requests().length < approved.length && tries < 400; tries += 1) await sleep(5);
    for (const [index, part] of requests().entries()) {
      await this.chat.addToolApprovalResponse({ id: part.approval.id, approved: approved[index], reason });
    }
    while (["submitted", "streaming"].includes(this.chat.status)) {
      await new Promise((changed) => (this.unregister = this.chat["~registerStatusCallback"](changed)));
      this.unregister();
    }
    return this.#state();
  }

  async stop(read) {
    await this.#streams.read(read);
    await this.chat.stop();
    return this.#state();
  }

  async look(read) {
    await this.#streams.read(read);
    return { ...this.#state(), messages: this.chat.messages };
  }

  async close() {
    await this.chat.stop();
  }

  #state() {
    const { status, error } = this.chat;
    const cause = error?.cause?.message ?? error?.cause?.code;
    return { status, error: error ? [error.message, cause].filter(Boolean).join(": ") : null };
  }
}

pressed((options) => new Page(options));
