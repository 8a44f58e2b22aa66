// A route of the AI SDK as its documentation has it: the page keeps the history and posts it whole. Its tool is the
// ledger's. The file `release` says which release runs: 1 sends the model every call that the page holds, 2 leaves those
// without a result out. 3 is right: it says of such a call that nobody knows, and leaves out one that was never whole.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { createOpenAI } from "@ai-sdk/openai";
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  isStepCount,
  streamText,
  tool,
  toUIMessageStream,
} from "ai";
import { z } from "zod";

const release = readFileSync("release", "utf8").trim();
const UNKNOWN = "The tool was interrupted; whether it has run is not known.";
const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY });

const book_hotel = tool({
  description: "Books a hotel",
  inputSchema: z.object({ city: z.string(), nights: z.number().int() }),
  execute: async (input, { toolCallId, abortSignal }) => {
    const answer = await fetch(`${process.env.TPHARNESS_EFFECTS_URL}/tools/book_hotel`, {
      method: "POST",
      body: JSON.stringify(input),
      headers: { "x-tpharness-call": toolCallId },
      signal: abortSignal,
    });
    return (await answer.json()).result;
  },
});

function mended(message) {
  const parts = message.parts.flatMap((part) => {
    if (part.state === "input-available") return [{ ...part, state: "output-error", errorText: UNKNOWN }];
    const atLength = part.state === "output-error" && message.metadata?.reason === "length";
    return part.state === "input-streaming" || atLength ? [] : [part];
  });
  return parts.some(({ type }) => type !== "step-start") ? [{ ...message, parts }] : [];
}

const atLength = ({ steps }) => release === "3" && steps.at(-1).finishReason === "length";
const reasons = { messageMetadata: ({ part }) => (part.type === "finish" ? { reason: part.finishReason } : undefined) };

async function POST(request, abortSignal) {
  const { messages: posted } = await request.json();
  const messages = release === "3" ? posted.flatMap(mended) : posted;
  const result = streamText({
    model: openai.chat("gpt-6-astra"),
    messages: await convertToModelMessages(messages, { ignoreIncompleteToolCalls: release === "2" }),
    tools: { book_hotel },
    stopWhen: [isStepCount(release === "3" ? 10 : 5), atLength],
    abortSignal,
  });
  return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream: result.stream, ...(release === "3" && reasons) }) });
}

process.on("unhandledRejection", (error) => console.error(error)); // as Next.js does
createServer(async (request, response) => {
  if (request.method !== "POST" || request.url !== "/api/chat") {
    response.writeHead(404).end();
    return;
  }
  const left = new AbortController();
  response.on("close", () => left.abort());
  const body = Readable.toWeb(request);
  const answer = await POST(new Request("http://chat/", { method: "POST", body, duplex: "half" }), left.signal);
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  Readable.fromWeb(answer.body).on("error", () => response.destroy()).pipe(response);
}).listen(Number(process.env.PORT), "127.0.0.1");
