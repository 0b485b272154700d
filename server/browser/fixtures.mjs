// What the browser tests share: a server for each test, a signed-in page, and what must hold in every one of them.

import { test as base, expect } from "@playwright/test";

import { isMock, startServer } from "./server.mjs";

export { expect, isMock };

/** Completions as tests use them. */
export const says = (text, delay_ms = 0) => ({ text, delay_ms });
export const SEARCH = { text: "Let me look.", tool_calls: [{ name: "search_catalog", arguments: { category: "sleep", limit: 1 } }] };
export const ADD = { tool_calls: [{ name: "add_habit", arguments: { protocol_id: "morning-light", frame_level: "L2", framed_text: "Morning sunlight" } }] };

export const test = base.extend({
  /** Starts a server with a script: `const server = await serve([..])`. */
  serve: async ({}, use) => {
    const servers = [];
    await use(async (script) => {
      const server = await startServer(script);
      servers.push(server);
      return server;
    });
    for (const server of servers) await server.stop();
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
    if (protocol !== "data:" && hostname !== "127.0.0.1") wrongs.push(`a request to ${request.url()}`);
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
