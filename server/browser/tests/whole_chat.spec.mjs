// What a person does with messages and with whole chats: begin, copy, try again, change, name, save, find, delete.

import { readFileSync } from "node:fs";

import { SEARCH, ask, box, chatOf, dialog, enter, expect, fail, fillChat, hold, log, says, send, shown, soon, stored, test } from "../fixtures.mjs";

const menu = async (page, name) => {
  await page.getByRole("button", { name: "Chat menu" }).click();
  await page.getByRole("button", { name, exact: true }).click();
};
const chats = (page) => page.getByRole("navigation", { name: "Chats" });

async function talked(page, serve, more = []) {
  const server = await serve([says("Hello."), ...more]);
  await enter(page, server);
  await send(page, "hi");
  await expect(log(page).getByText("Hello.")).toBeVisible();
  return server;
}

test("an empty chat offers four sentences, and a click says one", async ({ page, serve }) => {
  const server = await serve([says("Yes.")]);
  await enter(page, server);
  const chips = log(page).locator(".chips button");
  await expect(chips).toHaveCount(4);
  const text = await chips.nth(1).innerText();
  await chips.nth(1).click();
  await expect(log(page).getByText("Yes.")).toBeVisible();
  expect(await stored(server, chatOf(page))).toEqual([`user: ${text}`, "model: Yes."]);
  await expect(chips).toHaveCount(0);
});

test("a message is copied as it was written, and a block of code alone", async ({ page, serve, context }) => {
  const server = await serve([says("Say **this**:\n\n```sh\nmadang chat\n```")]);
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.origin });
  await enter(page, server);
  await send(page, "how?");
  await page.getByRole("button", { name: "Copy code" }).click();
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await expect.poll(copied).toBe("madang chat");
  await log(page).locator(".said.model").getByRole("button", { name: "Copy", exact: true }).click();
  await expect.poll(copied).toBe("Say **this**:\n\n```sh\nmadang chat\n```");
  await expect(page.locator(".toast").first()).toHaveText("Copied.");
});

test("a browser that does not allow copying is said to be in the way", async ({ page, serve }) => {
  await page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await talked(page, serve);
  await log(page).locator(".said.model").getByRole("button", { name: "Copy", exact: true }).click();
  await expect(page.locator(".toast")).toHaveText("The browser did not allow copying.");
});

test("after an error the same text is sent again by a button, which then goes", async ({ page, serve }) => {
  const server = await serve([{ text: "", error: "Timeout" }, says("Better.")]);
  await enter(page, server);
  await send(page, "go");
  const again = log(page).getByRole("button", { name: "Try again" });
  await again.click();
  await expect(log(page).getByText("Better.")).toBeVisible();
  await expect(again).toHaveCount(0);
  const said = (await stored(server, chatOf(page))).filter((line) => line.startsWith("user"));
  expect(said).toEqual(["user: go", "user: go"]);
});

test("an edited message goes on in a new chat, and the old one stays as it was", async ({ page, serve }) => {
  const server = await talked(page, serve, [says("Second."), says("Other.")]);
  await send(page, "two");
  await expect(log(page).getByText("Second.")).toBeVisible();
  const old = chatOf(page);
  await log(page).locator(".said.user", { hasText: "two" }).getByRole("button", { name: "Edit and resend" }).click();
  await dialog(page).getByRole("textbox").fill("two, but better");
  await expect(dialog(page).getByRole("button", { name: "Send" })).toBeEnabled();
  await dialog(page).getByRole("button", { name: "Send" }).click();
  await expect(log(page).getByText("Other.")).toBeVisible();
  expect(chatOf(page)).not.toBe(old);
  await soon(async () => expect(await shown(page)).toEqual(["user: hi", "model: Hello.", "user: two, but better", "model: Other."]));
  expect(await stored(server, old)).toEqual(["user: hi", "model: Hello.", "user: two", "model: Second."]);
});

test("an answer is given again in a new chat that has what came before", async ({ page, serve }) => {
  const server = await talked(page, serve, [{ ...SEARCH, text: "Let me look." }, says("Second."), says("Another second.")]);
  await send(page, "two");
  await expect(log(page).getByText("Second.")).toBeVisible();
  const old = chatOf(page);
  const again = log(page).locator(".said.model", { hasText: "Second." }).getByRole("button", { name: "Answer again" });
  await again.dblclick();
  await expect(log(page).getByText("Another second.")).toBeVisible();
  expect(chatOf(page)).not.toBe(old);
  expect((await ask(server, "v1/sessions")).body.sessions).toHaveLength(2);
});

test("in a fork, each copied message is edited and answered again by itself", async ({ page, serve }) => {
  const server = await talked(page, serve, [says("Second."), says("Other."), says("Another hello.")]);
  await send(page, "two");
  await expect(log(page).getByText("Second.")).toBeVisible();
  const { session } = (await ask(server, `v1/sessions/${chatOf(page)}/forks`, { method: "POST", body: {} })).body;
  const open = async () => {
    await page.goto(`${server.origin}/#/s/${session}`);
    await expect(log(page).getByText("Second.")).toBeVisible();
  };
  await open();
  await log(page).locator(".said.user", { hasText: "two" }).getByRole("button", { name: "Edit and resend" }).click();
  await dialog(page).getByRole("textbox").fill("zwei");
  await expect(dialog(page).getByRole("button", { name: "Send" })).toBeEnabled();
  await dialog(page).getByRole("button", { name: "Send" }).click();
  await soon(async () => expect(await shown(page)).toEqual(["user: hi", "model: Hello.", "user: zwei", "model: Other."]));
  await open();
  await log(page).locator(".said.model", { hasText: "Hello." }).getByRole("button", { name: "Answer again" }).click();
  await soon(async () => expect(await shown(page)).toEqual(["user: hi", "model: Another hello."]));
});

test("a fork whose answer is lost is found by the second try", async ({ page, serve }) => {
  const server = await talked(page, serve, [says("Another hello.")]);
  await fail(page, "POST", "**/forks", { lost: true, times: 1 });
  const again = log(page).getByRole("button", { name: "Answer again" });
  await again.click();
  await expect(page.locator(".toast")).toBeVisible();
  await again.click();
  await expect(log(page).getByText("Another hello.")).toBeVisible();
  expect((await ask(server, "v1/sessions")).body.sessions).toHaveLength(2);
});

test("a chat is renamed, also to the name that its first message gives", async ({ page, serve }) => {
  await talked(page, serve);
  await menu(page, "Rename");
  const field = dialog(page).getByRole("textbox", { name: "Rename this chat" });
  await expect(field).toBeFocused();
  await field.fill("Greetings");
  await expect(dialog(page).getByRole("button", { name: "Rename" })).toBeEnabled();
  await field.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Greetings");
  await expect(chats(page)).toContainText("Greetings");
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Greetings");
  await menu(page, "Rename");
  await field.fill("");
  await dialog(page).getByRole("button", { name: "Rename" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("hi");
});

test("Enter in a dialog presses no button behind it", async ({ page, serve }) => {
  await talked(page, serve);
  await page.getByRole("button", { name: "Chat menu" }).focus();
  await menu(page, "Rename");
  await expect(dialog(page).getByRole("button", { name: "Rename" })).toBeEnabled();
  await page.keyboard.press("Enter");
  await expect(dialog(page)).toBeHidden();
  await expect(page.getByRole("button", { name: "Delete" })).toBeHidden();
  const forks = await hold(page, "POST", "**/forks");
  const edit = log(page).getByRole("button", { name: "Edit and resend" });
  await edit.focus();
  await page.keyboard.press("Enter");
  await expect(dialog(page).getByRole("button", { name: "Send" })).toBeEnabled();
  await page.keyboard.press("Enter");
  await forks.arrived;
  await expect(dialog(page)).toBeHidden();
  forks.release();
});

test("a chat is saved as a file of each kind", async ({ page, serve }) => {
  await talked(page, serve);
  for (const [name, file] of [["Save as Markdown", "hi.md"], ["Save as JSON", "hi.json"]]) {
    const saving = page.waitForEvent("download");
    await menu(page, name);
    const download = await saving;
    expect(download.suggestedFilename()).toBe(file);
    expect(readFileSync(await download.path(), "utf8")).toContain("Hello.");
  }
});

test("deleting says what is kept, and leaves nothing of the chat", async ({ page, serve }) => {
  const server = await talked(page, serve);
  const session = chatOf(page);
  await menu(page, "Delete");
  await expect(dialog(page)).toContainText("What tools did stays done; the ledger keeps only hashes.");
  await expect(dialog(page).getByRole("button", { name: "Cancel" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(log(page).getByText("Hello.")).toBeVisible();
  await menu(page, "Delete");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("heading", { name: "New chat" })).toBeVisible();
  await expect(chats(page)).toContainText("No chats yet.");
  expect((await ask(server, `v1/sessions/${session}`)).status).toBe(404);
  await page.goBack();
  await expect(log(page).getByRole("heading", { name: "There is no such chat" })).toBeVisible();
});

const look = (page) => page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));

test("a chat that was deleted elsewhere leaves the list", async ({ page, serve }) => {
  const server = await serve([says("A."), says("B."), says("C.")]);
  for (const text of ["first", "second", "third"]) await fillChat(server, text, [text]);
  await enter(page, server);
  await expect(chats(page).getByRole("link")).toHaveCount(3);
  for (const gone of ["first", "third"]) {
    await ask(server, `v1/sessions/${gone}`, { method: "DELETE" });
    await look(page);
    await expect(chats(page).getByRole("link", { name: gone })).toHaveCount(0);
  }
  await expect(chats(page).getByRole("link", { name: "second" })).toBeVisible();
});

// Only the mock lists chats in which nothing was said.
test("the older chats stay in the list when its first page is read again", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([]);
  for (let at = 0; at < 55; at += 1) await ask(server, "v1/sessions", { method: "POST", body: { id: `chat-${at}` } });
  await enter(page, server);
  await expect(chats(page).getByRole("link")).toHaveCount(50);
  await page.getByRole("button", { name: "Older chats" }).click();
  await expect(chats(page).getByRole("link")).toHaveCount(55);
  const again = page.waitForResponse("**/v1/sessions?*");
  await look(page);
  await again;
  await expect(chats(page).getByRole("link")).toHaveCount(55);
  await expect(page.getByRole("button", { name: "Older chats" })).toBeHidden();
});

test("a list that was asked for before a chat was deleted does not bring it back", async ({ page, serve }) => {
  await talked(page, serve);
  const lists = await hold(page, "GET", "**/v1/sessions?*");
  await look(page);
  await lists.arrived;
  await menu(page, "Delete");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await expect(chats(page)).toContainText("No chats yet.");
  const late = page.waitForResponse("**/v1/sessions?*");
  lists.release();
  await (await late).finished();
  await look(page);
  await expect(chats(page).getByRole("link")).toHaveCount(0);
});

test("a deleted chat is no longer among what was found", async ({ page, serve }) => {
  await talked(page, serve);
  await page.getByRole("searchbox", { name: "Search" }).fill("hello");
  await expect(chats(page).locator("mark")).toHaveCount(1);
  await menu(page, "Delete");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await expect(chats(page).getByRole("link")).toHaveCount(0);
});

test("a late answer to a deletion moves nobody who is in another chat by then", async ({ page, serve }) => {
  const server = await talked(page, serve);
  await fillChat(server, "other", ["unrelated"]);
  const deletions = await hold(page, "DELETE", "**/v1/sessions/*");
  await menu(page, "Delete");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await deletions.arrived;
  await page.goto(`${server.origin}/#/s/other`);
  await expect(log(page).getByText("unrelated")).toBeVisible();
  deletions.release();
  await expect(chats(page).getByRole("link", { name: "hi" })).toHaveCount(0);
  expect(chatOf(page)).toBe("other");
});

test("a chat whose answer is being written is not deleted, and the page says why", async ({ page, serve }) => {
  const server = await serve([says("one two three", 30_000)]);
  await enter(page, server);
  await send(page, "count");
  await expect(log(page).getByText("one")).toBeVisible();
  await menu(page, "Delete");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await expect(page.locator(".toast")).toHaveText("An answer is still being written. Try again when it is done.");
  await expect(log(page).getByText("one")).toBeVisible();
});

test("words are found in messages, and lead to their place", async ({ page, serve }) => {
  const server = await serve([...Array.from({ length: 60 }, (_, at) => says(`Answer ${at}`)), says("Something else.")]);
  await fillChat(server, "long", ["about lighthouses", ...Array.from({ length: 59 }, (_, at) => `Question ${at}`)]);
  await fillChat(server, "other", ["unrelated"]);
  await enter(page, server);
  await page.getByRole("searchbox", { name: "Search" }).fill("LIGHTHOUSE");
  const hit = chats(page).locator("a", { has: page.locator("mark") });
  await expect(hit).toHaveCount(1);
  await expect(hit.locator("mark")).toHaveText("lighthouse");
  await hit.click();
  await expect(log(page).getByText("about lighthouses")).toBeInViewport();
  await expect(log(page).locator("[data-key='user:1']")).toBeFocused();
  // Nothing came in meanwhile.
  await expect(page.getByRole("button", { name: "New messages" })).toBeHidden();
  await page.getByRole("searchbox", { name: "Search" }).fill("nowhere at all");
  await expect(chats(page)).toContainText("Nothing found.");
});

// The mock looks at fewer chats at a time.
test("nothing is said to be missing before all chats were looked at, and what was found is read out", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([says("About boats."), ...Array.from({ length: 21 }, () => says("Yes."))]);
  await fillChat(server, "old", ["hello"]);
  for (let at = 0; at < 21; at += 1) await fillChat(server, `new-${at}`, ["hi"]);
  await enter(page, server);
  const found = await hold(page, "POST", "**/v1/search");
  const field = page.getByRole("searchbox", { name: "Search" });
  await field.fill("boats");
  await found.arrived;
  await expect(page.getByText("Nothing found.")).toBeHidden();
  found.release();
  // The first part of the chats has no hit, and is not all.
  await expect(page.getByRole("button", { name: "Older chats" })).toBeVisible();
  await expect(page.getByText("Nothing found.")).toBeHidden();
  await page.getByRole("button", { name: "Older chats" }).click();
  await expect(chats(page).locator("mark")).toHaveText("boats");
  await expect(page.locator("#polite")).toContainText("1 found");
  await field.fill("ships");
  await page.getByRole("button", { name: "Older chats" }).click();
  await expect(chats(page)).toContainText("Nothing found.");
  await expect(page.locator("#polite")).toContainText("Nothing found.");
});

test("the same words typed once more are found once", async ({ page, serve }) => {
  await talked(page, serve);
  const found = await hold(page, "POST", "**/v1/search");
  const field = page.getByRole("searchbox", { name: "Search" });
  await field.fill("hello");
  await found.arrived;
  await field.fill("hell");
  const last = page.waitForRequest((request) => request.url().endsWith("/v1/search") && request.postData().includes('"hello"'));
  await field.fill("hello");
  await last;
  found.release();
  await expect(chats(page).locator("mark")).toHaveCount(1);
  // The late answers are there as well by now.
  await page.waitForTimeout(300);
  await expect(chats(page).locator("mark")).toHaveCount(1);
});

test("a search that fails says so, and leaves the titles that are found", async ({ page, serve }) => {
  const server = await serve([says("Yes.")]);
  await fillChat(server, "c", ["about boats"]);
  await enter(page, server);
  const refused = await fail(page, "POST", "**/v1/search", { status: 429, name: "too-many" });
  await page.getByRole("searchbox", { name: "Search" }).fill("boats");
  await expect.poll(() => refused.seen).toBe(1);
  await expect(chats(page).getByRole("link")).toHaveText(/about boats/);
  await page.getByRole("searchbox", { name: "Search" }).fill("ships");
  await expect.poll(() => refused.seen).toBe(2);
  await expect(page.locator(".toast")).toHaveCount(2);
  await expect(chats(page).getByText("Nothing found.")).toBeHidden();
});

test("older hits are asked for once at a time, and again after a failure", async ({ page, serve }) => {
  await enter(page, await serve([]));
  const hit = (match) => ({ session: "c", title: "c", turn: "t", seq: 1, at: 0, role: "user", before: "", match, after: "" });
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const answers = [
    { json: { hits: [hit("new")], next: "cursor" } },
    { status: 429, contentType: "application/problem+json", body: "{}" },
    { json: { hits: [hit("old")], next: null } },
  ];
  const asked = [];
  await page.route("**/v1/search", async (route) => {
    const answer = answers[asked.length];
    asked.push(route.request().postDataJSON().after);
    if (asked.length > 2) await held;
    await route.fulfill(answer ?? answers[2]);
  });
  await page.getByRole("searchbox", { name: "Search" }).fill("boats");
  const older = chats(page).getByRole("button");
  const hits = chats(page).locator("mark");
  await expect(hits).toHaveText(["new"]);
  await older.click();
  await expect(page.locator(".toast")).toHaveCount(1);
  await older.click();
  await older.click();
  release();
  await expect(hits).toHaveText(["new", "old"]);
  await expect(older).toBeHidden();
  expect(asked).toEqual([undefined, "cursor", "cursor"]);
});

test("chats that begin with the same words have the time of their beginning", async ({ page, serve }) => {
  const server = await serve([says("A."), says("B."), says("C.")]);
  for (const [session, text] of [["a", "hello"], ["b", "hello"], ["c", "bye"]]) await fillChat(server, session, [text]);
  await enter(page, server);
  const aside = (text) => chats(page).locator("li", { hasText: text }).locator(".aside");
  await expect(aside("hello").first()).toHaveText(/\d:\d\d.* · /);
  await expect(aside("hello").last()).toHaveText(/\d:\d\d.* · /);
  await expect(aside("bye")).not.toContainText("·");
});

// Only the mock has several models.
test("of several models one is chosen, remembered and asked", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([says("Small."), says("Large.")]);
  server.mock.models = ["madang", "large"];
  await enter(page, server);
  await send(page, "one");
  await expect(log(page).getByText("Small.")).toBeVisible();
  await page.getByRole("combobox", { name: "Model" }).selectOption("large");
  await page.reload();
  await expect(page.getByRole("combobox", { name: "Model" })).toHaveValue("large");
  await send(page, "two");
  await expect(log(page).getByText("Large.")).toBeVisible();
  expect(server.mock.asked.map(({ model }) => model)).toEqual([undefined, "large"]);
});

test("one model is no choice", async ({ page, serve }) => {
  const server = await serve([]);
  const asked = page.waitForResponse("**/v1/models");
  await enter(page, server);
  await asked;
  await expect(log(page).locator(".chips button")).toHaveCount(4);
  await expect(page.getByRole("combobox")).toHaveCount(0);
});

test("a touch screen has no hints about keys", async ({ browser, serve }) => {
  const server = await serve([]);
  const phone = await browser.newContext({ viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true });
  const page = await phone.newPage();
  await enter(page, server);
  await expect(page.locator("#say-hint")).toBeEmpty();
  await page.getByRole("button", { name: "Open the list of chats" }).tap();
  await page.locator(".settings summary").tap();
  await expect(page.getByRole("button", { name: "Sign out" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Keys" })).toHaveCount(0);
  await expect(box(page)).toHaveValue("");
  await phone.close();
});
