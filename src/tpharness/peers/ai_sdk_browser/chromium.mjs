// The browser of this machine, driven by `playwright-core`, which brings none of its own.

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

const VARIABLE = "TPHARNESS_CHROMIUM";
const NAMES = ["chromium", "chromium-browser", "google-chrome"];
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

function found() {
  const told = process.env[VARIABLE];
  if (told) return runs(told) ? told : null;
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(runs) ?? null;
}

function giveUp(why) {
  console.error(why);
  process.exit(1);
}

/** Start the browser, headless and with an empty profile. It ends with this process, which ends here without one. */
export async function browser() {
  const file = found();
  if (file === null) {
    const told = process.env[VARIABLE];
    const what = told ? `${VARIABLE}: ${told} is no program` : `no ${NAMES.join(", ")} on the PATH`;
    giveUp(`Chromium is not installed: ${what}; install it (apt-get install chromium), or name it with ${VARIABLE}`);
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
