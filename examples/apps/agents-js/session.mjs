// OpenAI Agents SDK for JavaScript, "Sessions" and "Use any model with the AI SDK", UI: a session a chat, streamed to useChat.
import { Agent, MemorySession, run } from "@openai/agents";
import { createAiSdkUiMessageStreamResponse } from "@openai/agents-extensions/ai-sdk-ui";
import { Hono } from "hono";
import { listen } from "./lib/listen.mjs";
import { bookHotel } from "./lib/tool.mjs";

const agent = new Agent({ name: "Hotel assistant", instructions: "Book what you are asked to book.", tools: [bookHotel] });
const sessions = new Map();

async function POST(req) {
  const { id, message } = await req.json();
  if (!sessions.has(id)) sessions.set(id, new MemorySession({ sessionId: id }));
  const text = message.parts.map((part) => part.text ?? "").join("");
  const stream = await run(agent, text, { stream: true, session: sessions.get(id), signal: req.signal });
  return createAiSdkUiMessageStreamResponse(stream);
}

listen(new Hono().post("/api/chat", (c) => POST(c.req.raw)));
