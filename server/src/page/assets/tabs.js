// What the tabs of one browser share. A browser opens at most six connections to a server, so all tabs together hold two
// streams: the chat's in the tab that was used last, and the inbox's in any one.

import { read, write } from "./json.js";

/** A stream, as a lock that one tab holds. */
export class Slot {
	#name;
	#onChange;
	/** The request that holds it, and the one that waits. */
	#held = null;
	#pending = null;

	constructor(name, onChange) {
		this.#name = `madang.${name}`;
		this.#onChange = onChange;
	}

	get isHeld() {
		return this.#held !== null;
	}

	claim() {
		if (this.isHeld || this.#pending?.isSteal) return;
		this.#drop();
		this.#request(true);
	}

	/** Takes it when no other tab has it. */
	wait() {
		if (!this.isHeld && !this.#pending) this.#request(false);
	}

	/** Gives it back, or no longer waits for it. */
	leave() {
		this.#drop();
		this.#held?.end();
	}

	#drop() {
		this.#pending?.end();
		this.#pending = null;
	}

	#request(isSteal) {
		const ended = new AbortController();
		const mine = { isSteal, end: () => ended.abort() };
		const hold = () => {
			if (ended.signal.aborted) return undefined;
			if (this.#pending === mine) this.#pending = null;
			this.#held = mine;
			this.#onChange(true);
			return new Promise((resolve) => ended.signal.addEventListener("abort", resolve));
		};
		this.#pending = mine;
		// Without locks, as at an address that is not secure, each tab is on its own.
		const held = navigator.locks ? navigator.locks.request(this.#name, isSteal ? { steal: true } : { signal: ended.signal }, hold) : Promise.resolve().then(hold);
		held.catch(() => {}).finally(() => {
			if (this.#pending === mine) this.#pending = null;
			if (this.#held !== mine) return;
			this.#held = null;
			this.#onChange(false);
		});
	}
}

/** A hidden tab gives its stream back after this time. */
const HIDDEN = 30_000;

/** Lets the shown chat follow its events: by the stream in one tab, by a look now and then in others. */
export class Sharing {
	#slot = new Slot("chat", () => this.#share());
	#session = null;
	#hidden = null;
	#onSeen;

	constructor(onSeen) {
		this.#onSeen = onSeen;
		for (const type of ["focus", "pointerdown", "keydown"]) addEventListener(type, () => this.#claim(), { capture: true, passive: true });
		addEventListener("pageshow", (event) => event.persisted && this.#seen());
		document.addEventListener("visibilitychange", () => this.#seen());
	}

	follow(session) {
		if (session !== this.#session) this.#session?.follow("off");
		this.#session = session;
		this.#claim();
		this.#share();
	}

	#share() {
		const isSeen = !document.hidden;
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
		if (this.#session && !document.hidden) this.#slot.claim();
	}

	#seen() {
		clearTimeout(this.#hidden);
		this.#hidden = null;
		if (document.hidden) {
			return (this.#hidden = setTimeout(() => {
				this.#hidden = null;
				this.#share();
			}, HIDDEN));
		}
		this.#claim();
		this.#share();
		this.#onSeen();
	}
}

export class Channel {
	#channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("madang");

	say(message) {
		// As text, because the browser's copy of an exact number is a plain object.
		this.#channel?.postMessage(write(message));
	}

	hear(listener) {
		this.#channel?.addEventListener("message", ({ data }) => listener(read(data)));
	}
}
