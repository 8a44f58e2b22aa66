// Scenario 2 of the design, on real messages of LangChain.js: a line of JSON in, one out.

import { createInterface } from "node:readline";
import {
  AIMessage,
  HumanMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
} from "@langchain/core/messages";
import {
  convertCompletionsMessageToBaseMessage,
  convertMessagesToCompletionsMessageParams,
  convertMessagesToResponsesInput,
} from "@langchain/openai";

const MARK = "\n[Tool call was interrupted – execution incomplete]";

/** What the API says, as the package reads it; or the message that the design builds itself. */
function answered({ text, calls, own }) {
  if (own) return new AIMessage({ content: text, tool_calls: calls.map(({ id, name, args }) => ({ id, name, args })) });
  const tool_calls = calls.map(({ id, name, args }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  const message = { role: "assistant", content: text, tool_calls };
  const rawResponse = { id: "r", model: "m", choices: [{ index: 0, finish_reason: "tool_calls", message }] };
  return convertCompletionsMessageToBaseMessage({ message, rawResponse });
}

const sent = (messages) => ({
  "openai-chat": convertMessagesToCompletionsMessageParams({ messages }),
  "openai-responses": convertMessagesToResponsesInput({ messages, zdrEnabled: false, model: "m" }),
});

for await (const line of createInterface({ input: process.stdin })) {
  const message = answered(JSON.parse(line));
  message.content += MARK;
  delete message.tool_calls; // as the design does
  const messages = [new HumanMessage("q"), message, new HumanMessage("Go on.")];
  const stored = JSON.parse(JSON.stringify(mapChatMessagesToStoredMessages(messages)));
  const answer = { stored, sent: sent(messages), again: sent(mapStoredMessagesToChatMessages(stored)) };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
