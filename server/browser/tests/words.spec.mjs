// Every word on the screen comes from the two files: with other files the page speaks another language altogether.

import { expect, test } from "../fixtures.mjs";
import { STATES, tagOf, texts } from "../states.mjs";

/** The texts with each word in brackets, so that a word without them came from elsewhere. */
const bracketed = (value) => (typeof value === "string" ? `⟦${value}⟧` : Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, bracketed(inner)])));

/** What people, the server and the clock say in the states, whole; all else is the page's. */
const DATA = [
  /^[\d\s:.,·()–-]+$/, /^\d+:\d\d [AP]M$/, /^(Enter|Esc|Shift \+ Enter|[?/nilq])$/, /^[0-9a-f]{64}$/, /^kim$/, /^x{60,}$/,
  /^(Add morning light( to my habits, please)?|Add it once more|A long chat|Find something for sleep|hello|are you there\?)$/,
  /^(the model failed: Timeout|(bad|invalid) arguments: .*|\/fram.*: must be .*|It began, and its end is not known\.|A tool was cut off .*)$/,
];
const isData = (text) => DATA.some((pattern) => pattern.test(text));

/** All that is read: text nodes, labels, hints. */
const said = (page) => page.evaluate(() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement, nodeValue } = walker.currentNode;
    if (nodeValue.trim() && !parentElement.closest(".text, pre, code, noscript, textarea, .thought")) found.push(nodeValue.trim());
  }
  for (const node of document.querySelectorAll("[aria-label], [title], [placeholder]")) {
    for (const name of ["aria-label", "title", "placeholder"]) if (node.hasAttribute(name) && !node.closest(".text")) found.push(node.getAttribute(name));
  }
  return [...found, document.title];
});

for (const [name, { script, go, after, ...state }] of Object.entries(STATES)) {
  test(`no word of ${name} is the page's own`, tagOf(state), async ({ page, serve }) => {
    await page.route("**/texts.en.json", (route) => route.fulfill({ json: bracketed(texts("en")) }));
    const server = await serve(structuredClone(script));
    // Locators of the states ask for words; with brackets around them these still are what they contain.
    await go(bracketsIn(page), server, "en");
    const others = (await said(page)).filter((text) => !text.includes("⟦") && !isData(text));
    expect(others).toEqual([]);
    await after?.(server);
  });
}

/** The page with names of roles in brackets. */
function bracketsIn(page) {
  const within = (target) => new Proxy(target, {
    get(held, key) {
      const value = held[key];
      if (typeof value !== "function") return value;
      if (key === "getByRole") {
        return (role, options = {}) => {
          const { name } = options;
          const wanted = typeof name === "string" ? `⟦${name}⟧` : name instanceof RegExp ? new RegExp(name.source.replace(/^\^/, "^⟦").replace(/\$$/, "⟧$"), name.flags) : undefined;
          return within(held.getByRole(role, { ...options, ...(wanted ? { name: wanted } : {}) }));
        };
      }
      return value.bind(held);
    },
  });
  return within(page);
}
