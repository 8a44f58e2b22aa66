// The chat of an application: it shows what `useChat` says. `window` has the same, for whoever sits at the browser.

import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { createRoot } from "react-dom/client";

const given = location.hash ? JSON.parse(decodeURIComponent(location.hash.slice(1))) : {}; // what its application says
const transport = new DefaultChatTransport({ api: `${location.pathname}/chat`, body: given.body });
const resume = location.search === "?resume"; // goes on with what a page before it has begun
let made = 0;

const options = {
  id: given.chat ?? "chat",
  transport,
  resume,
  messages: given.messages,
  generateId: given.ids && (() => given.ids + String((made += 1)).padStart(4, "0")),
  sendAutomaticallyWhen: given.chat && lastAssistantMessageIsCompleteWithApprovalResponses,
  onFinish: (finish) => void (window.finish = finish),
};

function Page() {
  const chat = useChat(options);
  window.chat = chat;
  const shown = (part, i) => <p key={i} className={`${part.type} ${part.state}`}>{part.text ?? JSON.stringify(part)}</p>;
  return (
    <main>
      {chat.messages.map((message, i) => <article key={i} className={message.role}>{message.parts.map(shown)}</article>)}
      <footer><output>{chat.status} {chat.error?.message}</output> <button onClick={chat.stop}>Stop</button></footer>
    </main>
  );
}

createRoot(document.getElementById("root")).render(<Page />);
