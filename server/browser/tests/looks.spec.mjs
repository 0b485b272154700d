// Each state in both languages and both colour schemes, wide, narrow and between: no breach that axe finds, no text cut off, no
// word of another language.
//
// MADANG_LOOKS=FOLDER keeps a picture of each.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { box, dialog, enter, expect, log, test } from "../fixtures.mjs";
import { STATES, tagOf, words } from "../states.mjs";
import { foreignWords } from "../words.mjs";

const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const PICTURES = process.env.MADANG_LOOKS;

const ALL = { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], rules: { "target-size": { enabled: true } } };
/** Another scheme changes colours alone. */
const COLOURS = { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } };
/** A desktop, a tablet, a small phone, and a desktop at 200 %, which looks as the phone does. */
const VIEWS = [
  { size: [1280, 800], scheme: "light", rules: ALL },
  { size: [1280, 800], scheme: "dark", rules: COLOURS },
  { size: [768, 1024], scheme: "light", rules: ALL },
  { size: [768, 1024], scheme: "dark", rules: COLOURS },
  { size: [320, 640], scheme: "dark", rules: ALL },
  { size: [320, 640], scheme: "light", rules: COLOURS },
  { size: [640, 400], scheme: "light", rules: null },
];

/** Looks at the page as it is. */
async function look(page, name, { size: [width, height], scheme, rules }) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: scheme });
  // What moves into its place has arrived there, and is drawn.
  await page.evaluate(() => Promise.all(document.getAnimations().filter((one) => one.effect.getTiming().iterations !== Infinity).map((one) => one.finished)));
  if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}-${scheme}-${width}.png`) });
  if (rules) expect(await breaches(page, rules), `${width} px, ${scheme}`).toEqual([]);
  expect(await overflow(page), `${width} px`).toEqual([]);
}

async function breaches(page, rules) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const { violations } = await page.evaluate((rules) => window.axe.run(document, { ...rules, resultTypes: ["violations"] }), rules);
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.any[0]?.message ?? ""}`));
}

/** What makes the page, a view or a dialog scroll sideways; tables and code may, each in a frame of its own. */
const overflow = (page) => page.evaluate(() => {
  const wide = [document.scrollingElement, ...document.querySelectorAll(".scroll, dialog, aside, aside nav, main")].filter((node) => node.scrollWidth > node.clientWidth + 1);
  return wide.map((node) => [...node.querySelectorAll("*")].find((inner) => inner.getBoundingClientRect().right > node.getBoundingClientRect().right + 1)?.outerHTML.slice(0, 120) ?? node.className);
});

for (const [name, { script, go, after, ...state }] of Object.entries(STATES)) {
  for (const language of ["ko", "en"]) {
    test(`${name} in ${language}`, tagOf(state), async ({ page, serve }) => {
      await page.addInitScript((language) => localStorage.setItem("madang.language", language), language);
      const server = await serve(structuredClone(script));
      await go(page, server, language);
      if (language === "ko") expect(await foreignWords(page)).toEqual([]);
      for (const view of VIEWS) await look(page, `${name}-${language}`, view);
      await page.setViewportSize({ width: 1280, height: 800 });
      await expect.poll(() => page.locator("body").ariaSnapshot()).toContain(name.startsWith("login") || name === "expired" ? words(language, "login.token") : words(language, "app.name"));
      await after?.(server);
    });
  }
}

const QUESTION = {
  en: `
    - alertdialog /Adds a new habit.*Morning sunlight/:
      - heading /Morning sunlight/ [level=2]
      - button "Decide later"
      - paragraph:
        - text: Run this?
        - code: add_habit
      - group:
        - text: Details
        - group "Details":
          - term: Framed text
      - paragraph: /Time left/
      - button "No"
      - button "No, with a message"
      - button "Change details"
      - button "Yes, always"
      - button "Yes"
      - paragraph: /Esc does not answer/
  `,
  ko: `
    - alertdialog /Morning sunlight/:
      - heading /Morning sunlight/ [level=2]
      - button "나중에 답하기"
      - paragraph:
        - text: 실행해도 될까요?
        - code: add_habit
      - group:
        - text: 자세히
        - group "자세히":
          - term: Framed text
      - paragraph: /남은 시간/
      - button "아니요"
      - button "이유를 말하고 거절"
      - button "내용 고치기"
      - button "예, 항상"
      - button "예"
      - paragraph: /Esc는 답이 아닙니다/
  `,
};
const CHAT = {
  en: `
    - complementary "Chats and settings":
      - link "Madang"
      - link "New chat"
      - searchbox "Search"
      - navigation "Chats":
        - list:
          - listitem:
            - link /Add morning light/
      - link "Inbox"
    - main:
      - heading /Add morning light/ [level=1]
      - status: live
      - link "Ledger"
      - button "Chat menu"
      - log "Messages":
        - article:
          - heading "You" [level=2]
        - article:
          - heading "Madang" [level=2]
        - group:
          - code: search_catalog
          - text: /^done( [\d.]+ s)?$/
        - group:
          - code: add_habit
          - text: /^done( [\d.]+ s)?$/
        - article:
          - heading "Madang" [level=2]
      - textbox "Message"
      - button "Send"
  `,
  ko: `
    - complementary "대화와 설정":
      - link "마당"
      - link "새 대화"
      - searchbox "찾기"
      - navigation "대화"
      - link "질문함"
    - main:
      - heading /Add morning light/ [level=1]
      - status: 연결됨
      - link "기록"
      - button "대화 메뉴"
      - log "메시지":
        - article:
          - heading "나" [level=2]
        - article:
          - heading "마당" [level=2]
        - group:
          - code: search_catalog
          - text: /^완료( ?[\d.]+ ?초)?$/
        - group:
          - code: add_habit
          - text: /^완료( ?[\d.]+ ?초)?$/
        - article:
          - heading "마당" [level=2]
      - textbox "메시지"
      - button "보내기"
  `,
};

for (const language of ["ko", "en"]) {
  test(`what a screen reader meets in ${language}`, async ({ page, serve }) => {
    await page.addInitScript((language) => localStorage.setItem("madang.language", language), language);
    const server = await serve(structuredClone(STATES.answered.script));
    await STATES.question.go(page, server, language);
    await expect(page.locator("body")).toMatchAriaSnapshot(QUESTION[language]);
    await dialog(page).getByRole("button", { name: words(language, "ask.yes"), exact: true }).click();
    await expect(log(page).getByText("It is one of your habits now.")).toBeVisible();
    await expect(page.locator("body")).toMatchAriaSnapshot(CHAT[language]);
    expect(await page.locator("html").getAttribute("lang")).toBe(language);
  });
}

test("language and colours are chosen, remembered, and nothing that was typed is lost", async ({ page, serve }) => {
  const server = await serve([]);
  await enter(page, server);
  await box(page).fill("half a thought");
  await page.locator(".settings summary").click();
  await page.getByRole("button", { name: "한국어" }).click();
  await expect(page.getByRole("heading", { name: "새 대화" })).toBeVisible();
  await expect(box(page)).toHaveValue("half a thought");
  await expect(page.getByRole("button", { name: "한국어" })).toBeFocused();
  await page.getByRole("button", { name: "어둡게" }).click();
  const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.reload();
  await expect(page.getByRole("heading", { name: "새 대화" })).toBeVisible();
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(dark);
  await page.locator(".settings summary").click();
  await page.getByRole("button", { name: "밝게" }).click();
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).not.toBe(dark);
});

test("with reduced motion nothing moves", async ({ page, serve }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  const server = await serve(structuredClone(STATES.works.script));
  await STATES.works.go(page, server);
  expect(await page.evaluate(() => document.getAnimations().length)).toBe(0);
  await page.emulateMedia({ reducedMotion: "no-preference" });
  expect(await page.evaluate(() => document.getAnimations().length)).toBeGreaterThan(0);
});

test("on a narrow screen the side opens, takes the focus and gives it back", async ({ page, serve }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  const server = await serve([]);
  await enter(page, server);
  const menu = page.getByRole("button", { name: "Open the list of chats" });
  await menu.click();
  await expect(page.getByRole("link", { name: "Madang", exact: true })).toBeFocused();
  await page.locator(".settings summary").click();
  for (const view of VIEWS.filter(({ size }) => size[0] === 320)) await look(page, "drawer-en", view);
  await page.keyboard.press("Escape");
  await expect(menu).toBeFocused();
  await expect(page.getByRole("searchbox")).toBeHidden();
});
