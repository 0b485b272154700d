// The events of one chat while the mock lives: a ring with an epoch, the text that is being spoken, and who reads.

import { randomBytes } from "node:crypto";

/** Milliseconds between two text frames to one reader. */
const PACE = 40;

/** A cursor as numbers, so that two compare. */
export const parts = (cursor) => {
  const [entry, step = "0"] = String(cursor).split("@")[0].split(".");
  return [Number(entry), Number(step)];
};
export const compare = (a, b) => {
  const [left, right] = [parts(a), parts(b)];
  return left[0] - right[0] || left[1] - right[1];
};

export class Feed {
  epoch = randomBytes(4).toString("hex");
  ring = [];
  seq = 0;
  speech = null;
  thought = null;
  #readers = new Set();

  constructor(begins) {
    this.begins = begins;
    this.published = begins;
  }

  /** Publishes an event; `cursor` only where the store has it. */
  publish(turn, fields, cursor) {
    if (fields.type === "model_message") this.speech = this.thought = null;
    this.published = cursor ?? this.published;
    this.seq += 1;
    const event = { ...fields, seq: this.seq, cursor: this.published, turn, at: Date.now() };
    this.ring.push({ event, isStored: cursor !== undefined });
    this.#tell();
  }

  speak(kind, completion, piece) {
    const before = this[kind]?.completion === completion ? this[kind].text : "";
    this[kind] = { completion, text: before + piece };
    this.#tell();
  }

  /** Tells how far a call has come to the readers of this moment. */
  report(turn, call, progress) {
    for (const reader of this.#readers) reader.write(null, "tool_progress", { type: "tool_progress", turn, call, ...progress });
  }

  silence() {
    const text = this.speech?.text ?? "";
    this.speech = this.thought = null;
    return text;
  }

  /** Forgets the ring, as a feed does that is full: later readers read from the store. */
  forget() {
    this.ring = [];
    this.begins = this.published;
  }

  /** Writes what comes behind the cursor: what the store has, the ring, and then what happens. */
  read(after, stored, write) {
    const [cursor, live] = after.split("@");
    const [epoch, seq] = live ? live.split(".") : [];
    const known = epoch === this.epoch ? Number(seq) : 0;
    for (const event of stored) {
      if (compare(event.cursor, cursor) > 0 && compare(event.cursor, this.begins) <= 0) write(event.cursor, event.type, event);
    }
    const reader = { seq: 0, spoken: {}, write, known, cursor };
    this.#readers.add(reader);
    this.#flush(reader);
    return () => this.#readers.delete(reader);
  }

  #tell() {
    for (const reader of this.#readers) this.#flush(reader);
  }

  #flush(reader) {
    for (const { event, isStored } of this.ring) {
      if (event.seq <= reader.seq) continue;
      reader.seq = event.seq;
      const order = compare(event.cursor, reader.cursor);
      const isTold = isStored ? order <= 0 : order < 0 || event.seq <= reader.known;
      if (!isTold) reader.write(`${event.cursor}@${this.epoch}.${event.seq}`, event.type, event);
    }
    if (reader.timer) return;
    for (const [kind, type] of [["thought", "thinking"], ["speech", "text"]]) {
      const now = this[kind];
      if (!now) continue;
      const told = reader.spoken[kind];
      const at = told?.completion === now.completion ? told.bytes : 0;
      const bytes = Buffer.from(now.text);
      if (bytes.length <= at) continue;
      reader.write(null, type, { type, completion: now.completion, at, text: bytes.subarray(at).toString() });
      reader.spoken[kind] = { completion: now.completion, bytes: bytes.length };
      reader.timer = setTimeout(() => {
        reader.timer = null;
        if (this.#readers.has(reader)) this.#flush(reader);
      }, PACE);
    }
  }
}
