// Arguments as JSON that a person can change, in which no character is invisible. Pure.

import { Exact, NotJson, read, write } from "./json.js";

/** Fillers, selectors and joiners that Unicode counts as visible. */
const BLANK = /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\u{16fe4}\u{1d159}\u{e0000}-\u{e0fff}]/u;
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{M}]|(?! )\p{Zs}/u;

export function editable(value) {
	return visible(write(value, true));
}

/** Escapes what an eye would not see, as JSON does. */
export function visible(text) {
	return [...text].map((letter) => (letter !== "\n" && (HIDDEN.test(letter) || BLANK.test(letter)) ? escaped(letter) : letter)).join("");
}

/** The same for a text to be read: accents, spaces and emoji stay. */
export function shown(text) {
	const isHidden = (letter) => letter !== "\ufe0f" && (BLANK.test(letter) || /[\p{C}\p{Zl}\p{Zp}]/u.test(letter));
	return text.replace(/[^\x20-\x7e\n\t]/gu, (letter) => (isHidden(letter) ? escaped(letter) : letter));
}

function escaped(letter) {
	return letter.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}

/** Reads what was typed: the arguments, or what is wrong and where. */
export function typed(text) {
	let value;
	try {
		value = read(text);
	} catch (error) {
		if (!(error instanceof NotJson)) throw error;
		const before = text.slice(0, error.at);
		return { wrong: "json", line: before.split("\n").length, column: before.length - before.lastIndexOf("\n") };
	}
	if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Exact) return { wrong: "object" };
	return { value };
}
