// The store that "Chatbot Resume Streams" imports and does not show: a file a chat, fields that are not given stay.
// Reading and writing is synchronous, so that two calls that nobody awaits do not mix.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { getChatFile } from "./chat-store.mjs";

const fileOf = (id) => getChatFile(`resumable-${id}`);

export async function readChat(id) {
  return read(id);
}

export async function saveChat({ id, ...fields }) {
  writeFileSync(fileOf(id), JSON.stringify({ ...read(id), ...fields }, null, 2));
}

// "Persist the assistant snapshot as an insert or merge. Avoid overwriting a newer server-written message."
export async function saveAssistantSnapshot({ chatId, message }) {
  const { messages } = read(chatId);
  if (!messages.some(({ id }) => id === message.id)) {
    await saveChat({ id: chatId, messages: [...messages, message] });
  }
}

function read(id) {
  const file = fileOf(id);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { messages: [], activeStreamId: null };
}
