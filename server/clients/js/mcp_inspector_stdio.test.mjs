// The inspector of MCP on the command line, which starts `madang mcp serve` and speaks each era of the protocol: it lists
// the tools strictly, reads, and cannot be asked, so what must be confirmed does not run.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { ADD, SEARCH } from "./server.mjs";

const INSPECTOR = fileURLToPath(new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url));

/** What the destructive tool's call ends with, by era. */
const REFUSED = {
  legacy: "Tool 'add_habit' returned isError:true.",
  auto: "Missing required client capability",
  modern: "Missing required client capability",
};

/** Runs a program to its end, with a home of its own, and reads its lines as JSON. */
async function run(home, program, ...words) {
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
  const child = spawn(program, words, { env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk) => (said.out += chunk));
  child.stderr.on("data", (chunk) => (said.err += chunk));
  const code = await new Promise((resolve) => child.once("close", resolve));
  const read = (text) => text.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
  return { code, out: read(said.out), err: read(said.err) };
}

for (const [era, refused] of Object.entries(REFUSED)) {
  test(`the inspector in the era ${era}`, async (t) => {
    const home = mkdtempSync(join(tmpdir(), "madang-inspector-"));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    const database = ["--db", join(home, "madang.db")];
    const serve = [process.env.MADANG_BIN, "mcp", "serve", ...database, "--user", "kim", "--locale", "en"];
    const inspect = (...words) => run(home, process.execPath, INSPECTOR, "--cli", ...serve, "--protocol-era", era, "--format", "json", "--quiet", ...words);
    const call = ({ name, arguments: args }) => inspect("--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args));

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
