// The inspector of MCP on the command line, over HTTP: it lists the tools strictly, reads, and cannot be asked, so what must
// be confirmed does not run.

import assert from "node:assert/strict";
import { test } from "node:test";

import { homeFor, inspector, REFUSED } from "./mcp_inspector.mjs";
import { ADD, SEARCH, serve } from "./server.mjs";

for (const [era, refused] of Object.entries(REFUSED)) {
  test(`the inspector over HTTP in the era ${era}`, async (t) => {
    const server = await serve(t, []);
    const where = [`${server.origin}/mcp`, "--transport", "http", "--header", `Authorization: Bearer ${server.token}`];
    const { inspect, call } = inspector(homeFor(t), era, where);

    const list = await inspect("--method", "tools/list", "--strict");
    assert.equal(list.code, 0, JSON.stringify(list.err));
    const names = list.out[0].result.tools.map((tool) => tool.name);
    assert.deepEqual(names, names.toSorted());
    const found = await call(SEARCH);
    assert.equal(found.code, 0, JSON.stringify(found.err));
    assert.equal(found.out[0].result.structuredContent.items[0].category, "sleep");
    const added = await call(ADD);
    assert.notEqual(added.code, 0);
    assert.equal(added.err.at(-1).error.message, refused);
    const ends = (await server.ledger()).map(({ name, outcome, effect }) => [name, outcome.reason ?? outcome.status, effect]);
    assert.deepEqual(ends, [[SEARCH.name, "ok", "none"], [ADD.name, "unreachable", "none"]]);
  });
}
