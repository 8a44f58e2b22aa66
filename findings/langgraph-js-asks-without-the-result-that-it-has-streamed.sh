#!/usr/bin/env bash
# @langchain/langgraph 1.7.3 with langchain 1.5.14 (npm): after Stop the next request lacks a result that was streamed.
#
# An agent of `createAgent` with a checkpointer calls `book` and `pay` in one answer. `book` has returned, and the stream has
# given the page its update. While `pay` works, the user presses Stop, which aborts the signal (`abort`), or the page leaves
# the loop over `stream()` (`break`). `pay` does not look at the signal and pays. Then the user asks (`asks`), or the page goes
# on with the run by `stream(null)` (`goes on`).
# Expected: the next request has the result of `book`, and for `pay` a result or that it was interrupted.
# Seen: it has both calls and no result: Chat Completions refuses it ("An assistant message with 'tool_calls' must be followed
# by tool messages"), now and with each later question. The checkpointer has the result of `book` as a pending write, which new
# input throws away, and of `pay` nothing. Who goes on has the result of `book`, and `pay` pays a second time.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund langchain@1.5.14 @langchain/core@1.4.0 @langchain/langgraph@1.7.3 \
  @langchain/openai@1.5.8 zod@4.6.7

cat > stop.mjs <<'JS'
import { once } from "node:events";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { z } from "zod";

let asked;
const chunk = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  const id = `answer-${asked.length}`;
  return `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
const calls = () => ["book", "pay"].map((name, index) => chunk({
  role: "assistant", tool_calls: [{ index, id: name, type: "function", function: { name, arguments: "{}" } }],
})).join("") + chunk({}, "tool_calls");
const well = () => chunk({ role: "assistant", content: "Well." }) + chunk({}, "stop");
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  asked.push(JSON.parse(body).messages);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`${asked.length === 1 ? calls() : well()}data: [DONE]\n\n`);
});
await once(server.listen(0, "127.0.0.1"), "listening");
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const model = new ChatOpenAI({ model: "m", apiKey: "none", streaming: true, maxRetries: 0, configuration: { baseURL } });

for (const how of ["whole", "abort", "break"]) {
  for (const next of how === "whole" ? ["asks"] : ["asks", "goes on"]) {
    console.log(`${how}, ${next}:`);
    asked = [];
    let release;
    const released = new Promise((resolve) => (release = resolve));
    const schema = z.object({});
    const book = tool(async () => "booked 17", { name: "book", description: "Books.", schema });
    const pay = tool(async () => {
      await released;
      console.log("  pay: paid");
      return "paid 125";
    }, { name: "pay", description: "Pays.", schema });
    const agent = createAgent({ model, tools: [book, pay], checkpointer: new MemorySaver() });
    const stop = new AbortController();
    const read = async (input, signal) => {  // the signal is that of the run which is stopped
      const config = { configurable: { thread_id: "t" }, signal, streamMode: ["messages", "updates"] };
      for await (const [mode, update] of await agent.stream(input, config)) {
        if (mode !== "updates" || update.tools?.messages[0].name !== "book") continue;
        console.log(`  the page shows book: ${update.tools.messages[0].content}`);
        setTimeout(release, 300);
        if (how === "abort") stop.abort();
        if (how === "break" && signal) break;
      }
    };
    const question = (content) => ({ messages: [{ role: "user", content }] });
    await read(question("Book it and pay."), stop.signal).catch((error) => console.log(`  ${error.name}`));
    await sleep(1000);
    await read(next === "asks" ? question("Is it booked?") : null);
    for (const { role, content, tool_calls: made = [] } of asked.at(-1)) {
      console.log(`  asked with: ${role} ${content || made.map((call) => call.function.name)}`);
    }
  }
}
process.exit(0);
JS

node stop.mjs > seen.txt
cat > described.txt <<'TEXT'
whole, asks:
  the page shows book: booked 17
  pay: paid
  asked with: user Book it and pay.
  asked with: assistant book,pay
  asked with: tool booked 17
  asked with: tool paid 125
  asked with: assistant Well.
  asked with: user Is it booked?
abort, asks:
  the page shows book: booked 17
  AbortError
  pay: paid
  asked with: user Book it and pay.
  asked with: assistant book,pay
  asked with: user Is it booked?
abort, goes on:
  the page shows book: booked 17
  AbortError
  pay: paid
  pay: paid
  the page shows book: booked 17
  asked with: user Book it and pay.
  asked with: assistant book,pay
  asked with: tool booked 17
  asked with: tool paid 125
break, asks:
  the page shows book: booked 17
  pay: paid
  asked with: user Book it and pay.
  asked with: assistant book,pay
  asked with: user Is it booked?
break, goes on:
  the page shows book: booked 17
  pay: paid
  pay: paid
  the page shows book: booked 17
  asked with: user Book it and pay.
  asked with: assistant book,pay
  asked with: tool booked 17
  asked with: tool paid 125
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
