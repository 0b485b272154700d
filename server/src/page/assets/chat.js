// One chat on the screen: its entries, its state, the bars above the text box, and the box.

import { call, linkTo, newId, serverNow } from "./api.js";
import { Composer } from "./composer.js";
import { announce, arrange, button, confirmed, copy, el, icon, put, toast } from "./dom.js";
import { draw, failure, stateOfCall } from "./entries.js";
import { plain } from "./markdown.js";
import { offers } from "./offers.js";
import { rows, runningTurn } from "./store.js";
import { span, spoken, t } from "./texts.js";

const PAGE = 100;
/** This near to its end a log follows as it grows. */
const NEAR = 80;
/** Nobody misses a connection that is back sooner. */
const PATIENCE = 1200;

export class ChatView {
	#app;
	#session;
	#drawn = new Map();
	#shown = PAGE;
	#isAtEnd = true;
	#pulse = setInterval(() => this.#beat(), 500);
	#off = new AbortController();
	#goal;
	#log = el("div.log", { role: "log", "aria-live": "off", "aria-label": t("chat.log"), tabindex: "0" });
	#banner = el("div.banner", { role: "status" });
	#bars = el("div.bars");
	#newer = el("button", { class: "newer", hidden: true, on: { click: () => this.#toEnd() } }, icon("down"), t("chat.newer"));
	#scroll = el("div.scroll", { on: { scroll: () => this.#scrolled() } }, this.#log);

	constructor(app, session, goal) {
		this.#app = app;
		this.#session = session;
		this.#goal = goal;
		this.composer = new Composer(session?.id ?? "new", { send: (text) => app.send(text, session?.id), stop: () => this.stop(), composed: () => app.composed() });
		this.node = el("section.chat", this.#banner, this.#scroll, el("div.dock", this.#newer, this.#bars, this.composer.node));
		if (session) this.#listen(session);
		this.offered();
		this.#tellConnection();
	}

	end() {
		this.#off.abort();
		clearInterval(this.#pulse);
	}

	focus() {
		this.composer.focus();
	}

	shown() {
		if (this.#goal) this.#draw();
		if (this.#isAtEnd) this.#toEnd();
	}

	update() {
		this.#drawBars();
	}

	get isRunning() {
		return this.#session !== null && runningTurn(this.#session.state) !== null;
	}

	stop() {
		if (!this.isRunning) return false;
		const wasStopped = this.#session.state.stop !== null;
		this.#session.stop();
		announce(t(wasStopped ? "stop.sent" : "stop.announced"));
		this.composer.focus();
		return true;
	}

	async clear() {
		if (!(await confirmed("clear"))) return;
		try {
			await this.#session.clear();
			this.focus();
		} catch (error) {
			toast(failure(error));
		}
	}

	#listen(session) {
		const { signal } = this.#off;
		session.addEventListener("change", (event) => this.#changed(event.detail), { signal });
		session.addEventListener("connection", () => this.#tellConnection(), { signal });
	}

	#changed(item) {
		this.#draw();
		if (!item) return;
		if (!this.#isAtEnd) this.#newer.hidden = false;
		announce(words(item));
	}

	#draw() {
		const all = this.#session ? rows(this.#session.state) : [];
		const shown = all.slice(-this.#shown);
		this.#drawn = new Map(shown.map((row) => [row.key, this.#row(row)]));
		const nodes = [...this.#drawn.values()].map(({ node }) => node);
		if (shown.length < all.length) nodes.unshift(this.#earlier(all.length - shown.length));
		if (!all.length) nodes.push(this.#empty());
		arrange(this.#log, nodes);
		this.#reach(all);
		this.#drawBars();
		this.composer.update({ isRunning: this.isRunning, isStopping: Boolean(this.#session?.state.stop) });
		if (this.#isAtEnd) this.#toEnd();
	}

	/** Goes to the message of the address, once it is there. */
	#reach(all) {
		const at = this.#goal && this.node.isConnected ? all.findIndex(({ key }) => key.endsWith(`:${this.#goal}`)) : -1;
		if (at < 0) return;
		this.#goal = null;
		this.#isAtEnd = false;
		this.#shown = Math.max(this.#shown, all.length - at);
		this.#draw();
		const node = this.#drawn.get(all[at].key).node;
		node.tabIndex = -1;
		node.scrollIntoView({ block: "center" });
		node.focus({ preventScroll: true });
	}

	#row(row) {
		const before = this.#drawn.get(row.key);
		if (before && isSame(before.row, row)) return before;
		const node = draw(row, this.#acts, before?.node);
		if (before?.node.querySelector("details")?.open) node.querySelector("details").open = true;
		return { row, node };
	}

	offered() {
		this.composer.choose();
		this.#draw();
	}

	/** The last question before this row, or of all. */
	#asked(row) {
		const { entries } = this.#session.state;
		const end = row && entries.findIndex(({ key }) => key === row.key);
		return entries.slice(0, end).findLast(({ kind }) => kind === "user");
	}

	/** Sends a text in a new chat that begins with what came before a message. */
	async #fork({ cursor }, text) {
		if (this.#isForking) return;
		this.#isForking = true;
		try {
			const { session } = await call("POST", `${this.#session.path}/forks`, { key: this.#forkKey, body: { before: parseInt(cursor) } });
			this.#forkKey = newId();
			this.#app.send(text, session);
		} catch (error) {
			toast(failure(error));
		}
		this.#isForking = false;
	}

	/** Lasts until an answer comes, so that a lost one leaves no second fork. */
	#forkKey = newId();
	#isForking = false;

	#acts = {
		copy: ({ text }) => copy(text),
		edit: async (row) => {
			const field = el("textarea", { rows: "4", value: row.text, "aria-label": t("composer.label") });
			if ((await confirmed("fork", {}, field)) && field.value.trim()) this.#fork(row, field.value);
		},
		again: (row) => {
			const asked = this.#asked(row);
			if (asked) this.#fork(asked, asked.text);
		},
		retry: () => this.#session.send(this.#asked().text),
		takeBack: (key) => this.#session.takeBack(key),
		editAgain: (key) => this.composer.restore(this.#session.takeBack(key)),
		clear: () => this.clear(),
		look: (call) => this.#app.look(call),
		ledger: () => linkTo(this.#session.id, "ledger"),
	};

	#earlier(left) {
		const show = () => {
			const height = this.#scroll.scrollHeight;
			this.#shown += PAGE;
			this.#isAtEnd = false;
			this.#draw();
			this.#scroll.scrollTop += this.#scroll.scrollHeight - height;
			(this.#log.querySelector(".earlier button") ?? this.#log).focus({ preventScroll: true });
		};
		return el("div.earlier", button("chat.earlier", show, {}, { count: Math.min(PAGE, left) }), el("span", t("chat.earlier_left", { count: left })));
	}

	#empty() {
		const { is } = this.#session?.connection ?? { is: "new" };
		if (is === "missing") {
			return el("div.empty", el("h2", t("state.missing_title")), el("p", t("state.missing")), el("a.button", { href: "#/" }, t("nav.new")));
		}
		if (this.#session && !this.#session.state.isLoaded && !this.#session.isUncreated) return el("p.aside", t("state.loading"));
		const chips = (offers.suggestions[spoken()] ?? []).map((text) => el("button", { on: { click: () => this.#app.send(text, this.#session?.id) } }, text));
		return el("div.empty", el("h2", t("chat.empty_title")), el("p", t("chat.empty")), el("div.chips", chips));
	}

	#drawBars() {
		const bars = [];
		const stop = this.#session?.state.stop;
		if (stop && !stop.isSent) {
			const undo = button("stop.undo", () => this.#undo());
			bars.push(el("div.bar", { "data-bar": "stop" }, icon("stop"), el("p", t("stop.stopped"), " ", el("span.aside", t("stop.works_on"))), undo, el("span.left", { "aria-hidden": "true" })));
		} else if (stop) {
			bars.push(el("div.bar", { "data-bar": "stopping" }, icon("stop"), el("p", t("stop.ending"))));
		}
		const question = this.#question();
		if (question && !stop) bars.push(this.#questionBar(question));
		// The same bar keeps its focus.
		const names = (list) => [...list].map((bar) => bar.dataset.bar).join(" ");
		if (names(bars) === names(this.#bars.children)) return;
		this.#bars.replaceChildren(...bars);
		this.#beat();
	}

	#question() {
		return this.#session && this.#app.questions.ofSession(this.#session.id);
	}

	#questionBar(question) {
		const look = button("chat.look", () => this.#app.look(question.call), { class: "look" });
		const words = this.#app.dialog.sending === question.call ? "bar.sending" : this.#app.canDecide ? "bar.waits" : "bar.elsewhere";
		return el("div.bar.asked", { "data-bar": `question:${question.call}:${words}` }, icon("ask"), el("p", t(words), " ", el("code", question.tool)), el("span.left"), this.#app.canDecide && look);
	}

	#undo() {
		this.#session.undo();
		announce(t("stop.undone"));
		this.composer.focus();
	}

	#beat() {
		const { stop } = this.#session?.state ?? {};
		const left = this.#bars.querySelector("[data-bar=stop] .left");
		if (left && stop) left.textContent = span(stop.until - Date.now());
		const question = this.#question();
		const asked = this.#bars.querySelector(".asked .left");
		if (asked && question) asked.textContent = t("ask.left", { time: span(question.expires_at - serverNow()) });
		const next = this.#banner.querySelector(".next");
		if (next) next.textContent = t("state.next_try", { time: span(this.#session.connection.until - Date.now()) });
	}

	/** Says the state in the header, and in a banner if it takes longer. */
	#tellConnection() {
		const connection = this.#session?.connection ?? { is: "new" };
		this.#app.tellStatus(connection);
		if (["missing", "refused"].includes(connection.is)) this.#draw();
		if (connection.is === "connecting") return;
		if (connection.is !== "waiting" && connection.is !== "refused") {
			clearTimeout(this.#patience);
			this.#patience = null;
			return this.#banner.replaceChildren();
		}
		if (this.#banner.childElementCount) this.#drawBanner(connection);
		else this.#patience ??= setTimeout(() => this.#drawBanner(this.#session.connection), PATIENCE);
	}

	#patience = null;

	#drawBanner(connection) {
		if (!["waiting", "connecting", "refused"].includes(connection.is)) return;
		const why = connection.is === "refused" ? "refused" : (connection.why ?? "network");
		if (this.#banner.firstElementChild?.dataset.why !== why) {
			const again = button("state.try_now", () => this.#app.tryNow());
			this.#banner.replaceChildren(el("div", { "data-why": why }, icon("warn"), el("p", t(`state.${why}`), " ", el("span.next", { "aria-hidden": "true" })), again));
		}
		this.#beat();
	}

	#isNear() {
		return this.#scroll.scrollHeight - this.#scroll.scrollTop - this.#scroll.clientHeight < NEAR;
	}

	#scrolled() {
		this.#isAtEnd = this.#isNear();
		if (this.#isAtEnd) this.#newer.hidden = true;
	}

	#toEnd() {
		this.#isAtEnd = true;
		this.#newer.hidden = true;
		this.#scroll.scrollTop = this.#scroll.scrollHeight;
	}
}

function isSame(before, row) {
	if (before === row) return true;
	const names = Object.keys(row);
	return names.length === Object.keys(before).length && names.every((name) => before[name] === row[name]);
}

/** What is read out: finished messages and ends of tools, no pieces. */
function words(item) {
	switch (item.type) {
		case "model_message":
			return `${t("chat.by_model")}: ${plain(item.text)}`;
		case "tool_call_ended":
			return `${item.name}: ${stateOfCall(item).words}`;
		case "error":
		case "system_notice":
		case "tool_call_resolved":
		case "messages_left_out":
		case "turn_interrupted":
			return item.text;
		default:
			return "";
	}
}
