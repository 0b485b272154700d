// Runs the inspector of MCP on the command line, in a home of its own.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const INSPECTOR = fileURLToPath(new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url));

/** What the destructive tool's call ends with, by era. */
export const REFUSED = {
  legacy: "Tool 'add_habit' returned isError:true.",
  auto: "Missing required client capability",
  modern: "Missing required client capability",
};

/** Makes a home that goes with the test. */
export function homeFor(t) {
  const home = mkdtempSync(join(tmpdir(), "madang-inspector-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Runs a program to its end, with this home, and reads its lines as JSON. */
export async function run(home, program, ...words) {
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
  const child = spawn(program, words, { env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk) => (said.out += chunk));
  child.stderr.on("data", (chunk) => (said.err += chunk));
  const code = await new Promise((resolve) => child.once("close", resolve));
  const read = (text) => text.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
  return { code, out: read(said.out), err: read(said.err) };
}

/** Gives the inspector of a server: what it is asked, and how it calls a tool. */
export function inspector(home, era, server) {
  const inspect = (...words) => run(home, process.execPath, INSPECTOR, "--cli", ...server, "--protocol-era", era, "--format", "json", "--quiet", ...words);
  const call = ({ name, arguments: args }) => inspect("--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args));
  return { inspect, call };
}
