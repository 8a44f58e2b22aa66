// npm install ai@7.0.173 && node ai_sdk_usage.mjs
// AI SDK: a model has answered with a call and said what that used; its tool runs; the user stops. Who hears of the usage?
import { isStepCount, streamText, tool, jsonSchema } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";

const stop = new AbortController();
const usage = { inputTokens: { total: 1200 }, outputTokens: { total: 30 } };
const chunks = [
  { type: "stream-start", warnings: [] },
  { type: "tool-call", toolCallId: "c", toolName: "look", input: "{}" },
  { type: "finish", finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage },
];
const execute = async (_, { abortSignal }) => {
  setTimeout(() => stop.abort(), 50); // the answer and its usage have come
  await new Promise((_, failed) => abortSignal.addEventListener("abort", () => failed(new Error("stopped"))));
};
const result = streamText({
  model: new MockLanguageModelV4({ doStream: async () => ({ stream: simulateReadableStream({ chunks }) }) }),
  prompt: "Look it up",
  tools: { look: tool({ inputSchema: jsonSchema({ type: "object" }), execute }) },
  stopWhen: isStepCount(5),
  abortSignal: stop.signal,
  onStepFinish: (step) => console.log("onStepFinish", step.usage.inputTokens),
  onFinish: ({ totalUsage }) => console.log("onFinish", totalUsage.inputTokens),
  onAbort: ({ steps }) => console.log("onAbort, steps:", steps.length),
  onError: ({ error }) => console.log("onError", String(error)),
});
result.totalUsage.then(({ inputTokens }) => console.log("totalUsage", inputTokens), (error) => console.log("totalUsage:", error.name));
for await (const part of result.fullStream) console.log("stream", part.type, part.usage?.inputTokens ?? "");
await new Promise((later) => setTimeout(later, 50));
