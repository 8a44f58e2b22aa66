// Unpacks the browser of `@sparticuz/chromium` once, beside its packages: `browser/chromium` starts it, wherever this
// folder lies. The package itself unpacks into the folder for temporary files, at every start that does not find it
// there, whoever has put it there.

import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { inflate } from "@sparticuz/chromium";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const packed = here("node_modules/@sparticuz/chromium/bin");

mkdirSync(here("browser"));
process.env.TMPDIR = here("browser"); // where `inflate` puts what it unpacks
await Promise.all(["chromium", "al2023.tar", "fonts.tar"].map((name) => inflate(`${packed}/${name}.br`)));
rmSync(packed, { recursive: true }); // 70 MB that nobody needs any more
renameSync(here("browser/chromium"), here("browser/headless_shell"));
chmodSync(here("browser/headless_shell"), 0o755);

// The one of the package looks in the folders of its usual home.
writeFileSync(
  here("browser/fonts/fonts.conf"),
  `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir></fontconfig>
`,
);

// Its libraries and its font before those of the system: the browser is the same everywhere.
writeFileSync(
  here("browser/chromium"),
  `#!/bin/sh
here=\${0%/*}
LD_LIBRARY_PATH="$here/al2023/lib\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
FONTCONFIG_PATH="$here/fonts"
export LD_LIBRARY_PATH FONTCONFIG_PATH
exec "$here/headless_shell" "$@"
`,
  { mode: 0o755 },
);
