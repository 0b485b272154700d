// Our MCP client as the conformance suite starts it, with the address of its server as the last word: a chat with a script
// in place of a model, which calls what the scenario wants called. The chat's own events go to standard output.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const text = { value: "x" };

/** What the model calls by scenario, one call a turn. For the others, the greeting and the list are enough. */
const CALLS = {
  tools_call: [["add_numbers", { a: 2, b: 3 }]],
  "http-standard-headers": [["test_headers", {}], ["my_hyphenated_tool", {}]],
  // The tools that must not be offered are called all the same.
  "http-invalid-tool-headers": [
    ["invalid_empty_header", text],
    ["invalid_object_header", { data: {} }],
    ["invalid_array_header", { items: ["x"] }],
    ["invalid_null_header", { nil: null }],
    ["invalid_number_header", { score: 1 }],
    ["invalid_duplicate_same_case", { field1: "x", field2: "x" }],
    ["invalid_duplicate_diff_case", { field1: "x", field2: "x" }],
    ["invalid_space_in_name", text],
    ["invalid_colon_in_name", text],
    ["invalid_non_ascii_name", text],
    ["invalid_control_char_name", text],
    ["valid_tool", { region: "us-west1" }],
  ],
  "json-schema-ref-no-deref": [["lookup_user", { id: "kim", profile: {} }]],
  "sep-2322-client-request-state": [
    ["test_mrtr_echo_state", {}],
    ["test_mrtr_unrelated", {}],
    ["test_mrtr_no_state", {}],
    ["test_mrtr_no_result_type", {}],
  ],
  "elicitation-sep1034-client-defaults": [["test_client_elicitation_defaults", {}]],
  "sse-retry": [["test_reconnection", {}]],
};

/** The calls that the suite itself asks for. A parameter without a value is left out: null is not of the schema's type. */
function calls() {
  const { toolCalls } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
  const asked = toolCalls?.map(({ name, arguments: all }) => [name, Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null))]);
  return asked ?? CALLS[process.env.MCP_CONFORMANCE_SCENARIO] ?? [];
}

const folder = mkdtempSync(join(tmpdir(), "madang-conformance-"));
try {
  const [servers, script] = [join(folder, "mcp.json"), join(folder, "script.jsonl")];
  writeFileSync(servers, JSON.stringify({ mcpServers: { suite: { url: process.argv.at(-1) } } }));
  const turns = calls().map(([name, args]) => [{ tool_calls: [{ name: `suite__${name}`, arguments: args }] }, { text: "Done." }]);
  writeFileSync(script, turns.flat().map((line) => JSON.stringify(line)).join("\n"));
  const words = ["chat", "--json", "--mcp", servers, "--script", script, "--confirm", "approve", "--db", join(folder, "madang.db"), "--locale", "en"];
  const { status } = spawnSync(process.env.MADANG_BIN, words, { input: "go\n".repeat(turns.length), stdio: ["pipe", "inherit", "inherit"] });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
