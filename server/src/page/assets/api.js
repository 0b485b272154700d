// Requests to the server: JSON in and out, refusals as errors, and retries.

import { readOr, write } from "./json.js";
import { isOld, proofHeader } from "./proof.js";

export class Problem extends Error {
	constructor(status, body, retryAfter) {
		super(body.detail || body.title || String(status));
		this.status = status;
		this.name = String(body.type ?? "").split("/").pop() || "unknown";
		this.body = body;
		this.retryAfter = retryAfter;
	}
}

/** No answer came; the request may have arrived. */
export class Unreachable extends Error {}

/** Milliseconds until a request without an answer counts as lost. */
const TIMEOUT = 30_000;
const MAX_BACKOFF = 30_000;

let skew = 0;
/** The time of the server, by which questions expire. */
export const serverNow = () => Date.now() + skew;

const wakes = new EventTarget();
/** Ends every pause: the network is back, a person looks, or has signed in. */
export const wake = () => wakes.dispatchEvent(new Event("wake"));

const refusals = new EventTarget();
/** Hears that the server no longer knows this browser. */
export const onSignedOut = (hear) => refusals.addEventListener("signed-out", hear);
export const tellSignedOut = () => refusals.dispatchEvent(new Event("signed-out"));

export async function call(method, path, options = {}) {
	const { body, key, token, keepalive = false, signal, isText = false } = options;
	const headers = { accept: isText ? "*/*" : "application/json", ...proofHeader() };
	// No form of a foreign page can send this type.
	if (method !== "GET") headers["content-type"] = "application/json";
	if (token) headers.authorization = `Bearer ${token}`;
	if (key) headers["idempotency-key"] = `"${key}"`;
	const text = ["POST", "PATCH"].includes(method) ? write(body ?? {}) : undefined;
	const signals = [AbortSignal.timeout(TIMEOUT), signal].filter(Boolean);
	let response;
	let answer;
	try {
		response = await fetch(path, { method, headers, body: text, keepalive, cache: "no-store", redirect: "error", signal: keepalive ? undefined : AbortSignal.any(signals) });
		answer = await response.text();
	} catch (cause) {
		if (signal?.aborted) throw signal.reason;
		throw new Unreachable(path, { cause });
	}
	learnTime(response);
	if (isText && response.ok) return answer;
	const given = readOr(answer);
	if (response.ok) return given;
	const problem = new Problem(response.status, given ?? {}, retryAfter(response));
	// Another tab has signed in meanwhile, and the older login was refused.
	if (problem.status === 401 && isOld(headers)) return call(method, path, options);
	if (problem.status === 401 && path !== "v1/login" && !token) tellSignedOut();
	throw problem;
}

/** Whether the same request may succeed later. */
export function isPassing(error) {
	const { status, name } = error;
	return error instanceof Unreachable || (error instanceof Problem && ([401, 408, 429].includes(status) || status >= 500 || name === "busy"));
}

export function whyOf({ status, name }) {
	if (name === "busy") return "busy";
	return status === 401 ? "signed-out" : status ? "server" : "network";
}

/** Tries until it succeeds or is refused for good. After a 401 it waits for a sign-in. */
export async function persist(attempt, { signal, onWait } = {}) {
	for (let tries = 0; ; tries += 1) {
		try {
			return await attempt();
		} catch (error) {
			if (!isPassing(error)) throw error;
			const ms = error.status === 401 ? Infinity : Math.max(error.retryAfter ?? 0, backoff(tries));
			onWait?.(error, Date.now() + ms);
			await pause(ms, signal);
		}
	}
}

/** The pause before the next try: 1 s, doubled up to 30 s, randomized. */
export function backoff(tries, random = Math.random()) {
	return Math.min(MAX_BACKOFF, 1000 * 2 ** tries) * (0.75 + random / 2);
}

export function pause(ms, signal) {
	return new Promise((resolve, reject) => {
		const timer = Number.isFinite(ms) ? setTimeout(end, ms) : undefined;
		wakes.addEventListener("wake", end);
		signal?.addEventListener("abort", end);
		if (signal?.aborted) end();
		function end() {
			clearTimeout(timer);
			wakes.removeEventListener("wake", end);
			signal?.removeEventListener("abort", end);
			if (signal?.aborted) reject(signal.reason);
			else resolve(undefined);
		}
	});
}

export const segment = encodeURIComponent;
export const pathOf = (session) => `v1/sessions/${segment(session)}`;
export const linkTo = (session, part = "") => `#/s/${segment(session)}${part && `/${part}`}`;

export const newId = () => crypto.randomUUID();

export function retryAfter(response) {
	const ms = Number(response.headers.get("retry-after-ms") ?? NaN);
	const seconds = Number(response.headers.get("retry-after") ?? NaN);
	if (ms > 0) return ms;
	return seconds > 0 ? seconds * 1000 : undefined;
}

/** Learns how far the server's clock is from ours; its header has whole seconds. */
export function learnTime(response) {
	const difference = Date.parse(response.headers.get("date") ?? "") - Date.now();
	if (!Number.isNaN(difference)) skew = Math.abs(difference) > 2000 ? difference : 0;
}
