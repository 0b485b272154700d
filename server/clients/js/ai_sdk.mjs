// `useChat` of the AI SDK without its framework, against `/api/chat`: the same tests for each version that the server speaks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ADD, LONG, SEARCH, add, calls, says, serve, serveBehindWay, until } from "./server.mjs";

/** Defines the tests for one version of the package. */
export function tests({ AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls }) {
  class State {
    status = "ready";
    error = undefined;
    messages = [];
    pushMessage = (message) => (this.messages = [...this.messages, message]);
    popMessage = () => (this.messages = this.messages.slice(0, -1));
    replaceMessage = (at, message) => (this.messages = this.messages.with(at, message));
    snapshot = (value) => structuredClone(value);
  }

  /** A screen with one chat, and what it asks of the server. */
  class Screen extends AbstractChat {
    constructor(server, origin = server.origin, messages = []) {
      const state = new State();
      state.messages = messages;
      const requests = [];
      const data = [];
      super({
        id: "chat",
        state,
        transport: new DefaultChatTransport({
          api: `${origin}/api/chat`,
          headers: { authorization: `Bearer ${server.token}` },
          fetch: async (url, init) => {
            const response = await fetch(url, init);
            requests.push({ method: init.method ?? "GET", path: new URL(url).pathname, status: response.status, version: response.headers.get("x-vercel-ai-ui-message-stream") });
            return response;
          },
        }),
        // Both ways by which clients go on by themselves: the second must never do so.
        sendAutomaticallyWhen: (options) => lastAssistantMessageIsCompleteWithApprovalResponses(options) || lastAssistantMessageIsCompleteWithToolCalls(options),
        onToolCall: ({ toolCall }) => assert.fail(`the client was told to run ${toolCall.toolName}`),
        onError: (error) => this.errors.push(error),
        onData: (part) => data.push(part),
      });
      this.errors = [];
      Object.assign(this, { requests, data });
    }

    /** The messages as they are shown: texts, and tools with their state. */
    get shown() {
      return this.messages.map((message) => {
        const parts = message.parts.filter((part) => part.type !== "step-start");
        const said = parts.map((part) => {
          if (part.type === "text") return part.text;
          if (part.type === "reasoning") return `(${part.text})`;
          return part.type === "dynamic-tool" ? `${part.toolName} ${part.state}` : part.type;
        });
        return `${message.role}: ${said.join(" | ")}`;
      });
    }

    get tools() {
      return this.messages.flatMap((message) => message.parts.filter((part) => part.type === "dynamic-tool"));
    }

    /** The tool that waits for a response. */
    get waits() {
      return this.tools.find((tool) => tool.state === "approval-requested");
    }

    /** Responds to the open request, and waits until the chat rests again. */
    async respond(approved, reason) {
      const { approval } = this.waits;
      const before = this.requests.length;
      await this.addToolApprovalResponse({ id: approval.id, approved, reason });
      await until("the response was sent and answered", () => this.requests.length > before && ["ready", "error"].includes(this.status));
    }
  }

  /** Waits until the screen shows a piece of text that is still coming. */
  const coming = (screen) => until("text comes", () => screen.messages[1]?.parts.some((part) => part.type === "text" && part.text));

  test("a message is answered in one message, whose id is the turn's", async (t) => {
    const server = await serve(t, [{ thinking: "음", ...calls(SEARCH), ...says("찾아볼게요.", 1_000) }, says("수면 습관이 있습니다.")]);
    const screen = new Screen(server);
    await screen.sendMessage({ text: "찾아줘" });
    assert.equal(screen.status, "ready", String(screen.error));
    assert.deepEqual(screen.shown, ["user: 찾아줘", "assistant: (음) | 찾아볼게요. | search_catalog output-available | 수면 습관이 있습니다."]);
    assert.ok(screen.lastMessage.parts.every((part) => part.state !== "streaming"));
    assert.ok(screen.tools[0].providerExecuted);
    assert.equal(screen.tools[0].output.items.length, 1);
    assert.deepEqual(screen.requests, [{ method: "POST", path: "/api/chat", status: 200, version: "v1" }]);
    const turn = await server.ask(`v1/sessions/chat/turns/${screen.lastMessage.id}`);
    assert.equal(turn.body.ending, "answered");
    await screen.sendMessage({ text: "또" });
    assert.equal(screen.status, "error", "the script has run out");
    assert.equal(screen.errors.length, 1);
  });

  test("two approvals of one round are asked one after the other, in one message", async (t) => {
    const server = await serve(t, [{ text: "둘 다 추가할게요.", ...calls(SEARCH, ADD, add("evening-dim")) }, says("끝났습니다.")]);
    const screen = new Screen(server);
    await screen.sendMessage({ text: "둘 다 추가해줘" });
    assert.deepEqual(screen.shown, ["user: 둘 다 추가해줘", "assistant: 둘 다 추가할게요. | search_catalog output-available | add_habit approval-requested"]);
    assert.equal(screen.waits.approval.id.length, 36 + 1 + 64);
    await screen.respond(true);
    assert.equal(screen.status, "ready", String(screen.error));
    assert.match(screen.shown[1], /add_habit output-available \| add_habit approval-requested$/);
    await screen.respond(true);
    assert.match(screen.shown[1], /add_habit output-available \| add_habit output-available \| 끝났습니다\.$/);
    assert.equal(screen.messages.length, 2);
    assert.equal(screen.requests.length, 3);
    assert.deepEqual((await server.ledger()).map((call) => [call.name, call.outcome.status]), [["search_catalog", "ok"], ["add_habit", "ok"], ["add_habit", "ok"]]);
    assert.deepEqual((await server.ask("api/chat/chat/messages")).body.map((message) => message.id), screen.messages.map((message) => message.id));
  });

  test("a denial goes with its reason, and the model hears it", async (t) => {
    const server = await serve(t, [calls(ADD), says("알겠습니다.")]);
    const screen = new Screen(server);
    await screen.sendMessage({ text: "추가해줘" });
    await screen.respond(false, "다음 주에");
    assert.deepEqual(screen.shown, ["user: 추가해줘", "assistant: add_habit output-denied | 알겠습니다."]);
    const [{ outcome }] = await server.ledger();
    assert.equal(outcome.status, "cancelled");
    assert.match(JSON.stringify(outcome), /다음 주에/);
  });

  test("a request that was decided elsewhere locks no screen", async (t) => {
    const server = await serve(t, [calls(ADD), says("추가했습니다."), says("다음.")]);
    const screen = new Screen(server);
    await screen.sendMessage({ text: "추가해줘" });
    await server.decide("approve");
    await screen.respond(false, "아니");
    assert.equal(screen.status, "ready", String(screen.error));
    assert.deepEqual(screen.shown, ["user: 추가해줘", "assistant: add_habit output-available | 추가했습니다."]);
    await screen.sendMessage({ text: "다음은?" });
    assert.equal(screen.shown.at(-1), "assistant: 다음.");
    assert.equal((await server.ledger())[0].outcome.status, "ok");
  });

  test("a stream that is cut is resumed, and no word is doubled", async (t) => {
    const { server, way } = await serveBehindWay(t, [{ text: "찾을게요.", ...calls(SEARCH) }, says("one two three four", 4_000)]);
    const screen = new Screen(server, way.origin);
    const sent = screen.sendMessage({ text: "count" });
    await until("the second text comes", () => screen.messages.at(-1)?.parts.filter((part) => part.type === "text").length === 2);
    way.cut();
    await sent;
    assert.equal(screen.status, "error");
    await screen.resumeStream();
    assert.equal(screen.status, "ready", String(screen.error));
    assert.deepEqual(screen.shown, ["user: count", "assistant: 찾을게요. | search_catalog output-available | one two three four"]);
    assert.deepEqual(await server.comesToRest("chat"), ["user: count", "model: 찾을게요.", "tool_call: search_catalog", "model: one two three four"]);
  });

  test("a stream is resumed after kill -9", async (t) => {
    const server = await serve(t, [LONG]);
    const screen = new Screen(server);
    const sent = screen.sendMessage({ text: "count" });
    await coming(screen);
    await server.kill();
    await sent;
    assert.equal(screen.status, "error");
    const turn = screen.lastMessage.id;
    await server.restart([says("one two three, again", 4_000)]);
    await screen.resumeStream();
    assert.equal(screen.status, "ready", String(screen.error));
    assert.deepEqual(screen.shown, ["user: count", "assistant: one two three, again"]);
    assert.equal(screen.lastMessage.id, turn);
  });

  test("a response that comes to the next server first counts, and runs once", async (t) => {
    const server = await serve(t, [calls(ADD)]);
    const screen = new Screen(server);
    await screen.sendMessage({ text: "추가해줘" });
    await server.kill();
    await server.restart([says("추가했습니다.")]);
    await screen.respond(true);
    assert.deepEqual(screen.shown, ["user: 추가해줘", "assistant: add_habit output-available | 추가했습니다."]);
    assert.deepEqual((await server.ledger()).map((call) => call.effect), ["committed"]);
  });

  test("a request that was open at kill -9 is shown by a screen that is loaded anew, and answered by either", async (t) => {
    const server = await serve(t, [calls(ADD)]);
    const screen = new Screen(server);
    await screen.sendMessage({ text: "추가해줘" });
    assert.ok(screen.waits);
    await server.kill();
    await server.restart([says("추가했습니다.")]);
    const loaded = new Screen(server, server.origin, (await server.ask("api/chat/chat/messages")).body);
    await loaded.resumeStream();
    assert.deepEqual(loaded.shown, screen.shown);
    await screen.respond(true);
    assert.deepEqual(screen.shown, ["user: 추가해줘", "assistant: add_habit output-available | 추가했습니다."]);
    await loaded.respond(true);
    assert.deepEqual(loaded.shown, screen.shown);
    assert.deepEqual((await server.ledger()).map((call) => call.effect), ["committed"]);
  });

  test("a stop closes the connection, and the server's stop dismisses the turn", async (t) => {
    const server = await serve(t, [LONG, says("Next.")]);
    const screen = new Screen(server);
    const sent = screen.sendMessage({ text: "count" });
    await coming(screen);
    await screen.stop();
    await sent;
    assert.equal(screen.status, "ready");
    const activeStreamId = screen.lastMessage.id;
    assert.equal((await server.ask(`v1/sessions/chat/turns/${activeStreamId}`)).body.status, "running");
    assert.deepEqual((await server.ask("api/chat/chat/stop", { body: { activeStreamId } })).body, { dismissed: true });
    assert.deepEqual((await server.ask("api/chat/chat/stop", { body: { activeStreamId } })).body, { dismissed: false });
    await server.comesToRest("chat");
    await screen.resumeStream();
    assert.deepEqual(screen.requests.at(-1), { method: "GET", path: "/api/chat/chat/stream", status: 204, version: null });
    await screen.sendMessage({ text: "next" });
    assert.equal(screen.shown.at(-1), "assistant: Next.");
  });

  test("a turn that is dismissed elsewhere ends the stream, and the screen goes on", async (t) => {
    const server = await serve(t, [LONG, says("Next.")]);
    const screen = new Screen(server);
    const sent = screen.sendMessage({ text: "count" });
    await coming(screen);
    await server.ask("api/chat/chat/stop", { body: {} });
    await sent;
    assert.equal(screen.status, "ready", String(screen.error));
    await screen.sendMessage({ text: "next" });
    assert.equal(screen.shown.at(-1), "assistant: Next.");
  });

  test("a chat in which nothing runs has nothing to resume", async (t) => {
    const server = await serve(t, [says("Hello.")]);
    const screen = new Screen(server);
    await screen.resumeStream();
    assert.deepEqual([screen.status, screen.messages], ["ready", []]);
    await screen.sendMessage({ text: "hi" });
    await screen.resumeStream();
    assert.deepEqual(screen.requests.map(({ method, status }) => [method, status]), [["GET", 204], ["POST", 200], ["GET", 204]]);
    assert.deepEqual(screen.shown, ["user: hi", "assistant: Hello."]);
    assert.deepEqual(screen.errors, []);
  });

  test("a new text takes the place of a request, which is no yes", async (t) => {
    const server = await serve(t, [calls(ADD), says("그럼 그만둘게요.")]);
    const screen = new Screen(server);
    await screen.sendMessage({ text: "추가해줘" });
    assert.ok(screen.waits);
    await screen.sendMessage({ text: "아니, 됐어" });
    assert.equal(screen.status, "ready", String(screen.error));
    assert.equal(screen.shown.at(-1), "assistant: 그럼 그만둘게요.");
    assert.ok(screen.data.some((part) => part.data.type === "superseded"));
    assert.deepEqual((await server.ledger()).map((call) => call.outcome.reason), ["dismissed"]);
  });

  test("an answer is asked for again, and an error in mid-stream is told", async (t) => {
    const server = await serve(t, [says("First."), { text: "half", error: "Timeout" }, says("Second.")]);
    const screen = new Screen(server);
    await screen.sendMessage({ text: "hi" });
    await screen.regenerate();
    assert.equal(screen.status, "error");
    assert.ok(screen.error.message.length > 0);
    screen.clearError();
    await screen.regenerate();
    assert.deepEqual(screen.shown, ["user: hi", "assistant: Second."]);
    const loaded = new Screen(server, server.origin, (await server.ask("api/chat/chat/messages")).body);
    assert.deepEqual(loaded.shown, screen.shown);
    assert.deepEqual((await server.stored("chat")).filter((row) => row.startsWith("user")), ["user: hi"]);
  });

  test("an edited message is answered behind the texts before it, also by a screen that is loaded anew", async (t) => {
    const server = await serve(t, ["One.", "Two.", "Zwei.", "Three.", "Uno."].map((text) => says(text)));
    const screen = new Screen(server);
    await screen.sendMessage({ text: "one" });
    await screen.sendMessage({ text: "two" });
    await screen.sendMessage({ text: "zwei", messageId: screen.messages[2].id });
    assert.equal(screen.status, "ready", String(screen.error));
    assert.deepEqual(screen.shown, ["user: one", "assistant: One.", "user: zwei", "assistant: Zwei."]);
    await screen.sendMessage({ text: "three" });
    const stored = async () => (await server.ask("api/chat/chat/messages")).body;
    const loaded = new Screen(server, server.origin, await stored());
    assert.deepEqual(loaded.shown, [...screen.shown.slice(0, 4), "user: three", "assistant: Three."]);
    await loaded.sendMessage({ text: "uno", messageId: loaded.messages[0].id });
    assert.deepEqual(loaded.shown, ["user: uno", "assistant: Uno."]);
    assert.deepEqual(new Screen(server, server.origin, await stored()).shown, loaded.shown);
  });
}
