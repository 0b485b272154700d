// Markdown, read into a tree of `{tag, attributes, children}` and made into elements. No text becomes markup and no
// address is fetched: images are links, and only http, https and mail addresses are links.

/** Deeper quotations, lists and emphasis stay plain text. */
const MAX_DEPTH = 12;

/** Reads a text into blocks, each with its source and its place. */
export function blocks(text, depth = 0, from = 0) {
	const rows = text.slice(from).split("\n");
	const lines = rows.map((row) => (row.endsWith("\r") ? row.slice(0, -1) : row));
	const found = [];
	let at = 0;
	let begin = from;
	while (at < lines.length) {
		const [node, next] = lines[at].trim() ? block(lines, at, depth) : [null, at + 1];
		if (node) found.push({ begin, source: lines.slice(at, next).join("\n"), node });
		for (; at < next; at += 1) begin += rows[at].length + 1;
	}
	return found;
}

/** Reads a text that has grown: its last two blocks anew, because a line can join the block before it. */
export function grown(text, before, found) {
	const kept = text.startsWith(before) ? found.slice(0, -2) : [];
	const again = blocks(text, 0, kept.length && found[kept.length].begin);
	const same = (block, at) => (found[at]?.begin === block.begin && found[at].source === block.source ? found[at] : block);
	return [...kept, ...again.map((block, at) => same(block, kept.length + at))];
}

export function build(node, doc) {
	if (typeof node === "string") return doc.createTextNode(node);
	const made = doc.createElement(node.tag);
	for (const [name, value] of Object.entries(node.attributes ?? {})) made.setAttribute(name, value);
	for (const child of node.children ?? []) made.append(build(child, doc));
	return made;
}

/** A text without its marks, to be read out. */
export function plain(text) {
	const words = (node) => (typeof node === "string" ? node : (node.children ?? []).map(words).join("") + (IS_BLOCK.has(node.tag) ? "\n" : ""));
	return blocks(text).map(({ node }) => words(node)).join("\n").replace(/\s*\n\s*/g, "\n").trim();
}

const IS_BLOCK = new Set(["p", "li", "th", "td", "blockquote", "br"]);

// No pattern has two ways to read the same letters, because its time would grow faster than its line.
const FENCE = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))\s*(?![^`]*`)(\S*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(?=(.*))/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
// At most three digits: `2026. 11. 25.` is how a Korean date is written.
const ITEM = /^( *)([-*+]|\d{1,3}[.)])( +|$)/;
const TABLE_RULE = /^:?-+:?$/;

/** Reads a block; returns it and the next line. */
function block(lines, at, depth) {
	const line = lines[at];
	const fence = FENCE.exec(line);
	if (fence) return code(lines, at, fence);
	const heading = HEADING.exec(line);
	if (heading) return [{ tag: "p", attributes: { class: "heading", role: "heading", "aria-level": "3", "data-level": heading[1].length }, children: [{ tag: "strong", children: inline(heading[2].trimEnd().replace(/(?<!#)#+$/, "").trimEnd()) }] }, at + 1];
	if (RULE.test(line)) return [{ tag: "hr" }, at + 1];
	if (depth < MAX_DEPTH && QUOTE.test(line)) return quote(lines, at, depth);
	if (depth < MAX_DEPTH && ITEM.test(line)) return list(lines, at, depth);
	if (startsTable(lines, at)) return table(lines, at);
	return paragraph(lines, at, depth);
}

/** A fence that is not closed, as in a streaming text, goes to the end. */
function code(lines, at, [, mark, language]) {
	const isEnd = (line) => line.trim().startsWith(mark) && /^\s*(`+|~+)\s*$/.test(line);
	let end = at + 1;
	while (end < lines.length && !isEnd(lines[end])) end += 1;
	const text = lines.slice(at + 1, end).join("\n");
	const attributes = language ? { "data-language": language } : {};
	return [{ tag: "pre", attributes: { tabindex: "0", ...attributes }, children: [{ tag: "code", children: [text] }] }, Math.min(end + 1, lines.length)];
}

function quote(lines, at, depth) {
	let end = at;
	while (end < lines.length && QUOTE.test(lines[end])) end += 1;
	const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
	return [{ tag: "blockquote", children: blocks(inner.join("\n"), depth + 1).map(({ node }) => node) }, end];
}

function list(lines, at, depth) {
	const [, indent, mark] = ITEM.exec(lines[at]);
	const isOrdered = /\d/.test(mark);
	const items = [];
	const rest = new RegExp(`^ {0,${indent.length + mark.length + 1}}`);
	let end = at;
	let text = at; // the first line from here on that has one
	while (end < lines.length) {
		while (text < lines.length && (text < end || !lines[text].trim())) text += 1;
		const found = ITEM.exec(lines[end]);
		const isItem = found && found[1].length <= indent.length + 1 && /\d/.test(found[2]) === isOrdered;
		if (isItem) items.push([lines[end].slice(found[0].length)]);
		else if (belongs(lines, end, lines[text], indent.length)) items.at(-1).push(lines[end].replace(rest, ""));
		else break;
		end += 1;
	}
	while (!lines[end - 1].trim()) end -= 1;
	const children = items.map((item) => ({ tag: "li", children: itemChildren(item.join("\n"), depth) }));
	const first = Number.parseInt(mark, 10);
	return [{ tag: isOrdered ? "ol" : "ul", attributes: isOrdered && first !== 1 ? { start: String(first) } : {}, children }, end];
}

/** Whether a line belongs to the last item; `text` is the first line from there that is not blank. */
function belongs(lines, at, text = "", indent) {
	const line = lines[at];
	if (text.search(/\S/) > indent + 1) return true;
	if (!line.trim()) return false;
	return Boolean(lines[at - 1].trim()) && !ITEM.test(line) && !startsBlock(lines, at);
}

function itemChildren(text, depth) {
	const inner = blocks(text, depth + 1).map(({ node }) => node);
	if (inner[0]?.tag === "p" && !inner[0].attributes) return [...inner[0].children, ...inner.slice(1)];
	return inner;
}

function cells(line) {
	const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
	return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function table(lines, at) {
	const row = (tag, line) => ({ tag: "tr", children: cells(line).map((cell) => ({ tag, children: inline(cell) })) });
	let end = at + 2;
	while (end < lines.length && lines[end].includes("|")) end += 1;
	const body = lines.slice(at + 2, end).map((line) => row("td", line));
	const inner = { tag: "table", children: [{ tag: "thead", children: [row("th", lines[at])] }, { tag: "tbody", children: body }] };
	return [{ tag: "div", attributes: { class: "wide", tabindex: "0" }, children: [inner] }, end];
}

function startsTable(lines, at) {
	const [line, rule = ""] = [lines[at], lines[at + 1]];
	return line.includes("|") && cells(rule).every((cell) => TABLE_RULE.test(cell)) && cells(line).length === cells(rule).length;
}

/** Whether a line ends the paragraph before it. Of numbers, only 1 does. */
function startsBlock(lines, at) {
	const line = lines[at];
	const item = ITEM.exec(line);
	const isItem = item !== null && (!/\d/.test(item[2]) || Number.parseInt(item[2], 10) === 1);
	return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || isItem || startsTable(lines, at);
}

function paragraph(lines, at, depth) {
	let end = at + 1;
	while (end < lines.length && lines[end].trim() && (depth >= MAX_DEPTH || !startsBlock(lines, end))) end += 1;
	const text = lines.slice(at, end).map((line) => line.trimStart());
	const children = text.flatMap((line, number) => (number ? [{ tag: "br" }, ...inline(line)] : inline(line)));
	return [{ tag: "p", children }, end];
}

const marked = (tag) => ([, text], depth) => ({ tag, children: inline(text, depth) });

/** Each way to mark a part of a line: its begin, the whole, the node. */
const INLINE = [
	[/^\\/, /^\\([!-/:-@[-`{-~])/, ([, letter]) => letter],
	[/^\*\*(?=\S)/, /^\*\*([\s\S]*?\S)\*\*(?!\*)/, marked("strong")],
	[/^__(?=\S)/, /^__([\s\S]*?\S)__(?![\p{L}\p{N}_])/u, marked("strong")],
	[/^\*(?=[^\s*])/, /^\*([\s\S]*?[^\s*])\*(?!\*)/, marked("em")],
	[/^_(?=[^\s_])/, /^_([\s\S]*?[^\s_])_(?![\p{L}\p{N}_])/u, marked("em")],
	[/^~~(?=\S)/, /^~~([\s\S]*?\S)~~/, marked("del")],
	[/^</, /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/, ([, address]) => link(address, [address])],
	[/^http/, /^https?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}*_~]/, ([address]) => link(address, [address])],
];
/** Marks without an end have none later on, too. */
const ENDS = /^\^(\\\*|_|~)/;
const TARGET = /^\(\s{0,9}<?([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)?)>?(?:\s{1,9}"[^"]*")?\s{0,9}\)/;
const NEXT = /[\\`![*_~<]|https?:\/\//;

/** Finds the end of each bracket and of each run of backquotes. */
function partners(text) {
	const found = new Map();
	const [open, runs] = [[], new Map()];
	for (const { 0: mark, index } of text.matchAll(/\\[[\]\\]|`+|[[\]]/g)) {
		if (mark === "[") open.push(index);
		else if (mark === "]") found.set(open.pop(), index);
		else if (mark[0] === "`") {
			found.set(runs.get(mark.length), index);
			runs.set(mark.length, index);
		}
	}
	return found;
}

/** Reads code or a link; returns its end and its node. */
function paired(text, at, pairs, depth) {
	if (text[at] === "`") {
		const { length } = /^`+/.exec(text.slice(at))[0];
		const end = pairs.get(at);
		if (end === undefined) return [at + length, text.slice(at, at + length)];
		return [end + length, { tag: "code", children: [text.slice(at + length, end).replace(/^ ([^]*) $/, "$1")] }];
	}
	const begin = text[at] === "!" ? at + 1 : at;
	const end = text[begin] === "[" ? pairs.get(begin) : undefined;
	const target = end === undefined ? null : TARGET.exec(text.slice(end + 1));
	return target && [end + 1 + target[0].length, link(target[1], inline(text.slice(begin + 1, end), depth))];
}

/** Reads a line in linear time: a mark whose end was not found is not looked for again. */
function inline(text, depth = 0) {
	if (depth >= MAX_DEPTH) return text ? [text] : [];
	const found = [];
	const add = (node) => {
		if (typeof node === "string" && typeof found.at(-1) === "string") found[found.length - 1] += node;
		else found.push(node);
	};
	const pairs = partners(text);
	const endless = new Set();
	const markOf = (rest) => {
		for (const way of INLINE) {
			const [begins, pattern, make] = way;
			if (endless.has(way) || !begins.test(rest)) continue;
			const match = pattern.exec(rest);
			if (match) return [text.length - rest.length + match[0].length, make(match, depth + 1)];
			if (ENDS.test(pattern.source)) endless.add(way);
		}
		return null;
	};
	let at = 0;
	while (at < text.length) {
		const rest = text.slice(at);
		const next = rest.search(NEXT);
		if (next !== 0) {
			const plainPart = next < 0 ? rest : rest.slice(0, next);
			add(plainPart);
			at += plainPart.length;
			continue;
		}
		// An underscore within a word is a part of a name.
		const isWithin = rest[0] === "_" && at > 0 && /[\p{L}\p{N}_]/u.test(text[at - 1]);
		const hit = isWithin ? null : /[`![]/.test(rest[0]) ? paired(text, at, pairs, depth + 1) : markOf(rest);
		const [end, node] = hit ?? [at + 1, rest[0]];
		add(node);
		at = end;
	}
	return found;
}

/** A link, if its address runs nothing. */
function link(address, children) {
	if (!/^(https?:\/\/|mailto:)/i.test(address)) return { tag: "span", children };
	const attributes = { href: address, rel: "noopener noreferrer nofollow", target: "_blank", title: address };
	return { tag: "a", attributes, children: children.length ? children : [address] };
}
