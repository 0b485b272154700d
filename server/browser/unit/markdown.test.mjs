// Markdown becomes a tree of harmless tags, whatever it contains, and a growing text keeps its finished blocks.

import assert from "node:assert/strict";
import test from "node:test";

import { blocks, build, grown, plain } from "../../src/page/assets/markdown.js";

/** A document that writes down what is made of it. */
const doc = {
  createTextNode: (text) => ({ text, html: text.replace(/[&<>]/g, (sign) => `&${{ "&": "amp", "<": "lt", ">": "gt" }[sign]};`) }),
  createElement: (tag) => ({
    attributes: [],
    children: [],
    setAttribute(name, value) {
      this.attributes.push(` ${name}="${value}"`);
    },
    append(child) {
      this.children.push(child);
    },
    get html() {
      const inner = this.children.map((child) => child.html).join("");
      return `<${tag}${this.attributes.join("")}>${inner}</${tag}>`;
    },
  }),
};
const html = (text) => blocks(text).map(({ node }) => build(node, doc).html).join("");

test("what models write becomes what it means", () => {
  const cases = [
    ["plain", "<p>plain</p>"],
    ["one\ntwo\n\nthree", "<p>one<br></br>two</p><p>three</p>"],
    ["**bold** and *it* and ~~no~~ and `a < b`", "<p><strong>bold</strong> and <em>it</em> and <del>no</del> and <code>a &lt; b</code></p>"],
    ["**굵게**와 __굵게__ _기울임_", "<p><strong>굵게</strong>와 <strong>굵게</strong> <em>기울임</em></p>"],
    ["snake_case_name and 2 * 3 * 4", "<p>snake_case_name and 2 * 3 * 4</p>"],
    ["- a\n- b\n  - c", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>"],
    ["3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'],
    ["2026. 11. 25. 회의", "<p>2026. 11. 25. 회의</p>"],
    ["> a\n> b", "<blockquote><p>a<br></br>b</p></blockquote>"],
    ["***", "<hr></hr>"],
    ["```js\nlet a = \"<b>\";\n```\nend", '<pre tabindex="0" data-language="js"><code>let a = "&lt;b&gt;";</code></pre><p>end</p>'],
    ["\\*not\\*", "<p>*not*</p>"],
    ["- [ ] open", "<ul><li>[ ] open</li></ul>"],
  ];
  for (const [text, wanted] of cases) assert.equal(html(text), wanted);
  assert.match(html("## Title"), /^<p class="heading" role="heading" aria-level="3" data-level="2"><strong>Title<\/strong><\/p>$/);
  assert.match(html("before\n| a | b |\n|---|---|\n| 1 | 2 |"), /^<p>before<\/p><div class="wide" tabindex="0"><table><thead><tr><th>a<\/th><th>b<\/th>/);
});

test("only http, https and mail addresses are links, and say where they lead", () => {
  const link = (address, text) => `<a href="${address}" rel="noopener noreferrer nofollow" target="_blank" title="${address}">${text}</a>`;
  assert.equal(html("[x](https://a.org/b_(c))"), `<p>${link("https://a.org/b_(c)", "x")}</p>`);
  assert.equal(html("see https://a.org/b. End"), `<p>see ${link("https://a.org/b", "https://a.org/b")}. End</p>`);
  assert.equal(html("<mailto:a@b.org>"), `<p>${link("mailto:a@b.org", "mailto:a@b.org")}</p>`);
  for (const address of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "//evil.org", "/v1/logout", "file:///etc/passwd", "#/s/x"]) {
    assert.equal(html(`[x](${address})`).includes("<a"), false, address);
  }
});

test("an image is fetched from nowhere", () => {
  assert.match(html("![cat](https://a.org/cat.png)"), /^<p><a href="https:\/\/a\.org\/cat\.png"[^>]*>cat<\/a><\/p>$/);
  assert.doesNotMatch(html("![x](https://a.org/x.png) <img src=x onerror=alert(1)>"), /<img/);
});

test("markup is text", () => {
  assert.equal(html("<script>alert(1)</script>"), "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>");
  assert.equal(html("<b onclick=x>y</b>"), "<p>&lt;b onclick=x&gt;y&lt;/b&gt;</p>");
});

const TAGS = new Set(["p", "br", "strong", "em", "del", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "table", "thead", "tbody", "tr", "th", "td", "div", "a", "span"]);
const ATTRIBUTES = new Set(["class", "role", "aria-level", "data-level", "data-language", "tabindex", "start", "href", "rel", "target", "title"]);

/** Every node of a tree. */
function* nodes(node) {
  yield node;
  if (typeof node !== "string") for (const child of node.children ?? []) yield* nodes(child);
}

test("random texts give known tags alone, lose no letter, and take no long time", () => {
  let seed = 7;
  const random = (max) => ((seed = (seed * 1103515245 + 12345) % 2147483648), seed % max);
  const parts = ["*", "**", "_", "__", "`", "```", "~~", "[", "](", ")", "!", "<", ">", "#", "- ", "1. ", "> ", "|", "---", "\n", "\n\n", "    ", " ", "https://a.org", "javascript:", "가", "a", "\\", "&", "\"", "\r\n", "\u202e"];
  for (let round = 0; round < 3000; round += 1) {
    const text = Array.from({ length: random(60) }, () => parts[random(parts.length)]).join("");
    for (const { node } of blocks(text)) {
      for (const inner of nodes(node)) {
        if (typeof inner === "string") continue;
        assert.ok(TAGS.has(inner.tag), text);
        for (const name of Object.keys(inner.attributes ?? {})) assert.ok(ATTRIBUTES.has(name), text);
        if (inner.attributes?.href) assert.match(inner.attributes.href, /^(https?:\/\/|mailto:)/i);
      }
    }
    const letters = (given) => [...given].filter((letter) => /[가a]/.test(letter)).length;
    const words = blocks(text).flatMap(({ node }) => [...nodes(node)].map((inner) => (typeof inner === "string" ? inner : `${inner.attributes?.href ?? ""}${inner.attributes?.["data-language"] ?? ""}`))).join("");
    if (!text.includes("](") && !text.includes("```") && !text.includes("|")) assert.ok(letters(words) >= letters(text.replaceAll("javascript:", "")), JSON.stringify(text));
  }
});

/** Lines of 5,000 letters, because marks lie within a line. */
const filled = (unit, letters, line = 5000) => `${unit.repeat(Math.ceil(line / unit.length)).slice(0, line)}\n`.repeat(Math.ceil(letters / line)).slice(0, letters);
const spaces = (count) => " ".repeat(count);

test("a hostile text takes time by its length alone", () => {
  const marks = ["**a ", " _a", " __a", "[", "[a](", "[[]", "![", "` ``", "`", "<http://a", "~~a ", "*a ", "*a**b", "[a](b(", '[a](b "', "[a](  ", "**_a", "> ", "- ", "|a", "**a*b_c~~", "\\*", "- - -x", "# ", "http://.", "*", "_"];
  const texts = [
    ...marks.flatMap((unit) => [(letters) => filled(unit, letters), (letters) => filled(unit, letters, letters)]),
    ...["- a\n", "- a\n\n", "> a\n", "|a|\n|-|\n", "a\n", "a|b\n", "```\n", ">> >>> a\n", "- a\n  - b\n"].map((unit) => (letters) => filled(unit, letters, letters)),
    (letters) => `a|b\n${spaces(letters / 2)}-${spaces(letters / 2)}x`,
    (letters) => `a|b\n${filled("|-", letters, letters)}x`,
    (letters) => `# ${spaces(letters)}x`,
    (letters) => `# a${spaces(letters)}#x`,
    (letters) => `# ${filled("#", letters, letters).trim()}x`,
    (letters) => `- a\n${"\n".repeat(letters)}  x`,
    (letters) => `- a\n${filled("   \n", letters, letters)}  x`,
    (letters) => `${filled("~", letters, letters).trim()}\``,
    (letters) => `${filled("`", letters, letters).trim()} x\``,
    (letters) => `[a](${spaces(letters)}x`,
    (letters) => `[a](${filled("b", letters, letters)}`,
    (letters) => `http://${filled(".", letters, letters)}`,
    (letters) => Array.from({ length: Math.floor(Math.sqrt(letters)) }, (_, length) => "`".repeat(length + 1)).join(" "),
  ];
  const took = (text) => Math.min(...[1, 2, 3].map(() => {
    const began = process.cpuUsage();
    blocks(text);
    const { user, system } = process.cpuUsage(began);
    return user + system;
  }));
  for (const make of texts) {
    took(make(1000));
    // The square of eight would be 64. What takes less than two milliseconds is too short to be measured.
    const [short, long] = [took(make(8_000)), took(make(64_000))];
    assert.ok(long <= 28 * Math.max(short, 2000), `${JSON.stringify(make(24))}: ${short} and ${long} microseconds`);
  }
});

test("a growing text reads only its last blocks again, and becomes what the whole would", () => {
  const text = "# A\n\nfirst *one*\r\n\r\n1. a\n\n2. b\n\n- c\n\n  d\n\na|b\n|-|-|\n|1|2|\n\n```\ncode\n\nmore\n```\n\nlast";
  let [before, found] = ["", []];
  for (let length = 1; length <= text.length; length += 1) {
    const now = text.slice(0, length);
    const next = grown(now, before, found);
    assert.deepEqual(next, blocks(now), now);
    for (const [at, block] of found.entries()) assert.ok(next[at] === block || (at >= found.length - 2 && next[at]?.source !== block.source), now);
    [before, found] = [now, next];
  }
  assert.deepEqual(grown("another", before, found), blocks("another"));
});

test("what is read out has no marks", () => {
  assert.equal(plain("## Sleep\n\nGet **up**:\n\n- a\n- b `c`\n\n| x | y |\n|---|---|\n| 1 | 2 |"), "Sleep\nGet up:\na\nb c\nx\ny\n1\n2");
});
