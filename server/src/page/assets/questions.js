// The questions that wait for this person: the inbox's, and that of the chat on the screen.

import { follow } from "./events.js";
import { Slot } from "./tabs.js";

/** Remembered ends, so that an older message does not open a question again. */
const MAX_ENDED = 256;

export class Questions extends EventTarget {
	#inbox = new Map();
	#ofChat = null;
	#ended = new Set();
	#stream = null;
	#channel;
	#slot;
	/** Calls whose question was closed without an answer, and is not opened again by itself. */
	later = new Set();

	constructor(channel) {
		super();
		this.#channel = channel;
		this.#slot = new Slot("inbox", (isHeld) => (isHeld ? this.#follow() : this.#leave()));
		channel.hear((message) => {
			if (message.kind === "inbox") this.#replace(message.requests);
			if (message.kind === "inbox?" && this.#slot.isHeld) this.#share();
			if (message.kind === "ended") this.ended(message.call, false);
		});
	}

	/** Begins to watch: one tab by the stream, the others by what that tab says. */
	watch() {
		this.#slot.wait();
		this.#channel.say({ kind: "inbox?" });
	}

	stop() {
		this.#slot.leave();
		this.#inbox.clear();
		this.#ofChat = null;
		this.#changed();
	}

	get open() {
		const all = new Map(this.#inbox);
		if (this.#ofChat) all.set(this.#ofChat.call, this.#ofChat);
		return [...all.values()].filter((request) => !this.#ended.has(request.call)).sort((a, b) => a.expires_at - b.expires_at);
	}

	get(id) {
		return this.open.find((request) => request.call === id) ?? null;
	}

	ofSession(session) {
		return this.open.find((request) => request.session === session) ?? null;
	}

	ofChat(request) {
		if (this.#ofChat?.call === request?.call && this.#ofChat?.digest === request?.digest) return;
		this.#ofChat = request;
		this.#changed();
	}

	ended(id, isToTell = true) {
		if (this.#ended.has(id)) return;
		this.#ended.add(id);
		if (this.#ended.size > MAX_ENDED) this.#ended.delete(this.#ended.values().next().value);
		this.#inbox.delete(id);
		this.later.delete(id);
		if (isToTell) this.#channel.say({ kind: "ended", call: id });
		this.#changed();
	}

	#follow() {
		this.#stream = new AbortController();
		follow({
			path: "v1/inbox/events",
			signal: this.#stream.signal,
			tell: () => {},
			hear: (item) => {
				if (item.type === "snapshot") this.#replace(item.approval_requests);
				else if (item.type === "approval_requested") this.#inbox.set(item.call, item);
				else if (item.type === "approval_ended") this.ended(item.call);
				this.#changed();
				this.#share();
			},
		});
	}

	#leave() {
		this.#stream?.abort();
		this.#slot.wait();
	}

	#replace(requests) {
		this.#inbox = new Map(requests.map((request) => [request.call, request]));
		this.#changed();
	}

	#share() {
		this.#channel.say({ kind: "inbox", requests: [...this.#inbox.values()] });
	}

	#changed() {
		this.dispatchEvent(new Event("change"));
	}
}
