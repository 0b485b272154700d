// Draws `docs/page.webp` again: the page with an open question, served by the program with a scripted model.
//
// usage: MADANG_BIN=PATH node record.mjs FILE.webp

import { writeFileSync } from "node:fs";

import { chromium } from "@playwright/test";

import config from "./playwright.config.mjs";
import { dialog, enter, expect, fillChat, log, send } from "./fixtures.mjs";
import { startServer } from "./server.mjs";

const EARLIER = ["How did I do this week?", "What helps against tired afternoons?"];
const SCRIPT = [
  ...EARLIER.map(() => ({ text: "Well." })),
  { text: "Let me look.", tool_calls: [{ name: "search_catalog", arguments: { category: "sleep", limit: 3 } }] },
  {
    text: "**Morning light** fits best: it sets the clock by which you fall asleep at night. Shall I add it?",
    tool_calls: [{ name: "add_habit", arguments: { protocol_id: "morning-light", frame_level: "L2", framed_text: "Ten minutes of sun" } }],
  },
];

const server = await startServer("real", SCRIPT);
const browser = await chromium.launch(config.use.launchOptions);
try {
  for (const [at, text] of EARLIER.entries()) await fillChat(server, `earlier-${at}`, [text]);
  const page = await browser.newPage({ viewport: { width: 1120, height: 700 }, deviceScaleFactor: 2, colorScheme: "light", locale: "en-US" });
  await enter(page, server);
  await send(page, "I sleep badly. Find a habit that helps, and add it.");
  await expect(dialog(page).locator(".no")).toBeEnabled();
  await expect(log(page).locator(".call")).toHaveCount(2);
  writeFileSync(process.argv[2], await asWebp(browser, await page.screenshot()));
} finally {
  await browser.close();
  await server.stop();
}

/** A third of the bytes of a PNG; the browser itself writes it. */
async function asWebp(browser, png) {
  const page = await browser.newPage();
  const webp = await page.evaluate(async (png) => {
    const image = await createImageBitmap(await (await fetch(png)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext("2d").drawImage(image, 0, 0);
    const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: "image/webp", quality: 0.9 })).arrayBuffer());
    return bytes.toBase64();
  }, `data:image/png;base64,${png.toString("base64")}`);
  return Buffer.from(webp, "base64");
}
