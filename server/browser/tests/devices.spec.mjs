// One person, several windows and devices: who asks need not be who answers, and nothing is heard twice.

import { ADD, ask, box, chatOf, dialog, enter, expect, log, openStreams, says, send, shown, soon, status, test, watch } from "../fixtures.mjs";

test("one device asks, the other says yes", async ({ page, serve, browser, wrongs }) => {
  const server = await serve([ADD, says("Done.")]);
  const phone = await browser.newContext({ viewport: { width: 390, height: 800 }, locale: "ko-KR" });
  watch(phone, wrongs);
  const small = await phone.newPage();
  await enter(page, server);
  await enter(small, server, "#/inbox");
  await send(page, "Add morning light");
  await expect(dialog(page)).toBeVisible();
  await small.getByRole("button", { name: /^보기: add_habit/ }).click();
  await expect(dialog(small)).toContainText("실행해도 될까요?");
  await dialog(small).getByRole("button", { name: "예", exact: true }).click();
  await expect(dialog(small)).toBeHidden();
  await expect(dialog(page)).toBeHidden();
  await expect(page.locator(".toast")).toHaveText("add_habit: the question is closed.");
  await expect(log(page).getByText("Done.")).toBeVisible();
  await small.goto(`${server.origin}/#/s/${chatOf(page)}`);
  await expect(log(small).getByText("Done.")).toBeVisible();
  await soon(async () => expect(await shown(small)).toEqual(await shown(page)));
  await phone.close();
});

test("a question in the inbox has the title of its chat, though the list of chats comes late", async ({ page, serve }) => {
  const server = await serve([ADD]);
  const { body } = await ask(server, "v1/sessions", { method: "POST", body: {} });
  await ask(server, `v1/sessions/${body.session}/turns`, { method: "POST", body: { text: "Add morning light", ask: "here", language: "en" } });
  let comes;
  const isThere = new Promise((resolve) => (comes = resolve));
  await page.route("**/v1/sessions?limit=*", async (route) => {
    await isThere;
    await route.continue();
  });
  await enter(page, server, "#/inbox");
  await expect(page.locator(".questions")).toContainText("Untitled");
  comes();
  await expect(page.locator(".questions a")).toHaveText("Add morning light");
  await expect(page.getByRole("button", { name: "Review: add_habit, Add morning light" })).toBeVisible();
});

test("seven tabs still serve, with two streams at most, and each shows what happens", async ({ page, serve, context }) => {
  const server = await serve([says("First."), says("Second."), ADD, says("Third.")]);
  const streams = openStreams(context);
  await enter(page, server);
  await send(page, "one");
  await expect(log(page).getByText("First.")).toBeVisible();
  const address = page.url();
  const tabs = [page];
  for (let at = 1; at < 7; at += 1) {
    const tab = await context.newPage();
    await tab.goto(address);
    await expect(log(tab).getByText("First.")).toBeVisible();
    tabs.push(tab);
  }
  await expect.poll(() => streams.size).toBeLessThanOrEqual(2);
  const last = tabs.at(-1);
  await last.bringToFront();
  await send(last, "two");
  await expect(log(last).getByText("Second.")).toBeVisible();
  // The others have no stream, and look now and then.
  for (const tab of tabs) await expect(log(tab).getByText("Second.")).toBeVisible({ timeout: 15_000 });
  await tabs[2].bringToFront();
  await box(tabs[2]).click();
  await expect(status(tabs[2])).toHaveText("live");
  await send(tabs[2], "three");
  await expect(dialog(tabs[2])).toBeVisible();
  await dialog(tabs[2]).getByRole("button", { name: "Yes", exact: true }).click();
  for (const tab of tabs) {
    await expect(log(tab).getByText("Third.")).toBeVisible({ timeout: 15_000 });
    await expect(dialog(tab)).toBeHidden();
  }
  await expect.poll(() => streams.size).toBeLessThanOrEqual(2);
  const { body } = await ask(server, `v1/ledger?session=${chatOf(page)}`);
  expect(body.calls).toHaveLength(1);
});

test("when the tab with the streams is closed, another takes them", async ({ page, serve, context }) => {
  const server = await serve([says("First."), ADD, says("Second.")]);
  await enter(page, server);
  await send(page, "one");
  await expect(log(page).getByText("First.")).toBeVisible();
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(status(other)).toHaveText("live");
  await expect(status(page)).toHaveText("every few seconds");
  await other.close();
  await expect(status(page)).toHaveText("live");
  await page.locator("h1").click();
  await send(page, "two");
  await expect(dialog(page)).toBeVisible();
  await expect(page).toHaveTitle(/^\(1\)/);
});

test("a hidden tab gives its stream back after half a minute, and catches up", async ({ page, serve, context }) => {
  const streams = openStreams(context);
  const server = await serve([says("First."), says("Second.")]);
  await page.clock.install();
  await enter(page, server);
  await send(page, "one");
  await expect(log(page).getByText("First.")).toBeVisible();
  const look = (state) => page.evaluate((state) => {
    Object.defineProperty(document, "hidden", { value: state === "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);
  await look("hidden");
  await page.clock.fastForward(20_000);
  expect(streams.size).toBe(2);
  await page.clock.fastForward(11_000);
  await expect.poll(() => streams.size).toBe(1);
  await ask(server, `v1/sessions/${chatOf(page)}/turns`, { method: "POST", body: { text: "from elsewhere" } });
  await look("visible");
  await expect(log(page).getByText("Second.")).toBeVisible();
  await soon(async () => expect(await shown(page)).toEqual(["user: one", "model: First.", "user: from elsewhere", "model: Second."]));
});

test("a notification tells of a question while no tab is looked at, and only on demand", async ({ page, serve, context }) => {
  const server = await serve([says("First."), ADD, says("Second.")]);
  await context.grantPermissions(["notifications"], { origin: server.origin });
  await page.addInitScript(() => {
    window.notes = [];
    window.Notification = class {
      static permission = "granted";
      static requestPermission = async () => "granted";
      constructor(title, options) {
        window.notes.push([title, options.body]);
      }
    };
  });
  await enter(page, server, "#/inbox");
  await page.getByLabel("Notify me of questions while I am elsewhere").check();
  await page.evaluate(() => Object.defineProperty(document, "hidden", { value: true, configurable: true }));
  const { body } = await ask(server, "v1/sessions", { method: "POST", body: {} });
  for (const text of ["one", "two"]) {
    await ask(server, `v1/sessions/${body.session}/turns`, { method: "POST", body: { text, ask: "here" } });
    await expect.poll(async () => (await ask(server, `v1/sessions/${body.session}`)).body.messages.length).toBeGreaterThan(text === "one" ? 1 : 2);
  }
  await expect.poll(() => page.evaluate(() => window.notes)).toEqual([["A question is waiting", "add_habit"]]);
});
