// What the tabs of one browser share: the two streams, of which one tab each is the holder, and what tabs tell each other.
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

/** A tab that is not looked at gives its stream back after so long. */
const HIDDEN = 30_000;

/** Lets the shown chat follow its events: by the stream in the tab that was used last, in others by a look now and then. */
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

	/** Follows this chat from now on, or none. */
	follow(session) {
		if (session !== this.#session) this.#session?.follow("off");
		this.#session = session;
		this.#claim();
		this.#share();
	}

	#share() {
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
		if (this.#session && document.visibilityState === "visible") this.#slot.claim();
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
		this.#onSeen();
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
