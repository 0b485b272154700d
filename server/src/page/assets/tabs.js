// What the tabs of one browser share: who holds the two streams, and the questions that the inbox's stream brings.
//
// A browser opens six connections to a server at most. One more stream and every other request waits, so all tabs
// together hold two: the chat's in the tab that was used last, the inbox's in any one.

/** One of the two streams, as a lock that one tab holds. */
export class Slot {
	isHeld = false;
	#name;
	#onChange;
	#release = null;
	#queue = null;

	/** @param {string} name @param {(isHeld: boolean) => void} onChange */
	constructor(name, onChange) {
		this.#name = `madang.${name}`;
		this.#onChange = onChange;
	}

	/** Takes it from the tab that has it. */
	claim() {
		if (this.isHeld) return;
		this.#leaveQueue();
		this.#request({ steal: true });
	}

	/** Takes it when no other tab has it. */
	wait() {
		if (this.isHeld || this.#queue) return;
		this.#queue = new AbortController();
		this.#request({ signal: this.#queue.signal });
	}

	/** Gives it back, or no longer waits for it. */
	leave() {
		this.#leaveQueue();
		this.#release?.();
	}

	#leaveQueue() {
		this.#queue?.abort();
		this.#queue = null;
	}

	#request(options) {
		// Without locks (an old browser, or an address that is not secure) each tab is on its own.
		if (!navigator.locks) return this.#set(true);
		const hold = () => {
			this.#queue = null;
			this.#set(true);
			return new Promise((resolve) => (this.#release = resolve));
		};
		navigator.locks.request(this.#name, options, hold).catch(() => {}).finally(() => {
			// A request that was only given up in the queue never held it.
			if (this.#release) {
				this.#release = null;
				this.#set(false);
			}
		});
	}

	#set(isHeld) {
		if (this.isHeld === isHeld) return;
		this.isHeld = isHeld;
		this.#onChange(isHeld);
	}
}

/** What tabs say to each other. */
export class Channel {
	#channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("madang");

	say(message) {
		this.#channel?.postMessage(message);
	}

	hear(listener) {
		this.#channel?.addEventListener("message", ({ data }) => listener(data));
	}
}
