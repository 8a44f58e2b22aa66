// "Chatbot Resume Streams", with "Stop an Active Resumable Stream": the server keeps the history and the stream,
// a client that leaves can come back to it, and only the stop route ends it.
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  generateId,
  isStepCount,
  streamText,
  toUIMessageStream,
  UI_MESSAGE_STREAM_HEADERS,
} from "ai";
import { Hono } from "hono";
import { listen } from "./lib/listen.mjs";
import { model } from "./lib/model.mjs";
import { readChat, saveAssistantSnapshot, saveChat } from "./lib/resumable-chat-store.mjs";
import { createResumableStreamContext } from "./lib/resumable-streams.mjs";
import { tools } from "./lib/tools.mjs";

// The work that writes each active stream; the recipe leaves to its reader how it is found and cancelled.
const activeWork = new Map();

async function postChat(req) {
  const { message, id } = await req.json();

  const chat = await readChat(id);
  let messages = chat.messages;

  messages = [...messages, message];

  // Clear any previous active stream and save the user message
  saveChat({ id, messages, activeStreamId: null });

  const work = new AbortController();
  const result = streamText({
    model,
    messages: await convertToModelMessages(messages),
    stopWhen: isStepCount(5),
    tools,
    abortSignal: work.signal,
  });

  return createUIMessageStreamResponse({
    stream: toUIMessageStream({
      stream: result.stream,
      originalMessages: messages,
      generateMessageId: generateId,
      onEnd: ({ messages }) => {
        // Clear the active stream when finished
        saveChat({ id, messages, activeStreamId: null });
      },
    }),
    async consumeSseStream({ stream }) {
      const streamId = generateId();
      activeWork.set(streamId, work);

      // Create a resumable stream from the SSE stream
      const streamContext = createResumableStreamContext();
      await streamContext.createNewResumableStream(streamId, () => stream);

      // Update the chat with the active stream ID
      saveChat({ id, activeStreamId: streamId });
    },
  });
}

async function getStream(id) {
  const chat = await readChat(id);

  if (chat.activeStreamId == null) {
    // no content response when there is no active stream
    return new Response(null, { status: 204 });
  }

  const streamContext = createResumableStreamContext();
  return new Response(await streamContext.resumeExistingStream(chat.activeStreamId), {
    headers: UI_MESSAGE_STREAM_HEADERS,
  });
}

async function postStop(req, id) {
  const chat = await readChat(id);

  if (chat.activeStreamId == null) {
    return Response.json({ success: true });
  }

  const activeStreamId = chat.activeStreamId;
  const body = await req.json().catch(() => ({}));

  if (body.activeStreamId != null && body.activeStreamId !== activeStreamId) {
    return Response.json({ success: true });
  }

  if (body.assistantMessage) {
    await saveAssistantSnapshot({ chatId: id, message: body.assistantMessage });
  }

  activeWork.get(activeStreamId)?.abort();

  const latestChat = await readChat(id);
  if (latestChat.activeStreamId === activeStreamId) {
    await saveChat({ id, activeStreamId: null });
  }

  return Response.json({ success: true });
}

const app = new Hono();
app.post("/api/chat", (c) => postChat(c.req.raw));
app.get("/api/chat/:id/stream", (c) => getStream(c.req.param("id")));
app.post("/api/chat/:id/stop", (c) => postStop(c.req.raw, c.req.param("id")));
// What the page of the recipe loads after a reload:
app.get("/api/chat/:id", async (c) => c.json((await readChat(c.req.param("id"))).messages));
listen(app);
