// The page is small, whole, and says nothing in a language of its own.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import { tableOf } from "../../src/page/assets/texts.js";

const ASSETS = new URL("../../src/page/assets/", import.meta.url);
const files = readdirSync(ASSETS).map((name) => ({ name, text: readFileSync(new URL(name, ASSETS), "utf8") }));
const modules = files.filter(({ name }) => name.endsWith(".js"));
/** Each key with its words: Korean, English, and English for one. */
const table = tableOf(readFileSync(new URL("texts.txt", ASSETS), "utf8"));

// 4 KB of it are the reader of numbers: what browsers bring rounds ids, and not all give their source. 3 KB ask before
// a link signs in, and 3 KB keep a Yes and a login whole.
test("all files together have at most 176 KB", () => {
  const bytes = files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  assert.ok(bytes <= 176_000, `${bytes} bytes`);
});

test("each module says in its first line which concept it is, and has at most 350 lines", () => {
  for (const { name, text } of modules) {
    assert.match(text.split("\n")[0], /^\/\/ [A-Z]/, name);
    assert.ok(text.split("\n").length <= 350, name);
  }
});

test("no file names another host, and no text becomes markup", () => {
  for (const { name, text } of files) {
    const addresses = [...text.matchAll(/https?:\/\/[\w.-]+/g)].map(([address]) => address).filter((address) => address !== "http://www.w3.org");
    assert.deepEqual(addresses, [], name);
  }
  for (const { name, text } of modules) assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function/, name);
});

test("JSON is read and written in one place, which keeps every digit", () => {
  for (const { name, text } of modules) if (name !== "json.js") assert.doesNotMatch(text, /\bJSON\.|\.json\(\)|postMessage\((?!write\()/, name);
});

test("index.html has no script, style or handler of its own", () => {
  const { text } = files.find(({ name }) => name === "index.html");
  assert.doesNotMatch(text, /<style|style=|<script>|\son\w+=/);
});

test("every file that a file imports is there, and every file is used", () => {
  const names = new Set(files.map(({ name }) => name));
  const used = new Set(["index.html"]);
  for (const { text } of files) for (const [, name] of text.matchAll(/(?:from "\.\/|assets\/|url\(|new URL\(")([\w.]+?)["`)]/g)) used.add(name);
  assert.deepEqual([...used].sort(), [...names].sort());
});

const holes = (text) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();

test("each key has words in both languages, with the same holes", () => {
  for (const [key, [ko, en, one = en, ...more]] of table) {
    for (const text of [ko, en, one]) assert.ok(text?.trim() && text === text.trim(), key);
    assert.deepEqual([holes(ko), holes(one), more], [holes(en), holes(en), []], key);
    assert.equal(/\p{Script=Hangul}/u.test(en) && key !== "language.ko", false, key);
  }
});

test("no key is there twice", () => {
  const lines = readFileSync(new URL("texts.txt", ASSETS), "utf8").split("\n").filter((line) => /^[^#[]/.test(line));
  assert.equal(lines.length, table.size);
});

/** The strings of a module, without what stands in comments. */
const strings = (text) => {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
  return [...code.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)].map(([, double, template]) => double ?? template.replace(/\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}/g, "…"));
};

test("each key that a module names is there, and each that is there is named", () => {
  const known = new Set(table.keys());
  const rooms = [...new Set([...known].map((key) => key.split(".")[0]))];
  const isKey = (text) => rooms.some((room) => text.startsWith(`${room}.`)) && !/^madang\./.test(text);
  const named = modules.flatMap(({ text }) => strings(text)).filter((text) => isKey(text) && /^[\w.…-]+$/.test(text));
  const patterns = named.map((text) => new RegExp(`^${text.replace(/\./g, "\\.").replace(/…/g, ".*")}$`));
  const lost = named.filter((text) => !text.includes("…") && !known.has(text));
  // Names of files and events look like keys of such rooms.
  assert.deepEqual(lost.filter((text) => !/\.(js|txt|svg)$/.test(text)), []);
  // `clear.title` and its like are named by the room alone.
  const unnamed = [...known].filter((key) => !patterns.some((pattern) => pattern.test(key)) && !/^(clear|switch|join|fork|rename|delete)\.(title|text|yes|no)$/.test(key) && key !== "menu.fork");
  assert.deepEqual(unnamed, []);
});

const css = files.find(({ name }) => name === "app.css").text;
/** What a string of several words may be made of: classes, tags, ids, relations of links, and names of keys. */
const known = new Set([...[...css.matchAll(/\.([a-z][\w-]*)/g)].map(([, name]) => name), "button", "h1", "coming", "sure", "login-hint", "login-problem", "ask-means", "ask-text", "noopener", "noreferrer", "nofollow", "Shift", "+", "Enter"]);
const isKnown = (word) => known.has(word.replace(/^\./, "")) || /^\[[\w-]+="…"\]$/.test(word);
/** Names of keys, tags and methods. */
const NAMES = /^(Enter|Escape|Esc|BUTTON|GET|POST|PATCH|DELETE)$/;

/** Whether a string reads like a sentence or a word for a person. */
function isForPerson(text) {
  if (/\p{Script=Hangul}/u.test(text)) return true;
  if (/^\p{Lu}\p{L}+[.!?]?$/u.test(text)) return !NAMES.test(text);
  // Paths of icons, and what lies between two backquotes of expressions.
  if (/^M[\d.\s]/.test(text) || /\n|\]\*?\$?\//.test(text)) return false;
  return /\p{L} +\p{L}|\p{L} \+ /u.test(text) && !text.replaceAll('\\"', '"').split(" ").every(isKnown);
}

test("no module has words for a person", () => {
  const found = modules.flatMap(({ name, text }) => strings(text).filter(isForPerson).map((words) => `${name}: ${words}`));
  assert.deepEqual(found, []);
});

test("words for a person would be found", () => {
  for (const words of ["보내기", "Not sent yet.", "Try now", "Send", "not sent", "Sending…  now please"]) assert.ok(isForPerson(words), words);
  for (const code of ["square stop", ".earlier button", "Enter", "noopener noreferrer nofollow", "application/json"]) assert.ok(!isForPerson(code), code);
});
