// A turn on the screen: what is said, streamed, done by tools, and how a person stops it.

import { ADD, SEARCH, ask, box, chatOf, dialog, enter, expect, fillChat, log, says, send, shown, soon, stored, test } from "../fixtures.mjs";

test("a text is sent, the answer streams, a tool's end is shown", async ({ page, serve }) => {
  const server = await serve([{ ...SEARCH, delay_ms: 1200 }, says("Get up at **one** time.")]);
  await enter(page, server);
  await send(page, "Find something for sleep");
  await expect(log(page).getByText("Find something for sleep")).toBeVisible();
  // The text grows before its message ends.
  await expect(log(page).locator(".coming")).toHaveText(/^Let/);
  await expect(log(page).getByText("search_catalog")).toBeVisible();
  await expect(log(page).locator(".call .state")).toHaveText("done");
  await expect(log(page).locator("strong")).toHaveText("one");
  await expect(page).toHaveTitle(/Find something for sleep/);
  await soon(async () => expect(await shown(page)).toEqual(["user: Find something for sleep", "model: Let me look.", "tool_call: search_catalog", "model: Get up at one time."]));
  await page.reload();
  await expect(log(page).locator("strong")).toHaveText("one");
  await soon(async () => expect(await shown(page)).toHaveLength(4));
});

test("finished messages and ends of tools are read out, pieces of text are not", async ({ page, serve }) => {
  const server = await serve([{ ...SEARCH, delay_ms: 800 }, says("All *done*.", 800)]);
  await enter(page, server);
  await page.evaluate(() => {
    window.heard = [];
    new MutationObserver((changes) => window.heard.push(...changes.flatMap((change) => [...change.addedNodes].map((node) => node.textContent)))).observe(document.getElementById("polite"), { childList: true });
  });
  await send(page, "go");
  await expect(log(page).getByText("All done.")).toBeVisible();
  await expect.poll(() => page.evaluate(() => window.heard)).toEqual(["Madang: Let me look.", "search_catalog: done", "Madang: All done."]);
  await expect(log(page)).toHaveAttribute("aria-live", "off");
});

// No tool of the program's own toolkits takes long enough to report.
test("a call shows how far it has come, and its end takes the place of that", { tag: "@mock" }, async ({ page, serve }) => {
  const letter = { tool_calls: [{ name: "send_letter", arguments: { to: "Lee", body: "Hello" } }] };
  const server = await serve([letter, says("Sent.")]);
  await enter(page, server);
  await send(page, "write to Lee");
  await dialog(page).getByRole("button", { name: "Yes", exact: true }).click();
  const bar = log(page).locator(".call progress");
  await expect(bar).toHaveJSProperty("position", 0.5);
  await expect(log(page).getByText("the stamp <b>sticks</b>")).toBeVisible();
  await expect(log(page).getByText("Sent.")).toBeVisible();
  await expect(bar).toHaveCount(0);
});

test("an error of the model is told, and the chat goes on", async ({ page, serve }) => {
  const server = await serve([{ text: "Half of", error: "Timeout" }, says("Whole.")]);
  await enter(page, server);
  await send(page, "one");
  await expect(log(page).getByText("Timeout")).toBeVisible();
  await expect(log(page).getByText("Interrupted here.")).toBeVisible();
  await send(page, "two");
  await expect(log(page).getByText("Whole.")).toBeVisible();
});

test("what is sent while an answer comes goes when it is done, and can be taken back until then", async ({ page, serve }) => {
  const server = await serve([says("A long one.", 4000), says("Another."), says("Third.")]);
  await enter(page, server);
  await send(page, "one");
  await expect(log(page).locator(".coming")).toBeVisible();
  await send(page, "two");
  await send(page, "on second thoughts");
  await expect(box(page)).toHaveValue("");
  await expect(log(page).getByText("It will be sent after this answer.")).toHaveCount(2);
  await log(page).locator(".said", { hasText: "on second thoughts" }).getByRole("button", { name: "Take it back" }).click();
  await expect(box(page)).toHaveValue("on second thoughts");
  await expect(log(page).getByText("Another.")).toBeVisible();
  const all = ["user: one", "model: A long one.", "user: two", "model: Another."];
  await soon(async () => expect(await shown(page)).toEqual(all));
  await soon(async () => expect(await stored(server, chatOf(page))).toEqual(all));
  // The moment between the last word of an answer and its end is no trap.
  await box(page).press("Enter");
  await expect(log(page).getByText("Third.")).toBeVisible();
  await expect(log(page).locator(".unsent")).toHaveCount(0);
});

test("a stop can be undone, and then nothing was dismissed", async ({ page, serve }) => {
  const server = await serve([says("one two three four five six", 6000)]);
  await enter(page, server);
  await send(page, "count");
  await expect(log(page).getByText("one")).toBeVisible();
  await box(page).press("Escape");
  await expect(page.getByText("Stopped.", { exact: false }).first()).toBeVisible();
  await expect(log(page).getByText("one")).toBeHidden();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(log(page).getByText("one")).toBeVisible();
  await expect(log(page).getByText("one two three four five six")).toBeVisible({ timeout: 15_000 });
  const last = async () => (await ask(server, `v1/sessions/${chatOf(page)}`)).body.messages.at(-1);
  await expect.poll(last).toMatchObject({ role: "model", ending: "complete" });
  if (server.mock) expect(server.mock.dismissals).toEqual([]);
});

test("a stop that is not undone dismisses the turn after five seconds", async ({ page, serve }) => {
  const server = await serve([says("one two three four five six", 30_000)]);
  await enter(page, server);
  await send(page, "count");
  await expect(log(page).getByText("one")).toBeVisible();
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.locator("[data-bar=stop]")).toContainText("The model keeps working until then.");
  await expect(log(page).getByText("You stopped this.")).toBeVisible({ timeout: 12_000 });
  await expect(box(page)).toBeFocused();
});

test("stopping twice dismisses at once", async ({ page, serve }) => {
  const server = await serve([says("one two three four five six", 30_000), says("Hello.")]);
  await enter(page, server);
  await send(page, "count");
  await expect(log(page).getByText("one")).toBeVisible();
  await box(page).press("Escape");
  await box(page).press("Escape");
  await expect(log(page).getByText("You stopped this.")).toBeVisible({ timeout: 4000 });
  await send(page, "and now?");
  await expect(log(page).getByText("Hello.")).toBeVisible();
});

test("closing the page sends a stop that still waits", async ({ page, serve, context }) => {
  const server = await serve([says("one two three four five six", 30_000)]);
  await enter(page, server);
  await send(page, "count");
  await expect(log(page).getByText("one")).toBeVisible();
  const session = chatOf(page);
  await box(page).press("Escape");
  const other = await context.newPage();
  await page.close({ runBeforeUnload: true });
  await expect.poll(async () => (await ask(server, `v1/sessions/${session}`)).body.is_streaming, { timeout: 4000 }).toBe(false);
  await other.close();
});

test("Enter while a letter is composed sends nothing", async ({ page, serve }) => {
  const server = await serve([says("네.")]);
  await enter(page, server);
  const client = await page.context().newCDPSession(page);
  await box(page).focus();
  await client.send("Input.imeSetComposition", { text: "안녕", selectionStart: 2, selectionEnd: 2 });
  await expect(box(page)).toHaveValue("안녕");
  // As browsers tell the key that ends a composition: it is a part of it, or has the code 229 behind its end.
  const press = (init) => box(page).evaluate((node, init) => {
    const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...init });
    node.dispatchEvent(event);
    return event.defaultPrevented;
  }, init);
  expect(await press({ isComposing: true })).toBe(false);
  expect(await press({ keyCode: 229 })).toBe(false);
  expect(await press({ isComposing: true, key: "Escape" })).toBe(false);
  await expect(box(page)).toHaveValue("안녕");
  await client.send("Input.insertText", { text: "안녕" });
  await expect(box(page)).toHaveValue("안녕");
  await box(page).press("Enter");
  await expect(log(page).getByText("안녕")).toBeVisible();
  await expect(log(page).getByText("네.")).toBeVisible();
  await soon(async () => expect(await stored(server, chatOf(page))).toEqual(["user: 안녕", "model: 네."]));
});

test("a question waits until a letter is composed", async ({ page, serve }) => {
  const server = await serve([{ ...ADD, delay_ms: 500 }, says("Added.")]);
  await enter(page, server);
  await send(page, "Add it");
  const client = await page.context().newCDPSession(page);
  await client.send("Input.imeSetComposition", { text: "한", selectionStart: 1, selectionEnd: 1 });
  await expect(page.locator(".bar.asked")).toBeVisible();
  await expect(dialog(page)).toBeHidden();
  await client.send("Input.insertText", { text: "한" });
  await expect(dialog(page)).toBeVisible();
});

test("Shift and Enter begin a line, and the box grows to eight", async ({ page, serve }) => {
  const server = await serve([]);
  await enter(page, server);
  await box(page).fill("one");
  await box(page).press("Shift+Enter");
  await expect(box(page)).toHaveValue("one\n");
  await box(page).fill(Array.from({ length: 30 }, (_, at) => String(at)).join("\n"));
  const { height } = await box(page).boundingBox();
  expect(height).toBeGreaterThan(150);
  expect(height).toBeLessThan(260);
});

test("a draft outlives a reload, each chat has its own", async ({ page, serve }) => {
  const server = await serve([says("Yes.")]);
  await enter(page, server);
  await box(page).fill("for a new chat");
  await page.reload();
  await expect(box(page)).toHaveValue("for a new chat");
  await box(page).press("Enter");
  await expect(log(page).getByText("Yes.")).toBeVisible();
  await box(page).fill("for this one");
  await page.getByRole("link", { name: "New chat", exact: true }).click();
  await expect(box(page)).toHaveValue("");
  await page.goBack();
  await expect(box(page)).toHaveValue("for this one");
});

test("clearing asks once more, and leaves an empty chat", async ({ page, serve }) => {
  const server = await serve([says("Yes.")]);
  await enter(page, server);
  await send(page, "hello");
  await expect(log(page).getByText("Yes.")).toBeVisible();
  await page.getByRole("button", { name: "Chat menu" }).click();
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(dialog(page).getByRole("button", { name: "Cancel" })).toBeFocused();
  await dialog(page).getByRole("button", { name: "Clear" }).click();
  await expect(log(page).getByText("The chat was cleared.")).toBeVisible();
  await expect(log(page).getByText("Yes.")).toBeHidden();
});

test("a text that the server refuses is told why, and can be written again", async ({ page, serve }) => {
  const server = await serve([says("Short enough.")]);
  await enter(page, server);
  await send(page, "x".repeat(70_000));
  await expect(log(page).getByText("Not sent.")).toBeVisible();
  await expect(log(page).getByText("70,000 bytes, 65,536 are allowed")).toBeVisible();
  await page.getByRole("button", { name: "Edit it" }).click();
  await expect(box(page)).toHaveValue("x".repeat(70_000));
  await send(page, "short");
  await expect(log(page).getByText("Short enough.")).toBeVisible();
});

test("a very long chat is drawn in pages of a hundred, and stays where it is read", async ({ page, serve }) => {
  const server = await serve([...Array.from({ length: 225 }, (_, at) => says(`say ${at}`)), says("The last.")]);
  await fillChat(server, "long", Array.from({ length: 225 }, (_, at) => `ask ${at}`));
  await enter(page, server, "#/s/long");
  await expect(log(page).getByText("say 224")).toBeInViewport();
  await expect(log(page).locator(".said")).toHaveCount(100);
  const earlier = page.getByRole("button", { name: "Show 100 earlier" });
  const before = await log(page).getByText("ask 175", { exact: true }).evaluate((node) => {
    node.scrollIntoView({ block: "center" });
    return node.getBoundingClientRect().top;
  });
  await earlier.click();
  await expect(log(page).locator(".said")).toHaveCount(200);
  const after = await log(page).getByText("ask 175", { exact: true }).evaluate((node) => node.getBoundingClientRect().top);
  expect(Math.abs(after - before)).toBeLessThan(60);
  await expect(page.getByRole("button", { name: "Show 100 earlier" })).toBeFocused();
  for (let more = 0; more < 3; more += 1) await page.getByRole("button", { name: /Show \d+ earlier/ }).click();
  await expect(log(page).locator(".said")).toHaveCount(450);
  await expect(earlier).toBeHidden();
  await send(page, "and?");
  await page.getByRole("button", { name: "New messages" }).click();
  await expect(log(page).getByText("The last.")).toBeInViewport();
});

test("the keys are listed by ?, do what they say, and can be switched off", async ({ page, serve }) => {
  const server = await serve([says("Yes.")]);
  await enter(page, server);
  await send(page, "hello");
  await expect(log(page).getByText("Yes.")).toBeVisible();
  await box(page).press("?");
  await expect(box(page)).toHaveValue("?");
  await box(page).fill("");
  await log(page).focus();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(log(page)).toBeFocused();
  await page.keyboard.press("l");
  await expect(page.getByRole("heading", { name: /^Ledger:/ })).toBeVisible();
  await page.keyboard.press("i");
  await expect(page.getByRole("heading", { name: "Inbox" })).toBeVisible();
  await page.keyboard.press("n");
  await expect(box(page)).toBeFocused();
  await page.locator(".settings summary").click();
  await page.getByRole("button", { name: "Keys" }).click();
  await page.getByLabel("Use single-letter keys").uncheck();
  await page.keyboard.press("Escape");
  await page.locator(".settings summary").focus();
  await page.keyboard.press("i");
  await expect(page.getByRole("heading", { name: "New chat" })).toBeVisible();
});
