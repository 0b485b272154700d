// The side of the page: chats with a search, the inbox, and what a person sets for this browser.

import { call, segment } from "./api.js";
import { arrange, button, el, icon } from "./dom.js";
import { showKeys } from "./keys.js";
import { LANGUAGES, ago, spoken, t } from "./texts.js";

const PAGE = 50;
const SCHEMES = ["system", "light", "dark"];

export class Sidebar {
	#app;
	#chats = [];
	#next = null;
	#query = "";
	#current = null;
	#rows = new Map();

	constructor(app) {
		this.#app = app;
		this.#list = el("ul", { class: "chats" });
		this.#none = el("p", { class: "aside", hidden: true });
		this.#older = el("button", { type: "button", class: "plain", hidden: true, on: { click: () => this.load(true) } }, t("nav.older"));
		this.#inbox = el("a", { href: "#/inbox", class: "row" }, icon("inbox"), el("span", {}, t("nav.inbox")), el("span", { class: "count", "aria-hidden": "true" }), el("span", { class: "unseen" }));
		const search = el("input", { type: "search", placeholder: t("nav.search"), "aria-label": t("nav.search"), on: { input: () => {
			this.#query = search.value.trim().toLowerCase();
			this.#draw();
		} } });
		this.node = el(
			"aside",
			{ id: "side", "aria-label": t("nav.side") },
			el("div", { class: "brand" }, el("a", { href: "#/" }, el("span", { class: "mark", "aria-hidden": "true" }), el("span", {}, t("app.name"))), el("button", { type: "button", class: ["plain", "square", "close"], "aria-label": t("nav.close"), on: { click: () => app.drawer(false) } }, icon("cross"))),
			el("a", { href: "#/", class: "button" }, icon("plus"), t("nav.new")),
			search,
			el("nav", { "aria-label": t("nav.chats") }, this.#list, this.#none, this.#older),
			el("div", { class: "foot" }, app.canDecide && this.#inbox, this.#settings()),
		);
		this.load();
	}

	#list;
	#none;
	#older;
	#inbox;

	titleOf(session) {
		return this.#chats.find((known) => known.session === session)?.title?.trim() || null;
	}

	mark(current) {
		this.#current = current;
		this.#draw();
	}

	/** Reads the list anew, or the next older part of it. What fails is read at the next occasion. */
	async load(isOlder = false) {
		const before = isOlder && this.#next ? `&before=${segment(this.#next)}` : "";
		try {
			const { sessions, next } = await call("GET", `v1/sessions?limit=${PAGE}${before}`);
			const known = new Set(sessions.map((chat) => chat.session));
			const rest = this.#chats.filter((chat) => !known.has(chat.session));
			this.#chats = isOlder ? [...rest, ...sessions] : [...sessions, ...rest];
			if (isOlder || rest.length === 0) this.#next = next;
			this.#draw();
			this.#app.titlesChanged();
		} catch {
			this.#draw();
		}
	}

	/** Draws what changed elsewhere: questions that wait, and how long ago a chat was used. */
	update() {
		this.#draw();
	}

	#draw() {
		const found = this.#chats.filter((chat) => !this.#query || this.#app.titleOf(chat.session).toLowerCase().includes(this.#query));
		const kept = new Map();
		for (const chat of found) {
			const row = this.#rows.get(chat.session) ?? el("li", {}, el("a", { href: `#/s/${segment(chat.session)}` }, el("span", { class: "name" }), el("span", { class: "aside" })));
			this.#fill(row, chat);
			kept.set(chat.session, row);
		}
		this.#rows = kept;
		arrange(this.#list, kept.values());
		this.#none.hidden = found.length > 0;
		this.#none.textContent = t(this.#query ? "nav.none_found" : "nav.no_chats");
		this.#older.hidden = !this.#next || Boolean(this.#query);
		const waiting = this.#app.questions.open.length;
		this.#inbox.querySelector(".count").textContent = waiting ? String(waiting) : "";
		this.#inbox.lastChild.textContent = waiting ? t("nav.inbox_waiting", { count: waiting }) : "";
		markCurrent(this.#inbox, this.#current === "inbox");
	}

	#fill(row, chat) {
		const link = row.firstChild;
		const [name, aside] = link.children;
		const waits = this.#app.questions.ofSession(chat.session) !== null || (chat.waits && !this.#app.canDecide);
		const words = waits ? t("call.asked") : chat.open_turn ? t("nav.runs") : ago(chat.last_at);
		const title = this.#app.titleOf(chat.session);
		if (name.textContent !== title) name.textContent = title;
		if (aside.textContent !== words) aside.textContent = words;
		link.classList.toggle("waits", waits);
		markCurrent(link, this.#current === chat.session);
	}

	#settings() {
		const app = this.#app;
		const languages = LANGUAGES.map((name) => el("button", { type: "button", lang: name, "aria-pressed": String(name === spoken()), on: { click: () => app.speak(name) } }, t(`language.${name}`)));
		const schemes = SCHEMES.map((name) => el("button", { type: "button", "aria-pressed": String(name === scheme()), "data-scheme-choice": name, on: { click: (event) => {
			setScheme(name);
			for (const button of event.target.parentElement.children) button.setAttribute("aria-pressed", String(button === event.target));
		} } }, t(`scheme.${name}`)));
		return el(
			"details",
			{ class: "settings" },
			el("summary", {}, el("span", { class: "name" }, app.me.user), icon("down")),
			el("div", { class: "choices", role: "group", "aria-label": t("settings.language") }, languages),
			el("div", { class: "choices", role: "group", "aria-label": t("settings.scheme") }, schemes),
			button("keys.title", showKeys, { class: "plain" }),
			button("login.out", () => app.signOut(), { class: "plain" }),
		);
	}
}

function markCurrent(link, isCurrent) {
	if (isCurrent) link.setAttribute("aria-current", "page");
	else link.removeAttribute("aria-current");
}

const scheme = () => localStorage.getItem("madang.scheme") ?? "system";

function setScheme(name) {
	localStorage.setItem("madang.scheme", name);
	if (name === "system") delete document.documentElement.dataset.scheme;
	else document.documentElement.dataset.scheme = name;
}
