// Starts the page, signs in, and shows the view of the address.

import { call, linkTo, newId, onSignedOut, wake } from "./api.js";
import { ApprovalDialog } from "./approval.js";
import { tellWaiting } from "./badge.js";
import { ChatView } from "./chat.js";
import { announce, confirmed, el, icon, iconButton, put, toast } from "./dom.js";
import { Frame } from "./frame.js";
import { InboxView, Notifications } from "./inbox.js";
import { listen, showKeys } from "./keys.js";
import { LedgerView } from "./ledger.js";
import { LoginView, beginAnew, isByPerson, takeToken, whoAmI } from "./login.js";
import { chatMenu } from "./menu.js";
import { askOffers, chosenModel } from "./offers.js";
import { keepProof, learnProof } from "./proof.js";
import { Questions } from "./questions.js";
import { ChatSession } from "./session.js";
import { Sidebar } from "./sidebar.js";
import { ofBrowser, ofTab } from "./storage.js";
import { Channel, Sharing } from "./tabs.js";
import { preferred, speak, spoken, t } from "./texts.js";

const LIST = 30_000;
/** Chats that stay in memory. */
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
	#frame = new Frame(() => this.#view?.focus());
	#main = this.#frame.main;
	#sharing = new Sharing(() => this.#seen());
	#known = new Set();

	get canDecide() {
		return this.me?.scopes.includes("decide") ?? false;
	}

	async start() {
		learnProof();
		await speak(preferred(ofBrowser.get("language")));
		this.#frame.draw();
		this.#listen();
		const token = takeToken();
		return token ? this.#offer(token) : this.#enter();
	}

	/**
	 * Signs in with a token of the address. A link may be anyone's. It replaces another user, or signs in anyone if no person
	 * opened it, only after a button that names them is pressed.
	 */
	async #offer(token) {
		const [holder, user] = (await Promise.all([this.#whoIsHere(), whoAmI(token)])).map((found) => found?.user);
		const isOther = Boolean(holder) && holder !== user;
		const isFree = user ? !isOther && isByPerson() : !holder;
		if (isFree) return this.#showLogin({ token });
		await this.#enter();
		if (!user) return toast(t("problem.unauthorized"));
		if (await confirmed(isOther ? "switch" : "join", { holder, user })) this.#showLogin({ token });
	}

	/** Asks who is signed in here; says so if it takes long. */
	async #whoIsHere() {
		const slow = setTimeout(() => this.#main.replaceChildren(el("p.aside.center", { role: "status" }, t("state.network"))), 1500);
		const me = await whoAmI();
		clearTimeout(slow);
		return me;
	}

	async #enter(isNew = false) {
		const me = await this.#whoIsHere();
		if (!me) return this.#showLogin({});
		if (isNew) this.channel.say({ kind: "signed-in", user: me.user });
		const before = this.me?.user ?? ofTab.get("user") ?? me.user;
		if (before !== me.user) return beginAnew(me.user);
		ofTab.set("user", me.user);
		this.me = me;
		this.#login = null;
		if (this.canDecide) this.questions.watch();
		askOffers().then(() => this.#view?.offered?.());
		this.#drawSide();
		this.route();
		this.#session?.resume();
		wake();
	}

	/** Shows the form; with a token it is used at once. */
	#showLogin({ token = null, isExpired = false }) {
		if (this.#login) {
			this.#main.replaceChildren(this.#login.node);
			return token && this.#login.go(token);
		}
		this.dialog.close();
		this.#sharing.follow(null);
		this.#view?.end();
		this.#view = null;
		this.#sidebar = null;
		this.#frame.side(null);
		this.#login = new LoginView({ isExpired, onDone: () => this.#enter(true) });
		this.#main.replaceChildren(this.#login.node);
		this.#tellTitle();
		if (token) this.#login.go(token);
		else this.#login.focus();
	}

	async signOut() {
		await call("POST", "v1/logout").catch(() => {});
		keepProof(null);
		this.channel.say({ kind: "signed-out" });
		this.#signedOut();
	}

	#signedOut() {
		this.questions.stop();
		this.#sessions.clear();
		this.#session = null;
		this.me = null;
		location.hash = "#/";
		this.#showLogin({});
	}

	#drawSide() {
		this.#sidebar = new Sidebar(this);
		this.#frame.side(this.#sidebar.node);
	}

	drawer(isOpen) {
		this.#frame.drawer(isOpen);
	}

	async speak(language) {
		ofBrowser.set("language", language);
		await speak(language);
		this.#frame.draw();
		this.#drawSide();
		this.#sidebar.node.querySelector(".settings").open = true;
		this.route();
		this.#sidebar.node.querySelector(`[lang=${language}]`)?.focus();
		announce(t("language.changed"));
	}

	/** Shows what the address names: `#/`, `#/s/ID`, `#/s/ID/ledger`, `#/inbox`. */
	route() {
		const token = takeToken();
		if (token) return this.#offer(token);
		if (!this.me || this.#login) return;
		const [, kind, id, part] = location.hash.slice(1).split("/").map(decoded);
		const session = kind === "s" && id ? this.#open(id) : null;
		this.#session = session;
		this.#view?.end();
		this.questions.ofChat(session?.state.approval ?? null);
		const isLedger = session !== null && part === "ledger";
		if (kind === "inbox") this.#view = new InboxView(this);
		else if (isLedger) this.#view = new LedgerView(this, session.id);
		else this.#view = new ChatView(this, session, part);
		const isChat = this.#view instanceof ChatView;
		this.#main.replaceChildren(this.#header(isChat), this.#view.node);
		this.#view.shown?.();
		this.#sidebar.mark(kind === "inbox" ? "inbox" : (session?.id ?? null));
		this.drawer(false);
		this.#sharing.follow(session);
		this.#tellTitle();
		if ((!this.#frame.isNarrow || kind) && (!part || isLedger)) this.#view.focus();
		if (!isChat) this.tellStatus(null);
		this.#ask();
	}

	#header(isChat) {
		const more = isChat && this.#session && [el("a.button.plain", { href: linkTo(this.#session.id, "ledger") }, icon("ledger"), el("span", t("nav.ledger"))), chatMenu(this, this.#session.id, () => this.#view.clear())];
		const menu = iconButton("menu", "nav.open", () => this.drawer(true), { class: "menu", "aria-controls": "side" });
		return el("header.top", menu, el("h1", this.#title()), el("p.status", { role: "status" }), more);
	}

	#title() {
		if (this.#view instanceof InboxView) return t("nav.inbox");
		if (this.#view instanceof LedgerView) return t("ledger.of", { title: this.titleOf(this.#session.id) });
		return this.#session ? this.titleOf(this.#session.id) : t("nav.new");
	}

	titleOf(session) {
		const state = this.#sessions.get(session)?.state;
		const first = state?.entries.find((entry) => entry.kind === "user") ?? state?.outbox[0];
		return this.#sidebar?.titleOf(session) ?? first?.text.slice(0, 80) ?? t("nav.untitled");
	}

	titlesChanged() {
		const head = this.#main.querySelector(".top h1");
		if (head) put(head, this.#title());
		this.#tellTitle();
	}

	tellStatus(connection) {
		const status = this.#main.querySelector(".status");
		if (!status) return;
		const is = connection?.is ?? "new";
		status.dataset.is = is;
		put(status, ["new", "off"].includes(is) ? "" : t(`status.${is}`));
	}

	tryNow() {
		wake();
		this.#session?.resume();
	}

	#open(id) {
		const known = this.#sessions.get(id);
		if (known) return known;
		const session = new ChatSession(id, () => ({ language: spoken(), time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone, ask: this.canDecide ? "here" : "elsewhere", model: chosenModel() }));
		session.addEventListener("created", () => this.#sidebar?.load());
		session.addEventListener("change", (event) => session === this.#session && this.#chatChanged(event.detail));
		this.#sessions.set(id, session);
		for (const [old, kept] of this.#sessions) {
			if (this.#sessions.size <= MAX_KEPT) break;
			if (kept !== session && kept !== this.#session && !kept.isBusy) this.#sessions.delete(old);
		}
		return session;
	}

	send(text, id) {
		const session = this.#open(id ?? newId());
		session.isUncreated ||= !id;
		session.send(text);
		location.hash = linkTo(session.id);
	}

	renamed(id, title) {
		this.#sidebar.renamed(id, title);
		this.titlesChanged();
	}

	deleted(id) {
		this.#sessions.delete(id);
		this.#sidebar.forget(id);
		ofTab.set(`draft:${id}`, null);
		// By now it may not be on the screen.
		if (this.#session?.id === id) location.hash = "#/";
	}

	#chatChanged(item) {
		this.questions.ofChat(this.#session.state.approval);
		if (item?.type === "approval_ended") this.questions.ended(item.call);
		if (item?.type === "tool_call_ended" && this.questions.get(item.id)) this.questions.ended(item.id);
		if (["tool_call_ended", "tool_call_resolved"].includes(item?.type)) this.#view?.refresh?.();
		if (["user_message", "turn_ended"].includes(item?.type)) this.#sidebar?.load();
		this.titlesChanged();
		this.#ask();
	}

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

	/** Shows the question of the shown chat, once, and not while a letter is composed. */
	#ask() {
		if (!(this.#view instanceof ChatView) || !this.#session || !this.canDecide) return;
		const request = this.questions.ofSession(this.#session.id);
		if (!request || this.dialog.isOpen || this.questions.later.has(request.call) || this.dialog.sending === request.call) return;
		if (document.hidden || this.#session.state.stop || this.#view.composer.isComposing) return;
		if (document.querySelector("dialog[open]")) return;
		this.dialog.show(request);
	}

	#questionsChanged() {
		const { open } = this.questions;
		for (const request of open) {
			if (!this.#known.has(request.call)) this.notifications.tell(request, () => (location.hash = linkTo(request.session)));
		}
		this.#known = new Set(open.map(({ call }) => call));
		this.#sidebar?.update();
		this.#view?.update?.();
		this.#tellTitle();
		this.#ask();
	}

	#tellTitle() {
		const title = this.me && this.#view ? `${this.#title()} · ${t("app.name")}` : t("app.name");
		tellWaiting(title, this.me ? this.questions.open.length : 0);
	}

	#seen() {
		wake();
		this.#sidebar?.load();
		this.#ask();
	}

	#listen() {
		addEventListener("hashchange", () => this.route());
		addEventListener("online", wake);
		addEventListener("pagehide", () => this.#sessions.forEach((session) => session.leave()));
		setInterval(() => !document.hidden && this.#sidebar?.load(), LIST);
		onSignedOut(() => this.me && this.#showLogin({ isExpired: true }));
		this.questions.addEventListener("change", () => this.#questionsChanged());
		this.channel.hear(({ kind, user }) => {
			if (kind === "signed-out" && this.me) this.#signedOut();
			if (kind !== "signed-in") return;
			learnProof();
			if (this.#login || this.me?.user !== user) this.#enter();
		});
		listen({
			escape: (event) => this.#escape(event),
			keys: showKeys,
			write: () => this.#view?.focus(),
			new: () => (location.hash = "#/"),
			inbox: () => (location.hash = "#/inbox"),
			ledger: () => this.#session && (location.hash = linkTo(this.#session.id, "ledger")),
			question: () => this.#session && this.look(this.questions.ofSession(this.#session.id)?.call),
		});
	}

	#escape(event) {
		if (this.#frame.isOpen) return this.drawer(false);
		if (this.#view instanceof ChatView && this.#view.stop()) event.preventDefault();
	}
}

function decoded(part) {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

new App().start();
