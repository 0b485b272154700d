// What the browser tests share: a server for each test, a signed-in page, and what must hold in every one of them.

import { test as base, expect } from "@playwright/test";

import { startServer } from "./server.mjs";

export { expect };

/** Completions as tests use them. */
export const says = (text, delay_ms = 0) => ({ text, delay_ms });
export const SEARCH = { text: "Let me look.", tool_calls: [{ name: "search_catalog", arguments: { category: "sleep", limit: 1 } }] };
export const ADD = { tool_calls: [{ name: "add_habit", arguments: { protocol_id: "morning-light", frame_level: "L2", framed_text: "Morning sunlight" } }] };

/** A call whose question is longer than the place that it has. */
export const LONG_ADD = { tool_calls: [{ name: "add_habit", arguments: { ...ADD.tool_calls[0].arguments, anchor_when: "b ".repeat(99), anchor_after_what: "a ".repeat(99), dose_text: "c ".repeat(99) } }] };

export const test = base.extend({
  /** Whether the server is the `mock` or the `real` one; a project says so. */
  kind: ["mock", { option: true }],

  /** Starts a server with a script: `const server = await serve([..])`. */
  serve: async ({ kind }, use) => {
    const servers = [];
    await use(async (script) => {
      const server = await startServer(kind, script);
      servers.push(server);
      return server;
    });
    for (const server of servers) await server.stop();
  },

  page: async ({ page }, use) => {
    await page.addInitScript(makeCuttable);
    await use(page);
  },

  /** Everything that a page of the test did wrong: errors, breaches of the policy, requests to other hosts. */
  wrongs: [async ({ context }, use) => {
    const wrongs = [];
    watch(context, wrongs);
    await use(wrongs);
    expect(wrongs).toEqual([]);
  }, { auto: true }],
});

/** Notes what goes wrong in the pages of a context. */
export function watch(context, wrongs) {
  context.on("page", (page) => {
    page.on("pageerror", (error) => wrongs.push(String(error.stack ?? error)));
    page.on("console", (message) => {
      const text = message.text();
      // A refused request is logged by the browser; whether the page makes words of it is what tests look at.
      if (message.type() === "error" && !text.startsWith("Failed to load resource")) wrongs.push(text);
      if (/content security policy|trusted/i.test(text)) wrongs.push(text);
    });
  });
  context.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (!["data:", "blob:"].includes(protocol) && hostname !== "127.0.0.1") wrongs.push(`a request to ${request.url()}`);
  });
}

/** Opens the page by the address that the server prints, and waits until it is ready. */
export async function enter(page, server, path = "") {
  await page.goto(`${server.origin}/#token=${server.token}`);
  await expect(box(page)).toBeVisible();
  if (path) {
    await page.goto(`${server.origin}/${path}`);
    await expect(page.locator("main > section")).toBeVisible();
  }
}

export const box = (page) => page.getByRole("textbox", { name: /^(Message|메시지)$/ });
export const log = (page) => page.getByRole("log");
export const dialog = (page) => page.getByRole("alertdialog");
export const status = (page) => page.locator(".status");

export async function send(page, text) {
  await box(page).fill(text);
  await box(page).press("Enter");
}

/**
 * Lets requests of the page fail on their way, as often as said: by a `status`, or `lost` where the server did what was
 * asked and its answer does not arrive. Gives how many came, and `heal`.
 */
export async function fail(page, method, path, { status, name = "overloaded", retryAfter, times = Infinity, lost = false }) {
  const fault = { seen: 0, heal: () => page.unroute(path, answer) };
  async function answer(route) {
    const request = route.request();
    if (request.method() !== method) return route.fallback();
    fault.seen += 1;
    if (fault.seen > times) return route.fallback();
    if (lost) {
      // The browser adds these two behind this place, and the server asks for them.
      const { origin } = new URL(request.url());
      await route.fetch({ headers: { ...(await request.allHeaders()), origin, "sec-fetch-site": "same-origin" } });
      return route.abort();
    }
    const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
    return route.fulfill({ status, headers, contentType: "application/problem+json", body: JSON.stringify({ type: `/problems/${name}`, status }) });
  }
  await page.route(path, answer);
  return fault;
}

/** Lets the server do what the page asks, and keeps its answers back until `release`. `arrived` is when the first is there. */
export async function hold(page, method, path) {
  let release;
  let tell;
  const released = new Promise((resolve) => (release = resolve));
  const arrived = new Promise((resolve) => (tell = resolve));
  await page.route(path, async (route) => {
    const request = route.request();
    if (request.method() !== method) return route.fallback();
    const { origin } = new URL(request.url());
    const headers = { ...(await request.allHeaders()), origin, "sec-fetch-site": "same-origin" };
    // At the end of a test, the server or the page may be gone.
    const response = await route.fetch({ headers }).catch(() => null);
    tell();
    await released;
    return response && route.fulfill({ response }).catch(() => {});
  });
  return { arrived, release };
}

/** Breaks every stream of the page in the middle: to the page, as a proxy does that is restarted. */
export const cut = (page) => page.evaluate(() => window.cutStreams());

/** Runs in the page before its modules. */
function makeCuttable() {
  let cutter = new AbortController();
  const { fetch } = window;
  window.fetch = (path, init) => fetch(path, String(path).endsWith("/events") ? { ...init, signal: AbortSignal.any([init.signal, cutter.signal]) } : init);
  window.cutStreams = () => {
    cutter.abort();
    cutter = new AbortController();
  };
}

/** The id of the chat that the page shows. */
export const chatOf = (page) => new URL(page.url()).hash.split("/")[2];

/** Asks the server itself, with the token and not by the page's cookie. */
export async function ask(server, path, { method = "GET", body } = {}) {
  const response = await fetch(`${server.origin}/${path}`, {
    method,
    headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  return { status: response.status, body: response.status === 204 ? null : await response.json() };
}

/** Opens a chat and plays a turn for each text. */
export async function fillChat(server, session, texts) {
  await ask(server, "v1/sessions", { method: "POST", body: { id: session } });
  for (const text of texts) {
    // While the turn before still ends, the chat is busy.
    await expect.poll(async () => (await ask(server, `v1/sessions/${session}/turns`, { method: "POST", body: { text } })).status, { intervals: [0, 2, 5, 10] }).toBe(202);
  }
  await expect.poll(async () => (await ask(server, `v1/sessions/${session}`)).body.is_streaming).toBe(false);
}

/** The streams that pages of a context hold open, as the browser sees them. */
export function openStreams(context) {
  const open = new Set();
  context.on("request", (request) => request.url().endsWith("/events") && open.add(request));
  for (const end of ["requestfinished", "requestfailed"]) context.on(end, (request) => open.delete(request));
  return open;
}

/** Waits until a check passes: a text is read as it streams, and is an entry of the chat a moment later. */
export const soon = (check) => expect(check).toPass({ timeout: 10_000 });

/** Waits until an answer is stored and its turn is over: a text that is only read as it streams is lost with the server. */
export async function answered(page, text) {
  await expect(log(page).locator("[data-key^='model:']").getByText(text)).toBeVisible({ timeout: 40_000 });
  await expect(page.getByRole("button", { name: "Send", exact: true })).toBeVisible();
}

/** The messages that the server has of the chat, by role and text or tool. */
export async function stored(server, session) {
  const { body } = await ask(server, `v1/sessions/${session}`);
  return body.messages.map((message) => `${message.role}: ${message.text ?? message.name ?? message.notice ?? ""}`);
}

/** What the page shows of the chat, in the same words. */
export function shown(page) {
  return log(page).evaluate((node) => [...node.children].flatMap((row) => {
    const [kind] = row.dataset.key?.split(":") ?? [];
    const text = row.querySelector(".text")?.innerText.trim();
    if (kind === "user" || kind === "model") return [`${kind}: ${text}`];
    return kind === "call" ? [`tool_call: ${row.querySelector("code").innerText}`] : [];
  }));
}
