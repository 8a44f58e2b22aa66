// The agent of a page, as `window.chat` for whoever sits at the browser.

import { HttpAgent } from "@ag-ui/client";
import { player } from "./player.mjs";
import { someRounds } from "./reads.mjs";

const { threadId, inOneRead } = JSON.parse(decodeURIComponent(location.hash.slice(1)));

window.chat = player({
  HttpAgent,
  url: `${location.origin}${location.pathname}/chat`,
  threadId,
  answered: (_stream, url, init) => fetch(url, init),
  inOneRead,
  settled: someRounds(() => scheduler.postTask(() => {}, { priority: "background" })), // when nothing else is to be done
});
