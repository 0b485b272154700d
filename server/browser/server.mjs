// Starts what the page is served by: the mock, or with MADANG_BIN a real `madang serve`, which can be killed and started again.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Mock, TOKEN } from "./mock.mjs";

const BINARY = process.env.MADANG_BIN;
/** Whether the server is the mock: only it can be told to fail in other ways than by being killed. */
export const isMock = !BINARY;

/** @param {object[]} script the model's completions, one an object */
export async function startServer(script) {
  return BINARY ? RealServer.start(script) : MockServer.start(script);
}

class MockServer {
  token = TOKEN;

  static async start(script) {
    const server = new MockServer();
    server.mock = await new Mock().start(script);
    return server;
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
}

class RealServer {
  mock = null;

  static async start(script) {
    const server = new RealServer();
    server.folder = mkdtempSync(join(tmpdir(), "madang-browser-"));
    server.token = await server.#addToken();
    await server.#run(script, 0);
    return server;
  }

  get #tokens() {
    return join(this.folder, "tokens");
  }

  get #env() {
    return { ...process.env, XDG_CONFIG_HOME: this.folder };
  }

  async #addToken() {
    const child = spawn(BINARY, ["token", "add", "kim", "--tokens", this.#tokens], { env: this.#env, stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    for await (const chunk of child.stdout) said += chunk;
    const token = /mdg_[\w-]{43}/.exec(said)?.[0];
    if (!token) throw new Error(`\`madang token add\` named no token: ${said}`);
    return token;
  }

  async #run(script, port) {
    const file = join(this.folder, "script.jsonl");
    writeFileSync(file, script.map((line) => JSON.stringify(line)).join("\n"));
    const options = ["serve", "--script", file, "--db", join(this.folder, "madang.db"), "--tokens", this.#tokens, "--listen", `127.0.0.1:${port}`];
    this.child = spawn(BINARY, options, { env: this.#env, stdio: ["ignore", "pipe", "inherit"] });
    const line = await new Promise((resolve, reject) => {
      let said = "";
      this.child.stdout.on("data", (chunk) => {
        said += chunk;
        if (said.includes("\n")) resolve(said.split("\n")[0]);
      });
      this.child.once("exit", (code) => reject(new Error(`\`madang serve\` ended with ${code}: ${said}`)));
    });
    this.origin = /^listening (http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1];
    if (!this.origin) throw new Error(`the first line of \`madang serve\` names no address: ${line}`);
  }

  async kill() {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    await ended;
  }

  async restart(script) {
    await this.#run(script, new URL(this.origin).port);
  }

  async stop() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
