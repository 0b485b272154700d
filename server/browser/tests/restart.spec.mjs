// The network and the server go away and come back: nothing is lost, nothing is doubled, nothing is loaded anew.

import { ADD, SEARCH, answered, ask, box, chatOf, cut, dialog, enter, expect, fail, fillChat, log, says, send, shown, soon, status, stored, test } from "../fixtures.mjs";

/** Marks the page, so that a reload would show. */
const mark = (page) => page.evaluate(() => (window.isTheSame = true));
const isTheSame = (page) => page.evaluate(() => window.isTheSame === true);

test("the server is killed in the middle of an answer and started again", async ({ page, serve }) => {
  const server = await serve([SEARCH, says("one two three four five six seven eight", 20_000)]);
  await enter(page, server);
  await mark(page);
  await send(page, "count");
  await expect(log(page).locator(".coming")).toHaveText(/^one/);
  await server.kill();
  await expect(page.getByText("The server cannot be reached.")).toBeVisible();
  await expect(status(page)).toHaveText(/not connected|connecting/);
  await expect(page.locator(".banner .next")).toHaveText(/Trying again in \d+ seconds?\./);
  await server.restart([says("one two three, again", 800)]);
  await page.getByRole("button", { name: "Try now" }).click();
  await expect(log(page).getByText("Continues where it was cut off.")).toBeVisible();
  await expect(log(page).getByText("one two three, again")).toBeVisible();
  await expect(page.locator(".banner")).toBeEmpty();
  await expect.poll(() => stored(server, chatOf(page))).toEqual(["user: count", "model: Let me look.", "tool_call: search_catalog", "model: one two three, again"]);
  await soon(async () => expect(await shown(page)).toEqual(await stored(server, chatOf(page))));
  expect(await isTheSame(page)).toBe(true);
});

// docs/serve.md advises readers to use `fetch` for this reason.
test("a server that restarts refuses two readers once: EventSource gives up, and the page's reader by fetch goes on", { tag: "@once" }, async ({ page, serve }) => {
  const server = await serve([says("Hello.")]);
  await enter(page, server);
  await send(page, "hi");
  await answered(page, "Hello.");
  // An EventSource sends no header, so the half of the login that goes in one is added on the way.
  const proof = await page.evaluate(() => localStorage.getItem("madang.proof"));
  await page.route("**/events?after=0", (route) => route.continue({ headers: { ...route.request().headers(), "madang-proof": proof } }));
  await page.evaluate((chat) => (window.source = new EventSource(`/v1/sessions/${chat}/events?after=0`)), chatOf(page));
  const state = () => page.evaluate(() => window.source.readyState);
  await expect.poll(state).toBe(1);
  const refusal = { status: 503, name: "draining", retryAfter: 1, times: 1 };
  const ofSource = await fail(page, "GET", "**/events?after=0", refusal);
  const ofFetch = await fail(page, "GET", /\/v1\/sessions\/[^/?]+\/events$/, refusal);
  await server.kill();
  await server.restart([says("Here I am.")]);
  await expect.poll(state, { timeout: 20_000 }).toBe(2);
  await expect.poll(() => ofFetch.seen, { timeout: 20_000 }).toBeGreaterThan(0);
  await send(page, "are you there?");
  await expect(log(page).getByText("Here I am.")).toBeVisible({ timeout: 40_000 });
  expect([ofSource.seen, await state()]).toEqual([1, 2]);
});

test("the server is killed while a question is open: the question comes back, and runs once", async ({ page, serve }) => {
  const server = await serve([ADD]);
  await enter(page, server);
  await mark(page);
  await send(page, "Add it");
  await expect(dialog(page)).toBeVisible();
  await server.kill();
  await dialog(page).getByRole("button", { name: "Yes", exact: true }).click();
  await expect(dialog(page)).toContainText("Not sent yet. It will be sent when the server can be reached.");
  await server.restart([says("Done.")]);
  await expect(log(page).getByText("Done.")).toBeVisible({ timeout: 40_000 });
  await expect(dialog(page)).toBeHidden();
  const { body } = await ask(server, `v1/ledger?session=${chatOf(page)}`);
  expect(body.calls).toHaveLength(1);
  expect(body.calls[0]).toMatchObject({ effect: "committed" });
  expect((await shown(page)).filter((row) => row.startsWith("tool_call"))).toHaveLength(1);
  expect(await isTheSame(page)).toBe(true);
});

test("what is sent while the server is away waits under its key, also over a reload of the page", async ({ page, serve }) => {
  const server = await serve([says("Hello.")]);
  await enter(page, server);
  await send(page, "hi");
  await answered(page, "Hello.");
  await server.kill();
  await send(page, "are you there?");
  await expect(log(page).getByText("Not sent yet. It will be sent when the server can be reached.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Take it back" })).toBeVisible();
  const kept = await page.evaluate(() => Object.entries(sessionStorage).find(([name]) => name.startsWith("madang.unsent"))?.[1]);
  const [{ key }] = JSON.parse(kept);
  await server.restart([says("Yes, I am.")]);
  await page.reload();
  await expect(log(page).getByText("Yes, I am.")).toBeVisible({ timeout: 40_000 });
  await soon(async () => expect(await shown(page)).toEqual(["user: hi", "model: Hello.", "user: are you there?", "model: Yes, I am."]));
  await soon(async () => expect(await stored(server, chatOf(page))).toEqual(await shown(page)));
  expect(await page.evaluate(() => Object.keys(sessionStorage).filter((name) => name.startsWith("madang.unsent")))).toEqual([]);
  if (server.mock) expect(server.mock.store.chats.get(chatOf(page)).keys.has(key)).toBe(true);
});

test("a first message that was sent while the server is away opens the chat later", async ({ page, serve }) => {
  const server = await serve([]);
  await enter(page, server);
  await server.kill();
  await send(page, "the very first");
  await expect(log(page).getByText("Not sent yet.")).toBeVisible();
  await server.restart([says("Welcome.")]);
  await expect(log(page).getByText("Welcome.")).toBeVisible({ timeout: 40_000 });
  await expect(page.getByRole("navigation").getByRole("link", { name: "the very first" })).toBeVisible();
  expect((await ask(server, "v1/sessions")).body.sessions).toHaveLength(1);
});

test("a message can be taken back while it was not sent", async ({ page, serve }) => {
  const server = await serve([says("Hello."), says("Second.")]);
  await enter(page, server);
  await send(page, "hi");
  await answered(page, "Hello.");
  await server.kill();
  await send(page, "by mistake");
  await page.getByRole("button", { name: "Take it back" }).click();
  await expect(box(page)).toHaveValue("by mistake");
  await server.restart([says("Second.")]);
  await send(page, "on purpose");
  await expect(log(page).getByText("Second.")).toBeVisible({ timeout: 40_000 });
  await soon(async () => expect(await stored(server, chatOf(page))).toEqual(["user: hi", "model: Hello.", "user: on purpose", "model: Second."]));
});

test("a stream that is cut at random goes on where it was, each event once", async ({ page, serve }) => {
  const script = Array.from({ length: 3 }, (_, at) => ({ text: `part ${at} of many words`, delay_ms: 300, tool_calls: [{ name: "search_catalog", arguments: { limit: 1 } }] }));
  const server = await serve([...script, says("the end")]);
  await enter(page, server);
  await send(page, "go");
  for (let at = 0; at < 3; at += 1) {
    await expect(log(page).getByText(`part ${at}`)).toBeVisible();
    await cut(page);
  }
  await expect(log(page).getByText("the end")).toBeVisible({ timeout: 20_000 });
  await soon(async () => expect(await shown(page)).toEqual(await stored(server, chatOf(page))));
  await soon(async () => expect(await shown(page)).toHaveLength(8));
});

// Only the mock's ring can be emptied.
test("a reader that was away so long that the ring forgot reads from the store", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([says("First."), says("Second.")]);
  await enter(page, server);
  await send(page, "one");
  await answered(page, "First.");
  const away = await fail(page, "GET", "**/events", { status: 503, retryAfter: 1 });
  await cut(page);
  const session = chatOf(page);
  await ask(server, `v1/sessions/${session}/turns`, { method: "POST", body: { text: "from elsewhere" } });
  await expect.poll(async () => (await stored(server, session)).length).toBe(4);
  server.mock.engine.feed(server.mock.store.chats.get(session)).forget();
  await away.heal();
  await expect(log(page).getByText("Second.")).toBeVisible({ timeout: 20_000 });
  await soon(async () => expect(await shown(page)).toEqual(await stored(server, session)));
});

test("the answer to a message is lost: it is sent again under its key, and is one turn", async ({ page, serve }) => {
  const server = await serve([says("Hello."), says("Once.")]);
  await enter(page, server);
  await send(page, "hi");
  await answered(page, "Hello.");
  // Nor does the page hear of it by its stream.
  const away = await fail(page, "GET", "**/events", { status: 503, retryAfter: 30 });
  await cut(page);
  const lost = await fail(page, "POST", "**/turns", { lost: true, times: 2 });
  await send(page, "once");
  await expect.poll(() => lost.seen).toBe(3);
  await away.heal();
  await page.getByRole("button", { name: "Try now" }).click();
  await expect(log(page).getByText("Once.")).toBeVisible();
  await soon(async () => expect(await stored(server, chatOf(page))).toEqual(["user: hi", "model: Hello.", "user: once", "model: Once."]));
  await soon(async () => expect(await shown(page)).toEqual(await stored(server, chatOf(page))));
});

test("a busy chat takes the message when its turn is over", async ({ page, serve }) => {
  const server = await serve([says("Hello."), says("A long one.", 6000), says("Now yours.")]);
  await enter(page, server);
  await send(page, "hi");
  await answered(page, "Hello.");
  const away = await fail(page, "GET", "**/events", { status: 503, retryAfter: 30 });
  await cut(page);
  await ask(server, `v1/sessions/${chatOf(page)}/turns`, { method: "POST", body: { text: "from elsewhere" } });
  await send(page, "mine");
  await expect(log(page).getByText("It will be sent after this answer.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Try now" })).toBeVisible();
  await away.heal();
  await page.getByRole("button", { name: "Try now" }).click();
  await expect(log(page).getByText("Now yours.")).toBeVisible({ timeout: 20_000 });
  await soon(async () => expect(await shown(page)).toEqual(await stored(server, chatOf(page))));
});

// Only the mock drains without ending.
test("a page that comes while the server drains says so", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([says("Hello.")]);
  await fillChat(server, "c", ["hi"]);
  server.mock.drain();
  await enter(page, server, "#/s/c");
  await expect(page.locator(".banner")).toContainText("The server is restarting.");
});

test("a server that drains says so, and the chat goes on with the next one", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([says("Hello."), says("Back.")]);
  await enter(page, server);
  await send(page, "hi");
  await answered(page, "Hello.");
  const away = await fail(page, "GET", "**/events", { status: 503, name: "draining", retryAfter: 1 });
  server.mock.drain();
  await expect(page.getByText("The server is restarting.")).toBeVisible();
  await send(page, "still there?");
  await expect(log(page).getByText("Not sent yet. Trying again.")).toBeVisible();
  await away.heal();
  server.mock.isDraining = false;
  await expect(log(page).getByText("Back.")).toBeVisible({ timeout: 20_000 });
});

test("another database behind the same address: the chat is read anew", async ({ page, serve }) => {
  const server = await serve([says("First.")]);
  await enter(page, server);
  await send(page, "one");
  await answered(page, "First.");
  await server.kill();
  await server.copyStore();
  await server.restart([says("Second.")]);
  await send(page, "two");
  await expect(log(page).getByText("Second.")).toBeVisible({ timeout: 20_000 });
  await server.kill();
  await server.putBack();
  await server.restart([]);
  await expect(log(page).getByText("Second.")).toBeHidden({ timeout: 20_000 });
  await soon(async () => expect(await shown(page)).toEqual(["user: one", "model: First."]));
});
