// Our MCP client as the conformance suite starts it, with the address of its server as the last word: a chat with a script
// in place of a model, which calls what the scenario wants called. The chat's own events go to standard output.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
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

/** A script in place of the model. */
function script(folder) {
  const file = join(folder, "script.jsonl");
  const turns = calls().map(([name, args]) => [{ tool_calls: [{ name: `suite__${name}`, arguments: args }] }, { text: "Done." }]);
  writeFileSync(file, turns.flat().map((line) => JSON.stringify(line)).join("\n"));
  return { words: ["--script", file], turns: turns.length };
}

/** A remote model that hands back the schema of a tool as it was told it. */
async function echo(tool) {
  const model = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { tools, messages } = JSON.parse(body);
    const schema = tools.find(({ function: told }) => told.name === `suite__${tool}`).function.parameters;
    const call = { name: "suite__json_schema_echo", arguments: JSON.stringify({ schema }) };
    const delta = messages.at(-1).role === "tool" ? { content: "Done." } : { tool_calls: [{ index: 0, id: "call", function: call }] };
    const frame = { choices: [{ index: 0, delta, finish_reason: delta.content ? "stop" : "tool_calls" }] };
    response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${JSON.stringify(frame)}\n\ndata: [DONE]\n\n`);
  });
  await new Promise((resolve) => model.listen(0, "127.0.0.1", resolve));
  return { words: ["--remote", "openai:echo", "--remote-url", `http://127.0.0.1:${model.address().port}/v1`], turns: 1, end: () => model.close() };
}

const folder = mkdtempSync(join(tmpdir(), "madang-conformance-"));
try {
  const servers = join(folder, "mcp.json");
  writeFileSync(servers, JSON.stringify({ mcpServers: { suite: { url: process.argv.at(-1) } } }));
  const echoes = process.env.MCP_CONFORMANCE_SCENARIO === "json-schema-2020-12-preservation";
  const model = echoes ? await echo("json_schema_2020_12_tool") : script(folder);
  const words = ["chat", "--json", "--mcp", servers, ...model.words, "--confirm", "approve", "--db", join(folder, "madang.db"), "--locale", "en"];
  const chat = spawn(process.env.MADANG_BIN, words, { stdio: ["pipe", "inherit", "inherit"] });
  chat.stdin.end("go\n".repeat(model.turns));
  process.exitCode = await new Promise((resolve) => chat.once("close", (code) => resolve(code ?? 1)));
  model.end?.();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
