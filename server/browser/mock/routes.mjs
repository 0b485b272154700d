// The routes of the mock, by method and path: what each takes and gives.

import { randomUUID } from "node:crypto";

import { TOOLS, problems, schemaOf } from "./tools.mjs";
import { Refusal, SAFE, answer, asset, stream } from "./http.mjs";
import { compare } from "./feed.mjs";

const MAX_TEXT = 64 * 1024;
const missing = () => new Refusal(404, "not-found");

/** Each route: method, path with `:names`, scope (`null` for none), handler `(context) => void`. */
export const ROUTES = [
  ["GET", "/", null, ({ mock, request, response }) => asset(request, response, "", mock.isDemonstration)],
  ["GET", "/assets/:name", null, ({ mock, request, response, name }) => asset(request, response, name, mock.isDemonstration)],
  ["GET", "/readyz", null, ({ response }) => answer(response, 200, {})],
  ["POST", "/v1/login", null, ({ mock, request, response, cookie: before, given }) => {
    const name = mock.nameOf(given.token);
    if (!name) throw new Refusal(401, "unauthorized", {}, { "www-authenticate": "Bearer" });
    const [cookie, proof] = [randomUUID(), randomUUID()];
    if (mock.store.cookies.get(before)?.proof === request.headers["madang-proof"]) mock.store.cookies.delete(before);
    mock.store.cookies.set(cookie, { name, proof });
    answer(response, 200, { proof }, { "set-cookie": `madang=${cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000` });
  }],
  ["POST", "/v1/logout", "any", ({ mock, response, cookie }) => {
    mock.store.cookies.delete(cookie);
    answer(response, 204, undefined, { "set-cookie": "madang=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0" });
  }],
  ["GET", "/v1/me", "any", ({ response, who }) => answer(response, 200, { user: who.user, token: who.name, scopes: who.scopes, language: "en" })],
  ["POST", "/v1/sessions", "chat", ({ mock, response, who, given }) => {
    const id = given.id ?? randomUUID();
    const chat = mock.store.chats.get(id) ?? mock.store.open(id, who.user);
    if (chat.user !== who.user) throw missing();
    answer(response, 201, { session: chat.id, user: chat.user, opened_at: chat.opened_at }, { location: `/v1/sessions/${id}` });
  }],
  ["GET", "/v1/sessions", "chat", ({ mock, response, who, query }) => {
    const limit = Number(query.get("limit") ?? 50);
    const all = [...mock.store.chats.values()].filter((chat) => chat.user === who.user).sort((a, b) => b.last_at - a.last_at || (a.id < b.id ? 1 : -1));
    const from = query.has("before") ? all.findIndex((chat) => `${chat.last_at}_${chat.id}` === query.get("before")) + 1 : 0;
    const page = all.slice(from, from + limit);
    const last = page.at(-1);
    const sessions = page.map((chat) => ({
      session: chat.id, opened_at: chat.opened_at, last_at: chat.last_at, cursor: mock.store.last(chat), title: titleOf(chat),
      open_turn: openTurn(chat)?.id ?? null, waits: mock.questions((request) => request.session === chat.id).length > 0,
    }));
    answer(response, 200, { sessions, next: from + limit < all.length ? `${last.last_at}_${last.id}` : null });
  }],
  ["GET", "/v1/sessions/:s", "chat", ({ mock, response, chat }) => {
    const turn = openTurn(chat);
    const feed = mock.engine.feed(chat);
    const last = [...chat.turns.values()].at(-1);
    answer(response, 200, {
      session: chat.id, cursor: feed.published, epoch: feed.epoch, messages: mock.store.visible(chat), is_streaming: Boolean(turn),
      streaming_text: turn ? (feed.speech?.text ?? "") : null, error: last?.errorText ?? null,
      approval_request: mock.questions((request) => request.session === chat.id)[0] ?? null, turn: turn?.id ?? null,
    });
  }],
  ["PATCH", "/v1/sessions/:s", "chat", ({ response, chat, given }) => {
    const title = given.title === null ? null : given.title.replace(/\s+/g, " ").trim();
    if (title === "") throw new Refusal(422, "empty");
    if ([...(title ?? "")].length > 80) throw new Refusal(413, "too-long", { bytes: Buffer.byteLength(title), max_bytes: 80 });
    chat.name = title;
    answer(response, 200, { session: chat.id, title: titleOf(chat) });
  }],
  ["DELETE", "/v1/sessions/:s", "chat", ({ mock, response, chat }) => {
    const open = openTurn(chat);
    if (open) throw new Refusal(409, "busy", { turn: open.id }, { "retry-after": "1" });
    mock.store.erase(chat);
    answer(response, 204);
  }],
  ["GET", "/v1/sessions/:s/export", "chat", ({ mock, response, chat, query }) => {
    const format = query.get("format") ?? "json";
    if (!["json", "markdown"].includes(format)) throw new Refusal(400, "malformed");
    const messages = mock.store.visible(chat);
    if (format === "json") return answer(response, 200, { session: chat.id, title: titleOf(chat), exported_at: Date.now(), messages });
    response.writeHead(200, { ...SAFE, "content-type": "text/markdown; charset=utf-8" });
    return response.end([`# ${titleOf(chat)}`, ...messages.map((message) => `**${message.role}**\n\n${message.text ?? message.name ?? ""}`)].join("\n\n"));
  }],
  ["POST", "/v1/sessions/:s/forks", "chat", ({ mock, request, response, who, chat, given }) => {
    const key = request.headers["idempotency-key"] && `${given.before}:${request.headers["idempotency-key"]}`;
    const known = mock.store.chats.get(chat.forks.get(key));
    if (known) return answer(response, 200, { session: known.id, user: who.user, from: chat.id, before: given.before });
    const messages = mock.store.visible(chat);
    const end = given.before === undefined ? messages.length : messages.findIndex((message) => message.seq === given.before);
    if (end < 0) throw missing();
    if (given.before === undefined && openTurn(chat)) throw new Refusal(409, "busy", {}, { "retry-after": "1" });
    const fork = mock.store.open(given.id ?? randomUUID(), who.user);
    if (key) chat.forks.set(key, fork.id);
    const texts = messages.slice(0, end).filter(({ role }) => role === "user" || role === "model");
    // As by the server, all that is copied is one turn.
    const turn = { id: randomUUID() };
    for (const { role, text, ending } of texts) mock.store.append(fork, turn, role === "user" ? { role, text } : { role, text, ending });
    mock.store.append(fork, turn, { role: "notice", notice: "forked", text: "This chat continues another one. What tools did there stays done." });
    fork.title = texts[0] ? [...texts[0].text].slice(0, 80).join("") : null;
    return answer(response, 201, { session: fork.id, user: who.user, from: chat.id, before: given.before, messages: texts.length, calls: 0, is_cut: false });
  }],
  ["POST", "/v1/search", "chat", ({ mock, response, who, given }) => {
    const wanted = given.text.trim().toLowerCase();
    if (!wanted) throw new Refusal(422, "empty");
    // As the server does, it looks at a part of the chats at a time.
    const all = [...mock.store.chats.values()].filter((chat) => chat.user === who.user).sort((a, b) => b.last_at - a.last_at);
    const from = given.after === undefined ? 0 : Number(given.after);
    const hits = all.slice(from, from + CHATS_PER_SEARCH).flatMap((chat) => mock.store.visible(chat).flatMap(({ role, turn, seq, at, text }) => {
      const place = role === "user" || role === "model" ? text.toLowerCase().indexOf(wanted) : -1;
      if (place < 0) return [];
      const [before, match, after] = [text.slice(0, place), text.slice(place, place + wanted.length), text.slice(place + wanted.length)];
      return [{ session: chat.id, title: titleOf(chat), turn, seq, at, role, before, match, after }];
    }));
    answer(response, 200, { hits, next: from + CHATS_PER_SEARCH < all.length ? String(from + CHATS_PER_SEARCH) : null });
  }],
  ["GET", "/v1/models", "chat", ({ mock, response }) => answer(response, 200, { object: "list", data: mock.models.map((id) => ({ id, object: "model", created: 0, owned_by: "madang" })) })],
  ["GET", "/v1/suggestions", "chat", ({ response }) => answer(response, 200, { suggestions: SUGGESTIONS })],
  ["GET", "/v1/tools", "chat", ({ response }) => answer(response, 200, { tools: Object.entries(TOOLS).map(([name, { parameters }]) => ({ name, description: "", category: "", parameters: schemaOf(parameters), effect: "write", is_idempotent: false })) })],
  ["GET", "/v1/sessions/:s/events", "chat", ({ mock, request, response, chat, query }) => {
    const after = request.headers["last-event-id"] ?? query.get("after") ?? "0";
    if (!/^\d+(\.[12])?(@[0-9a-f]+\.\d+)?$/.test(after)) throw new Refusal(400, "malformed");
    if (compare(after, mock.engine.feed(chat).published) > 0) throw new Refusal(409, "cursor-ahead");
    const write = stream(response);
    const close = mock.engine.feed(chat).read(after, mock.store.events(chat), write);
    mock.opened(response, close, write);
  }],
  ["POST", "/v1/sessions/:s/turns", "chat", ({ mock, request, response, chat, given, who }) => {
    if (mock.isDraining) throw new Refusal(503, "draining", {}, { "retry-after": "1" });
    const key = (request.headers["idempotency-key"] ?? `"${randomUUID()}"`).replace(/^"|"$/g, "");
    const { text = "" } = given;
    let turn = chat.keys.get(key);
    if (turn && turn.text !== text) throw new Refusal(422, "key-reused");
    if (!turn) {
      const bytes = Buffer.byteLength(text);
      if (!text.trim()) throw new Refusal(422, "empty");
      if (bytes > MAX_TEXT) throw new Refusal(413, "too-long", { bytes, max_bytes: MAX_TEXT });
      const open = openTurn(chat);
      if (open) throw new Refusal(409, "busy", { turn: open.id, approval_request: mock.questions((request) => request.session === chat.id)[0] }, { "retry-after": "1" });
      const ask = given.ask === "here" && !who.scopes.includes("decide") ? "elsewhere" : given.ask;
      turn = mock.store.turn(chat, { key, text, language: given.language, ask });
      mock.asked.push(given);
      mock.engine.begin(chat, turn);
    }
    answer(response, 202, { turn: turn.id, session: chat.id, key, events: `/v1/sessions/${chat.id}/events?after=0` }, { "madang-turn": turn.id });
  }],
  ["POST", "/v1/sessions/:s/turns/:t/dismiss", "chat", ({ mock, response, chat, t }) => {
    const turn = chat.turns.get(t);
    if (!turn) throw missing();
    mock.dismissals.push(t);
    answer(response, 200, { dismissed: mock.engine.dismiss(chat, turn) });
  }],
  ["POST", "/v1/sessions/:s/clear", "chat", ({ mock, response, chat }) => {
    const open = openTurn(chat);
    if (open) throw new Refusal(409, "busy", { turn: open.id }, { "retry-after": "1" });
    chat.standing = [];
    const entry = mock.store.append(chat, { id: randomUUID() }, { role: "cleared" });
    mock.engine.feed(chat).publish(entry.turn, { type: "cleared" }, String(entry.seq));
    answer(response, 204);
  }],
  ["GET", "/v1/sessions/:s/standing-approvals", "chat", ({ response, chat }) => answer(response, 200, { standing_approvals: chat.standing })],
  ["DELETE", "/v1/sessions/:s/standing-approvals/:tool", "decide", ({ response, chat, tool }) => {
    chat.standing = chat.standing.filter((held) => held.tool !== tool);
    answer(response, 204);
  }],
  ["GET", "/v1/sessions/:s/unresolved", "chat", ({ mock, response, chat }) => {
    answer(response, 200, { calls: mock.store.rows((row) => row.session === chat.id && row.effect === "unknown") });
  }],
  ["GET", "/v1/sessions/:s/ledger/verify", "chat", ({ mock, response, chat, query }) => {
    const { heads, ...chain } = mock.store.chain(chat);
    const at = query.has("head") ? heads.indexOf(query.get("head")) : -1;
    if (query.get("head") && at < 0) throw new Refusal(409, "ledger-broken", { session: chat.id });
    answer(response, 200, { ...chain, vouched_for: (at + 1) * 3 });
  }],
  ["GET", "/v1/inbox", "decide", ({ mock, response, who }) => answer(response, 200, { approval_requests: mock.questions((request) => request.user === who.user) })],
  ["GET", "/v1/inbox/events", "decide", ({ mock, response, who }) => {
    const write = stream(response);
    write(null, "snapshot", { type: "snapshot", approval_requests: mock.questions((request) => request.user === who.user) });
    mock.opened(response, mock.watchInbox(who.user, (type, data) => write(null, type, data)), write);
  }],
  ["POST", "/v1/approvals/:call/decision", "decide", ({ mock, response, who, call, given }) => {
    const row = mock.store.calls.get(call);
    if (!row || row.user !== who.user) throw missing();
    const open = mock.engine.open.get(call);
    const { digest, decision, message, arguments: changed } = given;
    if (!open) {
      const isSame = row.digest === digest && row.decision?.decision === decision;
      if (!isSame) throw new Refusal(409, "not-open", { call, decided: row.decision, outcome: row.outcome });
      return answer(response, 200, { counts: true, call, decision, already: true });
    }
    if (open.request.digest !== digest) throw new Refusal(409, "not-open", { call });
    if (decision === "deny_with" && Buffer.byteLength(JSON.stringify(message ?? "")) > 1024) throw new Refusal(422, "does-not-fit", { bytes: Buffer.byteLength(JSON.stringify(message)), max_bytes: 1024 });
    if (decision === "edit") {
      const found = problems(TOOLS[row.name], changed);
      if (found.length) throw new Refusal(422, "does-not-fit", { problems: found });
    }
    open.end({ decided: { decision, ...(decision === "deny_with" ? { message } : {}), ...(decision === "edit" ? { arguments: changed } : {}) } });
    return answer(response, 200, { counts: true, call, decision, at: Date.now() });
  }],
  ["GET", "/v1/calls/:call", "chat", ({ mock, response, who, call }) => {
    const [row] = mock.store.rows((row) => row.call === call && row.user === who.user);
    if (!row) throw missing();
    answer(response, 200, row);
  }],
  ["POST", "/v1/calls/:call/resolve", "decide", ({ mock, response, who, call, given }) => {
    const row = mock.store.calls.get(call);
    if (!row || row.user !== who.user) throw missing();
    if (row.effect !== "unknown") throw new Refusal(409, "not-unknown", { effect: row.effect });
    Object.assign(row, { effect: given.effect, resolved_by: { kind: "person", user: who.user }, resolved_at: Date.now() });
    const chat = mock.store.chats.get(row.session);
    mock.engine.feed(chat).publish(row.turn, { type: "tool_call_resolved", call, name: row.name, effect: row.effect, resolved_by: row.resolved_by, text: row.name });
    answer(response, 200, mock.store.rows((kept) => kept.call === call)[0]);
  }],
  ["GET", "/v1/ledger", "chat", ({ mock, response, who, query }) => {
    const limit = Number(query.get("limit") ?? 100);
    const rows = mock.store.rows((row) => row.user === who.user && (!query.has("session") || row.session === query.get("session")));
    const from = rows.findIndex((row) => row.call === query.get("after")) + 1;
    const calls = rows.slice(from, from + limit);
    answer(response, 200, { calls, next: from + limit < rows.length ? calls.at(-1).call : null });
  }],
];

/** Chats that one search looks at. */
const CHATS_PER_SEARCH = 20;
const SUGGESTIONS = {
  ko: ["수면에 좋은 프로토콜 찾아줘", "느린 호흡은 어떻게 하는 거야?", "'아침 햇빛 보기' 습관 추가해줘", "내 습관 보여 줘"],
  en: ["Find something for sleep", "Tell me more about Slow breathing", "Add Morning sunlight to my habits", "Show my habits"],
};
const titleOf = (chat) => chat.name ?? chat.title ?? "";
const openTurn = (chat) => [...chat.turns.values()].find((turn) => !turn.ending);

/** Finds the route of a request, with what its path names. */
export function route(method, path) {
  for (const [wanted, pattern, scope, handle] of ROUTES) {
    const names = pattern.split("/");
    const given = path.split("/");
    if (wanted !== method || names.length !== given.length) continue;
    const named = {};
    if (names.every((name, at) => (name.startsWith(":") ? ((named[name.slice(1)] = decodeURIComponent(given[at])), given[at]) : name === given[at]))) return { scope, handle, named };
  }
  throw missing();
}
