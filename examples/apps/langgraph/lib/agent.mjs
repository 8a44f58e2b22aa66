// A LangGraph graph of a model and a tool, built by `createAgent`, whose tool leaves a mark in effects.txt.
// Base URL and key come from what the official SDKs read: OPENAI_BASE_URL, ANTHROPIC_BASE_URL, and the keys beside them.
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

const confirmationSeconds = Number(process.env.BOOKING_SECONDS ?? 1);

const bookHotel = tool(
  async ({ city, nights }) => {
    appendFileSync("effects.txt", `book_hotel ${city} ${nights}\n`);
    await sleep(confirmationSeconds * 1000);
    return `booked ${nights} nights in ${city}`;
  },
  {
    name: "book_hotel",
    description: "Book a hotel room in a city",
    schema: z.object({
      city: z.string().describe("The city to stay in"),
      nights: z.number().int().describe("How many nights"),
    }),
  },
);

const models = {
  chat: () => new ChatOpenAI({ model: "gpt-5.4" }),
  responses: () => new ChatOpenAI({ model: "gpt-5.4", useResponsesApi: true }),
  anthropic: () => new ChatAnthropic({ model: "claude-sonnet-4-6" }),
};

export function createGraph(options = {}) {
  const api = process.env.MODEL_API ?? "chat";
  if (!(api in models)) {
    throw new Error(`MODEL_API is ${api}; it has to be one of ${Object.keys(models).join(", ")}`);
  }
  return createAgent({ model: models[api](), tools: [bookHotel], ...options });
}
