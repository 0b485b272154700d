// The way in: the address that the server prints, the form, and the way out.

import { ask, box, enter, expect, test } from "../fixtures.mjs";

test("the token of the address becomes a cookie and stands nowhere after that", async ({ page, serve, context }) => {
  const server = await serve([]);
  await enter(page, server);
  expect(page.url()).not.toContain("token");
  const history = await page.evaluate(() => JSON.stringify([history.state, performance.getEntriesByType("navigation").length, document.documentElement.outerHTML.includes("mdg_"), ...Object.values(localStorage), ...Object.values(sessionStorage)]));
  expect(history).not.toContain("mdg_");
  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/" });
  expect(cookie.value).not.toContain(server.token);
  await page.goBack().catch(() => {});
  expect(page.url()).not.toContain("mdg_");
});

test("a reload and a new tab are signed in", async ({ page, serve, context }) => {
  const server = await serve([]);
  await enter(page, server);
  await page.reload();
  await expect(box(page)).toBeVisible();
  const other = await context.newPage();
  await other.goto(server.origin);
  await expect(box(other)).toBeVisible();
});

test("without a token a form asks for one, and a wrong one is told in words", async ({ page, serve }) => {
  const server = await serve([]);
  await page.goto(server.origin);
  const field = page.getByLabel("Token");
  await expect(field).toBeFocused();
  await field.fill("mdg_wrong");
  await field.press("Enter");
  await expect(page.getByRole("alert")).toHaveText("This token is not known here.");
  await field.fill(server.token);
  await field.press("Enter");
  await expect(box(page)).toBeFocused();
});

test("a token in the address of an open page signs in anew and is taken out", async ({ page, serve }) => {
  const server = await serve([]);
  await page.goto(server.origin);
  await expect(page.getByLabel("Token")).toBeVisible();
  await page.evaluate((token) => (location.hash = `#token=${token}`), server.token);
  await expect(box(page)).toBeVisible();
  expect(page.url()).not.toContain("mdg_");
});

test("signing out ends the cookie, in all tabs", async ({ page, serve, context }) => {
  const server = await serve([]);
  await enter(page, server);
  const other = await context.newPage();
  await other.goto(server.origin);
  await expect(box(other)).toBeVisible();
  await page.locator(".settings summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  await expect(other.getByLabel("Token")).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Token")).toBeVisible();
});

test("a token that ends asks for a new one, and what was typed is kept", async ({ page, serve }) => {
  const server = await serve([]);
  await enter(page, server);
  await box(page).fill("half a thought");
  await server.removeToken();
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await expect(page.getByText("Your sign-in has ended.")).toBeVisible();
  server.token = await server.addToken("kim");
  await page.getByLabel("Token").fill(server.token);
  await page.getByLabel("Token").press("Enter");
  await expect(box(page)).toHaveValue("half a thought");
  expect((await ask(server, "v1/me")).status).toBe(200);
});

test("the chat of another person is not there", async ({ page, serve }) => {
  const server = await serve([]);
  const token = await server.addToken("lee");
  const created = await fetch(`${server.origin}/v1/sessions`, { method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: JSON.stringify({ id: "of-lee" }) });
  expect(created.status).toBe(201);
  await enter(page, server, "#/s/of-lee");
  await expect(page.getByRole("heading", { name: "There is no such chat" })).toBeVisible();
  await page.goto(`${server.origin}/#/s/not-there`);
  await expect(page.getByRole("heading", { name: "There is no such chat" })).toBeVisible();
});
