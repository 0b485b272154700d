// Where a person types. It grows to eight lines and keeps its draft.

import { el, icon, isComposing, isTouched, put } from "./dom.js";
import { chosenModel, offers } from "./offers.js";
import { ofBrowser, ofTab } from "./storage.js";
import { t } from "./texts.js";

const MAX_LINES = 8;

export class Composer {
	isComposing = false;
	#draft;
	#acts;
	#button = el("button.square.send", { type: "submit" });
	#hint = el("p.hint", { id: "say-hint" });
	#models = el("div");

	constructor(draft, acts) {
		this.#draft = `draft:${draft}`;
		this.#acts = acts;
		this.#text = el("textarea", {
			id: "say",
			rows: "1",
			"aria-describedby": "say-hint",
			autocomplete: "off",
			enterkeyhint: "send",
			value: ofTab.get(this.#draft) ?? "",
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
		this.node = el("form.composer", { on: { submit: (event) => this.#submit(event) } }, el("label.unseen", { for: "say" }, t("composer.label")), el("div.box", this.#text, this.#button), el("div.under", this.#hint, this.#models));
		this.update({ isRunning: false, isStopping: false });
		queueMicrotask(() => this.#grow());
	}

	#text;

	focus() {
		this.#text.focus();
	}

	/** Puts a text back, before what was typed since. */
	restore(text) {
		this.#text.value = this.#text.value ? `${text}\n${this.#text.value}` : text;
		this.#changed();
		this.focus();
	}

	/** Lets a person choose a model, if there are several. The first is the server's choice. */
	choose() {
		const { models } = offers;
		const chosen = chosenModel();
		const select = el("select", { "aria-label": t("composer.model"), on: { change: () => ofBrowser.set("model", select.value) } }, models.map((name) => el("option", { value: name, selected: name === chosen }, name)));
		this.#models.replaceChildren(models.length > 1 ? select : "");
	}

	update({ isRunning, isStopping }) {
		const name = isStopping ? "composer.stop_now" : isRunning ? "composer.stop" : "composer.send";
		this.#text.placeholder = t(isRunning ? "composer.wait" : "composer.placeholder");
		this.#button.type = isRunning ? "button" : "submit";
		this.#button.onclick = isRunning ? () => this.#acts.stop() : null;
		this.#button.className = isRunning ? "square stop" : "square send";
		if (this.#button.title !== t(name)) {
			this.#button.ariaLabel = this.#button.title = t(name);
			this.#button.replaceChildren(icon(isRunning ? "stop" : "send"));
		}
		put(this.#hint, isTouched() ? "" : t(isRunning ? "composer.hint_running" : "composer.hint"));
	}

	#key(event) {
		if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
		// On a touch screen only Enter begins a line; the button sends.
		if (isTouched()) return;
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
		ofTab.set(this.#draft, this.#text.value || null);
		this.#grow();
	}

	#grow() {
		if (CSS.supports("field-sizing", "content")) return;
		const lines = this.#text.value.split("\n").length;
		this.#text.rows = Math.min(MAX_LINES, Math.max(lines, 1));
	}
}
