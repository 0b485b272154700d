// The reducer alone: events that a real runtime told, events that come twice or out of place, and steps of the page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { compareCursors, fresh, reduced, restored, rows, runningTurn } from "../../src/page/assets/store.js";

const recorded = (name) => readFileSync(new URL(`../recorded/${name}.jsonl`, import.meta.url), "utf8").trim().split("\n").map((line) => JSON.parse(line));
const played = (events, chat = fresh("s")) => events.reduce(reduced, chat);
const shown = (chat) => rows(chat).map((row) => `${row.kind}: ${row.text ?? row.name ?? ""}`);

const MORNING = recorded("answered-and-failed");
const DENIED = recorded("denied-and-killed");
const RESUMED = recorded("resumed");

test("a snapshot whose cursor names its feed hides nothing that comes behind it", () => {
  const view = { cursor: "1@358aa1ca38b316bb.1", messages: [{ seq: 1, turn: "t", at: 1, role: "user", text: "one", key: "k" }], is_streaming: false, turn: "t" };
  const chat = reduced(restored(fresh("s"), view), { type: "model_message", text: "First.", ending: "complete", cursor: "2", turn: "t", at: 2 });
  assert.deepEqual(shown(chat), ["user: one", "model: First."]);
  assert.equal(compareCursors("17@5e3.9", "17") || compareCursors("17.2@a.1", "17.2"), 0);
});

test("a recorded chat is shown in the order of its entries", () => {
  assert.deepEqual(shown(played(MORNING)), [
    "user: 아침 습관 추가해줘",
    "model: 잠깐 찾아볼게요.",
    "call: search_catalog",
    "call: add_habit",
    "model: 추가했어요.\n\n- **Morning sunlight**",
    "user: 다시",
    "error: LLM 응답 실패: Timeout",
  ]);
});

test("each event told twice changes nothing", () => {
  const once = played(MORNING);
  for (const event of MORNING) assert.deepEqual(shown(reduced(once, event)), shown(once), event.type);
  assert.deepEqual(shown(played([...MORNING, ...MORNING])), shown(once));
});

test("a reader that comes back at any event sees the same in the end", () => {
  const whole = played(MORNING);
  for (let at = 0; at < MORNING.length; at += 1) {
    // What only tells progress comes again from the last stored event on.
    const before = MORNING.slice(0, at);
    const cursor = before.at(-1)?.cursor ?? "0";
    const again = MORNING.filter((event) => compareCursors(event.cursor, cursor) >= 0);
    const chat = played([...before, ...again]);
    assert.deepEqual(shown(chat), shown(whole), String(at));
    assert.equal(chat.approval, null);
    assert.equal(chat.turn, null);
  }
});

test("a question is open from its request to its end, and the turn with it", () => {
  const at = MORNING.findIndex((event) => event.type === "approval_requested");
  const asked = played(MORNING.slice(0, at + 1));
  assert.equal(asked.approval.tool, "add_habit");
  assert.equal(rows(asked).at(-1).is, "asked");
  const decided = reduced(asked, MORNING[at + 1]);
  assert.equal(decided.approval, null);
  assert.equal(rows(decided).at(-1).is, "running");
  assert.equal(runningTurn(decided), MORNING[at].turn);
});

test("a turn that was killed is open, and goes on after the restart", () => {
  const killed = played(DENIED);
  assert.equal(runningTurn(killed), DENIED.at(-1).turn);
  const gone = played(RESUMED, killed);
  assert.equal(runningTurn(gone), null);
  assert.deepEqual(shown(gone).slice(-3), ["user: 둘", "turn_resumed: ", "model: 이어서 답합니다."]);
  assert.deepEqual(shown(played(RESUMED, gone)), shown(gone));
});

test("a call that was refused says why", () => {
  const calls = rows(played(DENIED)).filter((row) => row.kind === "call");
  assert.deepEqual(calls.map(({ name, outcome }) => [name, outcome.reason.slice(0, 6)]), [["add_habit", "denied"], ["search_catalog", "인자 오류:"]]);
});

const text = (completion, at, piece) => ({ type: "text", completion, at, text: piece });
const begun = () => reduced(fresh("s"), { type: "user_message", text: "go", seq: 1, cursor: "1", turn: "t", at: 1 });

test("text grows by bytes, begins anew at 0, and gives way to its message", () => {
  let chat = played([text("a", 0, "안녕"), text("a", 6, "하세요")], begun());
  assert.equal(chat.speech.text, "안녕하세요");
  chat = reduced(chat, text("a", 0, "안녕하세요, 다시"));
  assert.equal(chat.speech.text, "안녕하세요, 다시");
  chat = reduced(chat, text("b", 0, "새로"));
  assert.equal(chat.speech.text, "새로");
  chat = reduced(chat, { type: "model_message", text: "새로 씀", ending: "complete", seq: 2, cursor: "2", turn: "t", at: 2 });
  assert.equal(chat.speech, null);
  assert.deepEqual(shown(chat), ["user: go", "model: 새로 씀", "works: "]);
});

test("a piece that does not fit is left out", () => {
  const chat = played([text("a", 0, "one"), text("a", 9, "three"), text("x", 3, "two"), text("a", 1, "ne")], begun());
  assert.equal(chat.speech.text, "one");
});

const view = (more) => ({ session: "s", cursor: "2", epoch: "e", messages: [{ seq: 1, turn: "t", at: 1, role: "user", text: "go", key: "k" }, { seq: 2, turn: "t", at: 2, role: "model", text: "Hi", ending: "complete" }], is_streaming: false, streaming_text: null, error: null, approval_request: null, turn: null, ...more });

test("a snapshot replaces what was shown, and keeps what is still to be sent", () => {
  let chat = played(MORNING);
  chat = reduced(chat, { type: "local_send", key: "k", text: "go", at: 1 });
  chat = reduced(chat, { type: "local_send", key: "l", text: "later", at: 2 });
  chat = restored(chat, view());
  assert.deepEqual(shown(chat), ["user: go", "model: Hi", "unsent: later"]);
  assert.equal(rows(chat)[0].key, "user:1");
});

test("a snapshot of a running turn has its text, its question and its error", () => {
  const request = { call: "c", session: "s", user: "u", tool: "add_habit", arguments: {}, consequence: "", text: "", digest: "d", expires_at: 9 };
  const running = restored(fresh("s"), view({ is_streaming: true, streaming_text: "Half", turn: "u", approval_request: request }));
  assert.equal(running.speech.text, "Half");
  assert.equal(running.approval.call, "c");
  assert.equal(runningTurn(running), "u");
  const failed = restored(fresh("s"), view({ error: "the model failed", cursor: "2.2" }));
  assert.deepEqual(shown(failed).at(-1), "error: the model failed");
  // Its end, told again behind the snapshot, is not shown a second time.
  assert.deepEqual(shown(reduced(failed, { type: "error", text: "the model failed", error: {}, cursor: "2.1", turn: "t", at: 3 })), shown(failed));
});

test("a message that was sent becomes the one that the server tells, by its key or its turn", () => {
  const sent = reduced(fresh("s"), { type: "local_send", key: "k", text: "go", at: 1 });
  assert.deepEqual(shown(sent), ["unsent: go"]);
  const told = { type: "user_message", text: "go", key: "k", seq: 1, cursor: "1", turn: "t", at: 1 };
  assert.deepEqual(shown(reduced(sent, told)), ["user: go", "works: "]);
  const accepted = reduced(sent, { type: "local_accepted", key: "k", turn: "t" });
  assert.equal(runningTurn(accepted), "t");
  assert.deepEqual(shown(reduced(accepted, { ...told, key: undefined })), ["user: go", "works: "]);
  // The event may come before the answer.
  const early = played([{ ...told, key: undefined }, { type: "local_send", key: "k", text: "go", at: 1 }, { type: "local_accepted", key: "k", turn: "t" }]);
  assert.deepEqual(shown(early), ["user: go", "works: "]);
});

test("a message without a key of the server takes none away that was never accepted", () => {
  const sent = reduced(fresh("s"), { type: "local_send", key: "k", text: "mine", at: 1 });
  const other = reduced(sent, { type: "user_message", text: "from elsewhere", seq: 1, cursor: "1", turn: "t", at: 1 });
  assert.deepEqual(shown(other), ["user: from elsewhere", "works: ", "unsent: mine"]);
});

test("a stop hides the model's words of its turn and nothing that a tool did, until it is undone", () => {
  const call = { type: "tool_call_ended", id: "c", name: "add_habit", arguments: {}, outcome: { status: "ok", data: 1 }, effect: "committed", result: "shown", seq: 3, cursor: "2", turn: "t", at: 2 };
  let chat = played([text("a", 0, "Half"), { type: "local_stop", until: 9 }], begun());
  assert.deepEqual(shown(chat), ["user: go"]);
  chat = played([call, { type: "model_message", text: "Whole", ending: "complete", seq: 4, cursor: "3", turn: "t", at: 3 }], chat);
  assert.deepEqual(shown(chat), ["user: go", "call: add_habit"]);
  assert.deepEqual(shown(reduced(chat, { type: "local_undo" })), ["user: go", "call: add_habit", "model: Whole", "works: "]);
  const sent = played([{ type: "local_stop_sent" }, { type: "local_undo" }], chat);
  assert.ok(sent.stop.isSent);
  const over = reduced(sent, { type: "turn_ended", ending: "dismissed", usage: {}, cursor: "3.2", turn: "t", at: 4 });
  assert.equal(over.stop, null);
  assert.deepEqual(shown(over), ["user: go", "call: add_habit", "model: Whole", "dismissed: "]);
});

test("an unknown effect that is resolved changes in its place", () => {
  const call = { type: "tool_call_ended", id: "c", name: "send_letter", arguments: {}, outcome: { status: "error", code: "x", reason: "y" }, effect: "unknown", result: "shown", seq: 3, cursor: "2", turn: "t", at: 2 };
  const chat = played([call, { type: "tool_call_resolved", call: "c", name: "send_letter", effect: "committed", resolved_by: { kind: "handler" }, text: "It did.", cursor: "2", turn: "t", at: 9 }], begun());
  assert.deepEqual(chat.entries.at(-1).effect, "committed");
  assert.equal(chat.entries.length, 2);
});

test("a call that runs shows how far it has come, and its end takes the place of that", () => {
  const proposed = { type: "tool_call_proposed", call: "c", name: "walk", arguments: "{}", seq: 2, cursor: "1", turn: "t", at: 2 };
  const told = (done) => ({ type: "tool_progress", turn: "t", call: "c", done, total: 3, message: "walks" });
  const chat = played([proposed, told(1), told(2), { ...told(9), call: "other" }], begun());
  assert.deepEqual(chat.calls.map((call) => [call.name, call.progress.done]), [["walk", 2]]);
  const ended = { type: "tool_call_ended", id: "c", name: "walk", arguments: {}, outcome: { status: "ok", data: {} }, effect: "none", result: "shown", seq: 3, cursor: "2", turn: "t", at: 2 };
  assert.deepEqual(reduced(reduced(chat, ended), told(3)).calls, []);
});

test("clearing leaves nothing but its mark", () => {
  const chat = reduced(played(MORNING), { type: "cleared", seq: 20, cursor: "9", turn: "c", at: 1 });
  assert.deepEqual(shown(chat), ["cleared: "]);
});

test("the end of an older turn does not end the one that runs", () => {
  const chat = played([{ type: "user_message", text: "next", seq: 5, cursor: "5", turn: "u", at: 5 }, { type: "turn_ended", ending: "answered", usage: {}, seq: 6, cursor: "5.2", turn: "t", at: 6 }], begun());
  assert.equal(runningTurn(chat), "u");
});

test("cursors are ordered by entry and step", () => {
  const order = ["0", "1", "1.1", "1.2", "2", "9", "10", "10.2", "11"];
  assert.deepEqual([...order].reverse().sort(compareCursors), order);
});

test("an item of a kind that is not known changes nothing", () => {
  const chat = begun();
  assert.equal(reduced(chat, { type: "of_another_version", cursor: "99" }), chat);
});
