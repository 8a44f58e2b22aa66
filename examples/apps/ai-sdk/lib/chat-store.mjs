// The file-based store of "Chatbot Message Persistence". One thing is different: a chat that was not created before
// is empty, since there is no page here that creates it.
import { existsSync, mkdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

const chatIdRegex = /^[A-Za-z0-9_-]+$/;

export function getChatFile(id) {
  if (!chatIdRegex.test(id)) {
    throw new Error("Invalid chat ID");
  }
  const chatDir = path.resolve(process.cwd(), ".chats");
  const chatFile = path.resolve(chatDir, `${id}.json`);
  if (!chatFile.startsWith(`${chatDir}${path.sep}`)) {
    throw new Error("Invalid chat ID");
  }
  if (!existsSync(chatDir)) mkdirSync(chatDir, { recursive: true });
  return chatFile;
}

export async function loadChat(id) {
  const chatFile = getChatFile(id);
  return existsSync(chatFile) ? JSON.parse(await readFile(chatFile, "utf8")) : [];
}

export async function saveChat({ chatId, messages }) {
  await writeFile(getChatFile(chatId), JSON.stringify(messages, null, 2));
}
