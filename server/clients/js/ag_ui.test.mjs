// The client of AG-UI: it verifies the order of each run, and here each event is parsed by the protocol's schemas as well.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { HttpAgent, isInterruptExpired } from "@ag-ui/client";
import { AgentCapabilitiesSchema, EventSchemas, RunAgentInputSchema } from "@ag-ui/core/schemas";

import { ADD, LONG, SEARCH, USAGE, add, calls, says, serve, serveBehindWay, until } from "./server.mjs";

/** What the client complained about: fields that it does not know, events out of order. A cut is told as well. */
const complaints = [];
const console_ = { warn: console.warn, error: console.error };
beforeEach(() => {
  complaints.length = 0;
  console.warn = console.error = (...words) => complaints.push(words.map(String).join(" "));
});
afterEach(() => Object.assign(console, console_));

/** Waits until a run is cut. The client then rejects another promise as well, which it gives to no caller: the test would fail. */
async function isCut(run, cut) {
  const theirs = process.listeners("unhandledRejection");
  const ours = (error) => assert.match(String(error), /terminated/);
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", ours);
  const rejected = assert.rejects(run, /terminated/);
  await cut();
  await rejected;
  await new Promise((resolve) => setImmediate(resolve));
  process.removeAllListeners("unhandledRejection");
  for (const one of theirs) process.on("unhandledRejection", one);
  complaints.length = 0;
}

/** Gives the data of the frames of a stream, and hands the stream on. */
function overheard(response, frames) {
  const [here, there] = response.body.tee();
  const read = (async () => {
    let text = "";
    for await (const chunk of here.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const whole = text.split("\n\n");
      text = whole.pop();
      for (const frame of whole) if (frame.startsWith("data: ")) frames.push(JSON.parse(frame.slice(6)));
    }
  })();
  read.catch(() => {}); // a cut is told by the other half
  return new Response(there, response);
}

class Agent extends HttpAgent {
  constructor(server, origin = server.origin, threadId = "thread") {
    super({
      url: `${origin}/ag-ui`,
      headers: { authorization: `Bearer ${server.token}` },
      threadId,
      initialState: { theme: "dark" },
      fetch: async (url, init) => {
        RunAgentInputSchema.parse(JSON.parse(init.body));
        const response = await fetch(url, init);
        return response.ok ? overheard(response, this.frames) : response;
      },
    });
    this.frames = [];
  }

  say(id, content) {
    this.addMessage({ id, role: "user", content });
    return this.go();
  }

  /** Runs to the end, which is clean, and gives the outcome. */
  async go(parameters = {}) {
    this.frames = [];
    let outcome;
    await this.runAgent(parameters, {
      onRunFinishedEvent: (params) => void (outcome = params.outcome),
      onRunErrorEvent: ({ event }) => void (outcome = event.code),
    });
    for (const frame of this.frames) {
      const parsed = EventSchemas.safeParse(frame);
      assert.ok(parsed.success, `${JSON.stringify(frame)}: ${parsed.error}`);
    }
    assert.deepEqual(complaints, []);
    return outcome;
  }

  resume(payload, interrupt = this.pendingInterrupts[0]) {
    return this.go({ resume: [{ interruptId: interrupt.id, status: "resolved", payload }] });
  }

  cancel(interrupt = this.pendingInterrupts[0]) {
    return this.go({ resume: [{ interruptId: interrupt.id, status: "cancelled" }] });
  }

  get kinds() {
    return this.frames.map((frame) => frame.type);
  }

  get custom() {
    return this.frames.filter((frame) => frame.type === "CUSTOM").map((frame) => frame.name);
  }

  /** The messages as they are shown. */
  get shown() {
    return this.messages.map(({ role, content, toolCalls }) => {
      if (role === "tool") return `tool: ${JSON.parse(content).status}`;
      return `${role}: ${toolCalls?.map((call) => `${call.function.name}()`).join() ?? content}`;
    });
  }

  /** The outcome of the last call. */
  get outcome() {
    return JSON.parse(this.messages.findLast((message) => message.role === "tool").content);
  }
}

const ASKED = ["user: 추가해줘", "assistant: 추가할게요.", "assistant: add_habit()"];
const ADDED = [...ASKED, "tool: ok", "assistant: 추가했습니다."];
const asks = { text: "추가할게요.", ...calls(ADD) };
const done = says("추가했습니다.");

test("a message is answered as a run, and the next one as well", async (t) => {
  const server = await serve(t, [{ thinking: "음", ...says("찾아볼게요.", 1_000), ...calls(SEARCH) }, { text: "하나 있습니다.", usage: USAGE }, says("네.")]);
  const agent = new Agent(server);
  assert.equal(await agent.say("m1", "찾아줘"), "success");
  for (const kind of ["REASONING_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT"]) assert.ok(agent.kinds.includes(kind), kind);
  assert.equal(agent.frames.at(-1).usage[0].totalTokens, 7);
  const shown = agent.shown.filter((row) => !row.startsWith("reasoning"));
  assert.deepEqual(shown, ["user: 찾아줘", "assistant: 찾아볼게요.", "assistant: search_catalog()", "tool: ok", "assistant: 하나 있습니다."]);
  assert.equal(agent.state.theme, "dark");
  assert.equal(agent.state.madang.session, "thread");
  assert.equal(await agent.say("m2", "또?"), "success");
  assert.deepEqual(agent.shown.slice(-2), ["user: 또?", "assistant: 네."]);
  const ids = agent.messages.map((message) => message.id);
  assert.equal(new Set(ids).size, ids.length);
});

test("what the server can do is told in the protocol's form", async (t) => {
  const server = await serve(t, []);
  const { body } = await server.ask("ag-ui");
  const can = AgentCapabilitiesSchema.parse(body);
  assert.equal(can.humanInTheLoop.approveWithEdits, true);
  assert.deepEqual(Object.keys(can).sort(), Object.keys(body).sort(), "nothing but what the protocol knows");
});

test("a request interrupts the run, and a yes resumes it", async (t) => {
  const server = await serve(t, [asks, done]);
  const agent = new Agent(server);
  assert.equal(await agent.say("m1", "추가해줘"), "interrupt");
  const [interrupt] = agent.pendingInterrupts;
  assert.equal(interrupt.reason, "tool_call");
  assert.equal(interrupt.id.length, 36 + 1 + 64);
  assert.ok(interrupt.message.length > 0 && !isInterruptExpired(interrupt));
  assert.deepEqual(interrupt.responseSchema.required, ["approved"]);
  assert.deepEqual(agent.shown, ASKED);
  // The client itself sends nothing but an answer.
  await assert.rejects(new Promise((resolve, reject) => agent.runAgent().then(resolve, reject)), /pending interrupt/);
  complaints.length = 0;
  assert.equal(await agent.resume({ approved: true }), "success");
  assert.deepEqual(agent.shown, ADDED);
  assert.deepEqual(agent.pendingInterrupts, []);
});

test("two requests of one round interrupt one after the other", async (t) => {
  const server = await serve(t, [{ text: "추가할게요.", ...calls(ADD, add("evening-dim")) }, done]);
  const agent = new Agent(server);
  assert.equal(await agent.say("m1", "추가해줘"), "interrupt");
  assert.equal(await agent.resume({ approved: true }), "interrupt");
  assert.equal(await agent.resume({ approved: false, message: "하나면 돼" }), "success");
  assert.deepEqual((await server.ledger()).map((call) => [call.outcome.status, call.outcome.reason ?? null]), [["ok", null], ["cancelled", "denied"]]);
  assert.match(JSON.stringify(agent.outcome), /하나면 돼/);
});

test("a yes may stand for later calls, and may come with other arguments", async (t) => {
  const server = await serve(t, [asks, done, calls(add("evening-dim")), says("또 했습니다."), calls(add("daylight-break"))]);
  const agent = new Agent(server);
  await agent.say("m1", "추가해줘");
  const { framed_text, ...others } = ADD.arguments;
  assert.equal(await agent.resume({ approved: true, editedArgs: { ...others, framed_text: "내 말로" } }), "success");
  assert.deepEqual(agent.shown, ADDED);
  assert.equal(agent.outcome.arguments.framed_text, "내 말로");
  assert.notEqual(framed_text, "내 말로");
  assert.equal(await agent.say("m2", "하나 더"), "interrupt");
  assert.equal(await agent.resume({ approved: true, always: true }), "success");
  await agent.say("m3", "하나 더");
  assert.deepEqual((await server.ledger()).map((call) => call.outcome.status), ["ok", "ok", "ok"], "the third was not asked about");
});

test("an edit that does not fit is refused, and the request stays open", async (t) => {
  const server = await serve(t, [asks, done]);
  const agent = new Agent(server);
  await agent.say("m1", "추가해줘");
  const interrupts = agent.pendingInterrupts;
  await assert.rejects(agent.resume({ approved: true, editedArgs: { protocol_id: 7 } }), /422.*does-not-fit/s);
  complaints.length = 0;
  assert.deepEqual(agent.pendingInterrupts, interrupts);
  assert.equal(await agent.resume({ approved: true }), "success");
});

test("silence expires, the client cancels what it can no longer answer, and goes on", async (t) => {
  const server = await serve(t, [asks, says("아무 일도 없었습니다."), says("네.")], "--decision-timeout", "1");
  const agent = new Agent(server);
  assert.equal(await agent.say("m1", "추가해줘"), "interrupt");
  const [interrupt] = agent.pendingInterrupts;
  await until("the request has expired", async () => isInterruptExpired(interrupt) && (await server.ledger())[0].outcome);
  await server.comesToRest("thread");
  await assert.rejects(agent.resume({ approved: true }), /expired/);
  complaints.length = 0;
  assert.equal(await agent.cancel(), "success");
  assert.deepEqual(agent.shown, [...ASKED, "tool: cancelled", "assistant: 아무 일도 없었습니다."]);
  assert.equal(agent.outcome.reason, "expired");
  assert.equal(await agent.say("m2", "괜찮아?"), "success");
});

test("a late answer changes nothing and locks no thread", async (t) => {
  const server = await serve(t, [asks, done, says("네.")]);
  const agent = new Agent(server);
  await agent.say("m1", "추가해줘");
  await server.decide("approve");
  assert.equal(await agent.resume({ approved: false }), "success");
  assert.deepEqual(agent.shown, ADDED);
  assert.deepEqual(agent.custom, ["madang.decided_elsewhere"]);
  assert.equal(await agent.say("m2", "고마워"), "success");
});

test("a run that is cut is joined, and no word is doubled", async (t) => {
  const { server, way } = await serveBehindWay(t, [{ text: "찾을게요.", ...calls(SEARCH) }, says("one two three four", 2_000)]);
  const agent = new Agent(server, way.origin);
  agent.addMessage({ id: "m1", role: "user", content: "count" });
  await isCut(agent.runAgent(), async () => {
    await until("the second text comes", () => agent.frames.findLast((frame) => frame.type.startsWith("TEXT"))?.delta?.startsWith("one "));
    way.cut();
  });
  assert.match(agent.shown.at(-1), /^assistant: one /);
  assert.equal(await agent.go(), "success");
  assert.deepEqual(agent.shown, ["user: count", "assistant: 찾을게요.", "assistant: search_catalog()", "tool: ok", "assistant: one two three four"]);
  assert.equal(await agent.go(), "success", "and again, once it is over");
  assert.deepEqual(await server.stored("thread"), ["user: count", "model: 찾을게요.", "tool_call: search_catalog", "model: one two three four"]);
});

test("a run is joined after kill -9, and a request that was open is answered", async (t) => {
  const server = await serve(t, [LONG]);
  const agent = new Agent(server);
  agent.addMessage({ id: "m1", role: "user", content: "추가해줘" });
  await isCut(agent.runAgent(), async () => {
    await until("text comes", () => agent.kinds.includes("TEXT_MESSAGE_CONTENT"));
    await server.kill();
  });
  await server.restart([asks]);
  assert.equal(await agent.go(), "interrupt");
  assert.deepEqual(agent.shown, ASKED);
  await server.kill();
  await server.restart([done]);
  assert.equal(await agent.resume({ approved: true }), "success");
  assert.deepEqual(agent.shown, ADDED);
  assert.deepEqual((await server.ledger()).map((call) => call.effect), ["committed"]);
});

test("a cancelled interrupt dismisses its turn, alone or for a new text", async (t) => {
  const server = await serve(t, [asks, asks, says("그럼 그만둘게요.")]);
  const agent = new Agent(server);
  await agent.say("m1", "추가해줘");
  assert.equal(await agent.cancel(), "cancelled");
  assert.deepEqual(agent.shown, [...ASKED, "tool: cancelled"]);
  await agent.say("m2", "추가해줘");
  agent.addMessage({ id: "m3", role: "user", content: "아니, 됐어" });
  assert.equal(await agent.cancel(), "success");
  assert.equal(agent.shown.at(-1), "assistant: 그럼 그만둘게요.");
  assert.deepEqual((await server.ledger()).map((call) => call.outcome.reason), ["dismissed", "dismissed"]);
});

test("a turn that is dismissed elsewhere is cancelled", async (t) => {
  const server = await serve(t, [LONG]);
  const agent = new Agent(server);
  const run = agent.say("m1", "count");
  await until("text comes", () => agent.kinds.includes("TEXT_MESSAGE_CONTENT"));
  const { turn } = (await server.ask("v1/sessions/thread")).body;
  await server.ask(`v1/sessions/thread/turns/${turn}/dismiss`, { method: "POST" });
  assert.equal(await run, "cancelled");
});

test("an error ends the run with its code, and the thread goes on", async (t) => {
  const server = await serve(t, [{ text: "half", error: "Timeout" }, says("네.")]);
  const agent = new Agent(server);
  assert.equal(await agent.say("m1", "hi"), "model/Timeout");
  assert.equal(await agent.say("m2", "again"), "success");
  assert.equal(agent.shown.at(-1), "assistant: 네.");
});

test("a thread that is busy says so, and one whose request is open as well", async (t) => {
  const server = await serve(t, [LONG, asks]);
  const agent = new Agent(server);
  const run = agent.say("m1", "count");
  await until("text comes", () => agent.kinds.includes("TEXT_MESSAGE_CONTENT"));
  const other = new Agent(server);
  assert.equal(await other.say("o1", "me too"), "busy");
  const { turn } = (await server.ask("v1/sessions/thread")).body;
  await server.ask(`v1/sessions/thread/turns/${turn}/dismiss`, { method: "POST" });
  await run;
  await server.comesToRest("thread");
  assert.equal(await agent.say("m2", "추가해줘"), "interrupt");
  assert.equal(await new Agent(server).say("o2", "me too"), "interrupt_open");
  assert.equal(await new Agent(server).go(), "interrupt", "a screen that only looks is asked as well");
});

test("a refusal is told in words", async (t) => {
  const server = await serve(t, []);
  const stranger = new Agent({ ...server, token: `mdg_${"x".repeat(43)}` }, server.origin);
  await assert.rejects(stranger.say("m1", "hi"), (error) => /401/.test(error.message) && /token/.test(JSON.stringify(error.payload ?? error.message)));
  complaints.length = 0;
  await assert.rejects(new Agent(server).say("m1", "  "), /422/);
  complaints.length = 0;
});
