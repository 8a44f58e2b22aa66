// `peer:ai-sdk-browser`: the React hook of `@ai-sdk/react` on a page in a real browser.
//
// The page posts to its own origin, as that of an application does; the answer is the harness's stream.

import { renameSync } from "node:fs";
import { createRequire } from "node:module";
import { json, portOf, serve } from "./control.mjs";
import { received } from "./conversation.mjs";
import { piped } from "./pipe.mjs";
import { Screen } from "./screen.mjs";

const VERSION = createRequire(import.meta.url)("ai/package.json").version;
const SCREENSHOT = process.env.TPHARNESS_SCREENSHOT; // a file; each case writes over it, so that the last one stays

const port = portOf(process.argv);
const screen = await Screen.on(port);

const capabilities = {
  contract: "1.1",
  name: "AI SDK in a browser",
  version: `${VERSION}, Chromium ${screen.browser.version()}`,
  roles: ["client"],
  carriers: false,
  detects: ["network_failure", "user_cancelled"],
};

/** Play a case on a page of its own. */
async function receive({ value, res }) {
  let url = null;
  const page = await screen.open((asked, { shown }) => piped(url, asked, { shown, stop: () => page.stop() }));
  res.on("close", () => screen.close(page, { again: res.writableFinished }).catch(() => {}));
  const threads = await received(value, {
    async send(parts, stream) {
      url = stream.url;
      await page.send(parts);
      const { messages, error, finish } = await page.look();
      const message = messages.at(-1);
      return {
        message: message?.role === "assistant" ? message : null,
        finish: {
          isAbort: finish?.isAbort ?? false,
          isNetwork: finish?.isDisconnect ?? false,
          errorText: error,
          finishReason: finish?.finishReason,
        },
      };
    },
  });
  if (SCREENSHOT) await screenshot(page.page);
  json(res, { threads });
}

async function screenshot(page) {
  const made = `${SCREENSHOT}.${page.url().split("/").at(-1)}.png`;
  await page.screenshot({ path: made });
  renameSync(made, SCREENSHOT);
}

serve(port, [
  ["GET", /^\/capabilities$/, ({ res }) => json(res, capabilities)],
  ["POST", /^\/receive$/, receive],
  ["POST", /^\/adopt$/, ({ value, res }) => json(res, { threads: value.threads })],
  ...screen.routes,
]);
