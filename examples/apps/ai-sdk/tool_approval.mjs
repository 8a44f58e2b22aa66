// "Chatbot Tool Usage", section "Tool Execution Approval": as quickstart.mjs, and the user approves a call before it runs.
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
    toolApproval: {
      book_hotel: "user-approval",
    },
  });

  return createUIMessageStreamResponse({
    stream: toUIMessageStream({ stream: result.stream }),
  });
}

listen(new Hono().post("/api/chat", (c) => POST(c.req.raw)));
