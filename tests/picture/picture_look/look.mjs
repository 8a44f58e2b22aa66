// Opens pages from the file system, or from a server of this machine, in a browser and does what it is told. Each line
// on standard input is a look:
// {"file": PATH, "width": N, "height": N, "dark": bool, "scripts": bool, "steps": [[name, …], …]}
// For each it prints a line {"results": […], "requests": […], "errors": […]}: a result for each step, every address that
// was asked for, and every error of the page; or {"failed": WHY}. One browser serves all of them, each in a profile of
// its own. It ends with its input.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { browser } from "./chromium.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const chromium = await browser();

async function look({ file, width = 1280, height = 900, dark = false, scripts = true, hash = "", steps }) {
  const context = await chromium.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    javaScriptEnabled: scripts,
    reducedMotion: "reduce",
  });
  try {
    const page = await context.newPage();
    const [requests, errors] = [[], []];
    page.on("request", (request) => requests.push(request.url()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto((/^http:/.test(file) ? file : pathToFileURL(file).href) + hash, { timeout: 60000 });
    const doing = stepsOf(context, page, scripts);
    const results = [];
    for (const [name, ...given] of steps) results.push((await doing[name](...given)) ?? null);
    return { results, requests, errors };
  } finally {
    await context.close();
  }
}

function stepsOf(context, page, scripts) {
  /** Wait until the browser has painted a frame with what there is now. */
  const painted = () =>
    scripts && page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

  return {
    eval: (expression) => page.evaluate(expression),
    text: async (selector) => {
      await painted(); // an element with `content-visibility: auto` has no inner text before
      return page.locator(selector).innerText();
    },
    press: async (selector, key, times = 1) => {
      await page.focus(selector);
      for (let n = 0; n < times; n += 1) await page.keyboard.press(key);
    },
    click: async (selector) => {
      await page.locator(selector).first().click();
      await painted(); // a link to a place on the page has told the page by then
    },
    drag: async (selector, down) => {
      const box = await page.locator(selector).boundingBox();
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      await page.mouse.move(x, y);
      await page.mouse.down();
      for (let n = 1; n <= 4; n += 1) await page.mouse.move(x, y + (down * n) / 4);
      await page.mouse.up();
    },
    choose: (selector, value) => page.selectOption(selector, value),
    shot: (path, whole = false) => page.screenshot({ path, fullPage: whole }).then(() => true),
    axe: async () => {
      const found = await context.newCDPSession(page).then(async (session) => {
        await session.send("Runtime.evaluate", { expression: axe }); // beside the page's own policy
        return page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      });
      return found.violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.failureSummary) }));
    },
  };
}

/** Fail when a look takes too long; it does not keep this process. */
const late = () => new Promise((_, fail) => setTimeout(fail, 120_000, new Error("the look takes two minutes")).unref());

for await (const line of createInterface({ input: process.stdin })) {
  const seen = await Promise.race([look(JSON.parse(line)), late()]).catch((error) => ({
    failed: String(error?.stack ?? error),
  }));
  console.log(JSON.stringify(seen));
}
await chromium.close();
