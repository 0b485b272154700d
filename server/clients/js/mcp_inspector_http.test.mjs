// The inspector of MCP on the command line, over HTTP: it lists the tools strictly, reads, and cannot be asked, so what must
// be confirmed does not run.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { ADD, SEARCH, serve } from "./server.mjs";

const INSPECTOR = fileURLToPath(new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url));

/** What the destructive tool's call ends with, by era. */
const REFUSED = {
  legacy: "Tool 'add_habit' returned isError:true.",
  auto: "Missing required client capability",
  modern: "Missing required client capability",
};

for (const [era, refused] of Object.entries(REFUSED)) {
  test(`the inspector over HTTP in the era ${era}`, async (t) => {
    const home = mkdtempSync(join(tmpdir(), "madang-inspector-"));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    const server = await serve(t, []);
    const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
    const inspect = async (...words) => {
      const where = ["--cli", `${server.origin}/mcp`, "--transport", "http", "--header", `Authorization: Bearer ${server.token}`];
      const child = spawn(process.execPath, [INSPECTOR, ...where, "--protocol-era", era, "--format", "json", "--quiet", ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
      const said = { out: "", err: "" };
      child.stdout.on("data", (chunk) => (said.out += chunk));
      child.stderr.on("data", (chunk) => (said.err += chunk));
      const code = await new Promise((resolve) => child.once("close", resolve));
      const read = (text) => text.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
      return { code, out: read(said.out), err: read(said.err) };
    };
    const call = ({ name, arguments: args }) => inspect("--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args));

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
