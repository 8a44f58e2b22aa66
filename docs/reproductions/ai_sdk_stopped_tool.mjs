// AI SDK: after a stop while a tool runs, every later message of the chat gets an error, and the model is not asked.
import { AbstractChat, convertToModelMessages, createUIMessageStreamResponse, DefaultChatTransport } from "ai";
import { jsonSchema, simulateReadableStream, streamText, tool, toUIMessageStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

const call = { type: "tool-call", toolCallId: "c1", toolName: "book_hotel", input: "{}" };
const finish = { type: "finish", finishReason: { unified: "tool-calls" }, usage: { inputTokens: {}, outputTokens: {} } };
const doStream = async () => ({ stream: simulateReadableStream({ chunks: [call, finish] }) });
const model = new MockLanguageModelV4({ doStream });
const execute = () => new Promise((resolve) => setTimeout(resolve, 500, "booked", setTimeout(() => chat.stop(), 100)));
const tools = { book_hotel: tool({ inputSchema: jsonSchema({ type: "object" }), execute }) };

async function POST(url, { body, signal }) { // the quickstart's route; a client that stops takes the stream away
  const { messages } = JSON.parse(body);
  const { stream } = streamText({ model, tools, messages: await convertToModelMessages(messages), onError: () => {} });
  const chunks = toUIMessageStream({ stream, onError: (error) => error.message });
  return createUIMessageStreamResponse({ stream: chunks.pipeThrough(new TransformStream(), { signal }) });
}

const state = { status: "ready", messages: [], snapshot: structuredClone };
state.pushMessage = (message) => state.messages.push(message);
state.replaceMessage = (index, message) => (state.messages[index] = message);
class Chat extends AbstractChat {}
const chat = new Chat({ state, transport: new DefaultChatTransport({ fetch: POST }) });
for (const text of ["Book a hotel", "Thanks", "Hello?"]) {
  await chat.sendMessage({ text });
  console.log(`${text}: ${chat.status}, model asked ${model.doStreamCalls.length} times, ${chat.error?.message ?? ""}`);
}
