// Starts what the page is served by: the mock, or a real `madang serve`. Both can be killed and started again on their port.

import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Mock, TOKEN } from "./mock.mjs";

const BINARY = process.env.MADANG_BIN;

/**
 * Ports that the system gives to no one by itself. Of one that it chose, it gives the number away while the server is
 * down: the next listener on port 0 or any outgoing connection may have it, and then the server cannot come back.
 * Each worker has a range of its own. They begin behind 10080, which browsers refuse.
 */
const RANGE = { first: 10_100, size: 2_500, workers: 8 };
const worker = Number(process.env.TEST_PARALLEL_INDEX ?? 0) % RANGE.workers;
let turn = Math.floor(Math.random() * RANGE.size);
const nextPort = () => RANGE.first + worker * RANGE.size + (turn++ % RANGE.size);

/** Tries ports until a server listens on one. */
async function onFreePort(listen) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await listen(nextPort());
    } catch (error) {
      if (tries === 20 || !/EADDRINUSE|in use/i.test(String(error.message))) throw error;
    }
  }
}

/**
 * @param {"mock" | "real"} kind
 * @param {object[] | null} script the model's completions, one an object; null for the demonstration model
 */
export async function startServer(kind, script) {
  const server = kind === "real" ? new RealServer() : new MockServer();
  await server.start(script);
  return server;
}

class MockServer {
  token = TOKEN;
  mock = new Mock();

  start(script) {
    this.mock.isDemonstration = script === null;
    return onFreePort((port) => this.mock.start(script ?? [], port));
  }

  get origin() {
    return this.mock.origin;
  }

  kill() {
    return this.mock.kill();
  }

  /** Starts it again on the same port; a script begins anew, as that of the real one does. */
  async restart(script) {
    await this.mock.start(script);
  }

  stop() {
    return this.mock.kill();
  }

  /** Adds a token that counts from now on. */
  async addToken(user, scopes) {
    return this.mock.token(user, scopes);
  }

  /** Ends the token that the server had from its start. */
  async removeToken() {
    this.mock.revoke("kim");
  }

  /** Keeps what is stored, for `putBack` after a kill. */
  async copyStore() {
    this.copy = structuredClone([...this.mock.store.chats].map(([id, chat]) => [id, chat.entries.length]));
  }

  async putBack() {
    for (const [id, length] of this.copy) this.mock.store.chats.get(id).entries.length = length;
  }
}

class RealServer {
  mock = null;
  folder = mkdtempSync(join(tmpdir(), "madang-browser-"));

  async start(script) {
    this.token = await this.#token("kim", "page");
    await onFreePort((port) => this.#run(script, port));
  }

  get #tokens() {
    return join(this.folder, "tokens");
  }

  get #env() {
    return { ...process.env, XDG_CONFIG_HOME: this.folder };
  }

  async #madang(...words) {
    const child = spawn(BINARY, words, { env: this.#env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
    const code = await new Promise((resolve) => child.once("close", resolve));
    if (code !== 0) throw new Error(`\`madang ${words.join(" ")}\` ended with ${code}: ${said}`);
    return said;
  }

  async #token(user, name, scopes) {
    const said = await this.#madang("token", "add", user, "--name", name, ...(scopes ? ["--scope", scopes.join(",")] : []), "--tokens", this.#tokens);
    const token = /mdg_[\w-]{43}/.exec(said)?.[0];
    if (!token) throw new Error(`\`madang token add\` named no token: ${said}`);
    return token;
  }

  async addToken(user, scopes) {
    const token = await this.#token(user, `${user}-2`, scopes);
    await this.#untilItCounts(token, true);
    return token;
  }

  async removeToken() {
    await this.#madang("token", "remove", "page", "--tokens", this.#tokens);
    await this.#untilItCounts(this.token, false);
  }

  /** The server reads the file again within a second. */
  async #untilItCounts(token, counts) {
    const deadline = Date.now() + 10_000;
    for (;;) {
      const { ok } = await fetch(`${this.origin}/v1/me`, { headers: { authorization: `Bearer ${token}` } });
      if (ok === counts) return;
      if (Date.now() > deadline) throw new Error("the file of tokens was not read again");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #run(script, port) {
    const file = join(this.folder, "script.jsonl");
    if (script) writeFileSync(file, script.map((line) => JSON.stringify(line)).join("\n"));
    const options = ["serve", ...(script ? ["--script", file] : []), "--db", join(this.folder, "madang.db"), "--tokens", this.#tokens, "--listen", `127.0.0.1:${port}`];
    const child = spawn(BINARY, options, { env: this.#env, stdio: ["ignore", "pipe", "pipe"] });
    const line = await new Promise((resolve, reject) => {
      let said = "";
      let complaint = "";
      child.stderr.on("data", (chunk) => (complaint += chunk));
      child.stdout.on("data", (chunk) => {
        said += chunk;
        if (said.includes("\n")) resolve(said.split("\n")[0]);
      });
      child.once("close", (code) => reject(new Error(`\`madang serve\` ended with ${code}: ${said}${complaint}`)));
    });
    this.child = child;
    this.origin = /^listening (http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1];
    if (!this.origin) throw new Error(`the first line of \`madang serve\` names no address: ${line}`);
  }

  async kill() {
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  async restart(script) {
    await this.#run(script, new URL(this.origin).port);
  }

  async stop() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Copies the files of the database, of a server that was killed. */
  async copyStore() {
    this.#copyFiles("madang.db", "copy");
  }

  async putBack() {
    for (const end of ["", "-wal", "-shm"]) rmSync(join(this.folder, `madang.db${end}`), { force: true });
    this.#copyFiles("copy", "madang.db");
  }

  #copyFiles(from, to) {
    for (const end of ["", "-wal"]) copyFileSync(join(this.folder, from + end), join(this.folder, to + end));
  }
}
