// AI SDK: after an abort, and after a body that ends in the middle of a text, the chat is ready and says no reason.
import { AbstractChat, DefaultChatTransport } from "ai";

class Chat extends AbstractChat {}

const state = () => {
  const held = { status: "ready", error: undefined, messages: [], snapshot: structuredClone };
  held.pushMessage = (message) => held.messages.push(message);
  held.popMessage = () => held.messages.pop();
  held.replaceMessage = (index, message) => (held.messages[index] = message);
  return held;
};

const begun = ['{"type":"start"}', '{"type":"text-start","id":"1"}', '{"type":"text-delta","id":"1","delta":"Hel"}'];

for (const [name, end] of [["abort", ['{"type":"abort","reason":"stopped"}', "[DONE]"]], ["cut", []]]) {
  const body = [...begun, ...end].map((data) => `data: ${data}\n\n`).join("");
  const transport = new DefaultChatTransport({ fetch: async () => new Response(body) });
  const onFinish = ({ isAbort, isDisconnect, isError, finishReason }) =>
    console.log(name, JSON.stringify({ isAbort, isDisconnect, isError, finishReason: finishReason ?? null }));
  const chat = new Chat({ state: state(), transport, onFinish });
  await chat.sendMessage({ text: "Hi" });
  console.log(name, chat.status, JSON.stringify(chat.lastMessage.parts));
}
