// `peer:ai-sdk-client`: the chat class of the `ai` package with its own transport and message reader, fed over HTTP.
//
// The transport's `fetch` gets the harness's stream instead of posting to an application; all else is the package's.

import { createRequire } from "node:module";
import * as ai from "ai";
import { json, needed, portOf, serve } from "./control.mjs";
import { received } from "./conversation.mjs";
import { passedOn } from "./body.mjs";

const VERSION = createRequire(import.meta.url)("ai/package.json").version;
const { AbstractChat, DefaultChatTransport } = needed(ai, `ai ${VERSION}`, ["AbstractChat", "DefaultChatTransport"]);

const capabilities = {
  contract: "1.1",
  name: "AI SDK client",
  version: VERSION,
  roles: ["client"],
  carriers: false,
  detects: ["network_failure", "user_cancelled"],
};

const STOP_LENGTH = "\n: tp stop\r".length;

/** The state of a chat without a screen: what `useChat` keeps for React. */
class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => void (this.messages = [...this.messages, message]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) => {
    this.messages = this.messages.map((old, i) => (i === index ? message : old));
  };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  static listening() {
    const heard = { stream: null, finish: null, error: null };
    const chat = new Chat({
      state: new State(),
      transport: new DefaultChatTransport({
        api: "http://localhost/chat",
        fetch: async (_api, { signal }) => {
          const response = await fetch(heard.stream.url, { signal, headers: { accept: "text/event-stream" } });
          return new Response(withStop(response.body, () => chat.stop()), response);
        },
      }),
      onError: (error) => void (heard.error = error),
      onFinish: (finish) => void (heard.finish = finish),
    });
    return { chat, heard };
  }
}

/** Pass bytes on. At the comment `: tp stop` the user presses stop, when what came before has been read. */
function withStop(body, stop) {
  const decoder = new TextDecoder();
  let tail = "\n";
  const { stream, settled } = passedOn(body, {
    async arrived(bytes) {
      tail += decoder.decode(bytes, { stream: true });
      if (/\n: ?tp stop\r?\n/.test(tail)) {
        await settled();
        stop();
      }
      tail = tail.slice(-STOP_LENGTH); // what the comment may begin in
    },
  });
  return stream;
}

/** What the harness asks of whoever plays a client. */
function player() {
  const { chat, heard } = Chat.listening();
  return {
    async send(parts, stream) {
      Object.assign(heard, { stream, finish: null, error: null });
      await chat.sendMessage(parts === null ? undefined : { parts });
      const message = chat.messages.at(-1);
      const { finish, error } = heard;
      return {
        message: message?.role === "assistant" ? message : null,
        finish: {
          isAbort: finish?.isAbort ?? false,
          isNetwork: Boolean(finish?.isDisconnect) || isNetworkError(error),
          errorText: error === null ? null : error.message,
          finishReason: finish?.finishReason,
        },
      };
    },
  };
}

/** Node's fetch says `TypeError: terminated` for a body that breaks off, which the chat does not count as a disconnect. */
const isNetworkError = (error) => error instanceof TypeError && /terminated|fetch failed|network/.test(error.message);

serve(portOf(process.argv), [
  ["GET", /^\/capabilities$/, ({ res }) => json(res, capabilities)],
  ["POST", /^\/receive$/, async ({ value, res }) => json(res, { threads: await received(value, player()) })],
  ["POST", /^\/adopt$/, ({ value, res }) => json(res, { threads: value.threads })],
]);
