// The page's words in Korean and English, from the file beside this one.

export const LANGUAGES = ["ko", "en"];

let language = "en";
let table = null;

/** The chosen language, or the browser's first that is ours. */
export function preferred(remembered, wanted = navigator.languages) {
	if (LANGUAGES.includes(remembered)) return remembered;
	const found = wanted.map((tag) => tag.toLowerCase().split("-")[0]).find((tag) => LANGUAGES.includes(tag));
	return found ?? "en";
}

/** Speaks a language from now on, and marks the page with it. */
export async function speak(wanted) {
	table ??= tableOf(await (await fetch(new URL("texts.txt", import.meta.url))).text());
	language = wanted;
	document.documentElement.lang = wanted;
}

/** Each key, such as `room.name`, with its words in each language, and those for one. */
export function tableOf(text) {
	const found = new Map();
	let room = "";
	for (const line of text.split("\n")) {
		const [name, ...words] = line.split("=");
		if (line[0] === "[") room = line.slice(1, -1);
		else if (words.length) found.set(`${room}.${name}`, words.join("=").split("|"));
	}
	return found;
}

export const spoken = () => language;

/** The words of a key, with `{name}` replaced by its value. `count` chooses the words for one. */
export function t(key, values = {}) {
	const [ko, en, one = en] = table.get(key) ?? [key, key];
	const text = language === "ko" ? ko : values.count === 1 ? one : en;
	return text.replace(/\{(\w+)\}/g, (whole, name) => {
		const value = values[name];
		if (value === undefined) return whole;
		return typeof value === "number" ? value.toLocaleString(language) : value;
	});
}

/** The words of a key made of the server's names, or else of another. */
export const tOr = (key, other, values) => t(table.has(key) ? key : other, values);

/** The time, with the day unless it is today. */
export function clock(at) {
	const date = new Date(at);
	const isToday = date.toDateString() === new Date().toDateString();
	return date.toLocaleString(language, isToday ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}

export function ago(at) {
	const minutes = Math.floor((Date.now() - at) / 60_000);
	if (minutes < 1) return t("time.now");
	const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
	if (minutes < 60) return relative.format(-minutes, "minute");
	if (minutes < 1440) return relative.format(-Math.floor(minutes / 60), "hour");
	return new Date(at).toLocaleDateString(language, { dateStyle: "medium" });
}

export function span(ms) {
	const seconds = Math.max(0, Math.ceil(ms / 1000));
	if (seconds > 90) return t("time.minutes", { count: Math.round(seconds / 60) });
	return t("time.seconds", { count: seconds });
}

export function took(ms) {
	const seconds = ms / 1000;
	return t("time.took", { seconds: seconds.toLocaleString(language, { maximumFractionDigits: seconds < 10 ? 1 : 0 }) });
}
