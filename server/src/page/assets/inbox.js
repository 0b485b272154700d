// The questions that wait in all chats, and whether a notification tells of them.

import { serverNow } from "./api.js";
import { arrange, el, icon } from "./dom.js";
import { span, t } from "./texts.js";

export class InboxView {
	#app;
	#list = el("ul", { class: "questions" });
	#empty = el("div", { class: "empty" }, el("h2", {}, t("inbox.empty_title")), el("p", {}, t("inbox.empty")));
	#beat;
	#drawn = new Map();

	constructor(app) {
		this.#app = app;
		this.node = el("section", { class: "page" }, el("div", { class: "scroll", tabindex: "0" }, el("div", { class: "sheet" }, el("p", { class: "lead" }, t(app.canDecide ? "inbox.lead" : "inbox.no_scope")), this.#list, this.#empty, this.#notifications())));
		this.update();
		this.#beat = setInterval(() => this.#tell(), 1000);
	}

	end() {
		clearInterval(this.#beat);
	}

	focus() {
		(this.#list.querySelector("button") ?? this.node.querySelector(".scroll")).focus();
	}

	update() {
		const open = this.#app.questions.open;
		for (const id of this.#drawn.keys()) if (!open.some((request) => request.call === id)) this.#drawn.delete(id);
		const nodes = open.map((request) => {
			if (!this.#drawn.has(request.call)) this.#drawn.set(request.call, this.#row(request));
			return this.#drawn.get(request.call);
		});
		arrange(this.#list, nodes);
		this.#list.hidden = open.length === 0;
		this.#empty.hidden = open.length > 0;
		this.#tell();
	}

	#row(request) {
		return el(
			"li",
			{ "data-call": request.call },
			el("div", {}, el("p", {}, icon("ask"), el("code", {}, request.tool)), el("p", { class: "aside" }, el("a", { href: `#/s/${encodeURIComponent(request.session)}` }), " · ", el("span", { class: "left" }))),
			el("button", { type: "button", class: "look", on: { click: () => this.#app.look(request.call) } }, t("chat.look")),
		);
	}

	/** Writes what changes: the time that is left, and the title of a chat, which may come later. */
	#tell() {
		for (const { call, session, tool, expires_at } of this.#app.questions.open) {
			const [link, left, look] = this.#drawn.get(call)?.querySelectorAll("a, .left, button") ?? [];
			if (!link) continue;
			const chat = this.#app.titleOf(session);
			if (link.textContent !== chat) link.textContent = chat;
			look.ariaLabel = t("inbox.look_at", { tool, chat });
			left.textContent = t("ask.left", { time: span(Math.max(0, expires_at - serverNow())) });
		}
	}

	#notifications() {
		const { notifications } = this.#app;
		if (!notifications.isPossible || !this.#app.canDecide) return null;
		const box = el("input", { type: "checkbox", id: "notify", checked: notifications.isOn, on: { change: async () => {
			box.checked = await notifications.set(box.checked);
			state.textContent = notifications.isRefused ? t("inbox.notify_refused") : "";
		} } });
		const state = el("p", { class: "aside", role: "status" });
		return el("div", { class: "notify" }, el("label", { for: "notify" }, box, t("inbox.notify")), state);
	}
}

/** Notifications, only where a person switched them on, and only while no tab is looked at. */
export class Notifications {
	isPossible = typeof Notification !== "undefined";

	get isRefused() {
		return this.isPossible && Notification.permission === "denied";
	}

	get isOn() {
		return this.isPossible && Notification.permission === "granted" && localStorage.getItem("madang.notify") === "on";
	}

	async set(isWanted) {
		localStorage.setItem("madang.notify", isWanted ? "on" : "off");
		if (isWanted && Notification.permission === "default") await Notification.requestPermission();
		return this.isOn;
	}

	/** Tells of a question by the tool's name alone: other people see a locked screen. */
	tell(request, onClick) {
		if (!this.isOn || document.visibilityState === "visible") return;
		const note = new Notification(t("inbox.notification"), { body: request.tool, tag: `madang.${request.call}` });
		note.onclick = () => {
			window.focus();
			note.close();
			onClick();
		};
	}
}
