// curl, as a person types it: one line waits for an answer, and a stream goes on behind the last event.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";

import { SEARCH, calls, says, serve, until } from "./server.mjs";

/** Runs curl to its end, or until what it prints fits. */
async function curl(server, path, words, enough = () => false) {
  const child = spawn("curl", ["-sS", "-N", "-i", "--max-time", "20", "-H", `Authorization: Bearer ${server.token}`, ...words, `${server.origin}/${path}`], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8");
  for await (const chunk of child.stdout) {
    said += chunk;
    if (enough(said)) break;
  }
  child.kill();
  const [head, body] = said.split(/\r\n\r\n(.*)/s);
  return { head: head.toLowerCase(), body };
}

const json = (body) => ["-H", "Content-Type: application/json", "-d", JSON.stringify(body)];

/** The stored events of a stream: those with an id. */
function eventsOf(body) {
  const frames = body.split("\n\n").map((frame) => Object.fromEntries(frame.split("\n").map((line) => line.split(/: (.*)/s))));
  return frames.filter((frame) => frame.id).map(({ id, event, data }) => ({ ...JSON.parse(data), id, event }));
}

test("one line waits for the answer", async (t) => {
  const server = await serve(t, [says("여기 있습니다.", 300), says("too late", 600_000)]);
  await curl(server, "v1/sessions", json({ id: "chat" }));
  const { head, body } = await curl(server, "v1/sessions/chat/turns", ["-H", "Prefer: wait=10", ...json({ text: "찾아줘" })]);
  assert.match(head, /^http\/1.1 200/);
  assert.match(head, /preference-applied: wait=10/);
  const { status, ending, text } = JSON.parse(body);
  assert.deepEqual({ status, ending, text }, { status: "ended", ending: "answered", text: "여기 있습니다." });
  const late = await curl(server, "v1/sessions/chat/turns", ["-H", "Prefer: wait=1", ...json({ text: "또" })]);
  assert.match(late.head, /^http\/1.1 202/);
  const turn = JSON.parse(late.body).turn;
  assert.match(late.head, new RegExp(`location: /v1/sessions/chat/turns/${turn}`));
});

test("a key makes a repeated line harmless", async (t) => {
  const server = await serve(t, [says("once")]);
  await curl(server, "v1/sessions", json({ id: "chat" }));
  const words = ["-H", "Prefer: wait=10", "-H", 'Idempotency-Key: "k"', ...json({ text: "hi" })];
  const [first, second] = [await curl(server, "v1/sessions/chat/turns", words), await curl(server, "v1/sessions/chat/turns", words)];
  assert.equal(JSON.parse(first.body).turn, JSON.parse(second.body).turn);
  const other = await curl(server, "v1/sessions/chat/turns", ["-H", 'Idempotency-Key: "k"', ...json({ text: "else" })]);
  assert.match(other.head, /^http\/1.1 422/);
  assert.match(other.head, /content-type: application\/problem\+json/);
});

test("a stream goes on behind Last-Event-ID, over kill -9 as well, each event once", async (t) => {
  const server = await serve(t, [{ text: "찾을게요.", ...calls(SEARCH) }, says("one two three four", 600_000)]);
  await curl(server, "v1/sessions", json({ id: "chat" }));
  await curl(server, "v1/sessions/chat/turns", json({ text: "count" }));
  const speaks = (said) => /event: text\ndata: .*"one /.test(said);
  const first = await curl(server, "v1/sessions/chat/events", [], speaks);
  assert.match(first.head, /content-type: text\/event-stream/);
  const heard = eventsOf(first.body);
  assert.deepEqual([heard[0].event, heard.at(-1).event], ["user_message", "tool_call_ended"]);
  const last = () => ["-H", `Last-Event-ID: ${heard.at(-1).id}`];
  // The text that is being spoken comes again, and nothing else.
  const again = await curl(server, "v1/sessions/chat/events", last(), speaks);
  assert.match(again.head, /^http\/1.1 200/);
  assert.deepEqual(eventsOf(again.body), []);
  await server.kill();
  await server.restart([says("one two three four, again")]);
  const second = await curl(server, "v1/sessions/chat/events", last(), (said) => said.includes("event: turn_ended"));
  heard.push(...eventsOf(second.body));
  const stored = heard.filter((event) => ["user_message", "model_message", "tool_call_ended", "turn_ended"].includes(event.event));
  assert.deepEqual(stored.map((event) => event.event), ["user_message", "model_message", "tool_call_ended", "model_message", "turn_ended"]);
  await until("the chat is stored", async () => (await server.stored("chat")).length === 4);
  const ahead = await curl(server, "v1/sessions/chat/events", ["-H", "Last-Event-ID: 999999"]);
  assert.match(ahead.head, /^http\/1.1 409/);
  const wrong = await curl(server, "v1/sessions/chat/events", ["-H", "Last-Event-ID: nonsense"]);
  assert.match(wrong.head, /^http\/1.1 400/);
});

test("a turn is streamed to its end where a stream is accepted", async (t) => {
  const server = await serve(t, [says("하나 둘")]);
  await curl(server, "v1/sessions", json({ id: "chat" }));
  const { body } = await curl(server, "v1/sessions/chat/turns", ["-H", "Accept: text/event-stream", ...json({ text: "세어줘" })]);
  assert.equal(eventsOf(body).at(-1).event, "turn_ended");
  assert.match(body, /하나/);
});
