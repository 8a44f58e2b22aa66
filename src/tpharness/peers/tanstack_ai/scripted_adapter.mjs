// A text adapter of TanStack AI whose answers are those of the script: the seam at which a provider stands there.
//
// It yields what `BaseTextAdapter` asks for, AG-UI's events of one answer from RUN_STARTED to RUN_FINISHED, and ends with
// RUN_ERROR when its request fails or is aborted, as the adapters of the package's own providers do.

import { BaseTextAdapter } from "@tanstack/ai/adapters";
import { textOf, words } from "./application.mjs";

export const FINISH = { stop: "stop", length: "length", content_filter: "content_filter", tool_call: "tool_calls" };

export class ScriptedAdapter extends BaseTextAdapter {
  name = "scripted";
  asked = 0;

  constructor(story, playback, signal) {
    super({}, "scripted");
    Object.assign(this, { story, playback });
    this.aborted = new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("Request was aborted.")), { once: true });
    });
    this.aborted.catch(() => {}); // seen by whoever waits
  }

  /** The answer of the model that is being played, or was last. */
  get current() {
    return this.story.answers[this.asked - 1];
  }

  /** Wait until it is the turn of an event, or the request is aborted. */
  turn(index) {
    return Promise.race([this.playback.turn(index), this.aborted]);
  }

  structuredOutput() {
    throw new Error("the script has no structured output");
  }

  async *chatStream({ threadId, runId }) {
    this.asked += 1;
    const messageId = `${runId}-answer-${this.asked}`;
    const run = { threadId, runId, model: this.current?.request.model_name ?? this.model };
    try {
      yield { type: "RUN_STARTED", ...run, timestamp: Date.now() };
      for await (const event of this.#answer(messageId)) yield { ...event, timestamp: Date.now() };
      yield { type: "RUN_FINISHED", ...run, timestamp: Date.now(), ...this.#end() };
      const { endedAt } = this.current;
      if (endedAt !== undefined) await this.playback.happened(endedAt);
    } catch (error) {
      yield { type: "RUN_ERROR", model: run.model, timestamp: Date.now(), message: words(error), error: { message: words(error) } };
    }
  }

  async *#answer(messageId) {
    const { story, playback, current: answer } = this;
    if (!answer) {
      await this.turn(story.failedAt ?? story.count);
      throw new Error(story.failure);
    }
    await this.turn(answer.first);
    if (answer.request.event_kind) await playback.happened(answer.first);
    for (const [index, event] of answer.events) {
      await this.turn(index);
      yield* eventsOf(event, answer.parts.get(event.index), messageId);
      await playback.happened(index);
    }
    const last = answer === story.answers.at(-1);
    if (last && story.failedAt !== null && !answer.ended) {
      await this.turn(story.failedAt);
      throw new Error(story.failure);
    }
    if (!answer.ended) await this.turn(story.count);
    if (answer.endedAt !== undefined) await this.turn(answer.endedAt);
  }

  #end() {
    const { story, current: answer } = this;
    const said = answer.end.finish_reason ?? (answer === story.answers.at(-1) ? story.result?.finish_reason : null);
    const finishReason = FINISH[said] ?? (answer.calls.length ? "tool_calls" : "stop");
    const { input_tokens: input = 0, output_tokens: output = 0, ...more } = answer.end.usage ?? {};
    if (input + output === 0) return { finishReason };
    const usage = { promptTokens: input, completionTokens: output, totalTokens: input + output };
    if (more.cache_read_tokens) usage.promptTokensDetails = { cachedTokens: more.cache_read_tokens };
    if (more.reasoning_tokens) usage.completionTokensDetails = { reasoningTokens: more.reasoning_tokens };
    return { finishReason, usage };
  }
}

/** What an adapter says for one event of the script. */
function* eventsOf(event, part, messageId) {
  const start = event.event_kind === "part_start";
  const end = event.event_kind === "part_end";
  const text = start ? event.part.content : event.delta?.content_delta;
  const args = start ? event.part.args : event.delta?.args_delta;
  if (part.part_kind === "text") {
    if (start) yield { type: "TEXT_MESSAGE_START", messageId, role: "assistant" };
    if (!end && text) yield { type: "TEXT_MESSAGE_CONTENT", messageId, delta: text };
    if (end) yield { type: "TEXT_MESSAGE_END", messageId };
  } else if (part.part_kind === "thinking") {
    const thought = `${messageId}-thought`;
    if (start) yield { type: "REASONING_START", messageId: thought };
    if (start) yield { type: "REASONING_MESSAGE_START", messageId: thought, role: "reasoning" };
    if (!end && text) yield { type: "REASONING_MESSAGE_CONTENT", messageId: thought, delta: text };
    if (end) yield { type: "REASONING_MESSAGE_END", messageId: thought };
    if (end && part.signature) {
      yield { type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: thought, encryptedValue: part.signature };
    }
    if (end) yield { type: "REASONING_END", messageId: thought };
  } else {
    const toolCallId = part.tool_call_id;
    if (start) yield { type: "TOOL_CALL_START", toolCallId, toolCallName: part.tool_name, parentMessageId: messageId };
    if (!end && args != null && args !== "") yield { type: "TOOL_CALL_ARGS", toolCallId, delta: textOf(args) };
    if (end) yield { type: "TOOL_CALL_END", toolCallId };
  }
}
