// Draws the rows of a chat: what was said, what tools did, what the runtime told, what is still to be sent.

import { button, el, icon, languageOf } from "./dom.js";
import { shown } from "./editable.js";
import { write } from "./json.js";
import { blocks, build, grown } from "./markdown.js";
import { clock, spoken, t, tOr, took } from "./texts.js";

const DRAW = {
	user: (row) => said("user", row, el("div", { class: "text", lang: lang(row.text) }, row.text), el("time", { datetime: new Date(row.at).toISOString() }, clock(row.at))),
	model: (row) => said("model", row, markdown(row.text), row.ending === "interrupted" && el("p", { class: "aside" }, t("chat.interrupted"))),
	speech: (row, acts, before) => speech(row, before),
	thought: (row) => el("div", { class: "thought" }, el("p", { class: "aside" }, icon("work"), t("chat.thinks")), el("p", { lang: lang(row.text) }, row.text)),
	works: () => el("p", { class: "aside works" }, el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i")), t("chat.works")),
	call: (row, acts) => endedCall(row, acts),
	"open-call": (row, acts) => openCall(row, acts),
	notice: (row, acts) => note("warn", row.text ?? t("chat.notice"), row.notice === "suggest_clear" && button("chat.clear", acts.clear)),
	error: (row) => note("warn", row.text),
	dismissed: () => note("stop", t("chat.dismissed")),
	cleared: () => note("check", t("chat.cleared")),
	turn_resumed: () => note("work", t("chat.resumed")),
	turn_interrupted: (row) => note("warn", row.text),
	messages_left_out: (row) => note("warn", row.text),
	unsent: (row, acts) => unsent(row, acts),
};

/** Makes the element of a row; `before` is that of the same row as it was. */
export function draw(row, acts, before) {
	const node = DRAW[row.kind](row, acts, before);
	node.dataset.key = row.key;
	return node;
}

const lang = (text) => languageOf(text, spoken());

function said(by, row, ...children) {
	return el("article", { class: ["said", by] }, el("h2", { class: "unseen" }, t(`chat.by_${by}`)), children);
}

function markdown(text) {
	return el("div", { class: "text", lang: lang(text) }, blocks(text).map(({ node }) => build(node, document)));
}

/** Text that is still coming: blocks that are complete keep their elements, so a selection in them stays. */
function speech(row, before) {
	const node = before ?? said("model", row, el("div", { class: "text coming" }));
	const text = node.querySelector(".text");
	const found = grown(row.text, node.read ?? "", node.found ?? []);
	const same = found.findIndex((one, at) => one !== node.found?.[at]);
	const keep = same < 0 ? found.length : same;
	while (text.childElementCount > keep) text.lastElementChild.remove();
	text.append(...found.slice(keep).map(({ node: made }) => build(made, document)));
	[node.read, node.found] = [row.text, found];
	const language = lang(row.text);
	if (language) text.setAttribute("lang", language);
	return node;
}

function note(symbol, text, ...more) {
	return el("div", { class: "note" }, icon(symbol), el("p", { lang: lang(text) }, text), more);
}

/** The state of an open call: a word, an icon and a colour. */
const OPEN = { proposed: ["work", "call.proposed"], asked: ["ask", "call.asked"], running: ["work", "call.running"], ending: ["cross", "call.ending"] };

function openCall(row, acts) {
	const [symbol, words] = OPEN[row.is];
	const { done, total, message } = row.progress ?? {};
	const summary = [
		icon(symbol),
		el("code", {}, row.name),
		el("span", { class: "state" }, t(words)),
		total > 0 && el("progress", { value: done, max: total }),
		message && el("span", { class: "why", lang: lang(message) }, message),
	];
	const look = row.is === "asked" && button("chat.look", () => acts.look(row.call), { class: "look" });
	return callRow(row.is === "asked" ? "asked" : "open", summary, [detail("call.arguments", json(row.arguments))], look);
}

function endedCall(row, acts) {
	const { is, symbol, words, why } = stateOfCall(row);
	// What a person took to answer says nothing about the tool.
	const wasAsked = row.approval || row.outcome?.reason === "denied";
	const summary = [
		icon(symbol),
		el("code", {}, row.name),
		el("span", { class: "state" }, words),
		!wasAsked && row.outcome?.status === "ok" && row.ended_at - row.proposed_at >= 100 && el("span", { class: "took" }, took(row.ended_at - row.proposed_at)),
		why && el("span", { class: "why", lang: lang(why) }, why),
	];
	const details = [
		detail("call.arguments", json(row.arguments)),
		row.asked !== undefined && detail("call.asked_with", json(row.asked)),
		row.approval && detail("call.approval", tOr(`approval.${row.approval.kind}`, "approval.once")),
		row.outcome?.data !== undefined && detail("call.result", json(row.outcome.data)),
		row.outcome?.message && detail("call.message", shown(row.outcome.message)),
		detail("call.effect", t(`effect.${row.effect}`)),
		row.resolved_by && detail("call.resolved_by", resolver(row.resolved_by)),
	];
	const link = row.effect === "unknown" && el("a", { class: "look", href: acts.ledger }, t("call.resolve"));
	return callRow(is, summary, details, link);
}

/** What became of a call, in a word; an effect that is not known comes before all else. */
export function stateOfCall({ outcome, effect, result }) {
	const why = outcome?.status === "error" ? outcome.reason : undefined;
	if (effect === "unknown") return { is: "unknown", symbol: "warn", words: t("call.unknown"), why };
	if (result === "discarded") return { is: "cancelled", symbol: "cross", words: t(`call.discarded_${effect}`) };
	if (outcome?.status === "ok") return { is: "ok", symbol: "check", words: t("call.ok") };
	if (outcome?.status === "error") return { is: "error", symbol: "cross", words: t("call.error"), why };
	const reason = outcome?.reason;
	return { is: "cancelled", symbol: "cross", words: tOr(`call.${reason}`, "call.cancelled"), why: outcome?.message };
}

const UNENDED = { proposed: "call.proposed", awaiting: "call.asked", approved: "call.running", running: "call.running" };

/** What became of a row of the ledger, or how far it is. */
export function stateOfRow(row) {
	return row.state === "ended" ? stateOfCall(row) : { is: "open", symbol: "work", words: t(UNENDED[row.state]) };
}

export function resolver(by) {
	return by.kind === "person" ? t("ledger.by_person", { user: by.user }) : t("ledger.by_handler");
}

function callRow(is, summary, details, beside) {
	return el("div", { class: ["call", is] }, el("details", {}, el("summary", {}, summary, icon("down")), el("dl", {}, details)), beside);
}

function detail(key, value) {
	return el("div", {}, el("dt", {}, t(key)), el("dd", {}, value));
}

/** A value as text; long ones can be scrolled. */
export function json(value) {
	const text = typeof value === "string" ? value : write(value, true);
	return el("pre", { class: "json", tabindex: "0" }, shown(text ?? ""));
}

function unsent(row, acts) {
	const words = { sending: "unsent.sending", accepted: "unsent.accepted", waiting: `unsent.waits_${row.why}`, refused: "unsent.refused" };
	const buttons = row.is === "refused"
		? [button("unsent.edit", () => acts.editAgain(row.id)), button("unsent.discard", () => acts.takeBack(row.id))]
		: row.is === "waiting" && button("unsent.take_back", () => acts.editAgain(row.id));
	const why = row.is === "refused" && el("span", {}, failure(row.problem));
	return said("user", row, el("div", { class: "text", lang: lang(row.text) }, row.text), el("div", { class: ["unsent", row.is], role: "status" }, el("span", {}, t(words[row.is])), why, buttons));
}

/** Why something failed, in the page's words where it has some. */
export function failure({ status, name, body }) {
	if (!status) return t("state.network");
	const isTooLong = name === "does-not-fit" && body?.bytes;
	return tOr(`problem.${isTooLong ? "too-long" : name}`, "problem.unknown", { bytes: body?.bytes ?? 0, max: body?.max_bytes ?? 0, detail: body?.detail ?? "" });
}
