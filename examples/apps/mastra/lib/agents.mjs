// The Mastra instance that `mastra init` makes, with a hotel in place of the weather.
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { bookHotel } from "./hotel-tool.mjs";
import { model } from "./model.mjs";

const common = {
  instructions: "You are a helpful assistant that books hotels.",
  model,
  tools: { book_hotel: bookHotel },
};

export const mastra = new Mastra({
  agents: {
    withMemory: new Agent({ id: "hotel-agent", name: "Hotel Agent", ...common, memory: new Memory() }),
    stateless: new Agent({ id: "stateless-agent", name: "Stateless Agent", ...common }),
  },
  storage: new LibSQLStore({ id: "mastra-storage", url: "file:./mastra.db" }),
});

// What the page of the recipe loads after a reload.
export async function recall(threadId, resourceId) {
  const memory = await mastra.getAgentById("hotel-agent").getMemory();
  const response = await memory.recall({ threadId, resourceId });
  return response.messages;
}
