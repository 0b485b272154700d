// A server of the same routes and events as `madang serve`, in Node, which can be told to drain.
//
// usage: node mock.mjs --script FILE [--listen 127.0.0.1:PORT]

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

import { Engine } from "./mock/engine.mjs";
import { Refusal, body, guard, refuse } from "./mock/http.mjs";
import { route } from "./mock/routes.mjs";
import { Store } from "./mock/store.mjs";

export const TOKEN = `mdg_${"m".repeat(43)}`;
const ALL = ["chat", "decide", "tools", "admin"];

export class Mock {
  store = new Store();
  /** The turns that a client asked to dismiss, as often as it did. */
  dismissals = [];
  /** The bodies of the turns that began. */
  asked = [];
  models = ["madang"];
  /** Whether the page says of the model that it is the demonstration model. */
  isDemonstration = false;
  isDraining = false;
  #streams = new Set();
  #inboxes = new Map();
  #tokens = new Map([[TOKEN, { name: "page", user: "kim", scopes: ALL }]]);

  /** Starts it, again on the same port where it ran before; the script begins anew. */
  async start(script, port = this.port ?? 0) {
    this.engine = new Engine(this.store, script, (user, type, data) => this.#inboxes.get(user)?.forEach((tell) => tell(type, data)));
    this.isDraining = false;
    this.server = createServer((request, response) => this.#answer(request, response));
    this.server.keepAliveTimeout = 2_000;
    await new Promise((resolve, reject) => this.server.once("error", reject).listen(port, "127.0.0.1", resolve));
    this.port = this.server.address().port;
    this.origin = `http://127.0.0.1:${this.port}`;
    this.engine.resume();
    return this;
  }

  /** Ends it as `kill -9` does: what is stored stays, streams break, nothing is told. */
  async kill() {
    this.engine.kill();
    this.#inboxes.clear();
    this.#streams.clear();
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  /** Adds a token, for another person or with fewer scopes. */
  token(user, scopes = ALL) {
    const token = `mdg_${user.padEnd(43, String(this.#tokens.size))}`;
    this.#tokens.set(token, { name: `${user}-${this.#tokens.size}`, user, scopes });
    return token;
  }

  /** Removes a person's tokens: their streams end. */
  revoke(user) {
    for (const [token, held] of this.#tokens) if (held.user === user) this.#tokens.delete(token);
    this.#bye("token_expired");
  }

  drain() {
    this.isDraining = true;
    this.#bye("draining");
  }

  questions(select) {
    const open = [...this.engine.open.values()].map(({ request }) => request);
    return open.filter(select).map(({ turn, ...request }) => request);
  }

  watchInbox(user, tell) {
    if (!this.#inboxes.has(user)) this.#inboxes.set(user, new Set());
    const watchers = this.#inboxes.get(user);
    watchers.add(tell);
    return () => watchers.delete(tell);
  }

  opened(response, close, write) {
    const stream = { response, write };
    this.#streams.add(stream);
    response.on("close", () => (close(), this.#streams.delete(stream)));
    // As the server does: a reader that comes while it drains is told so, and not kept.
    if (this.isDraining) end(stream, "draining");
  }

  nameOf(token) {
    return this.#tokens.get(token)?.name;
  }

  #bye(reason) {
    for (const stream of this.#streams) end(stream, reason);
  }

  async #answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, this.origin);
    try {
      const { scope, handle, named: params } = route(request.method, pathname);
      const cookie = /(?:^|; )madang=([^;]+)/.exec(request.headers.cookie ?? "")?.[1];
      const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
      guard(request, this.origin, cookie !== undefined && !bearer);
      const login = this.store.cookies.get(cookie);
      const name = bearer ? this.nameOf(bearer) : login?.proof === request.headers["madang-proof"] ? login?.name : undefined;
      const who = [...this.#tokens.values()].find((held) => held.name === name);
      if (scope && !who) throw new Refusal(401, "unauthorized", {}, { "www-authenticate": "Bearer" });
      if (scope && scope !== "any" && !who.scopes.includes(scope)) throw new Refusal(403, "scope", { scope });
      const context = { mock: this, request, response, who, cookie, query: searchParams, given: await body(request), ...params };
      if (params.s !== undefined) {
        context.chat = this.store.chats.get(params.s);
        if (context.chat?.user !== who.user) throw new Refusal(404, "not-found");
      }
      handle(context);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refuse(response, error);
    }
  }
}

function end({ response, write }, reason) {
  write(null, "bye", { type: "bye", reason, retry_ms: 1_000 });
  response.end();
}

/** Reads a script: JSON lines, one completion each. */
export const readScript = (text) => text.split("\n").filter((line) => line.trim()).map((line) => JSON.parse(line));

if (process.argv[1] === import.meta.filename) {
  const option = (name, otherwise) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : otherwise);
  const script = readScript(readFileSync(option("--script"), "utf8"));
  const mock = await new Mock().start(script, Number(option("--listen", ":8137").split(":").pop()));
  console.log(`listening ${mock.origin}`);
  console.log(`${mock.origin}/#token=${TOKEN}`);
}
