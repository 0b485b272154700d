// The ledger on the screen: what was done, whether it holds, and effects that a person resolves.

import { ADD, SEARCH, ask, chatOf, dialog, enter, expect, log, says, send, test } from "../fixtures.mjs";

test("each call has a row, filters narrow them, and the chain is verified", async ({ page, serve }) => {
  const bad = { tool_calls: [{ name: "search_catalog", arguments: { category: "nope" } }] };
  const server = await serve([SEARCH, ADD, bad, says("Done.")]);
  await enter(page, server);
  await send(page, "go");
  await dialog(page).getByRole("button", { name: "Yes", exact: true }).click();
  await expect(log(page).getByText("Done.")).toBeVisible();
  await page.getByRole("link", { name: "Ledger" }).click();
  const rows = page.locator(".rows .call");
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(1)).toContainText("add_habit");
  await expect(rows.nth(1)).toContainText("once");
  await expect(rows.nth(1)).toContainText("took effect");
  await expect(rows.nth(2)).toContainText("failed");
  await page.getByRole("button", { name: "Asked" }).click();
  await expect(rows).toHaveCount(1);
  await page.getByRole("button", { name: "Not done" }).click();
  await expect(rows).toHaveCount(1);
  await page.getByRole("button", { name: "Effect unknown" }).click();
  await expect(page.getByText("No matching calls.")).toBeVisible();
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.getByRole("searchbox", { name: "Find by tool" }).fill("search");
  await expect(rows).toHaveCount(2);
  await page.getByRole("button", { name: "Verify" }).click();
  const { body } = await ask(server, `v1/sessions/${chatOf(page)}/ledger/verify`);
  await expect(page.locator(".proof")).toContainText(`The ledger is intact: ${body.calls} calls in ${body.transitions} steps.`);
  await expect(page.locator(".proof")).toContainText(body.head);
  await page.getByLabel("Head that you kept").fill(body.head);
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.locator(".proof")).toContainText(`covers ${body.transitions} steps`);
  await page.getByLabel("Head that you kept").fill("1".repeat(64));
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.locator(".proof")).toContainText("The ledger is not intact.");
});

// No tool of the toolkit leaves an effect unknown.
test("an unknown effect is resolved in two steps", { tag: "@mock" }, async ({ page, serve }) => {
  const letter = { tool_calls: [{ name: "send_letter", arguments: { to: "Lee", body: "Hello" } }] };
  const server = await serve([letter]);
  await enter(page, server);
  await send(page, "Write to Lee");
  await dialog(page).getByRole("button", { name: "Yes", exact: true }).click();
  await expect(log(page).locator(".call .state")).toHaveText("running");
  await server.kill();
  await server.restart([says("I do not know whether it went out.")]);
  await expect(log(page).locator(".call .state")).toHaveText("unknown whether it took effect", { timeout: 20_000 });
  // Also from an address that names a message.
  await page.getByRole("searchbox", { name: "Search" }).fill("write to");
  await page.getByRole("navigation", { name: "Chats" }).locator("a", { has: page.locator("mark") }).click();
  await page.getByRole("link", { name: "Check and record" }).click();
  await page.getByRole("button", { name: "Effect unknown" }).click();
  await page.getByRole("button", { name: "It happened" }).click();
  const sure = page.getByRole("group", { name: /^Record that it happened/ });
  await expect(sure.getByRole("button", { name: "Back" })).toBeFocused();
  await sure.getByRole("button", { name: "Back" }).click();
  await expect(page.getByRole("button", { name: "It happened" })).toBeFocused();
  const effect = async () => (await ask(server, `v1/ledger?session=${chatOf(page)}`)).body.calls[0].effect;
  expect(await effect()).toBe("unknown");
  await page.getByRole("button", { name: "It did not happen" }).click();
  await page.getByRole("button", { name: "Record it" }).click();
  await expect(page.getByText("No matching calls.")).toBeVisible();
  expect(await effect()).toBe("none");
  await page.getByRole("button", { name: "All", exact: true }).click();
  await expect(page.locator(".rows .call")).toContainText("kim");
  await page.getByRole("link", { name: "Back to the chat" }).click();
  await expect(log(page).locator(".call .state")).toHaveText("failed");
});

test("a deleted chat leaves no call on the page or in lists, and what its tool did", async ({ page, serve }) => {
  const habits = { tool_calls: [{ name: "list_active_habits", arguments: {} }] };
  const server = await serve([ADD, says("Done."), habits, says("You have it.")]);
  await enter(page, server);
  await send(page, "go");
  await dialog(page).getByRole("button", { name: "Yes", exact: true }).click();
  await expect(log(page).getByText("Done.")).toBeVisible();
  const session = chatOf(page);
  const [{ call }] = (await ask(server, `v1/ledger?session=${session}`)).body.calls;
  await page.getByRole("button", { name: "Chat menu" }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await expect(dialog(page)).toContainText("What tools did stays done; the ledger keeps only hashes.");
  await dialog(page).getByRole("button", { name: "Delete" }).click();
  await expect(page.getByRole("heading", { name: "New chat" })).toBeVisible();
  for (const query of ["", `?session=${session}`]) expect((await ask(server, `v1/ledger${query}`)).body).toEqual({ calls: [], next: null });
  for (const path of [`calls/${call}`, `sessions/${session}/ledger/verify`, `sessions/${session}/unresolved`]) expect((await ask(server, `v1/${path}`)).status, path).toBe(404);
  // The address of its ledger may be kept.
  await page.goto(`${server.origin}/#/s/${session}/ledger`);
  await expect(page.locator(".rows")).toContainText("There is no such chat.");
  await expect(page.locator(".rows .call")).toHaveCount(0);
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.locator(".proof")).toContainText("There is no such chat.");
  await page.getByRole("link", { name: "New chat", exact: true }).click();
  await send(page, "Show my habits");
  await expect(log(page).getByText("You have it.")).toBeVisible();
  const { body } = await ask(server, "v1/ledger");
  expect(body.calls).toMatchObject([{ name: "list_active_habits", outcome: { data: { count: 1 } } }]);
});

// Only the mock has calls that nobody made.
test("the calls keep their order, whatever is filtered and read again", { tag: "@mock" }, async ({ page, serve }) => {
  const server = await serve([]);
  await enter(page, server);
  const { store } = server.mock;
  const chat = store.open("many", "kim");
  const add = (at) => {
    const row = store.propose(chat, { id: "turn" }, { name: `call_${at}`, arguments: {} });
    const effect = at === 50 || at === 120 ? "unknown" : "none";
    return Object.assign(row, { arguments: {}, state: "ended", outcome: { status: "ok" }, effect, result: "shown", proposed_at: row.proposed_at + at, ended_at: row.proposed_at + at });
  };
  const rows = Array.from({ length: 150 }, (_, at) => add(at));
  await page.goto(`${server.origin}/#/s/many/ledger`);
  const names = page.locator(".rows summary > code");
  const numbers = async () => (await names.allInnerTexts()).map((name) => Number(name.slice(5)));
  const upTo = (count) => Array.from({ length: count }, (_, at) => at);
  await expect(names).toHaveCount(100);
  await page.getByRole("button", { name: "Effect unknown" }).click();
  await expect(names).toHaveText(["call_50", "call_120"]);
  await page.getByRole("button", { name: "All", exact: true }).click();
  expect(await numbers()).toEqual([...upTo(100), 120]);
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(names).toHaveCount(150);
  expect(await numbers()).toEqual(upTo(150));
  await page.getByRole("heading", { level: 1 }).click();
  // An end of a call is told, and what is shown is read again, with a call that has come after it.
  add(150);
  await ask(server, `v1/calls/${rows[50].call}/resolve`, { method: "POST", body: { effect: "none" } });
  await expect(page.locator(".rows .call.unknown")).toHaveCount(1);
  await expect(names).toHaveCount(151);
  expect(await numbers()).toEqual(upTo(151));
  await expect(page.getByRole("button", { name: "Show more" })).toHaveCount(0);
});
