// What a chat looks like, made of its snapshot and its events. Pure: no clock, no network, no page.
//
// Entries have the numbers of the server's transcript, so an event that comes twice changes nothing. Progress is kept by
// its call or its turn, and goes when that ends.

import { readOr } from "./json.js";

/**
 * An empty chat. `entries` have a key, a kind and a cursor; `calls` have not ended; the server has not told of what is in
 * `outbox`; `stop` can be undone.
 */
export function fresh(session) {
	return { session, isLoaded: false, cursor: "0", entries: [], calls: [], turn: null, speech: null, thought: null, approval: null, outbox: [], stop: null };
}

/** Replaces all but what is still to be sent by the server's snapshot. */
export function restored(chat, view) {
	const entries = view.messages.map(entryOfMessage);
	const cursor = String(view.cursor);
	if (view.error) entries.push({ key: `error:${cursor}`, kind: "error", cursor: `${numberOf(cursor)}.1`, text: view.error });
	const turn = view.is_streaming ? (view.turn ?? null) : null;
	const turns = new Set(entries.map((entry) => entry.turn));
	const keys = new Set(view.messages.map((message) => message.key));
	const asked = view.approval_request;
	return {
		...fresh(chat.session),
		isLoaded: true,
		cursor,
		entries,
		turn,
		calls: asked ? [openCall(asked.call, asked.tool, asked.arguments, "asked", turn)] : [],
		speech: turn && view.streaming_text ? { completion: null, text: view.streaming_text } : null,
		approval: asked ?? null,
		outbox: chat.outbox.filter((sent) => !keys.has(sent.key) && !turns.has(sent.turn)),
		stop: chat.stop?.turn === turn ? chat.stop : null,
	};
}

/** The chat after an item of the stream, or a step of this page (`local_..`). */
export function reduced(chat, item) {
	// Progress is over if a later entry is known.
	if (IS_PROGRESS.has(item.type) && compareCursors(item.cursor, chat.cursor) < 0) return chat;
	switch (item.type) {
		case "text":
			return { ...chat, speech: spoken(chat.speech, item) };
		case "thinking":
			return { ...chat, thought: spoken(chat.thought, item) };
		case "tool_call_proposed":
			return begun(chat, item, { calls: withCall(chat.calls, openCall(item.call, item.name, readOr(item.arguments, item.arguments), "proposed", item.turn)) });
		case "approval_requested":
			return begun(chat, item, {
				calls: withCall(chat.calls, openCall(item.call, item.tool, item.arguments, "asked", item.turn)),
				approval: item,
			});
		case "approval_ended":
			return {
				...chat,
				calls: changed(chat.calls, item.call, { is: isYes(item.decided) ? "running" : "ending", decided: item.decided }),
				approval: chat.approval?.call === item.call ? null : chat.approval,
			};
		case "tool_progress":
			return { ...chat, calls: changed(chat.calls, item.call, { progress: item }) };
		case "tool_call_resolved":
			return { ...chat, entries: changed(chat.entries, item.call, { effect: item.effect, resolved_by: item.resolved_by }) };
		case "turn_resumed":
			return begun(noted(chat, item), item, {});
		case "turn_interrupted":
		case "messages_left_out":
			return noted(chat, item);
		case "user_message":
		case "model_message":
		case "tool_call_ended":
		case "system_notice":
		case "error":
		case "cleared":
		case "turn_ended":
			return compareCursors(item.cursor, chat.cursor) <= 0 ? chat : stored({ ...chat, cursor: item.cursor }, item);
		default:
			return local(chat, item);
	}
}

const IS_PROGRESS = new Set(["tool_call_proposed", "approval_requested", "approval_ended", "turn_resumed", "turn_interrupted", "messages_left_out"]);

function stored(chat, item) {
	switch (item.type) {
		case "user_message":
			return begun(appended(chat, entryOf("user", item)), item, {
				outbox: chat.outbox.filter((sent) => sent.key !== item.key && sent.turn !== item.turn),
			});
		case "model_message":
			return { ...appended(chat, entryOf("model", item)), speech: null, thought: null };
		case "tool_call_ended": {
			const approval = chat.approval?.call === item.id ? null : chat.approval;
			return { ...appended(chat, callEntry(item)), calls: chat.calls.filter((call) => call.call !== item.id), approval };
		}
		case "system_notice":
			return appended(chat, entryOf("notice", item));
		case "error":
			return appended(chat, entryOf("error", item));
		case "cleared":
			return { ...chat, entries: [entryOf("cleared", item)], calls: [], speech: null, thought: null, approval: null };
		default:
			return ended(chat, item);
	}
}

/** Each ending of a turn, and its row if no other row tells of it. A test of the server finds a missing one. */
const ENDINGS = { answered: null, stopped: null, failed: null, dismissed: "dismissed" };

function ended(chat, item) {
	const row = ENDINGS[item.ending];
	const told = row ? appended(chat, entryOf(row, item)) : chat;
	// The late end of an older turn does not end this one.
	if (chat.turn !== null && chat.turn !== item.turn) return told;
	return { ...told, turn: null, calls: [], speech: null, thought: null, approval: null, stop: null };
}

function local(chat, item) {
	const change = (fields) => ({ ...chat, outbox: chat.outbox.map((sent) => (sent.key === item.key ? { ...sent, ...fields } : sent)) });
	const without = () => ({ ...chat, outbox: chat.outbox.filter((sent) => sent.key !== item.key) });
	switch (item.type) {
		case "local_send": {
			const waits = runningTurn(chat) !== null || chat.outbox.some((sent) => sent.is !== "refused");
			return { ...chat, outbox: [...chat.outbox, { key: item.key, text: item.text, at: item.at, is: waits ? "waiting" : "sending", why: "busy" }] };
		}
		case "local_trying":
			return change({ is: "sending" });
		case "local_waits":
			return change({ is: "waiting", why: item.why, until: item.until });
		case "local_accepted":
			if (chat.entries.some((entry) => entry.kind === "user" && entry.turn === item.turn)) return without();
			return change({ is: "accepted", turn: item.turn });
		case "local_refused":
			return change({ is: "refused", problem: item.problem });
		case "local_taken_back":
			return without();
		case "local_stop": {
			const turn = runningTurn(chat);
			return turn === null ? chat : { ...chat, stop: { turn, until: item.until, isSent: false } };
		}
		case "local_stop_sent":
			return chat.stop ? { ...chat, stop: { ...chat.stop, isSent: true } } : chat;
		case "local_undo":
			return chat.stop?.isSent ? chat : { ...chat, stop: null };
		case "local_decided":
			return chat.approval?.call === item.call ? { ...chat, approval: null } : chat;
		default:
			return chat;
	}
}

/**
 * What is drawn, in order: entries, the text that streams, open calls, what is still to be sent. While a stop can be
 * undone, the model's texts of its turn are hidden; what tools did is never hidden.
 */
export function rows(chat) {
	const isHidden = (entry) => chat.stop !== null && entry.kind === "model" && entry.turn === chat.stop.turn;
	const shown = chat.entries.filter((entry) => !isHidden(entry));
	const now = [];
	if (chat.stop === null) {
		if (chat.thought?.text && !chat.speech?.text) now.push({ key: "thought", kind: "thought", text: chat.thought.text });
		if (chat.speech?.text) now.push({ key: "speech", kind: "speech", text: chat.speech.text });
		else if (chat.turn !== null && chat.calls.length === 0 && !chat.thought?.text) now.push({ key: "works", kind: "works" });
	}
	const calls = chat.calls.map((call) => ({ ...call, key: `call:${call.call}`, kind: "open-call" }));
	const unsent = chat.outbox.map((sent) => ({ ...sent, key: `unsent:${sent.key}`, kind: "unsent", id: sent.key }));
	const last = shown.at(-1);
	if (last?.kind === "error" && chat.turn === null && !unsent.length) shown.splice(-1, 1, { ...last, isLast: true });
	return [...shown, ...now, ...calls, ...unsent];
}

/** The turn that runs, as far as this page knows. */
export function runningTurn(chat) {
	return chat.turn ?? chat.outbox.find((sent) => sent.is === "accepted")?.turn ?? null;
}

/** Orders cursors: `17`, `17.1`, `17.2`, `18`. After `@` comes the feed. */
export function compareCursors(a, b) {
	return numberOf(a) - numberOf(b) || stepOf(a) - stepOf(b);
}

const placeOf = (cursor) => String(cursor).split("@")[0].split(".");
const numberOf = (cursor) => Number(placeOf(cursor)[0]);
const stepOf = (cursor) => Number(placeOf(cursor)[1] ?? 0);

const isYes = (decided) => Boolean(decided) && !decided.decision.startsWith("deny");

/** Adds a piece of streamed text; one at 0 begins anew. */
function spoken(before, { completion, at, text }) {
	if (at === 0) return { completion, text };
	// A piece that does not fit is left out; the message has the whole text.
	if (before?.completion !== completion || utf8Bytes(before.text) !== at) return before;
	return { completion, text: before.text + text };
}

const encoder = new TextEncoder();
const utf8Bytes = (text) => encoder.encode(text).length;

function begun(chat, item, fields) {
	return { ...chat, ...fields, turn: item.turn };
}

function openCall(call, name, given, is, turn) {
	return { call, name, arguments: given, is, turn };
}

function changed(rows, call, fields) {
	return rows.map((row) => (row.call === call ? { ...row, ...fields } : row));
}

function withCall(calls, call) {
	const known = calls.findIndex((open) => open.call === call.call);
	return known < 0 ? [...calls, call] : calls.with(known, call);
}

function appended(chat, entry) {
	const entries = chat.entries.filter((known) => known.key !== entry.key);
	const behind = entries.findLastIndex((known) => compareCursors(known.cursor, entry.cursor) <= 0);
	return { ...chat, entries: entries.toSpliced(behind + 1, 0, entry) };
}

/** Keeps once what a turn tells beside its entries. */
function noted(chat, item) {
	const key = `${item.type}:${item.turn}:${item.cursor}`;
	if (chat.entries.some((entry) => entry.key === key)) return chat;
	return appended(chat, { ...entryOf(item.type, item), key });
}

function entryOf(kind, item) {
	return { ...item, key: `${kind}:${item.cursor}`, kind };
}

function entryOfMessage(message) {
	const entry = { ...message, cursor: String(message.seq) };
	return message.role === "tool_call" ? callEntry(entry) : entryOf(message.role, entry);
}

function callEntry(record) {
	return { ...record, key: `call:${record.id}`, kind: "call", call: record.id };
}
