// "Next.js App Router Quickstart", step "Enabling Multi-Step Tool Calls": the client keeps the history.
import { convertToModelMessages, createUIMessageStreamResponse, isStepCount, streamText, toUIMessageStream } from "ai";
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
  });

  return createUIMessageStreamResponse({
    stream: toUIMessageStream({ stream: result.stream }),
  });
}

listen(new Hono().post("/api/chat", (c) => POST(c.req.raw)));
