// A tool whose effect stays: the booking is made when the tool starts, its confirmation takes a while. It is written at
// once, so that of two calls the one that came first is also confirmed first: a thread pool would let them change places.
import { tool } from "@openai/agents";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

const confirmationSeconds = Number(process.env.BOOKING_SECONDS ?? 1);

export const bookHotel = tool({
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
