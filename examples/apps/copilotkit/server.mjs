// CopilotKit's runtime as published: "Deploy to any runtime", Node.js HTTP, with its built-in agent and one tool.
import { BuiltInAgent, CopilotRuntime, defineTool, InMemoryAgentRunner } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

const confirmationSeconds = Number(process.env.BOOKING_SECONDS ?? 1);

// A tool whose effect stays: the booking is made when the tool starts, its confirmation takes a while. It is written at
// once, so that of two calls the one that came first is also confirmed first: a thread pool would let them change places.
const bookHotel = defineTool({
  name: "book_hotel",
  description: "Book a hotel room in a city",
  parameters: z.object({
    city: z.string().describe("The city to stay in"),
    nights: z.number().int().describe("How many nights"),
  }),
  execute: async ({ city, nights }) => {
    appendFileSync("effects.txt", `book_hotel ${city} ${nights}\n`);
    await sleep(confirmationSeconds * 1000);
    return { confirmation: `booked ${nights} nights in ${city}` };
  },
});

const models = { responses: "openai/gpt-5.4", anthropic: "anthropic/claude-sonnet-4.5" };
const model = models[process.env.MODEL_API ?? "responses"];

const runtime = new CopilotRuntime({
  agents: { default: new BuiltInAgent({ model, tools: [bookHotel], maxSteps: 5 }) },
  runner: new InMemoryAgentRunner(),
});

const port = Number(process.env.PORT ?? 4000);
const listener = createCopilotNodeListener({ runtime, basePath: "/api/copilotkit" });
createServer(listener).listen(port, "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${port}/api/copilotkit/agent/default/run`),
);
