// What stands around the views: the side and its drawer, the ways past it, and where sentences are read out.

import { button, el } from "./dom.js";

const NARROW = "(max-width: 47rem)";

export class Frame {
	main = el("main", { id: "main", tabindex: "-1" });
	#app = el("div", { id: "app" }, this.main);
	#side = null;
	#narrow = matchMedia(NARROW);
	#skip;

	constructor(skip) {
		this.#skip = skip;
		this.#narrow.addEventListener("change", () => this.drawer(false));
	}

	get isNarrow() {
		return this.#narrow.matches;
	}

	get isOpen() {
		return document.body.classList.contains("drawer");
	}

	draw() {
		const skip = button("nav.skip", this.#skip, { class: "skip" });
		const scrim = el("div", { class: "scrim", on: { click: () => this.drawer(false) } });
		const region = (id, live) => el("div", { id, class: "unseen", "aria-live": live, "aria-atomic": "false" });
		document.body.replaceChildren(skip, this.#app, scrim, region("polite", "polite"), region("urgent", "assertive"), el("div", { id: "toasts", role: "status" }));
	}

	/** Puts a side beside the views; none before a sign-in. */
	side(node) {
		this.#side?.remove();
		this.#side = node;
		if (node) this.#app.prepend(node);
		document.body.classList.toggle("in", node !== null);
		this.drawer(false);
	}

	/** Opens or closes the side where the screen is too narrow for both. */
	drawer(isOpen) {
		const wasOpen = this.isOpen;
		document.body.classList.toggle("drawer", isOpen);
		if (this.#side) this.#side.inert = this.isNarrow && !isOpen;
		this.main.inert = this.isNarrow && isOpen;
		if (isOpen) this.#side.querySelector("a, button").focus();
		else if (wasOpen) this.main.querySelector(".menu")?.focus();
	}
}
