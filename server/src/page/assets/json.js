// Reads and writes JSON so that every digit of every number stays. Pure, and the one place that knows how.
//
// A number of the page has 53 bits: of an id with more, the last digits would be others on the screen and in an edit.

/** A number that JavaScript would write in other letters, as it stands in its source. */
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

/** Tells that a text is no JSON, and where the first token begins that JSON does not have there. */
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

/** Deeper than the server reads; a value within can be walked without running out of stack. */
const MAX_DEPTH = 256;

/** Reads a value; throws `NotJson`. */
export function read(text) {
	let at = 0;
	const take = (pattern) => {
		pattern.lastIndex = at;
		const found = pattern.exec(text)?.[0];
		at += found?.length ?? 0;
		return found;
	};
	/** The string that begins here; its own escapes are left to the browser. */
	const string = () => {
		let end = at;
		do {
			end = text.indexOf('"', end + 1);
			if (end < 0) throw new NotJson(at);
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
		if (!word) throw new NotJson(at);
		return WORDS[word];
	};
	const open = [];
	for (;;) {
		take(BLANK);
		let value;
		if (text[at] === "{" || text[at] === "[") {
			const isObject = text[at] === "{";
			value = isObject ? {} : [];
			at += 1;
			take(BLANK);
			if (text[at] !== (isObject ? "}" : "]")) {
				if (open.length === MAX_DEPTH) throw new NotJson(at);
				open.push({ value, key: isObject ? key() : null });
				continue;
			}
			at += 1;
		} else value = scalar();
		// A value is whole: it goes where it belongs, and closes what ends behind it.
		for (;;) {
			take(BLANK);
			const around = open.at(-1);
			if (!around) {
				if (at < text.length) throw new NotJson(at);
				return value;
			}
			const isObject = around.key !== null;
			if (isObject) put(around.value, around.key, value);
			else around.value.push(value);
			if (text[at] === ",") {
				at += 1;
				take(BLANK);
				if (isObject) around.key = key();
				break;
			}
			if (text[at] !== (isObject ? "}" : "]")) throw new NotJson(at);
			at += 1;
			value = open.pop().value;
		}
	}
	function key() {
		if (text[at] !== '"') throw new NotJson(at);
		const name = string();
		take(BLANK);
		if (text[at] !== ":") throw new NotJson(at);
		at += 1;
		return name;
	}
}

/** Whether a quotation mark has an odd number of backslashes before it. */
function isEscaped(text, at) {
	let before = at;
	while (text[before - 1] === "\\") before -= 1;
	return (at - before) % 2 === 1;
}

/** Sets a member; `__proto__` is a name like any other. */
function put(object, name, value) {
	if (name === "__proto__") Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
	else object[name] = value;
}

/** Writes a value, over several lines where `isWide`. What is undefined in an object is left out, as JSON does it. */
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
