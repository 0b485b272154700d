// Every state that the page can be in: the script that leads there, and the way. Words are asked by key, so each works in both languages.

import { readFileSync } from "node:fs";

import { ADD, LONG_ADD, SEARCH, ask, box, chatOf, dialog, enter, expect, fail, fillChat, log, says } from "./fixtures.mjs";

const ASSETS = new URL("../src/page/assets/", import.meta.url);
// The runner of the browser tests takes a `.js` without a package around it for CommonJS.
const { tableOf } = await import(`data:text/javascript;base64,${readFileSync(new URL("texts.js", ASSETS)).toString("base64")}`);
const table = tableOf(readFileSync(new URL("texts.txt", ASSETS), "utf8"));

/** The words of `room.name` in a language; without values, and those for many. */
export const words = (language, key) => table.get(key)[language === "ko" ? 0 : 1];

const LONG = "## Sleep\n\nGet up at **one time**, also on *weekends*:\n\n1. Open the curtains\n2. Go outside for `10` minutes\n   - on cloudy days longer\n\n> Morning light sets the clock.\n\n```sh\nmadang chat --locale ko\n```\n\n| day | done |\n|---|---|\n| Monday | yes |\n\nMore at https://example.org/sleep.";
const LETTER = { tool_calls: [{ name: "send_letter", arguments: { to: "Lee", body: "Hello" } }] };
const END = { tool_calls: [{ name: "end_habit", arguments: { habit_id: 1 } }] };
const ROUTINE = { tool_calls: [{ name: "add_routine", arguments: { steps: [{ title: "Stretch" }] } }] };
const BAD = { tool_calls: [{ name: "search_catalog", arguments: { category: "nope" } }] };

const say = async (page, text) => {
  await box(page).fill(text);
  await box(page).press("Enter");
};
const talked = async (page, server) => {
  await enter(page, server);
  await say(page, "hello");
  await expect(log(page).getByText("Hello.")).toBeVisible();
};
/** Chooses something in the menu of the chat. */
export const choose = async (page, language, key) => {
  await page.getByRole("button", { name: words(language, "menu.open") }).click();
  await page.getByRole("button", { name: words(language, key), exact: true }).click();
};
const asked = async (page, server) => {
  await enter(page, server);
  await say(page, "Add morning light to my habits, please");
  await expect(dialog(page)).toBeVisible();
  await expect(dialog(page).locator(".no")).toBeEnabled();
};
const press = (page, language, key) => dialog(page).getByRole("button", { name: words(language, key), exact: true }).click();

/** How a test of a state is marked: by either server it is the same. */
export const tagOf = ({ mock }) => ({ tag: mock ? "@mock" : "@once" });

/** Name, script, and how to get there; `mock` where only the mock can. */
export const STATES = {
  login: { script: [], go: async (page, server) => {
    await page.goto(server.origin);
    await expect(page.locator("#token")).toBeFocused();
  } },
  login_wrong: { script: [], go: async (page, server) => {
    await page.goto(server.origin);
    await page.locator("#token").fill("mdg_wrong");
    await page.locator("#token").press("Enter");
    await expect(page.locator("#login-problem")).not.toBeEmpty();
  } },
  empty: { script: [], go: async (page, server) => {
    await enter(page, server);
    await expect(log(page).locator(".chips button")).toHaveCount(4);
  } },
  about_model: { script: null, go: async (page, server, language) => {
    await enter(page, server);
    await expect(log(page).locator(".empty p")).toContainText(`${words(language, "chat.empty")} ${language === "ko" ? "습관과 노트 도구만 아는 아주 작은 데모 모델입니다." : "This is a very small demonstration model,"}`);
    await expect(log(page).locator(".chips button")).toHaveCount(4);
  } },
  settings: { script: [], go: async (page, server) => {
    await enter(page, server);
    if (await page.locator(".menu").isVisible()) await page.locator(".menu").click();
    await page.locator(".settings summary").click();
  } },
  works: { script: [{ text: "", delay_ms: 60_000 }], go: async (page, server) => {
    await enter(page, server);
    await say(page, "Find something for sleep");
    await expect(log(page).locator(".works")).toBeVisible();
  } },
  thinks: { mock: true, script: [{ text: "", thinking: "The user wants to sleep better.", delay_ms: 60_000 }], go: async (page, server) => {
    await enter(page, server);
    await say(page, "Find something for sleep");
    await expect(log(page).locator(".thought")).toBeVisible();
  } },
  streams: { script: [{ text: LONG, delay_ms: 60_000 }], go: async (page, server) => {
    await enter(page, server);
    await say(page, "Find something for sleep");
    await expect(log(page).locator(".coming")).toBeVisible();
  } },
  stopped: { script: [{ text: LONG, delay_ms: 60_000 }], go: async (page, server) => {
    await enter(page, server);
    await say(page, "Find something for sleep");
    await expect(log(page).locator(".coming")).toBeVisible();
    await box(page).press("Escape");
    await expect(page.locator("[data-bar=stop]")).toBeVisible();
  } },
  question: { script: [ADD], go: asked },
  question_unread: { script: [LONG_ADD], go: async (page, server) => {
    await asked(page, server);
    await expect(dialog(page).locator(".ask-rest")).toBeVisible();
  } },
  question_message: { script: [ADD], go: async (page, server, language) => {
    await asked(page, server);
    await press(page, language, "ask.no_with");
  } },
  question_edit: { script: [ADD], go: async (page, server, language) => {
    await asked(page, server);
    await press(page, language, "ask.edit");
    await press(page, language, "ask.json");
    const text = dialog(page).getByRole("textbox");
    await text.fill('{"protocol_id": "morning-light", "frame_level": "L9", "framed_text": 7}');
    await expect(dialog(page).locator(".yes")).toBeEnabled();
    await press(page, language, "ask.run_edited");
    await expect(dialog(page).locator(".wrong li")).toHaveCount(2);
  } },
  question_form: { script: [ADD], go: async (page, server, language) => {
    await asked(page, server);
    await press(page, language, "ask.edit");
    await dialog(page).getByRole("textbox", { name: "Framed text" }).fill("x".repeat(300));
    await expect(dialog(page).locator(".yes")).toBeEnabled();
    await press(page, language, "ask.run_edited");
    await expect(dialog(page).locator(".wrong li")).toHaveCount(1);
  } },
  question_no_form: { mock: true, script: [ROUTINE], go: async (page, server, language) => {
    await asked(page, server);
    await press(page, language, "ask.edit");
    await expect(dialog(page).getByText(words(language, "ask.no_form"))).toBeVisible();
    await expect(dialog(page).locator(".yes")).toBeEnabled();
  } },
  question_folded: { mock: true, script: [END], go: async (page, server) => {
    await asked(page, server);
    await expect(dialog(page).locator("details")).not.toHaveAttribute("open");
    await expect(dialog(page).locator(".yes")).toBeEnabled();
  } },
  question_always: { script: [ADD], go: async (page, server, language) => {
    await asked(page, server);
    await press(page, language, "ask.always");
    await expect(dialog(page).locator(".yes")).toBeEnabled();
  } },
  question_later: { script: [ADD], go: async (page, server) => {
    await asked(page, server);
    await page.keyboard.press("Escape");
    await expect(page.locator(".bar.asked")).toBeVisible();
  } },
  answered: { script: [{ ...SEARCH, text: LONG }, ADD, says("It is one of your habits now.")], go: async (page, server, language) => {
    await asked(page, server);
    await press(page, language, "ask.yes");
    await expect(log(page).getByText("It is one of your habits now.")).toBeVisible();
    await log(page).locator(".call summary").nth(1).click();
  } },
  failed: { script: [BAD, { text: "Half an answer", error: "Timeout" }], go: async (page, server) => {
    await enter(page, server);
    await say(page, "Find something for sleep");
    await expect(log(page).locator(".note")).toBeVisible();
  } },
  refused: { script: [], go: async (page, server) => {
    await enter(page, server);
    await say(page, "x".repeat(66_000));
    await expect(log(page).locator(".refused")).toBeVisible();
  } },
  unknown: { mock: true, script: [LETTER], go: async (page, server, language) => {
    await asked(page, server);
    await press(page, language, "ask.yes");
    await expect(log(page).locator(".call.open")).toBeVisible();
    await server.kill();
    await server.restart([says("I do not know whether it went out.")]);
    await expect(log(page).locator(".call.unknown")).toBeVisible({ timeout: 20_000 });
    await expect(log(page).getByText("I do not know whether it went out.")).toBeVisible();
  } },
  offline: { script: [says("Hello.")], go: async (page, server) => {
    await enter(page, server);
    await say(page, "hello");
    await expect(log(page).getByText("Hello.")).toBeVisible();
    await server.kill();
    await expect(page.locator(".banner > div")).toBeVisible();
    await say(page, "are you there?");
    await expect(log(page).locator(".unsent.waiting")).toBeVisible();
  }, after: (server) => server.restart([]) },
  draining: { mock: true, script: [says("Hello.")], go: async (page, server) => {
    await enter(page, server);
    await say(page, "hello");
    await expect(log(page).getByText("Hello.")).toBeVisible();
    await fail(page, "GET", "**/events", { status: 503, name: "draining", retryAfter: 20 });
    server.mock.drain();
    await expect(page.locator(".banner > div")).toBeVisible();
  } },
  expired: { script: [], go: async (page, server) => {
    await enter(page, server);
    await server.removeToken();
    await page.reload();
    await expect(page.locator("#token")).toBeVisible();
  } },
  switch_user: { script: [], go: async (page, server) => {
    await enter(page, server);
    await page.goto(`${server.origin}/#token=${await server.addToken("lee")}`);
    await expect(dialog(page)).toBeVisible();
  } },
  foreign: { script: [], go: async (page, server) => {
    await enter(page, server, "#/s/not-there");
    await expect(log(page).getByRole("heading")).toBeVisible();
  } },
  long: { script: Array.from({ length: 55 }, (_, at) => says(`Answer ${at}`)), go: async (page, server) => {
    await fillChat(server, "long", ["A long chat", ...Array.from({ length: 54 }, (_, at) => `Question ${at}`)]);
    await enter(page, server, "#/s/long");
    await expect(log(page).locator("[data-key]")).toHaveCount(100);
    await log(page).locator(".earlier").scrollIntoViewIfNeeded();
  } },
  clear: { script: [says("Hello.")], go: async (page, server, language) => {
    await enter(page, server);
    await say(page, "hello");
    await expect(log(page).getByText("Hello.")).toBeVisible();
    await choose(page, language, "menu.clear");
    await expect(dialog(page)).toBeVisible();
  } },
  menu: { script: [says("Hello.")], go: async (page, server, language) => {
    await talked(page, server);
    await page.getByRole("button", { name: words(language, "menu.open") }).click();
    await expect(page.getByRole("button", { name: words(language, "menu.rename") })).toBeVisible();
  } },
  rename: { script: [says("Hello.")], go: async (page, server, language) => {
    await talked(page, server);
    await choose(page, language, "menu.rename");
    await expect(dialog(page).getByRole("textbox")).toHaveValue("hello");
  } },
  delete: { script: [says("Hello.")], go: async (page, server, language) => {
    await talked(page, server);
    await choose(page, language, "menu.delete");
    await expect(dialog(page).locator(".yes")).toBeEnabled();
  } },
  edit: { script: [says("Hello.")], go: async (page, server, language) => {
    await talked(page, server);
    await page.getByRole("button", { name: words(language, "act.edit") }).click();
    await expect(dialog(page).getByRole("textbox")).toHaveValue("hello");
  } },
  code: { script: [says(LONG)], go: async (page, server, language) => {
    await enter(page, server);
    await say(page, "hello");
    await expect(page.getByRole("button", { name: words(language, "act.copy_code") })).toBeVisible();
  } },
  search: { script: [says("Hello.")], go: async (page, server) => {
    await talked(page, server);
    if (await page.locator(".menu").isVisible()) await page.locator(".menu").click();
    await page.getByRole("searchbox").fill("hello");
    await expect(page.locator("mark")).toHaveCount(2);
  } },
  twins: { script: [says("Hello."), says("Hello.")], go: async (page, server) => {
    for (const session of ["a", "b"]) await fillChat(server, session, ["hello"]);
    await enter(page, server);
    if (await page.locator(".menu").isVisible()) await page.locator(".menu").click();
    await expect(page.locator(".chats .aside").first()).toContainText("·");
  } },
  models: { mock: true, script: [], go: async (page, server) => {
    server.mock.models = ["madang", "large"];
    await enter(page, server);
    await expect(page.locator(".under select")).toBeVisible();
  } },
  keys: { script: [], go: async (page, server) => {
    await enter(page, server);
    await log(page).focus();
    await page.keyboard.press("?");
    await expect(page.getByRole("dialog")).toBeVisible();
  } },
  inbox_empty: { script: [], go: (page, server) => enter(page, server, "#/inbox") },
  inbox: { script: [ADD, ADD], go: async (page, server) => {
    for (const text of ["Add morning light", "Add it once more"]) {
      const { body } = await ask(server, "v1/sessions", { method: "POST", body: {} });
      await ask(server, `v1/sessions/${body.session}/turns`, { method: "POST", body: { text, ask: "here", language: "en" } });
    }
    await enter(page, server, "#/inbox");
    await expect(page.locator(".questions li")).toHaveCount(2);
    await expect(page.locator(".questions")).toContainText("Add it once more");
  } },
  ledger_empty: { script: [says("Hello.")], go: async (page, server) => {
    await enter(page, server);
    await say(page, "hello");
    await expect(log(page).getByText("Hello.")).toBeVisible();
    await page.goto(`${page.url()}/ledger`);
    await expect(page.locator(".rows .empty")).toBeVisible();
  } },
  ledger: { mock: true, script: [SEARCH, ADD, BAD, LETTER], go: async (page, server, language) => {
    await asked(page, server);
    await press(page, language, "ask.always");
    await expect(dialog(page).locator(".yes")).toBeEnabled();
    await press(page, language, "ask.always_yes");
    await expect(dialog(page)).toContainText("send_letter");
    await expect(dialog(page).locator(".no")).toBeEnabled();
    await press(page, language, "ask.yes");
    await expect(log(page).locator(".call.open")).toBeVisible();
    await server.kill();
    await server.restart([says("Done.")]);
    await expect.poll(async () => (await ask(server, `v1/sessions/${chatOf(page)}`)).body.is_streaming).toBe(false);
    await page.goto(`${page.url()}/ledger`);
    await expect(page.locator(".rows .call")).toHaveCount(4);
    await page.getByRole("button", { name: words(language, "ledger.it_did"), exact: true }).click();
    await page.locator(".verify button").click();
    await expect(page.locator(".proof code")).toBeVisible();
    await page.locator(".rows summary").nth(1).click();
    await expect(page.locator(".questions li")).toHaveCount(1);
  } },
};
