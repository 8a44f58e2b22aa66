// Pages in a browser, each with the chat of an application: served here, used as somebody at the screen uses them.
//
// What is on the screen is known, not waited for: the browser tells how many bytes of a stream it has handed to the
// page, and the page is quiet when two frames have been drawn in which it has not changed.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { browser } from "./chromium.mjs";
import { Refusal } from "./control.mjs";

const NUMBER = "x-tp-stream"; // a header by which the browser's words for a request are found

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

async function bundled(entry) {
  const { outputFiles } = await build({
    entryPoints: [here(entry)],
    bundle: true,
    write: false,
    minify: true,
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "error",
  });
  return outputFiles[0].contents;
}

/** One browser, and the pages that are open in it. */
export class Screen {
  /** Start the browser for pages that are served on `port`; the routes have to be served by whoever asks. */
  static async on(port, entry = "page.jsx") {
    const started = await browser();
    started.on("disconnected", () => {
      console.error("the browser has crashed"); // nothing can be played without it
      process.exit(1);
    });
    return new Screen({ port, browser: started, html: readFileSync(here("page.html")), script: await bundled(entry) });
  }

  constructor(what) {
    Object.assign(this, what, { pages: new Map(), tabs: [], count: 0 });
  }

  /** Open the page. `answer(res)` is called for each stream that it asks for. */
  async open(answer, query = "") {
    const id = String((this.count += 1));
    const page = new Page(this.tabs.pop() ?? (await this.#tab()), answer);
    this.pages.set(id, page);
    await page.opened(`http://127.0.0.1:${this.port}/pages/${id}${query}`);
    return page;
  }

  /** A tab in a profile of its own. The browser starts a process for it, which takes longer than most cases. */
  async #tab() {
    const context = await this.browser.newContext({ viewport: { width: 800, height: 600 } });
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send("Network.enable");
    return { page, devtools };
  }

  /** Close a page; its tab serves for the next one, unless somebody may still be at it. */
  async close(page, { again }) {
    for (const [id, open] of this.pages) if (open === page) this.pages.delete(id);
    page.tab.devtools.removeAllListeners();
    if (again) this.tabs.push(page.tab);
    else await page.page.context().close();
  }

  /** What the pages ask this server for, for `serve`. */
  get routes() {
    const page = (id) => {
      if (!this.pages.has(id)) throw new Refusal(404, "this page has been closed");
      return this.pages.get(id);
    };
    const send = (res, type, body) => res.writeHead(200, { "content-type": type, connection: "close" }).end(body);
    return [
      ["GET", /^\/pages\/(\d+)$/, ({ id, res }) => send(res, "text/html", page(id) && this.html)],
      ["GET", /^\/page\.js$/, ({ res }) => send(res, "text/javascript", this.script)],
      ["POST", /^\/pages\/(\d+)\/chat$/, ({ id, value, res }) => page(id).asked(res, "send", value)],
      ["GET", /^\/pages\/(\d+)\/chat\/[^/]+\/stream$/, ({ id, res }) => page(id).asked(res, "resume")],
    ];
  }
}

/** One page. */
class Page {
  #names = new Map(); // of a stream: what the browser calls its request
  #bytes = new Map(); // by that name: how many the page has got
  #over = new Set(); // by that name: the page gets no more
  #waiting = new Set();
  static #asked = 0; // by any page: a tab may still tell of a page before this one

  constructor(tab, answer) {
    Object.assign(this, { tab, page: tab.page, answer });
  }

  async opened(url) {
    const { devtools } = this.tab;
    const notify = () => this.#waiting.forEach((look) => look());
    devtools.on("Network.responseReceived", ({ requestId, response }) => {
      const number = response.headers[NUMBER];
      if (number !== undefined) this.#names.set(Number(number), requestId);
      notify();
    });
    devtools.on("Network.dataReceived", ({ requestId, dataLength }) => {
      this.#bytes.set(requestId, (this.#bytes.get(requestId) ?? 0) + dataLength);
      notify();
    });
    for (const end of ["Network.loadingFinished", "Network.loadingFailed"]) {
      devtools.on(end, ({ requestId }) => {
        this.#over.add(requestId);
        notify();
      });
    }
    await this.page.goto(url);
    await this.page.waitForFunction(() => window.chat);
  }

  /** The page asks for a stream. */
  asked(res, why, value) {
    const number = Page.#asked++;
    res.setHeader(NUMBER, number);
    res.shouldKeepAlive = false; // a request on an old connection that breaks is sent again by the browser
    return this.answer(res, { why, value, shown: (bytes) => this.shown(number, bytes, res) });
  }

  /** Wait until so many bytes of a stream are on the screen, or the page wants no more of it. */
  async shown(number, bytes, res) {
    const left = () => res.closed && !res.writableFinished; // what is finished may still be on its way to the page
    await new Promise((done) => {
      const look = () => {
        const name = this.#names.get(number);
        if (left() || this.#over.has(name) || (this.#bytes.get(name) ?? 0) >= bytes) {
          this.#waiting.delete(look);
          res.off("close", look);
          done();
        }
      };
      this.#waiting.add(look);
      res.on("close", look);
      look();
    });
    if (!left()) await this.quiet();
  }

  /** Wait until the page has drawn two frames without a change. */
  quiet() {
    return this.page.evaluate(async () => {
      let changes = 0;
      const observer = new MutationObserver(() => (changes += 1));
      observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
      for (let seen = -1; seen !== changes; ) {
        seen = changes;
        for (let frame = 0; frame < 2; frame += 1) await new Promise((drawn) => requestAnimationFrame(drawn));
        await new Promise((done) => setTimeout(done));
      }
      observer.disconnect();
    });
  }

  /** Send a message, null for none, and wait until the chat has done with it. */
  async send(parts) {
    const posted = JSON.stringify(parts === null ? null : { parts }); // as text: surrogates without a partner stay
    await this.page.evaluate(async (message) => {
      window.finish = undefined;
      await window.chat.sendMessage(JSON.parse(message) ?? undefined);
      await new Promise((done) => setTimeout(done));
    }, posted);
  }

  /** What the chat says, and what is on the screen. */
  async look() {
    const text = await this.page.evaluate(() => {
      const { messages, status, error } = window.chat;
      const { isAbort, isDisconnect, isError, finishReason } = window.finish ?? {};
      return JSON.stringify({
        messages,
        status,
        error: error?.message ?? null,
        finish: window.finish ? { isAbort, isDisconnect, isError, finishReason } : null,
        text: [...document.querySelectorAll("p.text")].map((p) => p.innerText),
      });
    });
    return JSON.parse(text);
  }

  /** A click on the button, where it is on the screen. */
  stop() {
    return this.page.getByRole("button", { name: "Stop" }).click();
  }
}
