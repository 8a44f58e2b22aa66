// `useChat` on pages in a real browser, whose buttons are pressed by lines; what a page asks for goes on to an application.

import { once } from "node:events";
import { createServer, request } from "node:http";
import { pressed } from "./buttons.mjs";
import { serve } from "./control.mjs";
import { Screen } from "./screen.mjs";

const NUMBER = "x-tpharness-stream"; // a header of every answer
const OF_THIS_HOP = new Set(["connection", "keep-alive", "transfer-encoding"]);

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Pass a request of the page on, and the answer back; with its number what of it has been shown. */
async function forwarded({ api, chat }, res, { why, value, shown }, streams) {
  const gone = new AbortController();
  res.on("close", () => gone.abort());
  const resumes = why === "resume";
  const url = resumes ? `${api}/${encodeURIComponent(chat)}/stream` : api;
  const headers = { accept: "*/*", ...(!resumes && { "content-type": "application/json" }) };
  let bytes = 0;
  try {
    const upstream = request(url, { method: resumes ? "GET" : "POST", headers, signal: gone.signal });
    upstream.end(resumes ? undefined : JSON.stringify(value));
    const [answer] = await once(upstream, "response");
    const kept = Object.entries(answer.headers).filter(([name]) => !OF_THIS_HOP.has(name));
    res.writeHead(answer.statusCode, { ...Object.fromEntries(kept), connection: "close" }).flushHeaders();
    streams.set(answer.headers[NUMBER], { shown });
    streams.arrived();
    for await (const piece of answer) {
      bytes += piece.length;
      if (!res.write(piece)) await once(res, "drain", { signal: gone.signal });
    }
    res.end();
  } catch {
    if (!gone.signal.aborted && res.headersSent) await shown(bytes); // a browser throws away what was not read yet
    res.destroy();
  }
}

class Streams extends Map {
  arrived = () => {};
}

class PressedPage {
  #streams = new Streams();

  static async on(screen, { chat, api, messages, body, ids }) {
    const made = new PressedPage();
    const answer = (res, asked) => forwarded({ api, chat }, res, asked, made.#streams);
    const given = encodeURIComponent(JSON.stringify({ chat, messages, body, ids }));
    made.screen = screen;
    made.page = await screen.open(answer, `#${given}`);
    return made;
  }

  submit = (text) => this.#press((words) => window.chat.sendMessage({ text: words }), text);
  regenerate = () => this.#press(() => window.chat.regenerate());
  edit = (text, messageId) => this.#press((message) => window.chat.sendMessage(message), { text, messageId });
  resume = () => this.#press(() => window.chat.resumeStream());

  approve(approved, reason) {
    return this.#press(
      async ({ approved, reason }) => {
        const requests = () => window.chat.messages.at(-1).parts.filter((part) => part.state === "approval-requested");
        for (let tries = 0; requests().length < approved.length && tries < 400; tries += 1) {
          await new Promise((done) => setTimeout(done, 5)); // the page may not have shown yet what it was sent
        }
        for (const [index, part] of requests().entries()) {
          await window.chat.addToolApprovalResponse({ id: part.approval.id, approved: approved[index], reason });
        }
      },
      { approved, reason },
    );
  }

  async stop(read) {
    await this.#read(read);
    await this.page.stop();
    return this.#state();
  }

  async look(read) {
    await this.#read(read);
    await this.page.quiet();
    return this.page.look();
  }

  async close() {
    await this.screen.close(this.page, { again: false });
  }

  /** Press a button, and wait until the chat is at rest. */
  async #press(button, argument) {
    await this.page.page.evaluate(button, argument);
    return this.#state();
  }

  async #state() {
    await this.page.page.waitForFunction(() => ["ready", "error"].includes(window.chat.status));
    return this.page.look();
  }

  async #read(wanted) {
    for (const [number, bytes] of Object.entries(wanted ?? {})) {
      while (!this.#streams.has(number)) await new Promise((come) => (this.#streams.arrived = come));
      await this.#streams.get(number).shown(bytes);
    }
  }
}

const port = await freePort();
const screen = await Screen.on(port);
serve(port, screen.routes);
pressed((options) => PressedPage.on(screen, options));
