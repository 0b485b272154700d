// The questions that wait in all chats, and whether a notification tells of them.

import { linkTo, serverNow } from "./api.js";
import { arrange, button, el, icon, put } from "./dom.js";
import { visible } from "./editable.js";
import { ofBrowser } from "./storage.js";
import { span, t } from "./texts.js";

export class InboxView {
	#app;
	#list = el("ul.questions");
	#empty = el("div.empty", el("h2", t("inbox.empty_title")), el("p", t("inbox.empty")));
	#beat;
	#drawn = new Map();

	constructor(app) {
		this.#app = app;
		this.node = el("section.page", el("div.scroll", { tabindex: "0" }, el("div.sheet", el("p.lead", t(app.canDecide ? "inbox.lead" : "inbox.no_scope")), this.#list, this.#empty, this.#notifications())));
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
		this.#drawn = new Map(open.map((request) => [request.call, this.#drawn.get(request.call) ?? this.#row(request)]));
		arrange(this.#list, this.#drawn.values());
		this.#list.hidden = open.length === 0;
		this.#empty.hidden = open.length > 0;
		this.#tell();
	}

	#row(request) {
		return el(
			"li",
			{ "data-call": request.call },
			el("div", el("p", icon("ask"), visible(request.consequence)), el("p.aside", el("code", request.tool), " · ", el("a", { href: linkTo(request.session) }), " · ", el("span.left"))),
			button("chat.look", () => this.#app.look(request.call), { class: "look" }),
		);
	}

	/** Writes what changes: the time left, and titles that come later. */
	#tell() {
		for (const { call, session, tool, expires_at } of this.#app.questions.open) {
			const [link, left, look] = this.#drawn.get(call)?.querySelectorAll("a, .left, button") ?? [];
			if (!link) continue;
			const chat = this.#app.titleOf(session);
			put(link, chat);
			look.ariaLabel = t("inbox.look_at", { tool, chat });
			left.textContent = t("ask.left", { time: span(expires_at - serverNow()) });
		}
	}

	#notifications() {
		const { notifications } = this.#app;
		if (!notifications.isPossible || !this.#app.canDecide) return null;
		const box = el("input", { type: "checkbox", id: "notify", checked: notifications.isOn, on: { change: async () => {
			box.checked = await notifications.set(box.checked);
			state.textContent = notifications.isRefused ? t("inbox.notify_refused") : "";
		} } });
		const state = el("p.aside", { role: "status" });
		return el("div.notify", el("label", { for: "notify" }, box, t("inbox.notify")), state);
	}
}

/** Notifications, if a person switched them on and looks at no tab. */
export class Notifications {
	isPossible = typeof Notification !== "undefined";

	get isRefused() {
		return this.isPossible && Notification.permission === "denied";
	}

	get isOn() {
		return this.isPossible && Notification.permission === "granted" && ofBrowser.get("notify") === "on";
	}

	async set(isWanted) {
		ofBrowser.set("notify", isWanted ? "on" : "off");
		if (isWanted && Notification.permission === "default") await Notification.requestPermission();
		return this.isOn;
	}

	/** Names only the tool, because others see a locked screen. */
	tell(request, onClick) {
		if (!this.isOn || !document.hidden) return;
		const note = new Notification(t("inbox.notification"), { body: request.tool, tag: `madang.${request.call}` });
		note.onclick = () => {
			window.focus();
			note.close();
			onClick();
		};
	}
}
