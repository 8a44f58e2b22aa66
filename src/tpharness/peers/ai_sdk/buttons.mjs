// A chat whose buttons somebody else presses, over standard input and output.
//
// In: a line of JSON for each press, `{n, page, do, …}`. Out: a line for each that is done, `{n, value}` or `{n, error}`, in
// the order in which they are done. When the input closes, the program ends.

import { createInterface } from "node:readline";

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** Press what the lines say; `open(options)` returns a page with the methods below. */
export function pressed(open) {
  const pages = new Map();
  const page = ({ page: name }) => pages.get(name) ?? Promise.reject(new Error(`page ${name} is not open`));
  const actions = {
    /** `{chat, api, messages, body, ids}`: a page with these messages, which posts to `api`. */
    open: ({ page: name, ...options }) => void pages.set(name, Promise.resolve(open(options))),
    /** `{text, id}`: a message of the user; a page that makes ids itself does not need it. */
    submit: async (line) => (await page(line)).submit(line.text, line.id),
    regenerate: async (line) => (await page(line)).regenerate(),
    /** `{text, message}`: another text in place of the message with this id. */
    edit: async (line) => (await page(line)).edit(line.text, line.message),
    resume: async (line) => (await page(line)).resume(),
    /** `{approved, reason, requests}`: an answer to each request for approval, with their ids. */
    approve: async (line) => (await page(line)).approve(line.approved, line.reason, line.requests),
    /** The stop button, when so many bytes of each stream have been read: `{read: {STREAM: BYTES}}`. */
    stop: async (line) => (await page(line)).stop(line.read),
    /** What the chat holds, when so many bytes of each stream have been read. */
    look: async (line) => (await page(line)).look(line.read),
    async close(line) {
      const closing = page(line);
      pages.delete(line.page);
      await (await closing).close();
    },
  };
  createInterface({ input: process.stdin })
    .on("line", async (text) => {
      const line = JSON.parse(text);
      try {
        say({ n: line.n, value: (await actions[line.do](line)) ?? null });
      } catch (error) {
        say({ n: line.n, error: error.message });
      }
    })
    .on("close", () => process.exit(0));
}
