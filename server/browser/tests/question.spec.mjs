// The question before a call runs: only a button that says yes says yes, and closing says nothing.

import { ADD, LONG_ADD, ask, box, chatOf, cut, dialog, enter, expect, fail, log, says, send, test } from "../fixtures.mjs";

const button = (page, name) => dialog(page).getByRole("button", { name, exact: true });
const open = async (server) => (await ask(server, "v1/inbox")).body.approval_requests;
const rows = async (server, page) => (await ask(server, `v1/ledger?session=${chatOf(page)}`)).body.calls;
/** The call as the ledger has it, once it has ended. */
const ended = (server, page) => expect.poll(async () => (await rows(server, page))[0]?.state).toBe("ended").then(async () => (await rows(server, page))[0]);

/** Changes the arguments as JSON; the form comes first. */
const asJson = async (page) => {
  await button(page, "Change details").click();
  await button(page, "Edit as JSON").click();
};

async function asked(page, serve, more = [says("Done.")]) {
  const server = await serve([ADD, ...more]);
  await enter(page, server);
  await send(page, "Add morning light");
  await expect(dialog(page)).toBeVisible();
  return server;
}

test("by mouse: yes runs the call once", async ({ page, serve }) => {
  const server = await asked(page, serve);
  await expect(dialog(page).locator("#ask-text > dl > div", { hasText: "Framed text" }).locator("dd")).toHaveText("Morning sunlight");
  await expect(button(page, "No")).toBeFocused();
  await button(page, "Yes").click();
  await expect(dialog(page)).toBeHidden();
  await expect(log(page).locator(".call .state")).toHaveText("done");
  await expect(box(page)).toBeFocused();
  expect(await rows(server, page)).toHaveLength(1);
  expect(await ended(server, page)).toMatchObject({ effect: "committed", approval: { kind: "once" } });
});

test("by keyboard alone: from the token to a yes, with the buttons in their order", async ({ page, serve }) => {
  const server = await serve([ADD, says("Done.")]);
  await page.goto(server.origin);
  await expect(page.locator("#token")).toBeFocused();
  await page.keyboard.type(server.token);
  await page.keyboard.press("Enter");
  await expect(box(page)).toBeFocused();
  await page.keyboard.type("Add morning light");
  await page.keyboard.press("Enter");
  await expect(button(page, "No")).toBeFocused();
  await expect(button(page, "No")).toBeEnabled();
  const order = [];
  for (let at = 0; at < 5; at += 1) {
    order.push(await page.evaluate(() => document.activeElement.textContent));
    if (at < 4) await page.keyboard.press("Tab");
  }
  expect(order).toEqual(["No", "No, with a message", "Change details", "Yes, always", "Yes"]);
  await page.keyboard.press("Enter");
  await expect(log(page).getByText("Done.")).toBeVisible();
  await expect(box(page)).toBeFocused();
  expect(await ended(server, page)).toMatchObject({ effect: "committed" });
});

test("yes counts once the end of the question was on the screen, and what it does stands above", async ({ page, serve }) => {
  await page.setViewportSize({ width: 1280, height: 700 });
  const server = await serve([LONG_ADD, says("Done.")]);
  await enter(page, server);
  await send(page, "Add it");
  await expect(button(page, "No")).toBeEnabled();
  const means = dialog(page).locator("#ask-title");
  const text = dialog(page).locator("#ask-text");
  await expect(means).toContainText("Adds a new habit");
  expect((await means.boundingBox()).y).toBeLessThan((await text.boundingBox()).y);
  await expect(dialog(page)).toContainText("Read to the end before you say yes.");
  const yes = button(page, "Yes");
  await yes.click({ force: true });
  await yes.press("Enter");
  await button(page, "Yes, always").click();
  await expect(button(page, "Back")).toBeEnabled();
  await button(page, "Yes, always run it").click({ force: true });
  await button(page, "Back").click();
  await button(page, "Change details").click();
  await expect(button(page, "Back")).toBeEnabled();
  await button(page, "Run with these").click({ force: true });
  await button(page, "Back").click();
  await expect(button(page, "No")).toBeEnabled();
  await expect(yes).toBeDisabled();
  expect(await open(server)).toHaveLength(1);
  // By wheel, a part is not enough.
  await text.hover();
  await page.mouse.wheel(0, 40);
  await expect(yes).toBeDisabled();
  await page.mouse.wheel(0, 4000);
  await expect(yes).toBeEnabled();
  await expect(dialog(page).locator(".ask-rest")).toBeHidden();
  await yes.click();
  await expect(log(page).getByText("Done.")).toBeVisible();
  expect(await ended(server, page)).toMatchObject({ effect: "committed" });
});

test("by keyboard alone: a long question is read on by a button, to a yes", async ({ page, serve }) => {
  await page.setViewportSize({ width: 1280, height: 500 });
  const server = await serve([LONG_ADD, says("Done.")]);
  await enter(page, server);
  await send(page, "Add it");
  await expect(button(page, "No")).toBeFocused();
  await expect(button(page, "No")).toBeEnabled();
  await page.keyboard.press("Shift+Tab");
  await expect(button(page, "Read on")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(button(page, "Yes")).toBeDisabled();
  await expect(async () => {
    if (await button(page, "Read on").isVisible()) await page.keyboard.press("Enter");
    await expect(button(page, "No")).toBeFocused({ timeout: 200 });
  }).toPass();
  await expect(button(page, "Yes")).toBeEnabled();
  for (let at = 0; at < 4; at += 1) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(log(page).getByText("Done.")).toBeVisible();
});

test("no single key says yes", async ({ page, serve }) => {
  const server = await asked(page, serve);
  await expect(button(page, "No")).toBeEnabled();
  for (const key of ["y", "Y", "a", "ㅛ", "e", "1", "ArrowRight", "Control+Enter"]) {
    if (key === "ㅛ") await page.keyboard.insertText(key);
    else if (key !== "Control+Enter") await page.keyboard.press(key);
  }
  expect(await open(server)).toHaveLength(1);
  await expect(dialog(page)).toBeVisible();
});

test("Enter says what the focus says: at first, no", async ({ page, serve }) => {
  const server = await asked(page, serve);
  await expect(button(page, "No")).toBeEnabled();
  await page.keyboard.press("Enter");
  await expect(log(page).locator(".call .state")).toHaveText("not allowed");
  expect(await ended(server, page)).toMatchObject({ effect: "none", outcome: { status: "cancelled", reason: "denied" } });
});

test("a key that was on its way when the question came up is no answer", async ({ page, serve }) => {
  const server = await serve([{ ...ADD, delay_ms: 700 }, says("Done.")]);
  await enter(page, server);
  await send(page, "Add it");
  // A person who goes on typing meets the question with a blank and an Enter.
  await expect(dialog(page)).toBeVisible();
  for (let at = 0; at < 6; at += 1) {
    await page.keyboard.press(at % 2 ? "Enter" : "Space");
    await page.waitForTimeout(50);
  }
  expect(await open(server)).toHaveLength(1);
  await expect(button(page, "No")).toBeEnabled();
  await button(page, "No").click();
  await expect(dialog(page)).toBeHidden();
});

test("Esc and the cross are no answer: the question stays as a bar and in the inbox", async ({ page, serve }) => {
  const server = await asked(page, serve);
  const [request] = await open(server);
  await page.keyboard.press("Escape");
  await expect(dialog(page)).toBeHidden();
  await expect(page.locator(".bar.asked")).toContainText("A question is waiting: add_habit");
  await expect(box(page)).toBeFocused();
  await expect(page).toHaveTitle(/^\(1\) /);
  await expect(page.locator("link[rel=icon]")).toHaveAttribute("href", /^data:image\/svg/);
  expect(await open(server)).toEqual([request]);
  await page.locator(".bar.asked").getByRole("button", { name: "Review" }).click();
  await expect(button(page, "No")).toBeFocused();
  await button(page, "Decide later").click();
  await expect(dialog(page)).toBeHidden();
  expect(await open(server)).toEqual([request]);
  await page.getByRole("link", { name: "Inbox 1 open question" }).click();
  await page.getByRole("button", { name: "Review: add_habit, Add morning light" }).click();
  await expect(dialog(page)).toBeVisible();
  await button(page, "Yes").click();
  await expect(page.getByRole("heading", { name: "No open questions" })).toBeVisible();
  await expect(page).not.toHaveTitle(/^\(/);
  await expect(page.locator("link[rel=icon]")).toHaveAttribute("href", /icon\.svg$/);
  await page.goBack();
  await expect(log(page).getByText("Done.")).toBeVisible();
});

test("a click beside the question does not close it", async ({ page, serve }) => {
  await asked(page, serve);
  await asJson(page);
  await dialog(page).getByRole("textbox").fill('{"half": ');
  await page.mouse.click(5, 400);
  await expect(dialog(page).getByRole("textbox")).toHaveValue('{"half": ');
  await expect(dialog(page)).toHaveAttribute("closedby", "none");
  // Esc goes back one step, and what was typed is still there.
  await page.keyboard.press("Escape");
  await expect(button(page, "No")).toBeFocused();
  await button(page, "Change details").click();
  await expect(dialog(page).getByRole("textbox")).toHaveValue('{"half": ');
});

test("other arguments: bad JSON and what does not fit are told, and the question stays open", async ({ page, serve }) => {
  const server = await asked(page, serve);
  await asJson(page);
  const text = dialog(page).getByRole("textbox", { name: "Arguments to run with (JSON)" });
  await expect(text).toBeFocused();
  const given = JSON.parse(await text.inputValue());
  expect(given).toEqual(ADD.tool_calls[0].arguments);
  await text.fill('{\n  "protocol_id": oops\n}');
  await expect(dialog(page).getByText("This is not JSON (line 2")).toBeVisible();
  await expect(text).toHaveAttribute("aria-invalid", "true");
  await button(page, "Run with these").click();
  await text.fill("[1]");
  await expect(dialog(page).getByText("This must be a JSON object.")).toBeVisible();
  await text.fill(JSON.stringify({ ...given, frame_level: "L9" }));
  await expect(text).toHaveAttribute("aria-invalid", "false");
  await button(page, "Run with these").click();
  await expect(dialog(page).locator(".wrong")).toHaveText('/frame_level: must be one of "L0", "L1", "L2", "L3"');
  await expect(text).toBeFocused();
  expect(await open(server)).toHaveLength(1);
  await text.fill(JSON.stringify({ ...given, framed_text: "Ten minutes of sun" }));
  await button(page, "Run with these").click();
  await expect(log(page).getByText("Done.")).toBeVisible();
  expect(await ended(server, page)).toMatchObject({ approval: { kind: "edited" }, arguments: { framed_text: "Ten minutes of sun" }, asked: given, effect: "committed" });
  await log(page).locator(".call summary").click();
  await expect(log(page).locator(".call")).toContainText("with changed arguments");
});

test("the details are changed in a form, and what the tool refuses is said at its field", async ({ page, serve }) => {
  const server = await asked(page, serve);
  await button(page, "Change details").click();
  const text = dialog(page).getByRole("textbox", { name: "Framed text" });
  await expect(dialog(page).getByRole("textbox", { name: "Protocol id" })).toBeFocused();
  await expect(dialog(page).getByRole("combobox", { name: "Frame level" })).toHaveValue("2");
  await text.fill("x".repeat(201));
  await button(page, "Run with these").click();
  await expect(dialog(page).locator(".wrong")).toHaveText("Framed text: takes at most 200 characters");
  await expect(text).toHaveAttribute("aria-invalid", "true");
  await expect(text).toBeFocused();
  await text.fill("Ten minutes of sun");
  await dialog(page).getByRole("combobox", { name: "Frame level" }).selectOption("L3");
  await button(page, "Run with these").click();
  await expect(log(page).getByText("Done.")).toBeVisible();
  const given = ADD.tool_calls[0].arguments;
  expect(await ended(server, page)).toMatchObject({ approval: { kind: "edited" }, arguments: { ...given, frame_level: "L3", framed_text: "Ten minutes of sun" }, asked: given });
});

test("a form reads numbers whole, and says where one is none", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([{ tool_calls: [{ name: "end_habit", arguments: { habit_id: 1 } }] }, says("Done.")]);
  await enter(page, server);
  await send(page, "end it");
  await button(page, "Change details").click();
  const number = dialog(page).getByRole("textbox", { name: "Habit id" });
  await number.fill("one");
  await button(page, "Run with these").click();
  await expect(dialog(page).locator(".wrong")).toHaveText("Habit id: must be of type integer");
  await expect(number).toBeFocused();
  await number.fill("1234567890123456789");
  const sent = page.waitForRequest("**/decision");
  await button(page, "Run with these").click();
  expect((await sent).postData()).toContain('"habit_id":1234567890123456789');
});

test("a shape that no form shows is changed as JSON, and the page says so", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([{ tool_calls: [{ name: "add_routine", arguments: { steps: [{ title: "Stretch" }] } }] }, says("Done.")]);
  await enter(page, server);
  await send(page, "add a routine");
  await button(page, "Change details").click();
  await expect(dialog(page).getByText("No form can show these details, so change them as JSON.")).toBeVisible();
  await expect(dialog(page).getByRole("textbox")).toHaveValue(/"title": "Stretch"/);
  await expect(button(page, "Edit as JSON")).toHaveCount(0);
});

// The mock's sentence about a habit has its number, and that about a letter leaves out what the letter says.
test("the sentence comes first, and details are folded only if it names each of them", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([{ tool_calls: [{ name: "end_habit", arguments: { habit_id: 1 } }] }, { tool_calls: [{ name: "send_letter", arguments: { to: "Lee", body: "Good morning" } }] }, says("Done.")]);
  await enter(page, server);
  await send(page, "end it and write");
  await expect(dialog(page).getByRole("heading")).toHaveText("Ends habit 1");
  const details = dialog(page).locator("details");
  await expect(details).not.toHaveAttribute("open");
  await expect(button(page, "Yes")).toBeEnabled();
  await details.locator("summary").click();
  await expect(details.locator("dl")).toHaveText("Habit id1");
  await button(page, "Yes").click();
  await expect(dialog(page).getByRole("heading")).toHaveText("Sends a letter to Lee");
  await expect(details).toHaveAttribute("open");
  await expect(details.locator("dd")).toHaveText(["Good morning", "Lee"]);
});

test("what does not fit is said in the page's language, and a rule that it does not know in the server's words", async ({ page, serve }) => {
  const server = await serve([ADD, says("Done.")]);
  await page.addInitScript(() => localStorage.setItem("madang.language", "ko"));
  await enter(page, server);
  await send(page, "Add morning light");
  const problems = [
    { pointer: "/arguments/at", detail: "must be at least 1", rule: "minimum", expected: 1 },
    { pointer: "/arguments/days", detail: "has a day twice", rule: "uniqueDays" },
    { pointer: "/arguments", detail: "keys not allowed: a, b", rule: "additionalProperties", keys: ["a", "b"] },
    { pointer: "/arguments/note", detail: "does not fit" },
  ];
  await page.route("**/decision", (route) => route.fulfill({ status: 422, contentType: "application/problem+json", body: JSON.stringify({ type: "/problems/does-not-fit", status: 422, problems }) }));
  await button(page, "내용 고치기").click();
  await button(page, "JSON으로 고치기").click();
  await button(page, "이 인자로 실행").click();
  await expect(dialog(page).locator(".wrong li")).toHaveText(["/at: 1 이상이어야 합니다", "/days: has a day twice", "허용되지 않은 키: a, b", "/note: does not fit"]);
});

test("a number has all its digits in the question, in an edit of another field, and in the ledger", async ({ page, serve, context }) => {
  const entry = (note) => `{"habit_id": 1234567890123456789, "value": "done", "note": "${note}"}`;
  const server = await serve([{ tool_calls: [{ name: "log_tracker_entry", arguments: entry("morning") }] }, says("Done.")]);
  await enter(page, server);
  // This tab hears of the question from the one that holds the stream of the inbox.
  const other = await context.newPage();
  await other.goto(`${server.origin}/#/inbox`);
  await send(page, "I did it");
  await expect(dialog(page).locator("dd").getByText("1234567890123456789", { exact: true })).toBeVisible();
  await other.locator(".questions").getByRole("button").click();
  await asJson(other);
  await expect(dialog(other).getByRole("textbox")).toHaveValue(/"habit_id": 1234567890123456789,/);
  await button(page, "Change details").click();
  await expect(dialog(page).getByRole("textbox", { name: "Habit id" })).toHaveValue("1234567890123456789");
  await dialog(page).getByRole("textbox", { name: "Note" }).fill("evening");
  const sent = page.waitForRequest("**/decision");
  await button(page, "Run with these").click();
  expect((await sent).postData()).toContain('"habit_id":1234567890123456789');
  await expect(log(page).getByText("Done.")).toBeVisible();
  await log(page).locator(".call summary").click();
  await expect(log(page).locator(".call .json").first()).toContainText('"habit_id": 1234567890123456789');
  await page.getByRole("link", { name: "Ledger" }).click();
  await page.locator(".rows summary").click();
  const shown = page.locator(".rows .json");
  await expect(shown.first()).toContainText('"habit_id": 1234567890123456789');
  await expect(shown.first()).toContainText("evening");
  await expect(shown.last()).toContainText("1234567890123456789");
});

test("no with a message tells the model why", async ({ page, serve }) => {
  const server = await asked(page, serve);
  await button(page, "No, with a message").click();
  await dialog(page).getByRole("textbox", { name: "Message for the model" }).fill("Next week.");
  await button(page, "No, and send this").click();
  await expect(log(page).locator(".call .state")).toHaveText("not allowed");
  await expect(log(page).locator(".call .why")).toHaveText("Next week.");
  expect(await ended(server, page)).toMatchObject({ outcome: { status: "cancelled", reason: "denied", message: "Next week." } });
});

test("always needs a second step, runs the next call without a question, and can be taken back", async ({ page, serve }) => {
  const other = { tool_calls: [{ name: "add_habit", arguments: { protocol_id: "fixed-wake", frame_level: "L2", framed_text: "Up at seven" } }] };
  const server = await asked(page, serve, [says("One."), other, says("Two."), other, says("Three.")]);
  await button(page, "Yes, always").click();
  await expect(dialog(page)).toContainText("From now on add_habit runs in this chat without a question.");
  await expect(button(page, "Back")).toBeFocused();
  await expect(button(page, "Yes, always run it")).toBeEnabled();
  expect(await open(server)).toHaveLength(1);
  await page.keyboard.press("Enter");
  await expect(button(page, "No")).toBeFocused();
  await button(page, "Yes, always").click();
  await button(page, "Yes, always run it").click();
  await expect(log(page).getByText("One.")).toBeVisible();
  await send(page, "and another");
  await expect(log(page).getByText("Two.")).toBeVisible();
  await page.getByRole("link", { name: "Ledger" }).click();
  await page.getByRole("button", { name: "Ask again before add_habit" }).click();
  await expect(page.getByRole("button", { name: "Ask again before add_habit" })).toBeHidden();
  await page.getByRole("link", { name: "Back to the chat" }).click();
  await send(page, "and a third");
  await expect(dialog(page)).toBeVisible();
});

// Only the mock's time to decide can be set.
test("the time left is a word, and is read out near its end; silence is not a no", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([ADD, says("Done.")]);
  server.mock.engine.timeout = 32_000;
  await enter(page, server);
  await page.evaluate(() => {
    window.heard = [];
    new MutationObserver((changes) => window.heard.push(...changes.flatMap((change) => [...change.addedNodes].map((node) => node.textContent)))).observe(document.getElementById("urgent"), { childList: true });
  });
  await send(page, "Add it");
  await expect(dialog(page).locator(".ask-left")).toHaveText(/^Time left: 3[12] seconds$/);
  await expect.poll(() => page.evaluate(() => window.heard), { timeout: 6000 }).toEqual(["Time left: 30 seconds"]);
  server.mock.engine.expire();
  await expect(dialog(page)).toBeHidden();
  await expect(log(page).locator(".call .state")).toHaveText("cancelled: no answer in time");
});

test("a lost answer to a yes is sent again, and counts once", async ({ page, serve }) => {
  const server = await asked(page, serve);
  await fail(page, "POST", "**/decision", { status: 503, name: "store", times: 1, retryAfter: 1 });
  const lost = await fail(page, "POST", "**/decision", { lost: true, times: 1 });
  await button(page, "Yes").click();
  await expect(log(page).getByText("Done.")).toBeVisible({ timeout: 15_000 });
  expect((await rows(server, page)).filter((row) => row.effect === "committed")).toHaveLength(1);
  await expect.poll(() => lost.seen).toBe(3);
  await expect(page.locator("#polite")).toContainText("add_habit: you said yes.");
});

test("an answer that comes too late is told what was decided", async ({ page, serve }) => {
  const server = await asked(page, serve);
  const [request] = await open(server);
  await fail(page, "GET", "**/events", { status: 503, retryAfter: 30 });
  await cut(page);
  await fail(page, "POST", "**/decision", { status: 503, name: "store", times: 1, retryAfter: 2 });
  await button(page, "Yes").click();
  await expect(dialog(page)).toContainText("Not sent yet. Trying again.");
  await ask(server, `v1/approvals/${request.call}/decision`, { method: "POST", body: { digest: request.digest, decision: "deny" } });
  await expect(page.locator(".toast")).toHaveText("This was already answered. add_habit: not allowed");
  await expect(dialog(page)).toBeHidden();
});

test("a token that may not decide shows the question and no buttons", async ({ page, serve }) => {
  const server = await serve([ADD, says("Done.")]);
  server.token = await server.addToken("kim", ["chat"]);
  await enter(page, server);
  await send(page, "Add it");
  await expect(page.locator(".bar")).toContainText("Waiting for an answer on another device: add_habit");
  await expect(dialog(page)).toBeHidden();
  await expect(page.locator(".bar").getByRole("button")).toHaveCount(0);
});
