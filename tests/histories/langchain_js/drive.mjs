// Real messages of LangChain.js: what its integrations send of them, and what its storage keeps. A line in, a line out.
//
// {"messages": …, "made": "own" | "of-the-api"}   a state, its AIMessages built from their fields or read from OpenAI's API
// {"says": api, "streamed": …}                    scenario 2 on a message with one call, which the API has said

import { createInterface } from "node:readline";
import { ChatAnthropic } from "@langchain/anthropic";
import {
  AIMessage,
  HumanMessage,
  ToolMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  mergeContent,
} from "@langchain/core/messages";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI, convertCompletionsMessageToBaseMessage } from "@langchain/openai";

const MARK = "\n[Tool call was interrupted – execution incomplete]";
const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
const args = { a: 1 };
const call = { id: "c1", type: "function", function: { name: "slow", arguments: JSON.stringify(args) } };
const chat = { id: "r", object: "chat.completion", created: 1, model: "m" };
const text = { type: "output_text", text: "ok", annotations: [] };

/** What each API answers: a text and a call. */
const ANSWERS = {
  "openai-chat": {
    ...chat,
    choices: [{ index: 0, finish_reason: "tool_calls", message: { role: "assistant", content: "ok", tool_calls: [call] } }],
  },
  "openai-responses": {
    ...{ id: "resp_1", object: "response", created_at: 1, model: "m", status: "completed", usage },
    output: [
      { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [text] },
      { type: "function_call", id: "fc_1", call_id: "c1", name: "slow", arguments: '{"a":1}', status: "completed" },
    ],
  },
  anthropic: {
    ...{ id: "m", type: "message", role: "assistant", model: "m", stop_reason: "tool_use", usage },
    content: [
      { type: "text", text: "ok" },
      { type: "tool_use", id: "c1", name: "slow", input: args },
    ],
  },
  gemini: {
    candidates: [
      { content: { role: "model", parts: [{ text: "ok" }, { functionCall: { name: "slow", args } }] }, finishReason: "STOP" },
    ],
  },
};

/** The chat API's answer in pieces. */
const PIECES = [
  { role: "assistant", content: "ok" },
  { tool_calls: [{ index: 0, ...call, function: { name: "slow", arguments: '{"a"' } }] },
  { tool_calls: [{ index: 0, function: { arguments: ":1}" } }] },
].map((delta) => ({ ...chat, object: "chat.completion.chunk", choices: [{ index: 0, delta }] }));

let body; // of the last request, which goes nowhere
let answer;
globalThis.fetch = async (_, init) => {
  body = JSON.parse(init.body);
  if (!body.stream) return new Response(JSON.stringify(answer), { headers: { "content-type": "application/json" } });
  const stream = `${PIECES.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join("")}data: [DONE]\n\n`;
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
};

const open = { apiKey: "k", model: "m", maxRetries: 0 };
const MODELS = {
  "openai-chat": [new ChatOpenAI(open), "messages"],
  "openai-responses": [new ChatOpenAI({ ...open, useResponsesApi: true }), "input"],
  anthropic: [new ChatAnthropic(open), "messages"],
  gemini: [new ChatGoogleGenerativeAI(open), "contents"],
};

/** What is in the body of the request to an API, or the error with which the package refuses to send one. */
async function sentTo(api, messages) {
  const [model, field] = MODELS[api];
  answer = ANSWERS[api];
  body = null;
  try {
    await model.invoke(messages);
  } catch (error) {
    if (body === null) return { error: error.message };
  }
  return body[field];
}

async function sent(messages) {
  const found = {};
  for (const api of Object.keys(MODELS)) found[api] = await sentTo(api, messages);
  return found;
}

/** A message as a program holds it: its calls are deleted if the state has none of those that it was made with. */
function held({ type, data }, made) {
  const { content, tool_call_id, status, tool_calls, invalid_tool_calls, additional_kwargs } = data;
  if (type === "human") return new HumanMessage(content);
  if (type === "tool") return new ToolMessage({ content, tool_call_id, status });
  const said = additional_kwargs.tool_calls;
  if (!said) return new AIMessage({ content, tool_calls, invalid_tool_calls });
  const message = { role: "assistant", content, tool_calls: said };
  const rawResponse = { id: "r", model: "m", choices: [{ index: 0, finish_reason: "tool_calls", message }] };
  const read = convertCompletionsMessageToBaseMessage({ message, rawResponse });
  const fields = { content, tool_calls: read.tool_calls, invalid_tool_calls: read.invalid_tool_calls };
  const real = made === "own" ? new AIMessage(fields) : read;
  if (real.tool_calls.length && !tool_calls.length) delete real.tool_calls; // as the design does
  return real;
}

async function state({ messages, made }) {
  const real = messages.map((message) => held(message, made));
  const stored = JSON.parse(JSON.stringify(mapChatMessagesToStoredMessages(real)));
  const deleted = real.some((message) => message.type === "ai" && message.tool_calls === undefined);
  const again = mapStoredMessagesToChatMessages(stored);
  return { sent: await sent(real), stored, again: deleted ? await sent(again) : null };
}

async function interrupted({ says, streamed }) {
  const [model] = MODELS[says];
  answer = ANSWERS[says];
  const question = new HumanMessage("q");
  let message;
  if (streamed) for await (const chunk of await model.stream([question])) message = message?.concat(chunk) ?? chunk;
  else message = await model.invoke([question]);
  const calls = message.tool_calls.length;
  message.content = mergeContent(message.content, MARK);
  delete message.tool_calls; // as the design does
  return { calls, sent: await sentTo(says, [question, message, new HumanMessage("Go on.")]) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line);
  const found = question.says ? await interrupted(question) : await state(question);
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
