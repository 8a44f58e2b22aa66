// AI SDK: with consumeStream() as documented, an answer whose reader left is stored as it was when he left.
import { createUIMessageStreamResponse, simulateReadableStream, streamText, toUIMessageStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";

const text = ["Hel", "lo ", "world"].map((delta) => ({ type: "text-delta", id: "1", delta }));
const finish = { type: "finish", finishReason: { unified: "stop" }, usage: { inputTokens: {}, outputTokens: {} } };
const chunks = [{ type: "text-start", id: "1" }, ...text, { type: "text-end", id: "1" }, finish];
const stream = simulateReadableStream({ chunks, chunkDelayInMs: 100 });
const model = new MockLanguageModelV4({ doStream: async () => ({ stream }) });

function POST() {
  const result = streamText({ model, prompt: "Hi", onEnd: ({ text }) => console.log("model said", JSON.stringify(text)) });
  result.consumeStream(); // "ensure it runs to completion & triggers onEnd even when the client response is aborted"
  return createUIMessageStreamResponse({
    stream: toUIMessageStream({
      stream: result.stream,
      onEnd: ({ messages }) => console.log("stored    ", JSON.stringify(messages[0].parts.at(-1))),
    }),
  });
}

const reader = POST().body.pipeThrough(new TextDecoderStream()).getReader();
while (!(await reader.read()).value.includes("Hel"));
await reader.cancel();
