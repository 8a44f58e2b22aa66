// The route handlers of the recipes take a Request and return a Response; Hono calls them where Next.js would.
import { serve } from "@hono/node-server";

// Next.js's server logs a rejection that nobody handles and goes on; plain Node would exit.
process.on("unhandledRejection", (error) => console.error(error));

export function listen(app) {
  const port = Number(process.env.PORT ?? 3000);
  serve({ fetch: app.fetch, hostname: "127.0.0.1", port }, () => console.log(`http://127.0.0.1:${port}/api/chat`));
}
