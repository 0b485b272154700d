// The parser of event streams, however the network cuts them, and the pauses between tries.

import assert from "node:assert/strict";
import test from "node:test";

import { backoff, isPassing, Problem, Unreachable } from "../../src/page/assets/api.js";
import { editable, shown, typed } from "../../src/page/assets/editable.js";
import { FrameReader } from "../../src/page/assets/events.js";

const STREAM = ': madang\nretry: 2137\n\nid: 17@5f1c.341\nevent: tool_call_ended\ndata: {"type":"tool_call_ended","name":"안녕"}\n\n: \n\nevent: text\ndata: {"type":"text",\ndata: "at":0}\n\nid: 18\ndata: {}\n\n';
const WANTED = [
  { data: "", retry: 2137 },
  { id: "17@5f1c.341", event: "tool_call_ended", data: '{"type":"tool_call_ended","name":"안녕"}' },
  { event: "text", data: '{"type":"text",\n"at":0}' },
  { id: "18", data: "{}" },
];

test("frames are the same wherever the text is cut, and whichever ends its lines have", () => {
  for (const text of [STREAM, STREAM.replaceAll("\n", "\r\n")]) {
    for (let at = 0; at <= text.length; at += 1) {
      const reader = new FrameReader();
      assert.deepEqual([...reader.push(text.slice(0, at)), ...reader.push(text.slice(at))], WANTED, String(at));
    }
    const reader = new FrameReader();
    assert.deepEqual([...text].flatMap((letter) => reader.push(letter)), WANTED);
  }
});

test("half a frame is none", () => {
  assert.deepEqual(new FrameReader().push("id: 1\ndata: {}\n"), []);
});

test("pauses grow from one second to thirty, each somewhat random", () => {
  const all = Array.from({ length: 12 }, (_, tries) => [backoff(tries, 0), backoff(tries, 1)]);
  assert.deepEqual(all[0], [750, 1250]);
  assert.deepEqual(all.at(-1), [22_500, 37_500]);
  for (const [at, [least]] of all.entries()) if (at) assert.ok(least >= all[at - 1][0]);
});

test("only what decided nothing is tried again", () => {
  const problem = (status, name) => new Problem(status, { type: `/problems/${name}` });
  for (const error of [new Unreachable(), problem(503, "store"), problem(503, "draining"), problem(429, "too-many"), problem(409, "busy"), problem(500, ""), problem(401, "unauthorized")]) assert.ok(isPassing(error), error.name);
  for (const error of [problem(400, "malformed"), problem(403, "scope"), problem(404, "not-found"), problem(409, "not-open"), problem(413, "too-long"), problem(422, "key-reused"), new Error("bug")]) assert.ok(!isPassing(error), error.name);
});

test("arguments are written so that no character is invisible, and read back as the same", () => {
  const value = { "a\u202eb": "x\u3164y\u00a0z", nested: [{ zero: "\u200b", face: "e\u0301", line: "1\n2" }], plain: "수면 습관" };
  const text = editable(value);
  assert.deepEqual(typed(text), { value });
  assert.doesNotMatch(text, /[\u202e\u3164\u00a0\u200b\u0301]/);
  assert.match(text, /수면 습관/);
});

test("a result hides nothing, and what an eye sees stays as it is", () => {
  const hidden = "a\u200bb\u202ec\u{e0041}\u3164\ufeff\u001b[2J\r";
  assert.equal(shown(hidden), "a\\u200bb\\u202ec\\udb40\\udc41\\u3164\\ufeff\\u001b[2J\\u000d");
  const seen = "수면\n\t습관 à\u00a0e\u0301 नमस्ते ✅\ufe0f";
  assert.equal(shown(seen), seen);
});

test("what is no JSON is told with its place", () => {
  const cases = [['{\n  "a": oops\n}', 2, 8], ['{"a":1,}', 1, 8], ['{"a" 1}', 1, 6], ["[1,2", 1, 5], ['{"a":"x\ny"}', 1, 6], ["", 1, 1], ['{"a":1} x', 1, 9], ["{a:1}", 1, 2], ['{"a":[1,{"b":tru}]}', 1, 14], ["[1,]", 1, 4], ["{,}", 1, 2], ['{"a":[}', 1, 7]];
  for (const [text, line, column] of cases) assert.deepEqual(typed(text), { wrong: "json", line, column }, text);
  for (const text of ["[1]", "7", "null", '"a"']) assert.deepEqual(typed(text), { wrong: "object" });
});
