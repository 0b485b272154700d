// Where a person types: grows to eight lines, keeps its draft, and knows when a key is a part of a letter.

import { el, icon, isComposing } from "./dom.js";
import { keep, kept } from "./session.js";
import { t } from "./texts.js";

const MAX_LINES = 8;

export class Composer {
	isComposing = false;
	#draft;
	#acts;

	constructor(draft, acts) {
		this.#draft = `madang.draft.${draft}`;
		this.#acts = acts;
		this.#text = el("textarea", {
			id: "say",
			rows: "1",
			"aria-describedby": "say-hint",
			autocomplete: "off",
			enterkeyhint: "send",
			value: kept(this.#draft) ?? "",
			on: {
				input: () => this.#changed(),
				keydown: (event) => this.#key(event),
				compositionstart: () => (this.isComposing = true),
				compositionend: () => {
					this.isComposing = false;
					acts.composed();
				},
			},
		});
		this.#button = el("button", { type: "submit", class: ["square", "send"] });
		this.#hint = el("p", { id: "say-hint", class: "hint" });
		this.node = el("form", { class: "composer", on: { submit: (event) => this.#submit(event) } }, el("label", { class: "unseen", for: "say" }, t("composer.label")), el("div", { class: "box" }, this.#text, this.#button), this.#hint);
		this.update({ isRunning: false, isStopping: false });
		queueMicrotask(() => this.#grow());
	}

	#text;
	#button;
	#hint;

	focus() {
		this.#text.focus();
	}

	/** Puts a text back that was not sent, before what is typed since. */
	restore(text) {
		this.#text.value = this.#text.value ? `${text}\n${this.#text.value}` : text;
		this.#changed();
		this.focus();
	}

	update({ isRunning, isStopping }) {
		const name = isStopping ? "composer.stop_now" : isRunning ? "composer.stop" : "composer.send";
		this.#text.placeholder = t(isRunning ? "composer.wait" : "composer.placeholder");
		this.#button.type = isRunning ? "button" : "submit";
		this.#button.onclick = isRunning ? () => this.#acts.stop() : null;
		this.#button.className = isRunning ? "square stop" : "square send";
		if (this.#button.getAttribute("aria-label") !== t(name)) {
			this.#button.setAttribute("aria-label", t(name));
			this.#button.title = t(name);
			this.#button.replaceChildren(icon(isRunning ? "stop" : "send"));
		}
		const words = t(isRunning ? "composer.hint_running" : "composer.hint");
		if (this.#hint.textContent !== words) this.#hint.textContent = words;
	}

	#key(event) {
		if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
		// On a screen that is touched, Enter is the only way to begin a line; the button sends.
		if (matchMedia("(pointer: coarse)").matches) return;
		event.preventDefault();
		this.#submit(event);
	}

	#submit(event) {
		event.preventDefault();
		const text = this.#text.value;
		if (!text.trim()) return;
		this.#text.value = "";
		this.#changed();
		this.#acts.send(text);
	}

	#changed() {
		keep(this.#draft, this.#text.value || null);
		this.#grow();
	}

	/** Grows by its content where the browser does not do so by itself. */
	#grow() {
		if (CSS.supports("field-sizing", "content")) return;
		const lines = this.#text.value.split("\n").length;
		this.#text.rows = Math.min(MAX_LINES, Math.max(lines, 1));
	}
}
