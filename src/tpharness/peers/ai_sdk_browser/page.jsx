// The chat of an application: it shows what `useChat` says. `window` has the same, for whoever sits at the browser.

import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { createRoot } from "react-dom/client";

const transport = new DefaultChatTransport({ api: `${location.pathname}/chat` });
const resume = location.search === "?resume"; // goes on with what a page before it has begun

function Page() {
  const chat = useChat({ id: "chat", transport, resume, onFinish: (finish) => void (window.finish = finish) });
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
