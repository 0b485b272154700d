// The inspector of MCP on the command line, which starts `madang mcp serve` and speaks each era of the protocol: it lists
// the tools strictly, reads, and cannot be asked, so what must be confirmed does not run.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { homeFor, inspector, REFUSED, run } from "./mcp_inspector.mjs";
import { ADD, SEARCH } from "./server.mjs";

for (const [era, refused] of Object.entries(REFUSED)) {
  test(`the inspector in the era ${era}`, async (t) => {
    const home = homeFor(t);
    const database = ["--db", join(home, "madang.db")];
    const serve = [process.env.MADANG_BIN, "mcp", "serve", ...database, "--user", "kim", "--locale", "en"];
    const { inspect, call } = inspector(home, era, serve);

    const list = await inspect("--method", "tools/list", "--strict");
    assert.equal(list.code, 0, JSON.stringify(list.err));
    const { tools } = list.out[0].result;
    const names = tools.map((tool) => tool.name);
    assert.deepEqual(names, names.toSorted());
    const hints = (name) => tools[names.indexOf(name)].annotations;
    assert.deepEqual([hints(SEARCH.name).readOnlyHint, hints(ADD.name).destructiveHint], [true, true]);

    const found = await call(SEARCH);
    assert.equal(found.code, 0, JSON.stringify(found.err));
    const { content, structuredContent } = found.out[0].result;
    assert.equal(structuredContent.items[0].category, "sleep");
    assert.deepEqual(content.map(({ text }) => JSON.parse(text)), [structuredContent]);

    const added = await call(ADD);
    assert.notEqual(added.code, 0);
    assert.equal(added.err.at(-1).error.message, refused);

    const ledger = await run(home, process.env.MADANG_BIN, "ledger", ...database);
    const ends = ledger.out.map(({ name, outcome, effect }) => [name, outcome.reason ?? outcome.status, effect]);
    assert.deepEqual(ends, [[SEARCH.name, "ok", "none"], [ADD.name, "unreachable", "none"]]);
  });
}
