// A tool whose effect stays: the booking is made when the tool starts, its confirmation takes a while. It is written at
// once, so that of two calls the one that came first is also confirmed first: a thread pool would let them change places.
import { tool } from "ai";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

const confirmationSeconds = Number(process.env.BOOKING_SECONDS ?? 1);
const ledger = process.env.TPHARNESS_EFFECTS_URL;

const bookHere = async ({ city, nights }) => {
  appendFileSync("effects.txt", `book_hotel ${city} ${nights}\n`);
  await sleep(confirmationSeconds * 1000);
  return { confirmation: `booked ${nights} nights in ${city}` };
};

// The booking is made by a service, tpharness's ledger of effects; "Stopping Streams" hands the abort signal on to tools.
const bookAtLedger = async (input, { toolCallId, abortSignal }) => {
  const answer = await fetch(`${ledger}/tools/book_hotel`, {
    method: "POST",
    body: JSON.stringify(input),
    headers: { "x-tpharness-call": toolCallId },
    signal: abortSignal,
  });
  return (await answer.json()).result;
};

export const tools = {
  book_hotel: tool({
    description: "Book a hotel room in a city",
    inputSchema: z.object({
      city: z.string().describe("The city to stay in"),
      nights: z.number().int().describe("How many nights"),
    }),
    execute: ledger ? bookAtLedger : bookHere,
  }),
};
