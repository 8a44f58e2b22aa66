#!/usr/bin/env bash
# @google/adk 2.0.0 (npm): after Stop at a call the chat keeps the call without a response, also of a tool that has paid.
#
# The model calls `book` and `pay` in one answer. `book` has returned and `pay` works when the run is stopped with its
# `abortSignal` (`aborted`), or its loop is left when it shows the calls, before a tool has begun (`left`). Then the user asks.
# Expected: the next request has a response for each call, or leaves the calls out, as google-adk 2.13.0 does it in Python.
# Seen: it has both calls and no response, and so has each later one. The Gemini API refuses such a request ("... the number of
# function response parts is equal to the number of function call parts"). With `aborted` `pay` runs to its end and pays, and
# both responses are dropped: the runner stops at the next event after the abort, which is the one that would store them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @google/adk@2.0.0 zod@4.6.7

cat > stop.mjs <<'JS'
import { BaseLlm, FunctionTool, InMemoryRunner, LlmAgent } from "@google/adk";
import { z } from "zod";

class Scripted extends BaseLlm {
  asked = [];

  async *generateContentAsync({ contents }) {
    this.asked.push(structuredClone(contents));
    const calls = ["book", "pay"].map((name) => ({ functionCall: { id: name, name, args: {} } }));
    yield { content: { role: "model", parts: this.asked.length === 1 ? calls : [{ text: "Well." }] }, turnComplete: true };
  }

  async connect() {
    throw new Error("nobody connects");
  }
}

for (const kind of ["aborted", "left"]) {
  console.log(`${kind}:`);
  const stop = new AbortController();
  let stopped;
  const goesOn = new Promise((resolve) => (stopped = resolve));
  const parameters = z.object({});
  const book = new FunctionTool({
    name: "book", description: "Books.", parameters,
    execute: async () => (console.log("  book: booked"), "booked"),
  });
  const pay = new FunctionTool({
    name: "pay", description: "Pays.", parameters,
    execute: async () => {
      setTimeout(() => {
        stop.abort();
        stopped();
      }, 500);
      await goesOn;
      console.log("  pay: paid, after the abort");
      return "paid";
    },
  });
  const model = new Scripted({ model: "m" });
  const runner = new InMemoryRunner({ agent: new LlmAgent({ name: "a", model, tools: [book, pay] }), appName: "app" });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: "app", userId: "u" });
  const run = (text, abortSignal) => runner.runAsync({
    userId: "u", sessionId, newMessage: { role: "user", parts: [{ text }] }, abortSignal,
  });
  for await (const event of run("Book it and pay.", stop.signal)) {
    if (kind === "left" && event.content?.parts.some((part) => part.functionCall)) break;
  }
  await new Promise((resolve) => setTimeout(resolve, 500)); // for whatever still runs
  for (const text of ["Is it booked?", "Hello?"]) for await (const _ of run(text));
  for (const { role, parts } of model.asked.at(-1)) {
    console.log(`  asked with: ${role} ${parts.map(({ text, functionCall }) => text ?? `calls ${functionCall?.name}`)}`);
  }
}
process.exit(0);
JS

node stop.mjs 2> /dev/null | grep '^aborted\|^left\|^  ' > seen.txt
cat > described.txt <<'TEXT'
aborted:
  book: booked
  pay: paid, after the abort
  asked with: user Book it and pay.
  asked with: model calls book,calls pay
  asked with: user Is it booked?
  asked with: model Well.
  asked with: user Hello?
left:
  asked with: user Book it and pay.
  asked with: model calls book,calls pay
  asked with: user Is it booked?
  asked with: model Well.
  asked with: user Hello?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
