// The snippets in JavaScript of docs/serve.md do what the page says, with the versions that it names.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { ADD, calls, says, serve } from "./server.mjs";

const page = readFileSync(new URL("../../../docs/serve.md", import.meta.url), "utf8");
const { devDependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));

/** The one block of the page that imports a package. */
function snippet(name) {
  const blocks = page.split("```js\n").slice(1).map((rest) => rest.split("```\n")[0]);
  const found = blocks.filter((block) => block.includes(`from "${name}"`));
  assert.equal(found.length, 1, `the page has ${found.length} blocks that import ${name}`);
  return found[0];
}

/** Runs a snippet as a module of this folder, with what stands behind it, and gives what it prints. */
async function run(server, code, behind = "") {
  const before = "const { MADANG, TOKEN } = process.env;\n";
  const env = { ...process.env, MADANG: server.origin, TOKEN: server.token };
  const options = { env, cwd: new URL(".", import.meta.url), stdio: ["pipe", "pipe", "inherit"], timeout: 40_000 };
  const child = spawn(process.execPath, ["--input-type=module"], options);
  child.stdin.end(before + code + behind);
  let said = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  const ended = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(ended, 0, said);
  return said;
}

for (const name of ["openai", "@ag-ui/client"]) {
  test(`the snippet with ${name} prints the answer`, async (t) => {
    const server = await serve(t, [says("Good day to you.")]);
    assert.equal(await run(server, snippet(name)), "Good day to you.\n");
    const [chat] = await server.chats();
    assert.deepEqual(await server.stored(chat), ["user: Good day!", "model: Good day to you."]);
  });
}

/** A page with a component that uses the snippet's hook: it says a text, approves what is asked, and prints the answer. */
const SCREEN = `
import { Window } from "happy-dom";
import { createElement, useEffect } from "react";
globalThis.window = new Window();
globalThis.document = window.document;
const { createRoot } = await import("react-dom/client");
const { promise: end, resolve: ended } = Promise.withResolvers();
function Screen() {
  const { messages, status, sendMessage, addToolApprovalResponse } = useMadang();
  useEffect(() => void sendMessage({ text: "Add it." }), []);
  useEffect(() => {
    if (status !== "ready") return;
    const parts = messages.flatMap((message) => message.parts);
    const asked = parts.find((part) => part.state === "approval-requested");
    const answer = parts.find((part) => part.text === "It is added.");
    if (asked) addToolApprovalResponse({ id: asked.approval.id, approved: true });
    else if (answer) ended(answer.text);
  }, [messages, status]);
}
const root = createRoot(document.createElement("main"));
root.render(createElement(Screen));
console.log(await end);
root.unmount();
await window.happyDOM.close();
`;

test("the hook of the snippet with useChat speaks, and passes an approval on", async (t) => {
  const server = await serve(t, [calls(ADD), says("It is added.")]);
  assert.equal(await run(server, snippet("@ai-sdk/react"), SCREEN), "It is added.\n");
  assert.deepEqual((await server.ledger()).map(({ name, outcome }) => [name, outcome.status]), [[ADD.name, "ok"]]);
});

test("the page names the versions of the packages that it was tried with", () => {
  const rows = [...page.matchAll(/^\| (\S+) \(npm\) \| (\S+) \|/gm)].map(([, name, version]) => [name, version]);
  assert.deepEqual(rows.map(([name]) => name), ["openai", "@ai-sdk/react", "ai", "@ag-ui/client"]);
  for (const [name, version] of rows) assert.equal(devDependencies[name], version, name);
});
