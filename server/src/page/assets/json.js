// Reads and writes JSON so that every digit of every number stays. JavaScript's numbers would change the last digits of
// a long id, on the screen and in an edit.

/** A number that JavaScript would write differently, as it was written. */
export class Exact {
	constructor(text) {
		this.text = text;
	}

	/** What is near enough for a bar of progress. */
	valueOf() {
		return Number(this.text);
	}

	toString() {
		return this.text;
	}
}

/** A text is not JSON from this place on. */
export class NotJson extends Error {
	constructor(at) {
		super(String(at));
		this.at = at;
	}
}

const BLANK = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const WORDS = { true: true, false: false, null: null };

/** Deeper than the server reads, and shallow enough for the stack. */
const MAX_DEPTH = 256;

export function read(text) {
	let at = 0;
	const take = (pattern) => {
		pattern.lastIndex = at;
		const found = pattern.exec(text)?.[0];
		at += found?.length ?? 0;
		return found;
	};
	const is = (letter) => {
		take(BLANK);
		const isThere = text[at] === letter;
		if (isThere) at += 1;
		return isThere;
	};
	const need = (isThere) => {
		if (!isThere) throw new NotJson(at);
	};
	/** The string that begins here; the browser reads its escapes. */
	const string = () => {
		let end = at;
		do {
			end = text.indexOf('"', end + 1);
			need(end >= 0);
		} while (isEscaped(text, end));
		try {
			const found = JSON.parse(text.slice(at, end + 1));
			at = end + 1;
			return found;
		} catch {
			throw new NotJson(at);
		}
	};
	const scalar = () => {
		if (text[at] === '"') return string();
		const digits = take(NUMBER);
		if (digits) return String(Number(digits)) === digits ? Number(digits) : new Exact(digits);
		const word = take(WORD);
		need(word);
		return WORDS[word];
	};
	const list = (made, end, depth, add) => {
		if (is(end)) return made;
		need(depth < MAX_DEPTH);
		do add(made);
		while (is(","));
		need(is(end));
		return made;
	};
	const member = (depth) => (object) => {
		take(BLANK);
		need(text[at] === '"');
		const name = string();
		need(is(":"));
		put(object, name, value(depth + 1));
	};
	const value = (depth) => {
		if (is("{")) return list({}, "}", depth, member(depth));
		if (is("[")) return list([], "]", depth, (array) => array.push(value(depth + 1)));
		return scalar();
	};
	const found = value(0);
	take(BLANK);
	need(at === text.length);
	return found;
}

function isEscaped(text, at) {
	let before = at;
	while (text[before - 1] === "\\") before -= 1;
	return (at - before) % 2 === 1;
}

export function readOr(text, otherwise) {
	try {
		return read(text);
	} catch {
		return otherwise;
	}
}

/** Sets a member; `__proto__` is a name like any other. */
function put(object, name, value) {
	if (name === "__proto__") Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
	else object[name] = value;
}

/** Writes a value, over several lines if `isWide`. Leaves out what is undefined, as JSON does. */
export function write(value, isWide = false, margin = "\n") {
	if (value instanceof Exact) return value.text;
	if (typeof value !== "object" || value === null) return JSON.stringify(value);
	const inner = `${margin}  `;
	const items = Array.isArray(value)
		? value.map((item) => write(item, isWide, inner))
		: Object.entries(value).filter(([, item]) => item !== undefined).map(([name, item]) => `${JSON.stringify(name)}:${isWide ? " " : ""}${write(item, isWide, inner)}`);
	const [begin, end] = Array.isArray(value) ? "[]" : "{}";
	if (!isWide || !items.length) return begin + items.join(",") + end;
	return begin + inner + items.join(`,${inner}`) + margin + end;
}
