// A browser, driven by `playwright-core`, which brings none of its own: the one that the harness has found
// (src/tpharness/targets/browser.py) and names in the environment, or else the one that Playwright has installed.

import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const VERSION = createRequire(import.meta.url)("playwright-core/package.json").version;

const VARIABLE = "TPHARNESS_CHROMIUM";
// One that stays by itself: nothing is fetched but what the page asks for, and no graphics card is looked for.
const FLAGS = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

function runs(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function giveUp(why) {
  console.error(why);
  process.exit(1);
}

/** Start the browser, headless and with an empty profile. It ends with this process, which ends here without one. */
export async function browser() {
  const given = process.env[VARIABLE];
  const file = given || chromium.executablePath();
  if (!runs(file)) {
    const what = given ? `${VARIABLE}: ${given} is not a program` : `Playwright has none at ${file || "any place"}`;
    giveUp(
      `there is no browser: ${what}; install Chromium or Chrome and name it with ${VARIABLE}, ` +
        `or type: npx playwright-core@${VERSION} install chromium`,
    );
  }
  try {
    return await chromium.launch({
      executablePath: file,
      headless: true,
      chromiumSandbox: false, // it does not work for root
      args: FLAGS,
      handleSIGTERM: false, // whoever serves ends this process, and the browser goes with it
    });
  } catch (error) {
    return giveUp(`${file} does not start: ${error.message.replaceAll(/\s+/g, " ").slice(0, 250)}`);
  }
}
