// "Stopping Streams", section "UI Message Streams": a client that leaves stops the model. The client keeps the history.
import {
  consumeStream,
  convertToModelMessages,
  createUIMessageStreamResponse,
  isStepCount,
  streamText,
  toUIMessageStream,
} from "ai";
import { Hono } from "hono";
import { listen } from "./lib/listen.mjs";
import { model } from "./lib/model.mjs";
import { tools } from "./lib/tools.mjs";

async function POST(req) {
  const { messages } = await req.json();

  const result = streamText({
    model,
    messages: await convertToModelMessages(messages),
    stopWhen: isStepCount(5),
    tools,
    abortSignal: req.signal,
  });

  return createUIMessageStreamResponse({
    stream: toUIMessageStream({
      stream: result.stream,
      onEnd: async ({ isAborted }) => {
        if (isAborted) {
          console.log("Stream was aborted");
          // Handle abort-specific cleanup
        } else {
          console.log("Stream completed normally");
          // Handle normal completion
        }
      },
    }),
    consumeSseStream: consumeStream,
  });
}

listen(new Hono().post("/api/chat", (c) => POST(c.req.raw)));
