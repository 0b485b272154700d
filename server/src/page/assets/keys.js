// The keys of the page, the dialog that lists them, and the switch for single letters.

import { el, iconButton, isComposing, modal } from "./dom.js";
import { ofBrowser } from "./storage.js";
import { t, tOr } from "./texts.js";

/** Single keys outside of text fields, and what they mean. */
const NAMES = { "?": "keys", "/": "write", n: "new", i: "inbox", l: "ledger", q: "question" };

const areOn = () => ofBrowser.get("keys") !== "off";

/** Lets keys do what `acts` has under their names, and under `escape`. */
export function listen(acts) {
	document.addEventListener("keydown", (event) => {
		if (event.defaultPrevented || isComposing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
		if (document.querySelector("dialog[open]")) return;
		if (event.key === "Escape") return acts.escape(event);
		const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
		if (isTyping || event.repeat || !areOn() || !Object.hasOwn(NAMES, event.key)) return;
		event.preventDefault();
		acts[NAMES[event.key]]();
	});
}

export function showKeys() {
	const rows = [
		["Enter", "enter"],
		["Shift + Enter", "line"],
		["Esc", "escape"],
		...Object.entries(NAMES),
	].map(([key, name]) => el("div", el("dt", el("kbd", key)), el("dd", tOr(`keys.${name}`, `nav.${name}`))));
	const box = el("input", { type: "checkbox", id: "letters", checked: areOn(), on: { change: () => ofBrowser.set("keys", box.checked ? "on" : "off") } });
	const dialog = modal(
		{ class: "small", "aria-labelledby": "keys-title" },
		el("div.head", el("h2", { id: "keys-title" }, t("keys.title")), iconButton("cross", "menu.close", () => dialog.close())),
		el("dl.keys", rows),
		el("p.hint", t("keys.question_hint")),
		el("label", { for: "letters" }, box, t("keys.letters")),
	);
}
