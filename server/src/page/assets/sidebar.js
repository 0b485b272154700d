// The side of the page: chats with a search, the inbox, and what a person sets for this browser.

import { call, linkTo, segment } from "./api.js";
import { announce, arrange, button, el, icon, iconButton, isTouched, put, toast } from "./dom.js";
import { failure } from "./entries.js";
import { showKeys } from "./keys.js";
import { ofBrowser } from "./storage.js";
import { LANGUAGES, ago, clock, spoken, t } from "./texts.js";

const PAGE = 50;
/** Milliseconds without a key after which texts are searched. */
const PAUSE = 400;
const SCHEMES = ["system", "light", "dark"];

export class Sidebar {
	#app;
	#chats = [];
	#next = null;
	#query = "";
	#current = null;
	#rows = new Map();
	#titles = [];
	/** Deleted here; a list on its way may have them. */
	#gone = new Set();
	#list = el("ul.chats");
	#none = el("p.aside", { hidden: true });
	#older = button("nav.older", () => (this.#query ? this.#find() : this.load(true)), { class: "plain", hidden: true });
	#inbox = el("a.row", { href: "#/inbox" }, icon("inbox"), el("span", t("nav.inbox")), el("span.count", { "aria-hidden": "true" }), el("span.unseen"));
	#search = el("input", { type: "search", placeholder: t("nav.search"), "aria-label": t("nav.search"), on: { input: () => this.#typed() } });
	#hits = el("ul.chats");

	constructor(app) {
		this.#app = app;
		this.node = el(
			"aside",
			{ id: "side", "aria-label": t("nav.side") },
			el("div.brand", el("a", { href: "#/" }, el("span.mark", { "aria-hidden": "true" }), el("span", t("app.name"))), iconButton("cross", "nav.close", () => app.drawer(false), { class: "close" })),
			el("a.button", { href: "#/" }, icon("plus"), t("nav.new")),
			this.#search,
			el("nav", { "aria-label": t("nav.chats") }, this.#list, this.#hits, this.#none, this.#older),
			el("div.foot", app.canDecide && this.#inbox, this.#settings()),
		);
		this.load();
	}

	titleOf(session) {
		return this.#chats.find((known) => known.session === session)?.title?.trim() || null;
	}

	mark(current) {
		this.#current = current;
		this.#draw();
	}

	/** Reads the list anew, or its next older part. What fails is read later. */
	async load(isOlder = false) {
		const before = isOlder && this.#next ? `&before=${segment(this.#next)}` : "";
		try {
			const { sessions, next } = await call("GET", `v1/sessions?limit=${PAGE}${before}`);
			const known = new Set(sessions.map((chat) => chat.session));
			// What a fresh list should have was deleted elsewhere.
			const rest = this.#chats.filter((chat) => !known.has(chat.session) && (isOlder || (next && chat.last_at <= sessions.at(-1)?.last_at)));
			const found = sessions.filter((chat) => !this.#gone.has(chat.session));
			this.#chats = isOlder ? [...rest, ...found] : [...found, ...rest];
			if (isOlder || rest.length === 0) this.#next = next;
			this.#app.titlesChanged();
		} catch {}
		this.#draw();
	}

	renamed(id, title) {
		const chat = this.#chats.find(({ session }) => session === id);
		if (chat) chat.title = title;
		this.#draw();
	}

	forget(id) {
		this.#gone.add(id);
		this.#hits.querySelectorAll(`li:has([href^="${linkTo(id)}/"])`).forEach((hit) => hit.remove());
		this.#chats = this.#chats.filter(({ session }) => session !== id);
		this.#draw();
	}

	/** Finds titles at once, and texts when the typing pauses. */
	#typed() {
		this.#query = this.#search.value.trim().toLowerCase();
		this.#hits.replaceChildren();
		this.#after = undefined;
		this.#finding = null;
		clearTimeout(this.#pause);
		if (this.#query) this.#pause = setTimeout(() => this.#find(), PAUSE);
		this.#draw();
	}

	#pause = null;
	/** Where a search goes on; undefined before its answer. */
	#after;
	#finding = null;

	/** Asks the server for messages with these words; it looks at a part of the chats at a time. */
	async #find() {
		if (this.#finding) return;
		const mine = (this.#finding = {});
		const { hits, next, error } = await call("POST", "v1/search", { body: { text: this.#query, after: this.#after } }).catch((error) => ({ error }));
		if (mine !== this.#finding) return;
		this.#finding = null;
		if (error) return toast(failure(error));
		this.#after = next;
		this.#hits.append(...hits.map((hit) => el("li", el("a", { href: linkTo(hit.session, hit.seq) }, el("span.name", hit.title.trim() || t("nav.untitled")), el("span.aside", hit.before, el("mark", hit.match), hit.after)))));
		this.#draw();
		announce(this.#none.hidden ? t("nav.found", { count: this.#rows.size + this.#hits.childElementCount }) : this.#none.textContent);
	}

	update() {
		this.#draw();
	}

	#draw() {
		const found = this.#chats.filter((chat) => !this.#query || this.#app.titleOf(chat.session).toLowerCase().includes(this.#query));
		this.#titles = this.#chats.map((chat) => this.#app.titleOf(chat.session));
		this.#rows = new Map(found.map((chat) => [chat.session, this.#row(chat)]));
		arrange(this.#list, this.#rows.values());
		this.#none.hidden = found.length > 0 || this.#hits.childElementCount > 0 || (this.#query && this.#after !== null);
		this.#none.textContent = t(this.#query ? "nav.none_found" : "nav.no_chats");
		this.#older.hidden = !(this.#query ? this.#after : this.#next);
		const waiting = this.#app.questions.open.length;
		this.#inbox.querySelector(".count").textContent = waiting ? String(waiting) : "";
		this.#inbox.lastChild.textContent = waiting ? t("nav.inbox_waiting", { count: waiting }) : "";
		markCurrent(this.#inbox, this.#current === "inbox");
	}

	#row(chat) {
		const row = this.#rows.get(chat.session) ?? el("li", el("a", { href: linkTo(chat.session) }, el("span.name"), el("span.aside")));
		const link = row.firstChild;
		const [name, aside] = link.children;
		const waits = this.#app.questions.ofSession(chat.session) !== null || (chat.waits && !this.#app.canDecide);
		const words = waits ? t("call.asked") : chat.open_turn ? t("nav.runs") : ago(chat.last_at);
		const title = this.#app.titleOf(chat.session);
		// Chats that begin with the same words are told apart by when they began.
		const isAlone = this.#titles.indexOf(title) === this.#titles.lastIndexOf(title);
		put(name, title);
		put(aside, isAlone ? words : `${clock(chat.opened_at)} · ${words}`);
		link.classList.toggle("waits", waits);
		markCurrent(link, this.#current === chat.session);
		return row;
	}

	#settings() {
		const app = this.#app;
		const languages = LANGUAGES.map((name) => button(`language.${name}`, () => app.speak(name), { lang: name, "aria-pressed": String(name === spoken()) }));
		const schemes = SCHEMES.map((name) => button(`scheme.${name}`, ({ target }) => {
			setScheme(name);
			for (const button of target.parentElement.children) button.ariaPressed = button === target;
		}, { "aria-pressed": String(name === (ofBrowser.get("scheme") ?? "system")) }));
		return el(
			"details.settings",
			el("summary", el("span.name", app.me.user), icon("down")),
			el("div.choices", { role: "group", "aria-label": t("settings.language") }, languages),
			el("div.choices", { role: "group", "aria-label": t("settings.scheme") }, schemes),
			!isTouched() && button("keys.title", showKeys, { class: "plain" }),
			button("login.out", () => app.signOut(), { class: "plain" }),
		);
	}
}

function markCurrent(link, isCurrent) {
	link.ariaCurrent = isCurrent ? "page" : null;
}

function setScheme(name) {
	ofBrowser.set("scheme", name);
	if (name === "system") delete document.documentElement.dataset.scheme;
	else document.documentElement.dataset.scheme = name;
}
