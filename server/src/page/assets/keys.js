// The keys of the page: what each does, the dialog that lists them, and the switch for single letters.

import { el, iconButton, isComposing } from "./dom.js";
import { t } from "./texts.js";

/** Single keys outside of text fields, and what they mean. */
const LETTERS = ["?", "/", "n", "i", "l", "q"];
const NAMES = { "?": "keys", "/": "write", n: "new", i: "inbox", l: "ledger", q: "question" };

const areOn = () => localStorage.getItem("madang.keys") !== "off";

/** Gives each key to what it does; `acts` are named as `NAMES` has them, and `escape`. */
export function listen(acts) {
	document.addEventListener("keydown", (event) => {
		if (event.defaultPrevented || isComposing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
		if (document.querySelector("dialog[open]")) return;
		if (event.key === "Escape") return acts.escape(event);
		const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
		if (isTyping || event.repeat || !areOn() || !LETTERS.includes(event.key)) return;
		event.preventDefault();
		acts[NAMES[event.key]]();
	});
}

export function showKeys() {
	const rows = [
		["Enter", "send"],
		["Shift + Enter", "line"],
		["Esc", "escape"],
		...LETTERS.map((key) => [key, NAMES[key]]),
	].map(([key, name]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, t(`keys.${name}`))));
	const box = el("input", { type: "checkbox", id: "letters", checked: areOn(), on: { change: () => localStorage.setItem("madang.keys", box.checked ? "on" : "off") } });
	const dialog = el(
		"dialog",
		{ class: "small", "aria-labelledby": "keys-title", on: { close: () => dialog.remove() } },
		el("div", { class: "head" }, el("h2", { id: "keys-title" }, t("keys.title")), iconButton("cross", t("keys.close"), { on: { click: () => dialog.close() } })),
		el("dl", { class: "keys" }, rows),
		el("p", { class: "hint" }, t("keys.question_hint")),
		el("label", { for: "letters" }, box, t("keys.letters")),
	);
	document.body.append(dialog);
	dialog.showModal();
}
