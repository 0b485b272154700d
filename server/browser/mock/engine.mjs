// Runs turns by a script: completions, tool calls, questions and their ends, as the runtime tells them.

import { createHash, randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";

import { read } from "./json.mjs";
import { Feed } from "./feed.mjs";
import { TOOLS, problems, questionText } from "./tools.mjs";

const DECISION_TIMEOUT = 10 * 60 * 1000;
const MAX_ROUNDS = 4;
const USAGE = { prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0 };

export class Engine {
  #feeds = new Map();
  #stopped = new AbortController();
  /** Open approval requests by call: the request and how to end it. */
  open = new Map();
  #running = new Map();

  constructor(store, script, tellInbox) {
    this.store = store;
    this.script = script;
    this.tellInbox = tellInbox;
    this.line = 0;
    setMaxListeners(0, this.#stopped.signal);
    this.timeout = DECISION_TIMEOUT;
  }

  feed(chat) {
    if (!this.#feeds.has(chat.id)) this.#feeds.set(chat.id, new Feed(this.store.last(chat)));
    return this.#feeds.get(chat.id);
  }

  /** Ends everything at once and tells nothing, as a killed process does. */
  kill() {
    this.#stopped.abort();
  }

  /** Lets the time of every open question be over. */
  expire() {
    for (const { end } of [...this.open.values()]) end({ cancelled: { reason: "expired" } });
  }

  begin(chat, turn) {
    const entry = this.store.append(chat, turn, { role: "user", text: turn.text, key: turn.key });
    this.feed(chat).publish(turn.id, { type: "user_message", text: turn.text, key: turn.key }, String(entry.seq));
    this.#start(chat, turn);
  }

  resume() {
    for (const chat of this.store.chats.values()) {
      const turn = [...chat.turns.values()].find((turn) => !turn.ending);
      if (!turn) continue;
      this.feed(chat).publish(turn.id, { type: "turn_resumed" });
      this.#start(chat, turn);
    }
  }

  dismiss(chat, turn) {
    if (turn.ending) return false;
    turn.isDismissed = true;
    this.#running.get(turn.id)?.abort();
    for (const { request, end } of this.open.values()) {
      if (request.turn === turn.id) end({ cancelled: { reason: "dismissed" } });
    }
    return true;
  }

  #start(chat, turn) {
    const dismissal = new AbortController();
    setMaxListeners(0, dismissal.signal);
    this.#running.set(turn.id, dismissal);
    this.#run(chat, turn, dismissal.signal).catch((error) => {
      if (!this.#stopped.signal.aborted) throw error;
    });
  }

  /** Waits so long, unless the turn is dismissed; where the process has ended, for ever. */
  async #pause(ms, dismissed) {
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      dismissed?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });
    this.#stopped.signal.throwIfAborted();
  }

  async #run(chat, turn, dismissed) {
    await this.#pause(1);
    const feed = this.feed(chat);
    for (const row of this.store.openCalls(turn)) await this.#call(chat, turn, row, dismissed, true);
    for (let round = 0; ; round += 1) {
      if (turn.isDismissed) return this.#end(chat, turn, "dismissed");
      if (round === MAX_ROUNDS) return this.#fail(chat, turn, { code: "too_many_rounds" });
      const line = this.script[this.line];
      if (!line) return this.#fail(chat, turn, { code: "model", kind: "ScriptExhausted" });
      this.line += 1;
      await this.#speak(feed, line, dismissed);
      const spoken = feed.silence();
      if (turn.isDismissed || line.error) {
        if (spoken) this.#message(chat, turn, spoken, "interrupted");
        if (turn.isDismissed) return this.#end(chat, turn, "dismissed");
        return this.#fail(chat, turn, { code: "model", kind: line.error });
      }
      const rows = (line.tool_calls ?? []).map((wanted) => this.store.propose(chat, turn, wanted));
      if (rows.length) this.#proposed(feed, turn, rows[0]);
      if (line.text) this.#message(chat, turn, line.text, "complete");
      if (!rows.length) return this.#end(chat, turn, "answered");
      for (const row of rows) await this.#call(chat, turn, row, dismissed, row !== rows[0]);
    }
  }

  async #speak(feed, { text = "", thinking = "", delay_ms = 0 }, dismissed) {
    const completion = randomUUID();
    const letters = [...text];
    const size = Math.max(1, Math.ceil(letters.length / 4));
    const pieces = [];
    for (let at = 0; at < letters.length; at += size) pieces.push(letters.slice(at, at + size).join(""));
    if (thinking) feed.speak("thought", completion, thinking);
    for (const piece of pieces.length ? pieces : [""]) {
      if (dismissed.aborted) return;
      if (piece) feed.speak("speech", completion, piece);
      await this.#pause(delay_ms / Math.max(1, pieces.length), dismissed);
    }
  }

  #message(chat, turn, text, ending) {
    const entry = this.store.append(chat, turn, { role: "model", text, ending });
    this.feed(chat).publish(turn.id, { type: "model_message", text, ending }, String(entry.seq));
  }

  #proposed(feed, turn, row) {
    feed.publish(turn.id, { type: "tool_call_proposed", call: row.call, name: row.name, arguments: row.raw_arguments });
  }

  async #call(chat, turn, row, dismissed, isToTell) {
    const feed = this.feed(chat);
    const tool = TOOLS[row.name];
    if (turn.isDismissed) return this.#ended(chat, turn, row, { outcome: { status: "cancelled", reason: "withdrawn" } });
    if (row.state === "running" && tool?.isOutside) {
      this.#ended(chat, turn, row, { outcome: { status: "error", code: "interrupted", reason: say(turn, "실행이 시작되었지만 결과를 확인할 수 없습니다.", "It began, and its end is not known.") }, effect: "unknown" });
      const text = say(turn, "도구를 실행하던 중에 끊겨, 적용되었는지 알 수 없습니다. 직접 확인해 주세요. 다시 실행하지는 않았습니다.", "A tool was cut off while it ran, and it is not known whether it took effect. Please look yourself. It was not run again.");
      const entry = this.store.append(chat, turn, { role: "notice", notice: "effect_unknown", text });
      return feed.publish(turn.id, { type: "system_notice", notice: "effect_unknown", text }, String(entry.seq));
    }
    if (isToTell) this.#proposed(feed, turn, row);
    if (!tool) return this.#ended(chat, turn, row, { outcome: { status: "error", code: "unknown_tool", reason: say(turn, `알 수 없는 도구: ${row.name}`, `unknown tool: ${row.name}`) } });
    let value;
    try {
      value = read(row.raw_arguments);
    } catch {
      value = null;
    }
    const found = problems(tool, value);
    if (found.length) {
      const told = found.map(({ pointer, detail }) => `${pointer}: ${detail}`).join("; ");
      return this.#ended(chat, turn, row, { outcome: { status: "error", code: "validation", reason: say(turn, `인자 오류: ${told}`, `bad arguments: ${told}`) } });
    }
    row.arguments = row.state === "proposed" ? value : row.arguments;
    if (tool.isDestructive && row.state !== "approved" && row.state !== "running") {
      const end = await this.#ask(chat, turn, row);
      if (end) return this.#ended(chat, turn, row, end);
    }
    row.state = "running";
    const pause = (ms) => this.#pause(ms);
    const report = (progress) => feed.report(turn.id, row.call, progress);
    const done = await tool.run(row.arguments, { habits: this.store.habits(chat.user), language: turn.language, pause, report });
    return this.#ended(chat, turn, row, done);
  }

  /** Asks about a call; gives its end where it does not run. */
  async #ask(chat, turn, row) {
    const standing = chat.standing.find((held) => held.tool === row.name && held.until > Date.now());
    if (standing) {
      row.approval = { kind: "standing", by_call: standing.call, schema: standing.schema, number: 1 };
      row.decided_by = standing.user;
      row.approved_at = Date.now();
      row.state = "approved";
      return null;
    }
    if (turn.ask === "none") return { outcome: { status: "cancelled", reason: "unreachable" } };
    const text = row.shown?.text ?? questionText(row.name, row.arguments, turn.language);
    const consequence = TOOLS[row.name].consequence(row.arguments, turn.language);
    row.shown = { text, consequence };
    row.digest = digest({ call: row.call, user: chat.user, text });
    row.expires_at ??= Date.now() + this.timeout;
    row.state = "awaiting";
    const request = { call: row.call, session: chat.id, user: chat.user, tool: row.name, arguments: row.arguments, consequence, text, digest: row.digest, expires_at: row.expires_at };
    const end = await new Promise((resolve) => {
      const timer = setTimeout(() => this.open.get(row.call)?.end({ cancelled: { reason: "expired" } }), Math.max(0, row.expires_at - Date.now()));
      this.#stopped.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
      this.open.set(row.call, {
        request: { ...request, turn: turn.id },
        language: turn.language,
        end: (end) => {
          clearTimeout(timer);
          this.open.delete(row.call);
          this.#recordDecision(chat, row, end.decided);
          this.feed(chat).publish(turn.id, { type: "approval_ended", call: row.call, ...end });
          this.tellInbox(chat.user, "approval_ended", { type: "approval_ended", call: row.call, session: chat.id });
          resolve(end);
        },
      });
      this.feed(chat).publish(turn.id, { type: "approval_requested", ...request });
      this.tellInbox(chat.user, "approval_requested", { type: "approval_requested", ...request });
    });
    this.#stopped.signal.throwIfAborted();
    if (end.cancelled) return { outcome: { status: "cancelled", reason: end.cancelled.reason } };
    const { decision, message } = end.decided;
    if (decision === "deny" || decision === "deny_with") return { outcome: { status: "cancelled", reason: "denied", message } };
    return null;
  }

  #recordDecision(chat, row, decided) {
    if (!decided) return;
    row.decided_by = chat.user;
    row.decision = decided;
    if (decided.decision.startsWith("deny")) return;
    row.state = "approved";
    row.approved_at = Date.now();
    row.approval = { kind: "once" };
    if (decided.decision === "approve_always") {
      const until = Date.now() + 24 * 60 * 60 * 1000;
      row.approval = { kind: "always", schema: digest(row.name), until, uses: 32 };
      chat.standing.push({ session: chat.id, tool: row.name, schema: digest(row.name), user: chat.user, call: row.call, at: Date.now(), until, uses: 32 });
    }
    if (decided.decision === "edit") {
      row.approval = { kind: "edited" };
      row.asked = row.arguments;
      row.arguments = decided.arguments;
    }
  }

  #ended(chat, turn, row, { outcome, effect = "none" }) {
    this.#stopped.signal.throwIfAborted();
    const isDiscarded = turn.isDismissed && outcome.status !== "cancelled";
    Object.assign(row, { state: "ended", outcome, effect, result: isDiscarded ? "discarded" : "shown", ended_at: Date.now() });
    const record = this.store.record(row);
    const entry = this.store.append(chat, turn, { role: "tool_call", ...record });
    row.seq = entry.seq;
    this.feed(chat).publish(turn.id, { type: "tool_call_ended", ...record }, String(entry.seq));
  }

  #fail(chat, turn, error) {
    const text = error.kind ? say(turn, `LLM 응답 실패: ${error.kind}`, `the model failed: ${error.kind}`) : say(turn, "도구 호출 루프가 너무 길어 중단했습니다.", "stopped: too many rounds of tool calls");
    turn.error = error;
    turn.errorText = text;
    this.feed(chat).publish(turn.id, { type: "error", error, text }, `${chat.entries.length}.1`);
    this.#end(chat, turn, "failed");
  }

  #end(chat, turn, ending) {
    turn.ending = ending;
    turn.endedAt = Date.now();
    turn.last = `${chat.entries.length}.2`;
    this.#running.delete(turn.id);
    this.feed(chat).silence();
    this.feed(chat).publish(turn.id, { type: "turn_ended", ending, usage: USAGE }, turn.last);
  }
}

const say = (turn, ko, en) => (turn.language === "ko" ? ko : en);
export const digest = (value) => createHash("sha256").update(JSON.stringify(value)).digest("hex");
