// The way in: the address that the server prints, the form, and the way out.

import { createServer } from "node:http";

import { ask, box, dialog, enter, expect, log, says, send, test } from "../fixtures.mjs";

const user = (page) => page.locator(".settings .name");

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

test("the cookie alone, which every port of the host is sent, is no login", async ({ page, serve, context }) => {
  const server = await serve([]);
  await enter(page, server);
  const bare = (headers = {}) => page.evaluate(async (headers) => (await fetch("v1/me", { headers })).status, headers);
  expect(await bare()).toBe(401);
  const proof = await page.evaluate(() => localStorage.getItem("madang.proof"));
  expect(await bare({ "madang-proof": proof })).toBe(200);
  expect((await fetch(`${server.origin}/v1/me`, { headers: { "madang-proof": proof } })).status).toBe(401);
  // Another server of this host: the browser sends it the cookie, and its pages have not the other half.
  const other = createServer((request, response) => response.end(request.headers.cookie));
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
  const port = await context.newPage();
  await port.goto(`http://127.0.0.1:${other.address().port}/`);
  await expect(port.locator("body")).toContainText("madang=");
  expect(await port.evaluate(() => localStorage.length)).toBe(0);
  const stolen = await port.locator("body").innerText();
  expect((await fetch(`${server.origin}/v1/me`, { headers: { cookie: stolen } })).status).toBe(401);
  other.close();
  // Without its half, this browser signs in again.
  await page.evaluate(() => localStorage.removeItem("madang.proof"));
  await page.reload();
  await expect(page.getByLabel("Token")).toBeVisible();
});

test("when another tab signs someone else in, nothing of this one goes in that name", async ({ page, serve, context }) => {
  const server = await serve([says("Hello.")]);
  const token = await server.addToken("lee");
  await enter(page, server);
  // This tab does not hear of it.
  await page.addInitScript(() => delete window.BroadcastChannel);
  await page.reload();
  await expect(user(page)).toHaveText("kim");
  await box(page).fill("a secret of kim");
  const other = await context.newPage();
  await other.goto(`${server.origin}/#token=${token}`);
  await dialog(other).getByRole("button", { name: "Sign out kim, sign in lee" }).click();
  await expect(user(other)).toHaveText("lee");
  // Its stream ends with the login, or else what it sends is refused.
  await box(page).press("Enter", { timeout: 3_000 }).catch(() => {});
  await expect(page.getByText("Your sign-in has ended.")).toBeVisible();
  expect((await ask({ ...server, origin: server.origin, token }, "v1/sessions")).body.sessions).toEqual([]);
});

test("a sign-in of the same person in another tab ends nothing here", async ({ page, serve, context }) => {
  const server = await serve([says("Hello.")]);
  await enter(page, server);
  const other = await context.newPage();
  await other.goto(`${server.origin}/#token=${server.token}`);
  await expect(box(other)).toBeVisible();
  await send(page, "hi");
  await expect(log(page).getByText("Hello.")).toBeVisible();
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
  await expect(page.getByRole("alert")).toHaveText("This token or sign-in is not valid.");
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

/** A page of another site, which leads to an address at once. */
async function leadTo(address) {
  const evil = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<script>location = ${JSON.stringify(address)}</script>`);
  });
  await new Promise((resolve) => evil.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${evil.address().port}/`, close: () => evil.close() };
}

test("a link of another site signs in no other person without a button that names both", async ({ page, serve }) => {
  const server = await serve([]);
  const token = await server.addToken("lee");
  await enter(page, server);
  await box(page).fill("a thought of kim");
  const evil = await leadTo(`${server.origin}/#token=${token}`);
  await page.goto(evil.address);
  await expect(dialog(page)).toContainText("This address signs in as lee. You are signed in as kim.");
  expect(page.url()).not.toContain("mdg_");
  await expect(dialog(page).getByRole("button", { name: "Stay signed in as kim" })).toBeFocused();
  // An Enter that was on its way says no, and so does Esc.
  await page.keyboard.press("Enter");
  await expect(dialog(page)).toBeHidden();
  await expect(user(page)).toHaveText("kim");
  await expect(box(page)).toHaveValue("a thought of kim");
  await page.goto(evil.address);
  await dialog(page).getByRole("button", { name: "Sign out kim, sign in lee" }).click();
  await expect(user(page)).toHaveText("lee");
  // What kim had begun is not lee's to send.
  await expect(box(page)).toHaveValue("");
  evil.close();
});

test("a link of another site asks before it signs in anyone at all", async ({ page, serve }) => {
  const server = await serve([]);
  const evil = await leadTo(`${server.origin}/#token=${server.token}`);
  await page.goto(evil.address);
  await expect(dialog(page)).toContainText("A link opened this page to sign in as kim.");
  await page.keyboard.press("Escape");
  await page.reload();
  await expect(page.getByLabel("Token")).toBeVisible();
  await page.goto(evil.address);
  await dialog(page).getByRole("button", { name: "Sign in as kim" }).click();
  await expect(user(page)).toHaveText("kim");
  // The same person again: a link of another site still asks.
  await page.goto(evil.address);
  await expect(dialog(page)).toBeVisible();
  evil.close();
});

test("a token that a person opens asks too where another person is signed in", async ({ page, serve }) => {
  const server = await serve([]);
  const token = await server.addToken("lee");
  await enter(page, server);
  for (const open of [() => page.goto(`${server.origin}/?new#token=${token}`), () => page.evaluate((token) => (location.hash = `#token=${token}`), token)]) {
    await open();
    await expect(dialog(page)).toContainText("You are signed in as kim.");
    await page.keyboard.press("Escape");
    await expect(dialog(page)).toBeHidden();
    await expect(user(page)).toHaveText("kim");
  }
});

test("a wrong token of the address ends no session", async ({ page, serve }) => {
  const server = await serve([]);
  await enter(page, server);
  await page.goto(`${server.origin}/?new#token=mdg_wrong`);
  await expect(page.locator(".toast")).toHaveText("This token or sign-in is not valid.");
  await expect(user(page)).toHaveText("kim");
  await expect(box(page)).toBeVisible();
});

test("signing out ends the login, in all tabs and for whoever has a copy of it", async ({ page, serve, context }) => {
  const server = await serve([]);
  await enter(page, server);
  const [cookie] = await context.cookies();
  const copy = { cookie: `madang=${cookie.value}`, "madang-proof": await page.evaluate(() => localStorage.getItem("madang.proof")) };
  const me = async () => (await fetch(`${server.origin}/v1/me`, { headers: copy })).status;
  expect(await me()).toBe(200);
  const other = await context.newPage();
  await other.goto(server.origin);
  await expect(box(other)).toBeVisible();
  await page.locator(".settings summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page.getByLabel("Token")).toBeVisible();
  await expect(other.getByLabel("Token")).toBeVisible();
  expect(await me()).toBe(401);
  expect(await page.evaluate(() => localStorage.getItem("madang.proof"))).toBeNull();
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
