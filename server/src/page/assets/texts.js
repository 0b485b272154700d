// The page's words in Korean and English, from the two files beside this one.

import { read } from "./json.js";

export const LANGUAGES = ["ko", "en"];

let language = "en";
let table = {};
let plural = new Intl.PluralRules("en");

/** The language that was chosen, or the first of the browser's that is one of ours. */
export function preferred(remembered, wanted = navigator.languages) {
	if (LANGUAGES.includes(remembered)) return remembered;
	const found = wanted.map((tag) => tag.toLowerCase().split("-")[0]).find((tag) => LANGUAGES.includes(tag));
	return found ?? "en";
}

/** Loads the words of a language, and marks the page with it. */
export async function speak(wanted) {
	const response = await fetch(new URL(`texts.${wanted}.json`, import.meta.url));
	if (!response.ok) throw new Error(`texts.${wanted}.json: ${response.status}`);
	table = read(await response.text());
	language = wanted;
	plural = new Intl.PluralRules(wanted);
	document.documentElement.lang = wanted;
}

export const spoken = () => language;

/** The words of a key, with `{name}` replaced by its value. Where a text has forms, `count` chooses. */
export function t(key, values = {}) {
	const found = entry(key) ?? key;
	const text = typeof found === "string" ? found : (found[plural.select(Number(values.count))] ?? found.other);
	return text.replace(/\{(\w+)\}/g, (whole, name) => {
		const value = values[name];
		if (value === undefined) return whole;
		return typeof value === "number" ? value.toLocaleString(language) : value;
	});
}

/** The words of a key that the server's names make, or of another where there are none. */
export const tOr = (key, other, values) => t(entry(key) === undefined ? other : key, values);

function entry(key) {
	const dot = key.indexOf(".");
	const room = table[key.slice(0, dot)] ?? {};
	const name = key.slice(dot + 1);
	// What the server names may be anything, also what every object has.
	return Object.hasOwn(room, name) ? room[name] : undefined;
}

/** The time of day, with the day where it is not today's. */
export function clock(at) {
	const date = new Date(at);
	const isToday = date.toDateString() === new Date().toDateString();
	return date.toLocaleString(language, isToday ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}

/** How long ago, in the largest unit that says something. */
export function ago(at) {
	const minutes = Math.floor((Date.now() - at) / 60_000);
	if (minutes < 1) return t("time.now");
	const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
	if (minutes < 60) return relative.format(-minutes, "minute");
	if (minutes < 1440) return relative.format(-Math.floor(minutes / 60), "hour");
	return new Date(at).toLocaleDateString(language, { dateStyle: "medium" });
}

/** A time span in words: minutes where there are many, else seconds. */
export function span(ms) {
	const seconds = Math.max(0, Math.ceil(ms / 1000));
	if (seconds > 90) return t("time.minutes", { count: Math.round(seconds / 60) });
	return t("time.seconds", { count: seconds });
}

/** How long something took, with a part of a second where it was short. */
export function took(ms) {
	const seconds = ms / 1000;
	return t("time.took", { seconds: seconds.toLocaleString(language, { maximumFractionDigits: seconds < 10 ? 1 : 0 }) });
}
