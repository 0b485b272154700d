// What outlives the mock's process: chats with their entries and turns, the ledger, habits, sign-ins.

import { randomUUID } from "node:crypto";

import { digest } from "./engine.mjs";

export class Store {
  chats = new Map();
  calls = new Map();
  cookies = new Map();
  #habits = new Map();

  habits(user) {
    if (!this.#habits.has(user)) this.#habits.set(user, []);
    return this.#habits.get(user);
  }

  open(id, user) {
    const chat = { id, user, opened_at: Date.now(), last_at: Date.now(), entries: [], turns: new Map(), keys: new Map(), forks: new Map(), standing: [], title: null };
    this.chats.set(id, chat);
    return chat;
  }

  /** Of its calls, the server keeps hashes alone, and no route gives them. */
  erase({ id }) {
    this.chats.delete(id);
    for (const { call } of this.rows((row) => row.session === id)) this.calls.delete(call);
  }

  /** The turn of this key, or a new one that is not begun. */
  turn(chat, { key, text, language = "en", ask = "here" }) {
    const turn = { id: randomUUID(), key, text, language, ask, first: String(chat.entries.length + 1), ending: null };
    chat.turns.set(turn.id, turn);
    chat.keys.set(key, turn);
    chat.title ??= [...text].slice(0, 80).join("");
    return turn;
  }

  append(chat, turn, content) {
    const entry = { seq: chat.entries.length + 1, turn: turn.id, at: Date.now(), ...content };
    chat.entries.push(entry);
    chat.last_at = entry.at;
    return entry;
  }

  propose(chat, turn, { name, arguments: wanted = {} }) {
    const raw = typeof wanted === "string" ? wanted : JSON.stringify(wanted);
    const row = { session: chat.id, call: randomUUID(), turn: turn.id, seq: 0, user: chat.user, name, arguments: raw, raw_arguments: raw, digest: null, state: "proposed", outcome: null, effect: null, result: null, decided_by: null, proposed_at: Date.now(), ended_at: null };
    this.calls.set(row.call, row);
    return row;
  }

  openCalls(turn) {
    return [...this.calls.values()].filter((row) => row.turn === turn.id && row.state !== "ended");
  }

  /** What the transcript has of a call. */
  record({ call, name, arguments: given, asked, approval, outcome, effect, resolved_by, result, proposed_at, ended_at }) {
    const shown = result === "discarded" ? undefined : outcome;
    return { id: call, name, arguments: given, asked, approval, outcome: shown, effect, resolved_by, result, proposed_at, ended_at };
  }

  /** The cursor behind all that is stored. */
  last(chat) {
    const ended = [...chat.turns.values()].findLast((turn) => turn.last);
    const entry = String(chat.entries.length);
    return ended?.last.split(".")[0] === entry ? ended.last : entry;
  }

  visible(chat) {
    const cleared = chat.entries.findLastIndex((entry) => entry.role === "cleared");
    return chat.entries.slice(cleared + 1).map((entry) => (entry.role === "tool_call" ? { ...entry, ...this.record(this.calls.get(entry.id)) } : entry));
  }

  /** Every stored event of a chat, as a reader gets it that comes back. */
  events(chat) {
    return chat.entries.flatMap(({ role, seq, turn, at, ...fields }) => {
      const place = { seq: 0, cursor: String(seq), turn, at };
      const types = { user: "user_message", model: "model_message", tool_call: "tool_call_ended", notice: "system_notice", cleared: "cleared" };
      const kept = role === "tool_call" ? this.record(this.calls.get(fields.id)) : fields;
      const events = [{ type: types[role], ...kept, ...place }];
      const ended = chat.turns.get(turn);
      if (ended?.last === `${seq}.2`) {
        const end = { seq: 0, turn, at: ended.endedAt };
        if (ended.error) events.push({ type: "error", error: ended.error, text: ended.errorText, ...end, cursor: `${seq}.1` });
        events.push({ type: "turn_ended", ending: ended.ending, usage: {}, ...end, cursor: ended.last });
      }
      return events;
    });
  }

  rows(select) {
    return [...this.calls.values()].filter(select).map(({ decision, ...row }) => row);
  }

  /** The chain of a chat's ledger: how many calls and steps, and where it ends. */
  chain(chat) {
    const rows = this.rows((row) => row.session === chat.id);
    const heads = rows.map((_, at) => digest(rows.slice(0, at + 1)));
    return { calls: rows.length, transitions: rows.length * 3, head: heads.at(-1) ?? digest([]), heads };
  }
}
