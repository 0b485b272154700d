// Arguments as a text that a person can change: JSON in which no character is invisible. Pure.

/** Letters that Unicode counts as visible though they are not: fillers, selectors, joiners. */
const BLANK = /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\u{16fe4}\u{1d159}\u{e0000}-\u{e0fff}]/u;
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{M}]|(?! )\p{Zs}/u;

/** Writes a value over several lines; what an eye would not see is escaped as JSON does it. */
export function editable(value) {
	const written = JSON.stringify(value, null, 2);
	return [...written].map((letter) => (letter !== "\n" && (HIDDEN.test(letter) || BLANK.test(letter)) ? escaped(letter) : letter)).join("");
}

function escaped(letter) {
	return letter.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}

/** Reads what was typed: the arguments, or what is wrong with the text and in which line. */
export function typed(text) {
	let value;
	try {
		value = JSON.parse(text);
	} catch {
		return { wrong: "json", ...placeOf(text) };
	}
	if (typeof value !== "object" || value === null || Array.isArray(value)) return { wrong: "object" };
	return { value };
}

const TOKEN = /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;

/** Line and column, from 1, of the first token that JSON does not have there: browsers no longer say it. */
function placeOf(text) {
	const open = [];
	let wanted = "value";
	let at = 0;
	for (;;) {
		TOKEN.lastIndex = at;
		const found = TOKEN.exec(text);
		if (!found) break;
		const [, sign, quoted] = found;
		const closes = (sign === "}" && open.at(-1) === "{") || (sign === "]" && open.at(-1) === "[");
		if (closes && wanted !== ":" && wanted !== "key" && wanted !== "item") {
			open.pop();
			wanted = open.length ? "," : "end";
		} else if ((wanted === "key" || wanted === "first") && open.at(-1) === "{") {
			if (!quoted) break;
			wanted = ":";
		} else if (wanted === ":" || wanted === ",") {
			if (sign !== wanted) break;
			wanted = sign === "," && open.at(-1) === "{" ? "key" : "item";
		} else if (wanted === "end" || (sign && sign !== "{" && sign !== "[")) break;
		else if (sign) {
			open.push(sign);
			wanted = "first";
		} else wanted = open.length ? "," : "end";
		at = TOKEN.lastIndex;
	}
	const before = text.slice(0, at + text.slice(at).search(/\S|$/));
	return { line: before.split("\n").length, column: before.length - before.lastIndexOf("\n") };
}
