// One chat: loads it, follows its events, sends what was typed, and stops a turn. What fails is tried again under the
// same key, so that nothing is lost or done twice.

import { call, newId, pathOf, persist, segment, wake, whyOf } from "./api.js";
import { follow } from "./events.js";
import { readOr, write } from "./json.js";
import { ofTab } from "./storage.js";
import { fresh, reduced, restored } from "./store.js";

export const UNDO = 5_000;

export class ChatSession extends EventTarget {
	/** The state of the connection; see `follow`. */
	connection = { is: "connecting" };
	#mode = "off";
	#stream = null;
	#isSending = false;
	#stopTimer = null;
	#options;
	cursor = undefined;

	constructor(id, options) {
		super();
		this.id = id;
		this.path = pathOf(id);
		this.#options = options;
		this.state = fresh(id);
		this.isUncreated = false;
		for (const { key, text, at, isFirst } of readOr(ofTab.get(`unsent:${id}`) ?? "", [])) {
			this.isUncreated ||= isFirst;
			this.state = reduced(this.state, { type: "local_send", key, text, at });
		}
	}

	/** Whether it stays in memory though no view shows it. */
	get isBusy() {
		return this.state.outbox.some((sent) => sent.is !== "refused") || this.state.stop !== null;
	}

	/** Follows the events (`live`), looks at them now and then (`look`), or leaves them alone (`off`). */
	follow(mode) {
		if (mode === this.#mode) return;
		this.#mode = mode;
		this.#begin();
	}

	/** Begins anew from what the server has. */
	reload() {
		this.state = { ...this.state, isLoaded: false };
		this.#begin();
	}

	/** Continues a stream that had ended, such as after a sign-in. */
	resume() {
		if (["signed-out", "missing", "refused"].includes(this.connection.is)) this.#begin();
	}

	send(text) {
		const key = newId();
		this.#reduce({ type: "local_send", key, text, at: Date.now() });
		this.#remember();
		this.#sendAll();
	}

	/** Takes back a message that was not accepted, and returns its text. */
	takeBack(key) {
		const text = this.state.outbox.find((sent) => sent.key === key)?.text ?? "";
		this.#reduce({ type: "local_taken_back", key });
		this.#remember();
		return text;
	}

	/** Stops the turn in a while, or at once the second time. */
	stop() {
		if (this.state.stop) return this.#dismiss();
		this.#reduce({ type: "local_stop", until: Date.now() + UNDO });
		if (!this.state.stop) return;
		clearTimeout(this.#stopTimer);
		this.#stopTimer = setTimeout(() => this.#dismiss(), UNDO);
	}

	undo() {
		clearTimeout(this.#stopTimer);
		this.#reduce({ type: "local_undo" });
	}

	/** Sends a waiting stop, because the page goes away. */
	leave() {
		if (this.state.stop && !this.state.stop.isSent) this.#dismiss(true);
	}

	decided(call) {
		this.#reduce({ type: "local_decided", call });
	}

	clear() {
		return call("POST", `${this.path}/clear`);
	}

	async #begin() {
		this.#stream?.abort();
		this.#stream = null;
		if (this.#mode === "off") return this.#connection({ is: "off" });
		const stream = new AbortController();
		this.#stream = stream;
		const { signal } = stream;
		try {
			if (this.isUncreated) await persist(() => this.#create(signal), { signal, onWait: this.#onWait });
			if (!this.state.isLoaded) await this.#load(signal);
		} catch (error) {
			if (!signal.aborted) this.#connection({ is: error.status === 404 ? "missing" : "refused" });
			return;
		}
		this.#sendAll();
		const isLook = this.#mode === "look";
		follow({
			path: `${this.path}/events`,
			after: this.cursor,
			isLook,
			signal,
			hear: (item) => {
				if (item.type === "replay_failed") return this.reload();
				this.#reduce(item);
			},
			place: (id) => (this.cursor = id),
			tell: (state) => {
				if (state.is === "lost-place") return this.reload();
				this.#connection(isLook && state.is === "live" ? { is: "looking" } : state);
			},
		});
	}

	/** Makes the chat. Its id was made here, so making it twice makes one. */
	async #create(signal) {
		await call("POST", "v1/sessions", { body: { id: this.id }, signal });
		this.isUncreated = false;
		this.#remember();
		this.dispatchEvent(new Event("created"));
	}

	async #load(signal) {
		this.#connection({ is: "connecting" });
		const view = await persist(() => call("GET", this.path, { signal }), { signal, onWait: this.#onWait });
		// A long chat comes in pages, the last one first.
		while (view.earlier) {
			const page = `${this.path}?before=${view.earlier}`;
			const { messages, earlier } = await persist(() => call("GET", page, { signal }), { signal, onWait: this.#onWait });
			view.messages = [...messages, ...view.messages];
			view.earlier = earlier;
		}
		this.cursor = String(view.cursor);
		this.state = restored(this.state, view);
		this.#remember();
		this.#changed(null);
	}

	#onWait = (error, until) => {
		if (error.status === 401) return this.#connection({ is: "signed-out" });
		this.#connection({ is: "waiting", why: error.status === 503 ? "draining" : whyOf(error), until });
	};

	/** Sends what was typed, one after the other. */
	async #sendAll() {
		if (this.#isSending) return;
		this.#isSending = true;
		for (;;) {
			const next = this.state.outbox.find((sent) => sent.is === "sending" || sent.is === "waiting");
			if (!next) break;
			await this.#sendOne(next);
		}
		this.#isSending = false;
	}

	async #sendOne({ key, text }) {
		const isWanted = () => this.state.outbox.some((sent) => sent.key === key);
		const body = { text, ...this.#options() };
		const attempt = async () => {
			if (!isWanted()) return null;
			this.#reduce({ type: "local_trying", key });
			if (this.isUncreated) await this.#create(undefined);
			return call("POST", `${this.path}/turns`, { key, body });
		};
		const onWait = (error, until) => {
			if (isWanted()) this.#reduce({ type: "local_waits", key, why: whyOf(error), until });
		};
		try {
			const given = await persist(attempt, { onWait });
			if (given) this.#reduce({ type: "local_accepted", key, turn: given.turn });
		} catch (error) {
			this.#reduce({ type: "local_refused", key, problem: error });
		}
		this.#remember();
	}

	async #dismiss(keepalive = false) {
		clearTimeout(this.#stopTimer);
		const { stop } = this.state;
		if (!stop || stop.isSent) return;
		this.#reduce({ type: "local_stop_sent" });
		const path = `${this.path}/turns/${segment(stop.turn)}/dismiss`;
		// A turn that is over needs no dismissal.
		await persist(() => call("POST", path, { keepalive })).catch(() => {});
	}

	#reduce(item) {
		const before = this.state;
		this.state = reduced(before, item);
		if (this.state.outbox !== before.outbox) this.#remember();
		if (this.state !== before) this.#changed(item);
		// Now the next message can be sent.
		if (item.type === "turn_ended") wake();
	}

	#changed(item) {
		this.dispatchEvent(new CustomEvent("change", { detail: item }));
	}

	#connection(state) {
		this.connection = state;
		this.dispatchEvent(new Event("connection"));
	}

	/** Keeps what was typed over a reload. By its key the server recognizes it. */
	#remember() {
		const kept = this.state.outbox.filter((sent) => sent.is !== "refused").map(({ key, text, at }) => ({ key, text, at, isFirst: this.isUncreated }));
		ofTab.set(`unsent:${this.id}`, kept.length ? write(kept) : null);
	}
}
