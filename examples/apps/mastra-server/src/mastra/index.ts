// The Mastra server as its CLI builds it; this is the project's configuration, as `mastra init` makes it, with a hotel
// in place of the weather and the chat route of "Using AI SDK UI". The model router reads OPENAI_BASE_URL and the like.
import { chatRoute } from "@mastra/ai-sdk";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

const confirmationSeconds = Number(process.env.BOOKING_SECONDS ?? 1);

// A tool whose effect stays: the booking is made when the tool starts, its confirmation takes a while. It is written at
// once, so that of two calls the one that came first is also confirmed first: a thread pool would let them change places.
const bookHotel = createTool({
  id: "book_hotel",
  description: "Book a hotel room in a city",
  inputSchema: z.object({
    city: z.string().describe("The city to stay in"),
    nights: z.number().int().describe("How many nights"),
  }),
  execute: async ({ city, nights }) => {
    appendFileSync("effects.txt", `book_hotel ${city} ${nights}\n`);
    await sleep(confirmationSeconds * 1000);
    return { confirmation: `booked ${nights} nights in ${city}` };
  },
});

const models: Record<string, string> = {
  responses: "openai/gpt-5.4",
  anthropic: "anthropic/claude-sonnet-4-6",
  gemini: "google/gemini-3-pro-preview",
};

const hotelAgent = new Agent({
  id: "hotel-agent",
  name: "Hotel Agent",
  instructions: "You are a helpful assistant that books hotels.",
  model: models[process.env.MODEL_API ?? "responses"],
  tools: { book_hotel: bookHotel },
  memory: new Memory(),
});

export const mastra = new Mastra({
  agents: { hotelAgent },
  storage: new LibSQLStore({ id: "mastra-storage", url: "file:./mastra.db" }),
  server: {
    host: "127.0.0.1",
    apiRoutes: [chatRoute({ path: "/chat/:agentId", version: "v7" })],
  },
});
