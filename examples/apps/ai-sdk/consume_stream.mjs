// "Chatbot Message Persistence", section "Handling client disconnects": as stored_messages.mjs, and the server reads on alone.
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  isStepCount,
  streamText,
  toUIMessageStream,
  validateUIMessages,
} from "ai";
import { Hono } from "hono";
import { loadChat, saveChat } from "./lib/chat-store.mjs";
import { listen } from "./lib/listen.mjs";
import { model } from "./lib/model.mjs";
import { tools } from "./lib/tools.mjs";

async function POST(req) {
  // get the last message from the client:
  const { message, id } = await req.json();

  // load the previous messages from the server:
  const previousMessages = await loadChat(id);

  const validatedMessages = await validateUIMessages({
    // append the new message to the previous messages:
    messages: [...previousMessages, message],
    tools,
  });

  const result = streamText({
    model,
    messages: await convertToModelMessages(validatedMessages),
    stopWhen: isStepCount(5),
    tools,
  });

  // consume the stream to ensure it runs to completion & triggers onEnd
  // even when the client response is aborted:
  result.consumeStream(); // no await

  return createUIMessageStreamResponse({
    stream: toUIMessageStream({
      stream: result.stream,
      originalMessages: validatedMessages,
      onEnd: ({ messages }) => {
        saveChat({ chatId: id, messages });
      },
    }),
  });
}

const app = new Hono();
app.post("/api/chat", (c) => POST(c.req.raw));
// What the page of the recipe loads after a reload:
app.get("/api/chat/:id", async (c) => c.json(await loadChat(c.req.param("id"))));
listen(app);
