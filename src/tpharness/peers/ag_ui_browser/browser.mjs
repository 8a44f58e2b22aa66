// `peer:ag-ui-browser`: `HttpAgent` of `@ag-ui/client` on a page in a real browser.
//
// The agent posts to its page's own origin, as that of an application does; the answer is the harness's stream, which the
// page gives to the agent one event a read, and with `--reads one` in one read (`client.mjs` says why).

import { createRequire } from "node:module";
import { json, portOf, serve } from "./control.mjs";
import { received } from "./conversation.mjs";
import { piped } from "./pipe.mjs";
import { CAPABILITIES } from "./player.mjs";
import { Screen } from "./screen.mjs";

const VERSION = createRequire(import.meta.url)("@ag-ui/core/package.json").version;
const IN_ONE_READ = process.argv[process.argv.indexOf("--reads") + 1] === "one";

const port = portOf(process.argv);
const screen = await Screen.on(port, "agent_page.mjs");

const capabilities = {
  ...CAPABILITIES,
  name: `AG-UI client in a browser${IN_ONE_READ ? ", in one read" : ""}`,
  version: `${VERSION}, Chromium ${screen.browser.version()}`,
};

/** Play a case on a page of its own. */
async function receive({ value, res }) {
  let url = null;
  const given = encodeURIComponent(JSON.stringify({ threadId: value.thread_id, inOneRead: IN_ONE_READ }));
  const stop = () => {}; // the page does it, when its agent has read what came before
  const page = await screen.open((asked, { shown }) => piped(url, asked, { shown, stop }), `#${given}`);
  res.on("close", () => screen.close(page, { again: res.writableFinished }).catch(() => {}));
  const threads = await received(value, {
    async send(...turn) {
      url = turn[1].url;
      const posted = JSON.stringify(turn); // as text: surrogates without a partner stay
      const send = async (text) => JSON.stringify(await window.chat.send(...JSON.parse(text)));
      return JSON.parse(await page.page.evaluate(send, posted));
    },
  });
  json(res, { threads });
}

serve(port, [
  ["GET", /^\/capabilities$/, ({ res }) => json(res, capabilities)],
  ["POST", /^\/receive$/, receive],
  ["POST", /^\/adopt$/, ({ value, res }) => json(res, { threads: value.threads })],
  ...screen.routes,
]);
