// The details of a call, changed in fields made of the schema of its tool.

import { ADD, dialog, enter, expect, fail, hold, log, says, send, test } from "../fixtures.mjs";

const button = (page, name) => dialog(page).getByRole("button", { name, exact: true });
const field = (page, name) => dialog(page).getByRole("textbox", { name });

async function asked(page, serve, call = ADD) {
  const server = await serve([call, says("Done.")]);
  await enter(page, server);
  await send(page, "go");
  await expect(dialog(page)).toBeVisible();
  return server;
}

/** The arguments that are sent when the form is run as it is. */
async function run(page) {
  const sent = page.waitForRequest("**/decision");
  await button(page, "Run with these").click();
  return JSON.parse((await sent).postData()).arguments;
}

test("a form that comes late replaces no step that was opened since", async ({ page, serve }) => {
  await asked(page, serve);
  const tools = await hold(page, "GET", "**/v1/tools");
  await button(page, "Change details").click();
  await expect(dialog(page)).toContainText("preparing");
  await tools.arrived;
  await button(page, "No, with a message").click();
  await dialog(page).getByRole("textbox").fill("Not in winter");
  const late = page.waitForResponse("**/v1/tools");
  tools.release();
  await (await late).finished();
  await page.waitForTimeout(200);
  await expect(dialog(page).getByRole("textbox")).toHaveValue("Not in winter");
  await expect(dialog(page)).not.toContainText("preparing");
  await button(page, "Back").click();
  await button(page, "Change details").click();
  await expect(field(page, "Framed text")).toBeVisible();
});

test("a form that comes late does not hide that an answer is sent", async ({ page, serve }) => {
  await asked(page, serve);
  const tools = await hold(page, "GET", "**/v1/tools");
  const refused = await fail(page, "POST", "**/decision", { status: 503, retryAfter: 30 });
  await button(page, "Change details").click();
  await tools.arrived;
  await button(page, "Yes").click();
  await expect.poll(() => refused.seen).toBe(1);
  tools.release();
  await page.waitForTimeout(200);
  await expect(dialog(page)).toContainText("Not sent yet. Trying again.");
  await expect(button(page, "Run with these")).toHaveCount(0);
  refused.heal();
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await expect(log(page).getByText("Done.")).toBeVisible();
});

test("a form with a wrong field stays, and is not changed as JSON without its edits", { tag: "@mock" }, async ({ page, serve }) => {
  await asked(page, serve, { tool_calls: [{ name: "log_tracker_entry", arguments: { habit_id: 1, value: "done" } }] });
  await button(page, "Change details").click();
  await field(page, "Note").fill("after breakfast");
  await field(page, "Habit id").fill("one");
  await button(page, "Edit as JSON").click();
  await expect(dialog(page).locator(".wrong")).toHaveText("Habit id: must be of type integer");
  await expect(field(page, "Habit id")).toBeFocused();
  await expect(field(page, "Note")).toHaveValue("after breakfast");
  await field(page, "Habit id").fill("2");
  await button(page, "Edit as JSON").click();
  expect(JSON.parse(await dialog(page).getByRole("textbox").inputValue())).toEqual({ habit_id: 2, value: "done", note: "after breakfast" });
});

test("what nobody touched stays what it was, also null and what is not there", { tag: "@mock" }, async ({ page, serve }) => {
  const given = { protocol_id: "morning-light", frame_level: "L2", framed_text: "Morning sunlight", anchor_when: null };
  await asked(page, serve, { tool_calls: [{ name: "add_habit", arguments: given }] });
  await button(page, "Change details").click();
  await expect(field(page, "Anchor when")).toHaveValue("");
  expect(await run(page)).toEqual(given);
});

test("a form says which fields may be left empty, and takes an emptied one out", async ({ page, serve }) => {
  const given = { ...ADD.tool_calls[0].arguments, anchor_when: "after breakfast" };
  await asked(page, serve, { tool_calls: [{ name: "add_habit", arguments: given }] });
  await button(page, "Change details").click();
  await expect(dialog(page).locator(".fields label")).toHaveText(["Protocol id", "Frame level", "Framed text", "Anchor when (optional)", "Anchor after what (optional)", "Dose text (optional)"], { useInnerText: true });
  await field(page, "Anchor when (optional)").fill("");
  expect(await run(page)).toEqual(ADD.tool_calls[0].arguments);
});

test("a list of texts is one text in a form, a line each", { tag: "@mock" }, async ({ page, serve }) => {
  await asked(page, serve, { tool_calls: [{ name: "pack_bag", arguments: { things: ["a hat", "바지"] } }] });
  await button(page, "Change details").click();
  const things = field(page, "Things (one per line)");
  await expect(things).toHaveValue("a hat\n바지");
  await things.fill("a hat\n\n  two socks\n");
  expect(await run(page)).toEqual({ things: ["a hat", "  two socks"] });
});

test("a list that lines would change is changed as JSON", { tag: "@mock" }, async ({ page, serve }) => {
  await asked(page, serve, { tool_calls: [{ name: "pack_bag", arguments: { things: ["a hat", "two\nsocks"] } }] });
  await button(page, "Change details").click();
  await expect(dialog(page).getByText("No form can show these details, so change them as JSON.")).toBeVisible();
});
