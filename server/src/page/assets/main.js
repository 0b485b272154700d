// Starts the page, signs in, shows the view that the address names, and shares out the streams between the tabs.

import { call, newId, onSignedOut, persist, segment, wake } from "./api.js";
import { ApprovalDialog } from "./approval.js";
import { ChatView } from "./chat.js";
import { announce, el, icon, iconButton } from "./dom.js";
import { InboxView, Notifications } from "./inbox.js";
import { listen, showKeys } from "./keys.js";
import { LedgerView } from "./ledger.js";
import { LoginView, takeToken } from "./login.js";
import { Questions } from "./questions.js";
import { ChatSession } from "./session.js";
import { Sidebar } from "./sidebar.js";
import { Channel, Slot } from "./tabs.js";
import { preferred, speak, spoken, t } from "./texts.js";

/** A tab that nobody looks at gives its stream back after so long. */
const HIDDEN = 30_000;
/** The list of chats is read again so often while it is looked at. */
const LIST = 30_000;
/** Chats that stay in memory, so that going back shows them at once. */
const MAX_KEPT = 20;

class App {
	me = null;
	channel = new Channel();
	questions = new Questions(this.channel);
	notifications = new Notifications();
	dialog = new ApprovalDialog(this.questions, (id) => this.#decided(id));
	#sessions = new Map();
	#session = null;
	#view = null;
	#sidebar = null;
	#login = null;
	#slot = new Slot("chat", () => this.#share());
	#hidden = null;
	#known = new Set();
	#iconText = null;

	get canDecide() {
		return this.me?.scopes.includes("decide") ?? false;
	}

	get scheme() {
		return localStorage.getItem("madang.scheme") ?? "system";
	}

	async start() {
		await speak(preferred(localStorage.getItem("madang.language")));
		this.#frame();
		this.#listen();
		const token = takeToken();
		if (token) return this.#showLogin({ token });
		return this.#enter();
	}

	/** Asks the server for whom this browser is signed in; without an answer it asks again. */
	async #enter() {
		const slow = setTimeout(() => this.#main.replaceChildren(el("p", { class: "aside center", role: "status" }, t("state.network"))), 1500);
		const me = await whoAmI();
		clearTimeout(slow);
		if (!me) return this.#showLogin({});
		const isOther = this.me !== null && this.me.user !== me.user;
		this.me = me;
		this.#login = null;
		if (isOther) {
			this.#sessions.clear();
			this.#session = null;
		}
		if (this.canDecide) this.questions.watch();
		this.#drawSide();
		this.route();
		this.#session?.resume();
		wake();
	}

	/** Shows the form; with a token it is used at once. */
	#showLogin({ token = null, isExpired = false }) {
		if (this.#login) return token ? this.#login.go(token) : undefined;
		this.dialog.close();
		this.#view?.end();
		this.#view = null;
		this.#sidebar?.node.remove();
		this.#sidebar = null;
		document.body.classList.remove("in");
		this.#login = new LoginView({ isExpired, onDone: () => {
			this.channel.say({ kind: "signed-in" });
			this.#enter();
		} });
		this.#main.replaceChildren(this.#login.node);
		this.#tellTitle();
		if (token) this.#login.go(token);
		else this.#login.focus();
	}

	async signOut() {
		await call("POST", "v1/logout").catch(() => {});
		this.channel.say({ kind: "signed-out" });
		this.#signedOut();
	}

	#signedOut() {
		this.questions.stop();
		this.#session?.follow("off");
		this.#sessions.clear();
		this.#session = null;
		this.me = null;
		location.hash = "#/";
		this.#showLogin({});
	}

	// The frame of the page

	#main = el("main", { id: "main", tabindex: "-1" });
	#app = el("div", { id: "app" }, this.#main);

	#frame() {
		const skip = el("button", { type: "button", class: "skip", on: { click: () => (this.#view ? this.#view.focus() : this.#main.focus()) } }, t("nav.skip"));
		const scrim = el("div", { class: "scrim", on: { click: () => this.drawer(false) } });
		const region = (id, live) => el("div", { id, class: "unseen", "aria-live": live, "aria-atomic": "false" });
		document.body.replaceChildren(skip, this.#app, scrim, region("polite", "polite"), region("urgent", "assertive"), el("div", { id: "toasts", role: "status" }));
	}

	#drawSide() {
		this.#sidebar?.node.remove();
		this.#sidebar = new Sidebar(this);
		this.#app.prepend(this.#sidebar.node);
		document.body.classList.add("in");
		this.drawer(false);
	}

	/** Opens or closes the side where the screen is too narrow for both. */
	drawer(isOpen) {
		const wasOpen = document.body.classList.contains("drawer");
		document.body.classList.toggle("drawer", isOpen);
		if (this.#sidebar) this.#sidebar.node.inert = NARROW.matches && !isOpen;
		this.#main.inert = NARROW.matches && isOpen;
		if (isOpen) this.#sidebar.node.querySelector("a, button").focus();
		else if (wasOpen) this.#main.querySelector(".menu")?.focus();
	}

	setScheme(name) {
		localStorage.setItem("madang.scheme", name);
		if (name === "system") delete document.documentElement.dataset.scheme;
		else document.documentElement.dataset.scheme = name;
	}

	async speak(language) {
		localStorage.setItem("madang.language", language);
		await speak(language);
		this.#frame();
		this.#drawSide();
		this.#sidebar.node.querySelector(".settings").open = true;
		this.route();
		this.#sidebar.node.querySelector(`[lang=${language}]`)?.focus();
		announce(t("language.changed"));
	}

	showKeys() {
		showKeys();
	}

	// Views

	/** Shows what the address names: `#/`, `#/s/ID`, `#/s/ID/ledger`, `#/inbox`. */
	route() {
		const token = takeToken();
		if (token) return this.#showLogin({ token });
		if (!this.me || this.#login) return;
		const [, kind, id, part] = location.hash.slice(1).split("/").map(decoded);
		const session = kind === "s" && id ? this.#open(id) : null;
		if (this.#session !== session) this.#session?.follow("off");
		this.#session = session;
		this.#view?.end();
		this.questions.ofChat(session?.state.approval ?? null);
		const isLedger = session !== null && part === "ledger";
		if (kind === "inbox") this.#view = new InboxView(this);
		else if (isLedger) this.#view = new LedgerView(this, session.id);
		else this.#view = new ChatView(this, session);
		const name = kind === "inbox" ? "inbox" : isLedger ? "ledger" : "chat";
		this.#main.replaceChildren(this.#header(name), this.#view.node);
		this.#view.shown?.();
		this.#sidebar.mark(kind === "inbox" ? "inbox" : (session?.id ?? null));
		this.drawer(false);
		this.#share();
		this.#tellTitle();
		if (!NARROW.matches || kind) this.#view.focus();
		if (name !== "chat") this.tellStatus(null);
		this.#ask();
	}

	#header(name) {
		const more = [];
		if (name === "chat" && this.#session) {
			more.push(el("a", { href: `#/s/${segment(this.#session.id)}/ledger`, class: ["button", "plain"] }, icon("ledger"), el("span", {}, t("nav.ledger"))));
			more.push(el("button", { type: "button", class: "plain", on: { click: () => this.#view.clear() } }, t("chat.clear")));
		}
		const menu = el("button", { type: "button", class: ["plain", "square", "menu"], "aria-label": t("nav.open"), "aria-controls": "side", on: { click: () => this.drawer(true) } }, icon("menu"));
		return el("header", { class: "top" }, menu, el("h1", {}, this.#title()), el("p", { class: "status", role: "status" }), more);
	}

	#title() {
		if (this.#view instanceof InboxView) return t("inbox.title");
		if (this.#view instanceof LedgerView) return t("ledger.of", { title: this.titleOf(this.#session.id) });
		return this.#session ? this.titleOf(this.#session.id) : t("nav.new_title");
	}

	titleOf(session) {
		if (this.#sidebar?.has(session)) return this.#sidebar.titleOf(session);
		const state = this.#sessions.get(session)?.state;
		const first = state?.entries.find((entry) => entry.kind === "user") ?? state?.outbox[0];
		return first?.text.slice(0, 80) ?? t("nav.untitled");
	}

	titlesChanged() {
		const head = this.#main.querySelector(".top h1");
		if (head && head.textContent !== this.#title()) head.textContent = this.#title();
		this.#tellTitle();
	}

	tellStatus(connection) {
		const status = this.#main.querySelector(".status");
		if (!status) return;
		const is = connection?.is ?? "new";
		status.dataset.is = is;
		const words = ["new", "off"].includes(is) ? "" : t(`status.${is}`);
		if (status.textContent !== words) status.textContent = words;
	}

	tryNow() {
		wake();
		this.#session?.resume();
	}

	#open(id) {
		const known = this.#sessions.get(id);
		if (known) return known;
		const session = new ChatSession(id, () => ({ language: spoken(), time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone, ask: this.canDecide ? "here" : "elsewhere" }));
		session.addEventListener("created", () => this.#sidebar?.load());
		this.#sessions.set(id, session);
		for (const [old, kept] of this.#sessions) {
			if (this.#sessions.size <= MAX_KEPT) break;
			if (kept !== session && kept !== this.#session && !kept.isBusy) this.#sessions.delete(old);
		}
		return session;
	}

	/** Sends a text, in a chat that begins with it where none is shown. */
	send(text) {
		if (this.#session) return this.#session.send(text);
		const session = this.#open(newId());
		session.isUncreated = true;
		session.send(text);
		location.hash = `#/s/${segment(session.id)}`;
	}

	chatChanged(item) {
		const { state } = this.#session;
		this.questions.ofChat(state.approval);
		if (item?.type === "approval_ended" || item?.type === "tool_call_ended") this.questions.ended(item.call ?? item.id);
		if (["user_message", "turn_ended"].includes(item?.type)) this.#sidebar?.load();
		this.titlesChanged();
		this.#ask();
	}

	// Questions

	question(session) {
		return this.questions.ofSession(session);
	}

	isSending(id) {
		return this.dialog.sending === id;
	}

	/** A person wants to see a question. */
	look(id) {
		const request = this.questions.get(id);
		if (request && this.canDecide) this.dialog.show(request);
	}

	composed() {
		this.#ask();
	}

	#decided(id) {
		for (const session of this.#sessions.values()) session.decided(id);
		this.questions.ended(id);
	}

	/** Shows the question of the chat that is looked at, once, and not while a letter is being composed. */
	#ask() {
		if (!(this.#view instanceof ChatView) || !this.#session || !this.canDecide) return;
		const request = this.questions.ofSession(this.#session.id);
		if (!request || this.dialog.isOpen || this.questions.later.has(request.call) || this.dialog.sending === request.call) return;
		if (document.visibilityState === "hidden" || this.#session.state.stop || this.#view.composer.isComposing) return;
		if (document.querySelector("dialog[open]")) return;
		this.dialog.show(request);
	}

	#questionsChanged() {
		const { open } = this.questions;
		for (const request of open) {
			if (this.#known.has(request.call)) continue;
			this.#known.add(request.call);
			this.notifications.tell(request, () => (location.hash = `#/s/${segment(request.session)}`));
		}
		for (const id of this.#known) if (!open.some((request) => request.call === id)) this.#known.delete(id);
		this.#sidebar?.update();
		if (this.#view instanceof InboxView) this.#view.update();
		if (this.#view instanceof ChatView) this.#view.update();
		this.#tellTitle();
		this.#ask();
	}

	/** The title and the icon say how many questions wait. */
	async #tellTitle() {
		const waiting = this.me ? this.questions.open.length : 0;
		const title = this.me && this.#view ? `${this.#title()} · ${t("app.name")}` : t("app.name");
		document.title = waiting ? `(${waiting}) ${title}` : title;
		const link = document.querySelector("link[rel=icon]");
		const url = new URL("icon.svg", import.meta.url).href;
		if (!waiting) {
			if (link.href !== url) link.href = url;
			return;
		}
		this.#iconText ??= fetch(url).then((response) => response.text());
		const text = await this.#iconText.catch(() => "");
		if (text && this.questions.open.length) link.href = `data:image/svg+xml,${encodeURIComponent(text.replace("</svg>", '<circle cx="24" cy="8" r="8" fill="#d97706"/></svg>'))}`;
	}

	// Streams

	/** Follows the chat that is looked at: by the stream where this tab has it, else by a look now and then. */
	#share() {
		if (!this.me || this.#login) return;
		const isSeen = document.visibilityState === "visible";
		if (!this.#session || (!isSeen && this.#hidden === null)) {
			this.#session?.follow("off");
			return this.#slot.leave();
		}
		if (this.#slot.isHeld) return this.#session.follow("live");
		if (!isSeen) return this.#session.follow("off");
		this.#slot.wait();
		this.#session.follow("look");
	}

	#claim() {
		if (this.#session && !this.#slot.isHeld && document.visibilityState === "visible") this.#slot.claim();
	}

	#seen() {
		clearTimeout(this.#hidden);
		this.#hidden = null;
		if (document.visibilityState === "hidden") {
			this.#hidden = setTimeout(() => {
				this.#hidden = null;
				this.#share();
			}, HIDDEN);
			return;
		}
		this.#claim();
		this.#share();
		wake();
		this.#sidebar?.load();
		this.#ask();
	}

	#listen() {
		addEventListener("hashchange", () => this.route());
		addEventListener("online", wake);
		addEventListener("focus", () => this.#claim());
		for (const type of ["pointerdown", "keydown"]) addEventListener(type, () => this.#claim(), { capture: true, passive: true });
		addEventListener("pagehide", () => this.#sessions.forEach((session) => session.leave()));
		addEventListener("pageshow", (event) => event.persisted && this.#seen());
		document.addEventListener("visibilitychange", () => this.#seen());
		NARROW.addEventListener("change", () => this.drawer(false));
		setInterval(() => document.visibilityState === "visible" && this.#sidebar?.load(), LIST);
		onSignedOut(() => this.me && this.#showLogin({ isExpired: true }));
		this.questions.addEventListener("change", () => this.#questionsChanged());
		this.channel.hear(({ kind }) => {
			if (kind === "signed-out" && this.me) this.#signedOut();
			if (kind === "signed-in" && this.#login) this.#enter();
		});
		listen({
			escape: (event) => this.#escape(event),
			keys: showKeys,
			write: () => this.#view?.focus(),
			new: () => (location.hash = "#/"),
			inbox: () => (location.hash = "#/inbox"),
			ledger: () => this.#session && (location.hash = `#/s/${segment(this.#session.id)}/ledger`),
			question: () => this.#session && this.questions.ofSession(this.#session.id) && this.look(this.questions.ofSession(this.#session.id).call),
		});
	}

	#escape(event) {
		if (document.body.classList.contains("drawer")) return this.drawer(false);
		if (this.#view instanceof ChatView && this.#view.stop()) event.preventDefault();
	}
}

const NARROW = matchMedia("(max-width: 47rem)");

/** Asks until the server answers; that it knows no such browser is an answer. */
function whoAmI() {
	const asked = () => call("GET", "v1/me").catch((error) => {
		if (error.status === 401) return null;
		throw error;
	});
	return persist(asked);
}

function decoded(part) {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

new App().start();
