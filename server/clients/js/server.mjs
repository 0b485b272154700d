// What the tests of clients share: a real `madang serve` that can be killed and started again, the person on another
// device, and a way to the server that can be cut.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const BINARY = process.env.MADANG_BIN;
if (!BINARY) throw new Error("MADANG_BIN names no program; `make test SUITES=clients` does");

/** The servers that run: none stays behind where the suite is ended. */
const running = new Set();
process.on("SIGTERM", () => process.exit(143));
process.on("exit", () => running.forEach((server) => server.leave()));

/**
 * A port that the system gives to no one by itself. Of one that it chose, it gives the number away while the server is
 * down, and then the server cannot come back. Each process begins elsewhere.
 */
let turn = 0;
const nextPort = () => 20_000 + ((process.pid * 16 + turn++) % 8_000);

/** The longest time that a state may take. */
const PATIENCE = 20_000;

/** Completions as tests use them. */
export const says = (text, delay_ms = 0) => ({ text, delay_ms });
/** Takes so long that a test must cut it off. */
export const LONG = says("one two three four five six seven eight", 600_000);
export const USAGE = { prompt_tokens: 5, cached_tokens: 3, completion_tokens: 2 };
export const SEARCH = { name: "search_catalog", arguments: { category: "sleep", limit: 1 } };
export const add = (protocol_id) => ({ name: "add_habit", arguments: { protocol_id, frame_level: "L2", framed_text: "매일 아침에 한다" } });
export const calls = (...tool_calls) => ({ tool_calls });
export const ADD = add("morning-light");

/** Starts a server with a script, one completion an object. It ends with the test. */
export async function serve(test, script, ...options) {
  const server = new Server(options);
  test.after(() => server.end());
  await server.start(script);
  return server;
}

/** The same, with a way to it that can be cut. */
export async function serveBehindWay(test, script) {
  const way = await Way.open();
  test.after(() => way.close());
  const server = await serve(test, script, "--public-url", way.origin);
  way.leadTo(server.origin);
  return { server, way };
}

class Server {
  #folder = mkdtempSync(join(tmpdir(), "madang-clients-"));
  #options;
  #child = null;

  constructor(options) {
    this.#options = options;
  }

  async start(script) {
    this.token = await this.#addToken();
    for (;;) {
      const port = nextPort();
      if (await isFree(port)) return this.#run(script, port);
    }
  }

  get #tokens() {
    return join(this.#folder, "tokens");
  }

  #spawn(words) {
    const env = { ...process.env, XDG_CONFIG_HOME: this.#folder };
    return spawn(BINARY, words, { env, stdio: ["ignore", "pipe", "inherit"] });
  }

  async #addToken() {
    const child = this.#spawn(["token", "add", "kim", "--scope", "chat,decide,tools", "--tokens", this.#tokens]);
    let said = "";
    for await (const chunk of child.stdout) said += chunk;
    return /mdg_[\w-]{43}/.exec(said)[0];
  }

  async #run(script, port) {
    const file = join(this.#folder, "script.jsonl");
    writeFileSync(file, script.map((line) => JSON.stringify(line)).join("\n"));
    const where = ["--db", join(this.#folder, "madang.db"), "--tokens", this.#tokens, "--listen", `127.0.0.1:${port}`];
    const child = this.#spawn(["serve", "--script", file, ...where, "--locale", "en", ...this.#options]);
    this.#child = child;
    running.add(this);
    const line = await new Promise((resolve, reject) => {
      let said = "";
      child.stdout.on("data", (chunk) => {
        said += chunk;
        if (said.includes("\n")) resolve(said.split("\n")[0]);
      });
      child.once("exit", (code) => reject(new Error(`\`madang serve\` ended with ${code}: ${said}`)));
    });
    this.origin = /^listening (http:\/\/127\.0\.0\.1:\d+)$/.exec(line)?.[1];
    assert.ok(this.origin, `the first line names no address: ${line}`);
  }

  async kill() {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }

  /** Starts it again on the same port. The script begins anew. */
  restart(script) {
    return this.#run(script, new URL(this.origin).port);
  }

  async end() {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) await this.kill();
    this.leave();
  }

  leave() {
    running.delete(this);
    this.#child?.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Asks the server itself, as the same person on another device does. */
  async ask(path, { method, body, headers } = {}) {
    const response = await fetch(`${this.origin}/${path}`, {
      method: method ?? (body ? "POST" : "GET"),
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json", ...headers },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text && JSON.parse(text) };
  }

  /** Waits until the person is asked, and gives the request. */
  asked() {
    return until("a request is open", async () => (await this.ask("v1/inbox")).body.approval_requests?.[0]);
  }

  /** Decides on another device. */
  async decide(decision, more = {}) {
    const { call, digest } = await this.asked();
    const { status, body } = await this.ask(`v1/approvals/${call}/decision`, { body: { digest, decision, ...more } });
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  /** The ids of all chats. */
  async chats() {
    return (await this.ask("v1/sessions")).body.sessions.map((one) => one.id ?? one.session);
  }

  /** The chat as it is stored, by role and text or tool. */
  async stored(chat) {
    const { messages } = (await this.ask(`v1/sessions/${chat}`)).body;
    return messages.map((message) => `${message.role}: ${message.text ?? message.name ?? message.notice ?? ""}`);
  }

  /** Waits until no turn of the chat runs, and gives it as it is stored. */
  async comesToRest(chat) {
    await until("the turn has ended", async () => !(await this.ask(`v1/sessions/${chat}`)).body.turn);
    return this.stored(chat);
  }

  /** The calls of the ledger in their order. */
  async ledger() {
    return (await this.ask("v1/ledger")).body.calls;
  }
}

/** Whether no process listens on a port. */
function isFree(port) {
  return new Promise((resolve) => {
    const listener = createServer().once("error", () => resolve(false));
    listener.listen(port, "127.0.0.1", () => listener.close(() => resolve(true)));
  });
}

/** Carries bytes to the server, until it is cut. */
class Way {
  #sockets = new Set();
  #listener;
  #port;

  static async open() {
    const way = new Way();
    way.#listener = createServer((near) => {
      const far = connect(way.#port, "127.0.0.1");
      for (const socket of [near, far]) {
        way.#sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          way.#sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    await new Promise((resolve) => way.#listener.listen(0, "127.0.0.1", resolve));
    way.origin = `http://127.0.0.1:${way.#listener.address().port}`;
    return way;
  }

  leadTo(origin) {
    this.#port = new URL(origin).port;
  }

  /** Cuts all connections, as a network that goes away does. */
  cut() {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  close() {
    this.#listener.close();
    this.cut();
  }
}

/** Waits until this holds, and gives what it gave. */
export async function until(what, look) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = await look();
    if (found) return found;
    assert.ok(Date.now() < end, `it takes too long until ${what}`);
    await pause(10);
  }
}
