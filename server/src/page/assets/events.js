// Reads an event stream by `fetch`, continues where it was cut, and gives up only on 401 and 404.

import { backoff, learnTime, pause, retryAfter, tellSignedOut } from "./api.js";
import { read as readJson } from "./json.js";
import { isOld, proofHeader } from "./proof.js";

/** The server sends something every 15 s. After this silence the connection is dead. */
const SILENCE = 45_000;
/** A look at a stream ends after such a silence, or after the second time. */
const LOOK_QUIET = 300;
const LOOK_MAX = 1500;

export class FrameReader {
	#rest = "";

	push(text) {
		this.#rest += text;
		const blocks = this.#rest.replaceAll("\r\n", "\n").split("\n\n");
		// A carriage return at the end may be half of a line's end.
		this.#rest = blocks.pop() ?? "";
		return blocks.map(frame).filter((found) => found !== null);
	}
}

function frame(block) {
	const found = { data: "" };
	const data = [];
	for (const line of block.split("\n")) {
		const colon = line.indexOf(":");
		if (colon === 0 || !line) continue;
		const name = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
		if (name === "data") data.push(value);
		else if (name === "event" || name === "id") found[name] = value;
		else if (name === "retry") found.retry = Number(value) || undefined;
	}
	found.data = data.join("\n");
	return found.data || found.retry ? found : null;
}

/**
 * Follows a stream until the signal. `hear` gets each item, `place` the id after which to continue, and `tell` the state:
 * `is` is connecting, live, waiting (with `why` and `until`), signed-out, missing or lost-place. `isLook` reads now and then.
 */
export async function follow({ path, after, hear, place, tell, signal, isLook = false, lookEvery = 3000 }) {
	let last = after;
	let tries = 0;
	const onFrame = ({ id, data }) => {
		const item = readJson(data);
		hear(item);
		// Only after it was handled: an item that fails comes again.
		if (id) {
			last = id;
			place?.(id);
		}
		if (item.type !== "bye") tries = 0;
		return item;
	};
	while (!signal.aborted) {
		let wait = { ms: undefined, why: "network" };
		if (!isLook || tries > 0) tell({ is: "connecting" });
		try {
			const headers = { accept: "text/event-stream", ...proofHeader() };
			if (last !== undefined) headers["last-event-id"] = last;
			const response = await fetch(path, { headers, cache: "no-store", redirect: "error", signal });
			learnTime(response);
			if (response.status === 401) {
				if (isOld(headers)) continue;
				tellSignedOut();
				return tell({ is: "signed-out" });
			}
			if (response.status === 404) return tell({ is: "missing" });
			// Another database: the snapshot tells where to begin.
			if (response.status === 409 || response.status === 400) return tell({ is: "lost-place" });
			if (response.ok) {
				tell({ is: "live" });
				wait = await read(response, onFrame, signal, isLook);
			} else {
				response.body?.cancel();
				wait = { ms: retryAfter(response), why: response.status === 503 ? "draining" : "server" };
			}
		} catch {
			if (signal.aborted) return;
		}
		if (isLook && wait.why === "looked") {
			await pause(lookEvery, signal).catch(() => {});
			continue;
		}
		if (signal.aborted) return;
		const ms = wait.ms === undefined ? backoff(tries) : Math.max(wait.ms, tries && backoff(tries));
		tries += 1;
		tell({ is: "waiting", why: wait.why, until: Date.now() + ms });
		await pause(ms, signal).catch(() => {});
	}
}

/** Reads a body to its end; returns how long to wait, and why. */
async function read(response, onFrame, signal, isLook) {
	const frames = new FrameReader();
	const reader = response.body.getReader();
	const decoder = new TextDecoder();
	const began = Date.now();
	const onAbort = () => reader.cancel().catch(() => {});
	signal.addEventListener("abort", onAbort);
	let retry;
	try {
		for (;;) {
			const left = isLook ? Math.min(LOOK_QUIET, began + LOOK_MAX - Date.now()) : SILENCE;
			const part = await within(reader.read(), Math.max(0, left));
			if (part === undefined) return { ms: 0, why: isLook ? "looked" : "network" };
			if (part.done) return { ms: retry, why: "network" };
			for (const found of frames.push(decoder.decode(part.value, { stream: true }))) {
				if (found.retry) retry = found.retry;
				if (!found.data) continue;
				const item = onFrame(found);
				if (item.type === "bye") return item.reason === "draining" ? { ms: item.retry_ms, why: "draining" } : { ms: 0, why: "network" };
			}
		}
	} catch {
		return { ms: undefined, why: "network" };
	} finally {
		signal.removeEventListener("abort", onAbort);
		reader.cancel().catch(() => {});
	}
}

/** The value of a promise, or nothing after a while. */
function within(promise, ms) {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(resolve, ms);
		promise.then(resolve, reject).finally(() => clearTimeout(timer));
	});
}
