// The page by keyboard alone: each thing is reached by Tab, has the focus where it can be seen, and is used by its keys.

import { readFileSync } from "node:fs";

import { ADD, SEARCH, ask, box, chatOf, dialog, enter, expect, fillChat, log, says, stored, test } from "../fixtures.mjs";

/** More than any view has. */
const MOST = 60;

/** Presses Tab, or another key, until this has the focus. */
async function reach(page, target, key = "Tab") {
  const hasFocus = () => target.evaluate((node) => node === document.activeElement);
  for (let at = 0; at < MOST && !(await hasFocus()); at += 1) await page.keyboard.press(key);
  await expect(target).toBeFocused();
  await expect(target).toBeInViewport();
  expect(await target.evaluate((node) => node.matches(":focus-visible"))).toBe(true);
}

async function press(page, target, key) {
  await reach(page, target, key);
  await page.keyboard.press("Enter");
}

async function say(page, text) {
  await expect(box(page)).toBeFocused();
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

const button = (place, name) => place.getByRole("button", { name, exact: true });

test("by keyboard alone: a sentence that is offered is said", async ({ page, serve }) => {
  const server = await serve([says("Yes.")]);
  await enter(page, server);
  await expect(box(page)).toBeFocused();
  const chips = log(page).locator(".chips button");
  await expect(chips).toHaveCount(4);
  const text = await chips.nth(1).innerText();
  await press(page, chips.nth(1), "Shift+Tab");
  await expect(log(page).getByText("Yes.")).toBeVisible();
  expect(await stored(server, chatOf(page))).toEqual([`user: ${text}`, "model: Yes."]);
  await expect(box(page)).toBeFocused();
});

test("by keyboard alone: the menu opens, closes, and saves a file of each kind", async ({ page, serve }) => {
  await enter(page, await serve([says("Hello.")]));
  await say(page, "hi");
  await expect(log(page).getByText("Hello.")).toBeVisible();
  const menu = button(page, "Chat menu");
  await press(page, menu, "Shift+Tab");
  await reach(page, button(page, "Clear"));
  await page.keyboard.press("Escape");
  await expect(button(page, "Clear")).toBeHidden();
  await expect(menu).toBeFocused();
  for (const [name, file] of [["Save as Markdown", "hi.md"], ["Save as JSON", "hi.json"]]) {
    const saving = page.waitForEvent("download");
    await page.keyboard.press("Enter");
    await press(page, button(page, name));
    const download = await saving;
    expect(download.suggestedFilename()).toBe(file);
    expect(readFileSync(await download.path(), "utf8")).toContain("Hello.");
    await expect(menu).toBeFocused();
  }
});

for (const width of [320, 1280]) {
  test(`by keyboard alone: a hit of a search is opened, ${width} px wide`, async ({ page, serve }) => {
    await page.setViewportSize({ width, height: 800 });
    const server = await serve(Array.from({ length: 21 }, (_, at) => says(`Answer ${at}`)));
    await fillChat(server, "long", ["about lighthouses", ...Array.from({ length: 20 }, (_, at) => `Question ${at}`)]);
    await enter(page, server);
    if (width === 320) await press(page, button(page, "Open the list of chats"));
    await reach(page, page.getByRole("searchbox", { name: "Search" }));
    await page.keyboard.type("LIGHTHOUSE");
    const hit = page.getByRole("navigation", { name: "Chats" }).locator("a", { has: page.locator("mark") });
    await press(page, hit);
    await expect(log(page).locator("[data-key='user:1']")).toBeFocused();
    await expect(log(page).getByText("about lighthouses")).toBeInViewport();
  });
}

// Only the mock has several models.
test("by keyboard alone: another model is chosen and asked", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([says("Large."), says("Small.")]);
  server.mock.models = ["madang", "large"];
  await enter(page, server);
  const models = page.getByRole("combobox", { name: "Model" });
  await reach(page, models);
  await page.keyboard.press("ArrowDown");
  await expect(models).toHaveValue("large");
  await reach(page, box(page), "Shift+Tab");
  await say(page, "one");
  await expect(log(page).getByText("Large.")).toBeVisible();
  await reach(page, models);
  await page.keyboard.press("ArrowUp");
  await reach(page, box(page), "Shift+Tab");
  await say(page, "two");
  await expect(log(page).getByText("Small.")).toBeVisible();
  expect(server.mock.asked.map(({ model }) => model)).toEqual(["large", undefined]);
});

test("by keyboard alone: the ledger is opened and narrowed, and a tool asks again", async ({ page, serve }) => {
  await enter(page, await serve([SEARCH, ADD, says("Done.")]));
  await say(page, "go");
  await expect(button(dialog(page), "No")).toBeEnabled();
  await press(page, button(dialog(page), "Yes, always"));
  await expect(button(dialog(page), "Yes, always run it")).toBeEnabled();
  await press(page, button(dialog(page), "Yes, always run it"));
  await expect(log(page).getByText("Done.")).toBeVisible();
  await press(page, page.getByRole("link", { name: "Ledger" }), "Shift+Tab");
  const rows = page.locator(".rows .call");
  await expect(rows).toHaveCount(2);
  await press(page, button(page, "Ask again before add_habit"));
  await expect(button(page, "Ask again before add_habit")).toBeHidden();
  await press(page, button(page, "Asked"));
  await expect(rows).toHaveCount(1);
  await press(page, button(page, "All"), "Shift+Tab");
  await expect(rows).toHaveCount(2);
  await reach(page, page.getByRole("searchbox", { name: "Find by tool" }));
  await page.keyboard.type("add");
  await expect(rows).toHaveCount(1);
});

test("by keyboard alone: a call of the ledger is unfolded, and the chain is verified", async ({ page, serve }) => {
  const server = await serve([SEARCH, says("Done.")]);
  await enter(page, server);
  await say(page, "go");
  await expect(log(page).getByText("Done.")).toBeVisible();
  await page.goto(`${page.url()}/ledger`);
  const row = page.locator(".rows .call");
  await press(page, row.locator("summary"));
  await expect(row.getByText("nothing changed")).toBeVisible();
  const { body } = await ask(server, `v1/sessions/${chatOf(page)}/ledger/verify`);
  await reach(page, page.getByLabel("Head that you kept"));
  await page.keyboard.type(body.head);
  await press(page, button(page, "Verify"));
  await expect(page.locator(".proof")).toContainText(`covers ${body.transitions} steps`);
  await press(page, page.getByRole("link", { name: "Back to the chat" }), "Shift+Tab");
  await expect(box(page)).toBeFocused();
});

// Only the mock has calls that nobody made.
test("by keyboard alone: an unknown effect is resolved in two steps", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([]);
  const { store } = server.mock;
  const row = store.propose(store.open("one", "kim"), { id: "turn" }, { name: "send_letter" });
  Object.assign(row, { arguments: {}, state: "ended", outcome: { status: "ok" }, effect: "unknown", result: "shown", ended_at: row.proposed_at });
  await enter(page, server, "#/s/one/ledger");
  await press(page, button(page, "It happened"));
  await expect(button(page, "Back")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(button(page, "It happened")).toBeFocused();
  await press(page, button(page, "It did not happen"));
  await press(page, button(page, "Record it"));
  await expect(button(page, "It did not happen")).toBeHidden();
  expect((await ask(server, "v1/ledger?session=one")).body.calls[0].effect).toBe("none");
});

test("by keyboard alone: the arguments of a call are changed in a form", async ({ page, serve }) => {
  const server = await serve([ADD, says("Done.")]);
  await enter(page, server);
  await say(page, "go");
  const change = async () => {
    await expect(button(dialog(page), "No")).toBeFocused();
    await expect(button(dialog(page), "No")).toBeEnabled();
    await press(page, button(dialog(page), "Change details"));
  };
  const field = (name) => dialog(page).getByRole("textbox", { name, exact: true });
  await change();
  await expect(field("Protocol id")).toBeFocused();
  const level = dialog(page).getByRole("combobox", { name: "Frame level" });
  await reach(page, level);
  await page.keyboard.press("ArrowDown");
  await expect(level).toHaveValue("3");
  await reach(page, field("Framed text"));
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type("Sun at seven");
  // One step back, and what was changed is kept.
  await page.keyboard.press("Escape");
  await change();
  await expect(field("Framed text")).toHaveValue("Sun at seven");
  await expect(button(dialog(page), "Run with these")).toBeEnabled();
  await press(page, button(dialog(page), "Run with these"));
  await expect(log(page).getByText("Done.")).toBeVisible();
  await expect(box(page)).toBeFocused();
  const [row] = (await ask(server, `v1/ledger?session=${chatOf(page)}`)).body.calls;
  expect(row.arguments).toEqual({ ...ADD.tool_calls[0].arguments, frame_level: "L3", framed_text: "Sun at seven" });
});
