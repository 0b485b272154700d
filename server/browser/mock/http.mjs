// How the mock answers: problems, JSON, event streams, the page's files, and what it refuses before any route.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";

import { read, write } from "./json.mjs";

const ASSETS = new URL("../../src/page/assets/", import.meta.url);
const TYPES = { txt: "text/plain; charset=utf-8", html: "text/html; charset=utf-8", css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8", json: "application/json", svg: "image/svg+xml" };
export const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
export const SAFE = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin" };

const TITLES = { "not-found": "Not found", unauthorized: "Not signed in", busy: "The chat is busy" };

/** An answer that is no success; thrown by routes. */
export class Refusal extends Error {
  constructor(status, name, members = {}, headers = {}) {
    super(name);
    Object.assign(this, { status, name, members, headers });
  }
}

export function refuse(response, { status, name, members, headers }) {
  const body = { type: `/problems/${name}`, title: TITLES[name] ?? name, status, detail: `${TITLES[name] ?? name}.`, ...members };
  response.writeHead(status, { ...SAFE, "content-type": "application/problem+json", ...headers });
  response.end(write(body));
}

export function answer(response, status, body, headers = {}) {
  response.writeHead(status, { ...SAFE, "content-type": "application/json", "cache-control": "no-store", ...headers });
  response.end(body === undefined ? undefined : write(body));
}

/** Opens an event stream; gives how to write to it. */
export function stream(response) {
  response.writeHead(200, { ...SAFE, "content-type": "text/event-stream", "cache-control": "no-store, no-transform", "x-accel-buffering": "no" });
  response.write(": madang\nretry: 1000\n\n");
  const beat = setInterval(() => response.write(": \n\n"), 15_000);
  response.on("close", () => clearInterval(beat));
  return (id, type, data) => response.write(`${id ? `id: ${id}\n` : ""}event: ${type}\ndata: ${write(data)}\n\n`);
}

/** What the words of a new chat say of the demonstration model, as the program adds it. */
const ABOUT = [
  "습관과 노트 도구만 아는 아주 작은 데모 모델입니다. 실제 모델을 쓰려면 --hf OWNER/REPO 나 --model PATH 를 주세요 (madang chat --hf OWNER/REPO).",
  "This is a very small demonstration model, which knows only the tools for habits and notes; for real work take a model with --hf OWNER/REPO or --model PATH (madang chat --hf OWNER/REPO).",
];

/** Serves a file of the page. */
export function asset(request, response, name, isDemonstration) {
  const file = name || "index.html";
  if (!readdirSync(ASSETS).includes(file)) throw new Refusal(404, "not-found");
  let bytes = readFileSync(new URL(file, ASSETS));
  if (!name && request.headers["sec-fetch-site"] === "none") bytes = Buffer.from(String(bytes).replace("<html ", '<html data-opened="person" '));
  if (name === "texts.txt" && isDemonstration) bytes = Buffer.from(String(bytes).replace(/(?<=^\[chat\]$[^[]*^empty=)(.*)\|(.*)$/m, `$1 ${ABOUT[0]}|$2 ${ABOUT[1]}`));
  const etag = `"${createHash("sha256").update(bytes).digest("hex")}"`;
  const headers = { ...SAFE, "content-type": TYPES[file.split(".").pop()], "content-security-policy": CSP, "cache-control": "no-cache", etag };
  if (request.headers["if-none-match"] === etag) return response.writeHead(304, headers).end();
  response.writeHead(200, headers);
  return response.end(bytes);
}

/** Checks host, origin and, for what changes something by a cookie, its proof; as the server does before any route. */
export function guard(request, origin, byCookie) {
  const { host, origin: from, "sec-fetch-site": site, "content-type": type } = request.headers;
  if (`http://${host}` !== origin) throw new Refusal(403, "host");
  if (from !== undefined && from !== origin) throw new Refusal(403, "origin");
  if (["cross-site", "same-site"].includes(site) && request.url !== "/") throw new Refusal(403, "origin");
  if (["GET", "HEAD"].includes(request.method)) return;
  if (byCookie && site !== "same-origin" && from !== origin) throw new Refusal(403, "origin");
  if (type !== "application/json") throw new Refusal(415, "unsupported-media-type");
}

export async function body(request, max = 256 * 1024) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > max) throw new Refusal(413, "too-long", { bytes, max_bytes: max });
    chunks.push(chunk);
  }
  if (!bytes) return {};
  try {
    return read(String(Buffer.concat(chunks)));
  } catch {
    throw new Refusal(400, "malformed", { problems: [{ pointer: "", detail: "not JSON" }] });
  }
}
