// Every word on the screen comes from the file of its language: on the Korean page, what is not Korean is data.

/** What people, the server and the clock say in the states, whole, and the name of the other language. */
const DATA = [
  /^[\d\s:.,·()–-]+$/, /^(Enter|Esc|Shift \+ Enter|[?/nilq])$/, /^[0-9a-f]{64}$/, /^kim$/, /^x{60,}$/, /^English$/,
  /^(Add morning light( to my habits, please)?|Add it once more|A long chat|Find something for sleep|hello|Hello\.?|are you there\?)$/, /^Adds a new habit: /,
];

/** All that is read and is neither Korean nor data: text nodes, labels, hints, the title. */
export async function foreignWords(page) {
  const said = await page.evaluate(() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { parentElement, nodeValue } = walker.currentNode;
      if (nodeValue.trim() && !parentElement.closest(".text, pre, code, noscript, textarea, select, .thought, #ask-text, .fields")) found.push(nodeValue.trim());
    }
    for (const node of document.querySelectorAll("[aria-label], [title], [placeholder]")) {
      for (const name of ["aria-label", "title", "placeholder"]) if (node.hasAttribute(name) && !node.closest(".text")) found.push(node.getAttribute(name));
    }
    return [...found, document.title];
  });
  return said.filter((text) => !/\p{Script=Hangul}/u.test(text) && !DATA.some((pattern) => pattern.test(text)));
}
