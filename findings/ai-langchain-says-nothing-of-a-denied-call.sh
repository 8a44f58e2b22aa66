#!/usr/bin/env bash
# @ai-sdk/langchain 3.0.99 with ai 7.0.173: a call that its user has denied reaches LangChain with an empty result.
#
# A page asks for approval before `pay`. The user denies it with a reason (`denied`), or leaves the question open (`open`),
# and writes on. The route hands the page's messages to LangChain with `toBaseMessages`.
# Expected: as `convertToModelMessages` of ai does it: `denied` gets a result that says "execution-denied" with the reason,
# and the call of `open` is left out.
# Seen: `denied` gets a ToolMessage whose content is "" and whose status is not "error": the model reads that `pay` ended
# without a word; that it did not run, and why, is gone. The call of `open` is sent without a result, which the
# APIs of the models refuse ("An assistant message with 'tool_calls' must be followed by tool messages").
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund ai@7.0.173 @ai-sdk/langchain@3.0.99 @langchain/core@1.4.0 \
  @langchain/langgraph@1.7.3 zod@4.6.7

cat > denied.mjs <<'JS'
import { toBaseMessages } from "@ai-sdk/langchain";
import { convertToModelMessages } from "ai";

const states = {
  denied: { state: "approval-responded", approval: { id: "a1", approved: false, reason: "Not before Monday." } },
  open: { state: "approval-requested", approval: { id: "a1" } },
};
for (const [name, state] of Object.entries(states)) {
  const says = (text) => ({ id: text, role: "user", parts: [{ type: "text", text }] });
  const pay = { type: "tool-pay", toolCallId: "c1", input: { amount: 125 }, ...state };
  const chat = [says("Pay 125."), { id: "2", role: "assistant", parts: [{ type: "step-start" }, pay] }, says("Well?")];

  console.log(`${name}, ai`);
  for (const { role, content } of (await convertToModelMessages(chat)).slice(1, -1)) {
    for (const { type, output } of content) console.log(`  ${role} ${type} ${output ? JSON.stringify(output) : ""}`.trimEnd());
  }
  console.log(`${name}, LangChain`);
  for (const message of (await toBaseMessages(chat)).slice(1, -1)) {
    const calls = (message.tool_calls ?? []).map((call) => `calls ${call.name}`);
    console.log(`  ${message.getType()} ${JSON.stringify(message.content)} ${message.status ?? ""}${calls}`.trimEnd());
  }
}
JS

node denied.mjs > seen.txt
cat > described.txt <<'TEXT'
denied, ai
  assistant tool-call
  assistant tool-approval-request
  tool tool-approval-response
  tool tool-result {"type":"execution-denied","reason":"Not before Monday."}
denied, LangChain
  ai "" calls pay
  tool ""
open, ai
open, LangChain
  ai "" calls pay
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
