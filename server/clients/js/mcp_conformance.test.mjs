// Our MCP server under the official conformance suite: what a revision requires of servers, but for the list of what is
// left out. The suite asks an example with tools of its names.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const suite = join(here, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

/** What must pass by revision: the suite takes a scenario that asks nothing as passed. */
const PASSED = {
  "2025-11-25": { "server-initialize": 3, ping: 2, "tools-list": 3, "tools-call-elicitation": 2, "server-session-lifecycle": 3, "dns-rebinding-protection": 2 },
  "2026-07-28": {
    "server-stateless": 23,
    "tools-list": 4,
    "dns-rebinding-protection": 2,
    "input-required-result-request-state": 3,
    "input-required-result-tampered-state": 2,
    "input-required-result-validate-input": 3,
    "http-header-validation": 14,
  },
};

/** Starts the example, and gives its address. */
async function serve(t) {
  const child = spawn(join(dirname(process.env.MADANG_BIN), "examples/mcp_conformance"), { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const line = await new Promise((resolve, reject) => {
    child.stdout.once("data", (chunk) => resolve(String(chunk)));
    child.once("exit", (code) => reject(new Error(`the example ended with ${code}`)));
  });
  return line.trim().replace(/^listening /, "");
}

for (const [revision, passed] of Object.entries(PASSED)) {
  test(`what ${revision} requires of servers`, async (t) => {
    const results = mkdtempSync(join(tmpdir(), "madang-conformance-"));
    t.after(() => rmSync(results, { recursive: true, force: true }));
    const words = ["server", "--url", `${await serve(t)}/mcp`, "--requirements", revision, "--output-dir", results];
    const child = spawn(process.execPath, [suite, ...words, "--expected-failures", join(here, `mcp-${revision.slice(0, 4)}.yaml`)], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const output of [child.stdout, child.stderr]) output.on("data", (chunk) => (said += chunk));
    const code = await new Promise((resolve) => child.once("close", resolve));
    const summary = said.slice(said.indexOf("=== SUMMARY"));
    for (const [scenario, count] of Object.entries(passed)) {
      assert.match(summary, new RegExp(`${scenario}: ${count} passed`), summary);
    }
    assert.equal(code, 0, summary);
  });
}
