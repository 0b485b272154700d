// The linter of OpenAPI finds no error in the description that the server gives of itself.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { serve } from "./server.mjs";

const REDOCLY = join(import.meta.dirname, "node_modules/@redocly/cli/bin/cli.js");

test("the description of the interface has no error", async (t) => {
  const server = await serve(t, []);
  const folder = mkdtempSync(join(tmpdir(), "madang-openapi-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const lint = (description) => {
    const file = join(folder, "openapi.json");
    writeFileSync(file, JSON.stringify(description));
    const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
    return spawnSync(process.execPath, [REDOCLY, "lint", file], { encoding: "utf8", env });
  };
  const description = await (await fetch(`${server.origin}/openapi.json`)).json();
  const found = lint(description);
  assert.equal(found.status, 0, found.stdout + found.stderr);
  // What is looked for would be found.
  description.paths["/v1/chat/completions"].post.requestBody.content["application/json"].schema = true;
  assert.equal(lint(description).status, 1);
});
