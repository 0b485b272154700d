// How the page is tried in a browser: the machine's own Chromium, a server of its own for each test.
//
// With MADANG_BIN=PATH, the program, all that can be is tried against a real `madang serve` as well.

import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { defineConfig } from "@playwright/test";

const hasReal = Boolean(process.env.MADANG_BIN);

export default defineConfig({
  testDir: "tests",
  outputDir: join(tmpdir(), "madang-browser-results"),
  fullyParallel: true,
  workers: Number(process.env.MADANG_WORKERS ?? 2),
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  // `@mock` needs what only the mock does; `@once` is the same by either server, and so is tried with the real one where it can.
  projects: hasReal
    ? [{ name: "mock", use: { kind: "mock" }, grepInvert: /@once/ }, { name: "real", use: { kind: "real" }, grepInvert: /@mock/ }]
    : [{ name: "mock", use: { kind: "mock" } }],
  use: {
    locale: "en-US",
    timezoneId: "Asia/Seoul",
    viewport: { width: 1280, height: 800 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(existsSync),
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    },
  },
});
