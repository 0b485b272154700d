// JSON by the page's own reader, which keeps every digit. Its unit tests hold it to the standard.

import { readFileSync } from "node:fs";

// The runner of the browser tests takes a `.js` without a package around it for CommonJS.
const source = readFileSync(new URL("../../src/page/assets/json.js", import.meta.url));
export const { Exact, read, write } = await import(`data:text/javascript;base64,${source.toString("base64")}`);
