// A client that is generated from the description compiles and sends a turn with its text alone.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { says, serve } from "./server.mjs";

const MODULES = join(import.meta.dirname, "node_modules");

const PROGRAM = `
import createClient from "openapi-fetch";
import type { paths } from "./description.js";

declare const process: { argv: string[] };
declare const console: { log(text: string): void };

const [origin, token] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: origin, headers: { authorization: \`Bearer \${token}\` } });
const opened = await client.POST("/v1/sessions", { body: {} });
if (!opened.data) throw new Error(JSON.stringify(opened.error));
const path = { session: opened.data.session };
const turn = await client.POST("/v1/sessions/{session}/turns", {
  params: { path, header: { Prefer: "wait=20" } },
  body: { text: "Hello" },
});
if (!turn.data) throw new Error(JSON.stringify(turn.error));
const named = await client.PATCH("/v1/sessions/{session}", { params: { path }, body: { title: "Greeting" } });
const found = await client.POST("/v1/search", { body: { text: "hello" } });
const fork = await client.POST("/v1/sessions/{session}/forks", { params: { path }, body: {} });
const gone = await client.DELETE("/v1/sessions/{session}", { params: { path } });
console.log(JSON.stringify([named.data?.title, found.data?.hits.length, fork.data?.messages, gone.response.status]));
`;

test("a generated client compiles and sends a turn with its text alone", async (t) => {
  const server = await serve(t, [says("Hello to you")]);
  const folder = mkdtempSync(join(tmpdir(), "madang-generated-"));
  t.after(() => rmSync(folder, { recursive: true }));
  symlinkSync(MODULES, join(folder, "node_modules"));
  const run = (script, ...words) => {
    const ran = spawnSync(process.execPath, [script, ...words], { cwd: folder, encoding: "utf8" });
    assert.equal(ran.status, 0, ran.stdout + ran.stderr);
    return ran.stdout;
  };
  const description = await (await fetch(`${server.origin}/openapi.json`)).text();
  writeFileSync(join(folder, "openapi.json"), description);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "program.ts"), PROGRAM);
  // Not `.d.ts`, which `--skipLibCheck` does not check.
  run(join(MODULES, "openapi-typescript/bin/cli.js"), "openapi.json", "--output", "description.ts");
  const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "--lib", "es2022,dom"];
  run(join(MODULES, "typescript/bin/tsc"), ...options, "program.ts");
  const said = run("program.js", server.origin, server.token);
  assert.deepEqual(JSON.parse(said), ["Greeting", 2, 2, 204]);
});
