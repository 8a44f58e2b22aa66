// The control contract over Node's own HTTP server: bodies, problems, routes.

import { createServer } from "node:http";

/** A request that is not carried out: the status, what is wrong, what to do. */
export class Refusal extends Error {
  constructor(status, message, hint = "") {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

/** What this implementation cannot make happen at all (status 501): the case does not apply. */
export class CannotPlay extends Refusal {
  constructor(what) {
    super(501, what);
  }
}

export function json(res, value, status = 200) {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify(value));
}

async function body(req) {
  const pieces = [];
  for await (const piece of req) pieces.push(piece);
  try {
    return JSON.parse(Buffer.concat(pieces).toString("utf8"));
  } catch (error) {
    throw new Refusal(400, `the body is not JSON: ${error.message}`);
  }
}

/**
 * Serve routes on a port of loopback. A route is [method, path pattern, handler]; the handler gets what the pattern
 * found, the body's JSON for POST, the response and the query.
 */
export function serve(port, routes) {
  const server = createServer(async (req, res) => {
    try {
      const url = new URL(req.url, "http://localhost");
      for (const [method, pattern, handler] of routes) {
        const found = pattern.exec(url.pathname);
        if (found === null || method !== req.method) continue;
        const value = method === "POST" ? await body(req) : undefined;
        await handler({ id: found[1] && decodeURIComponent(found[1]), value, res, query: url.searchParams });
        return;
      }
      throw new Refusal(404, `${req.method} ${url.pathname}: no such path`);
    } catch (error) {
      if (res.headersSent) {
        res.destroy();
      } else if (error instanceof Refusal) {
        json(res, { error: { message: error.message, ...(error.hint && { hint: error.hint }) } }, error.status);
      } else {
        console.error(error);
        json(res, { error: { message: `the peer failed: ${error.message}` } }, 500);
      }
    }
  });
  server.listen(port, "127.0.0.1");
  process.on("SIGTERM", () => process.exit(0));
}

/** A module of a package with everything that is needed of it; ends the program where this release lacks something. */
export function needed(module, release, names) {
  const missing = names.filter((name) => !(name in module));
  if (missing.length === 0) return module;
  console.error(`${release} has no ${missing.join(", ")}, which this peer needs`);
  process.exit(1);
}

/** The value of `--port`. */
export function portOf(args) {
  const port = Number(args[args.indexOf("--port") + 1]);
  if (!Number.isInteger(port) || port < 1) {
    console.error("usage: node FILE --port PORT");
    process.exit(2);
  }
  return port;
}
