// The reference servers of MCP, as people have them, used by `madang chat --mcp` with a script in place of a model: reads run,
// writes ask, and a server that is killed in mid-call leaves the effect unknown while the chat goes on.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { calls, says, until } from "./server.mjs";

const installed = (name) => fileURLToPath(new URL(`node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url));

/** A folder with a configuration of both servers, and chats in it. */
class Place {
  folder = mkdtempSync(join(tmpdir(), "madang-mcp-"));
  memory = join(this.folder, "memory.jsonl");
  group = join(this.folder, "group");
  pid = join(this.folder, "pid");
  heard = join(this.folder, "heard");

  constructor(test) {
    test.after(() => rmSync(this.folder, { recursive: true, force: true }));
    writeFileSync(join(this.folder, "tea.txt"), "Kim likes tea.\n");
    // The shell notes the group and the server of it, and what the server is told.
    const server = `echo \\$\\$ > ${this.pid}; exec '$0' '$1'`;
    const noted = `echo $$ > ${this.group}; tee -a ${this.heard} | sh -c "${server}"`;
    const servers = {
      files: { command: process.execPath, args: [installed("server-filesystem"), this.folder], trust: "annotations" },
      memory: { command: "sh", args: ["-c", noted, process.execPath, installed("server-memory")], env: { MEMORY_FILE_PATH: this.memory } },
    };
    writeFileSync(join(this.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));
  }

  /** Starts a chat whose questions are all answered so. */
  chat(test, script, confirm) {
    const file = join(this.folder, "script.jsonl");
    writeFileSync(file, script.map((line) => JSON.stringify(line)).join("\n"));
    const words = ["chat", "--json", "--mcp", join(this.folder, "mcp.json"), "--script", file, "--confirm", confirm];
    const child = spawn(process.env.MADANG_BIN, [...words, "--db", join(this.folder, "madang.db"), "--locale", "en"], { stdio: ["pipe", "pipe", "inherit"] });
    test.after(() => child.kill("SIGKILL"));
    const events = [];
    createInterface({ input: child.stdout }).on("line", (line) => events.push(JSON.parse(line)));
    const ended = (tool) => events.find((event) => event.type === "tool_call_ended" && event.name === tool);
    return {
      events,
      say: (text) => child.stdin.write(`${text}\n`),
      ended: (tool) => until(`${tool} has ended`, async () => ended(tool)),
      has: (type) => events.some((event) => event.type === type),
      until: (what, isTrue) => until(what, async () => isTrue()),
      async leave() {
        const code = new Promise((resolve) => child.once("exit", resolve));
        child.stdin.end();
        assert.equal(await code, 0);
      },
    };
  }
}

const text = (tool) => tool.outcome.data;
const REMEMBER = { name: "memory__create_entities", arguments: { entities: [{ name: "Kim", entityType: "person", observations: ["likes tea"] }] } };

test("a read of a trusted server runs unasked", async (t) => {
  const place = new Place(t);
  const read = { name: "files__read_text_file", arguments: { path: join(place.folder, "tea.txt") } };
  const chat = place.chat(t, [calls(read), says("It is about tea.")], "deny");
  chat.say("what does it say?");
  const ended = await chat.ended("files__read_text_file");
  assert.match(JSON.stringify(text(ended)), /Kim likes tea/);
  await chat.until("the turn has ended", () => chat.has("turn_ended"));
  assert.ok(!chat.has("approval_requested"));
  await chat.leave();
});

test("a write asks: a no leaves nothing behind, a yes writes once", async (t) => {
  const place = new Place(t);
  const denied = place.chat(t, [calls(REMEMBER), says("Then not.")], "deny");
  denied.say("remember");
  assert.equal((await denied.ended(REMEMBER.name)).outcome.status, "cancelled");
  assert.ok(denied.has("approval_requested"));
  await denied.leave();
  assert.ok(!existsSync(place.memory));
  const approved = place.chat(t, [calls(REMEMBER), says("Noted.")], "approve");
  approved.say("remember");
  const { outcome, effect } = await approved.ended(REMEMBER.name);
  assert.deepEqual([outcome.status, effect], ["ok", "committed"]);
  await approved.leave();
  assert.equal(readFileSync(place.memory, "utf8").trim().split("\n").length, 1);
});

test("a server killed in mid-call leaves the effect unknown, and comes back", async (t) => {
  const place = new Place(t);
  const chat = place.chat(t, [says("Hello."), calls(REMEMBER), says("That is not certain."), calls({ name: "memory__read_graph", arguments: {} }), says("Here.")], "approve");
  chat.say("hello");
  await chat.until("the first turn has ended", () => chat.has("turn_ended"));
  const first = Number(readFileSync(place.group, "utf8"));
  process.kill(Number(readFileSync(place.pid, "utf8")), "SIGSTOP");
  chat.say("remember");
  await chat.until("the call was sent", () => readFileSync(place.heard, "utf8").includes("tools/call"));
  assert.ok(chat.has("approval_ended"));
  process.kill(-first, "SIGKILL");
  const { outcome, effect } = await chat.ended(REMEMBER.name);
  assert.deepEqual([outcome.status, effect], ["error", "unknown"]);
  assert.match(outcome.reason, /may have taken effect/);
  await until("another process", async () => Number(readFileSync(place.group, "utf8")) !== first);
  chat.say("what do you know?");
  const graph = await chat.ended("memory__read_graph");
  assert.equal(graph.outcome.status, "ok", JSON.stringify(graph.outcome));
  await chat.leave();
});
