// What is around the views: the side and its drawer, and where sentences are read out.

import { button, el } from "./dom.js";

export class Frame {
	main = el("main", { id: "main", tabindex: "-1" });
	#app = el("div", { id: "app" }, this.main);
	#side = null;
	#narrow = matchMedia("(max-width: 47rem)");
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
		const scrim = el("div.scrim", { on: { click: () => this.drawer(false) } });
		const region = (id, live) => el("div", { id, class: "unseen", "aria-live": live });
		document.body.replaceChildren(skip, this.#app, scrim, region("polite", "polite"), region("urgent", "assertive"), el("div", { id: "toasts", role: "status" }));
	}

	side(node) {
		this.#side?.remove();
		this.#side = node;
		if (node) this.#app.prepend(node);
		document.body.classList.toggle("in", node !== null);
		this.drawer(false);
	}

	drawer(isOpen) {
		const wasOpen = this.isOpen;
		document.body.classList.toggle("drawer", isOpen);
		if (this.#side) this.#side.inert = this.isNarrow && !isOpen;
		this.main.inert = this.isNarrow && isOpen;
		if (isOpen) this.#side.querySelector("a, button").focus();
		else if (wasOpen) this.main.querySelector(".menu")?.focus();
	}
}
