// Our MCP client under the official conformance suite: all its scenarios for clients, in both revisions, but for the list
// of what is left out.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const suite = join(here, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

/** What must pass by revision, and how many checks of it. The suite takes a scenario without any check as passed. */
const PASSED = {
  "2025-11-25": { initialize: 1, "json-schema-2020-12-preservation": 9, "sse-retry": 3, tools_call: 2 },
  "2026-07-28": {
    "http-custom-headers": 18,
    "http-invalid-tool-headers": 12,
    "http-standard-headers": 3,
    "json-schema-2020-12-preservation": 9,
    "json-schema-ref-no-deref": 1,
    "request-metadata": 5,
    "sep-2322-client-request-state": 2,
    tools_call: 2,
  },
};

/** Runs the suite, and gives how it ended and what it said. */
function run(revision, results) {
  const words = ["client", "--suite", "all", "--spec-version", revision, "--expected-failures", "mcp_client_left_out.yaml", "--verbose"];
  // It splits the command at its spaces.
  const client = ["--command", "node mcp_conformance_client.mjs", "--output-dir", results];
  const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
  const child = spawn(process.execPath, [suite, ...words, ...client], { cwd: here, env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const output of [child.stdout, child.stderr]) output.on("data", (chunk) => (said += chunk));
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, said: said.slice(said.indexOf("=== SUITE SUMMARY")) })));
}

/** How many checks of each scenario passed, where any did. */
function passed(results) {
  const names = readdirSync(results).filter((name) => name !== "auth");
  const counted = names.map((name) => {
    const checks = JSON.parse(readFileSync(join(results, name, "checks.json"), "utf8"));
    const scenario = name.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
    return [scenario, checks.filter(({ status }) => status === "SUCCESS").length];
  });
  return Object.fromEntries(counted.filter(([, count]) => count > 0));
}

for (const revision of Object.keys(PASSED)) {
  test(`the scenarios of ${revision}`, async (t) => {
    const results = mkdtempSync(join(tmpdir(), "madang-conformance-"));
    t.after(() => rmSync(results, { recursive: true, force: true }));
    const { code, said } = await run(revision, results);
    assert.equal(code, 0, said);
    assert.deepEqual(passed(results), PASSED[revision]);
  });
}
