// Draws the rows of a chat: messages, calls, notices, and what is still to be sent.

import { button, el, icon, iconButton, languageOf } from "./dom.js";
import { shown } from "./editable.js";
import { write } from "./json.js";
import { blocks, build, grown } from "./markdown.js";
import { clock, spoken, t, tOr, took } from "./texts.js";

const DRAW = {
	user: (row, acts) => said("user", el("div.text", { lang: lang(row.text) }, row.text), el("div.acts", el("time", { datetime: new Date(row.at).toISOString() }, clock(row.at)), acting(row, acts, "copy", "edit"))),
	model: (row, acts) => said("model", markdown(row.text, acts), row.ending === "interrupted" && el("p.aside", t("chat.interrupted")), el("div.acts", acting(row, acts, "copy", "again"))),
	speech: (row, acts, before) => speech(row, before),
	thought: (row) => el("div.thought", el("p.aside", icon("work"), t("chat.thinks")), el("p", { lang: lang(row.text) }, row.text)),
	works: () => el("p.aside.works", el("span.dots", { "aria-hidden": "true" }, el("i"), el("i"), el("i")), t("chat.works")),
	call: (row, acts) => callCard(row, row.effect === "unknown" && el("a.look", { href: acts.ledger() }, t("call.resolve")), []),
	"open-call": (row, acts) => openCall(row, acts),
	notice: (row, acts) => note("warn", row.text ?? t("chat.notice"), row.notice === "suggest_clear" && button("menu.clear", acts.clear)),
	error: (row, acts) => note("warn", row.text, row.isLast && button("act.retry", acts.retry)),
	dismissed: () => note("stop", t("chat.dismissed")),
	cleared: () => note("check", t("chat.cleared")),
	turn_resumed: () => note("work", t("chat.resumed")),
	turn_interrupted: (row) => note("warn", row.text),
	messages_left_out: (row) => note("warn", row.text),
	unsent: (row, acts) => unsent(row, acts),
};

/** Makes the element of a row; `before` is its element so far. */
export function draw(row, acts, before) {
	const node = DRAW[row.kind](row, acts, before);
	node.dataset.key = row.key;
	return node;
}

const lang = (text) => languageOf(text, spoken());

function said(by, ...children) {
	return el("article", { class: ["said", by] }, el("h2.unseen", t(`chat.by_${by}`)), children);
}

const acting = (row, acts, ...names) => names.map((name) => iconButton(name, `act.${name}`, () => acts[name](row)));

function markdown(text, acts) {
	const made = el("div.text", { lang: lang(text) }, blocks(text).map(({ node }) => build(node, document)));
	for (const code of made.querySelectorAll("pre")) {
		const around = el("div.source");
		code.replaceWith(around);
		around.append(code, iconButton("copy", "act.copy_code", () => acts.copy({ text: code.textContent })));
	}
	return made;
}

/** A text that streams. Complete blocks keep their elements, and so a selection in them. */
function speech(row, before) {
	const node = before ?? said("model", el("div.text.coming"));
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
	return el("div.note", icon(symbol), el("p", { lang: lang(text) }, text), more);
}

const OPEN = { proposed: ["work", "call.proposed"], asked: ["ask", "call.asked"], running: ["work", "call.running"], ending: ["cross", "call.ending"] };

function openCall(row, acts) {
	const [symbol, words] = OPEN[row.is];
	const { done, total, message } = row.progress ?? {};
	const summary = [
		icon(symbol),
		el("code", row.name),
		el("span.state", t(words)),
		total > 0 && el("progress", { value: done, max: total }),
		message && el("span.why", { lang: lang(message) }, message),
	];
	const look = row.is === "asked" && button("chat.look", () => acts.look(row.call), { class: "look" });
	return callRow(row.is === "asked" ? "asked" : "open", summary, [detail("call.arguments", json(row.arguments))], look);
}

export function callCard(row, beside, more) {
	const { is, symbol, words, why } = stateOfRow(row);
	// The time of a person's answer says nothing about the tool.
	const wasAsked = row.approval || row.outcome?.reason === "denied";
	const summary = [
		icon(symbol),
		el("code", row.name),
		el("span.state", words),
		!wasAsked && row.outcome?.status === "ok" && row.ended_at - row.proposed_at >= 100 && el("span.took", took(row.ended_at - row.proposed_at)),
		why && el("span.why", { lang: lang(why) }, why),
	];
	const details = [
		detail("call.arguments", json(row.arguments)),
		row.asked !== undefined && detail("call.asked_with", json(row.asked)),
		row.approval && detail("call.approval", tOr(`approval.${row.approval.kind}`, "approval.once")),
		row.outcome?.data !== undefined && detail("call.result", json(row.outcome.data)),
		row.outcome?.message && detail("call.message", shown(row.outcome.message)),
		row.effect && detail("call.effect", t(`effect.${row.effect}`)),
		row.resolved_by && detail("call.resolved_by", row.resolved_by.kind === "person" ? row.resolved_by.user : t("ledger.by_handler"), row.resolved_at && ` · ${clock(row.resolved_at)}`),
		more,
	];
	return callRow(is, summary, details, beside);
}

/** What became of a call. An unknown effect comes first. */
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

export function stateOfRow(row) {
	return UNENDED[row.state] ? { is: "open", symbol: "work", words: t(UNENDED[row.state]) } : stateOfCall(row);
}

function callRow(is, summary, details, beside) {
	return el("div", { class: ["call", is] }, el("details", el("summary", summary, icon("down")), el("dl", details)), beside);
}

export function detail(key, ...value) {
	return el("div", el("dt", t(key)), el("dd", value));
}

function json(value) {
	const text = typeof value === "string" ? value : write(value, true);
	return el("pre.json", { tabindex: "0" }, shown(text ?? ""));
}

function unsent(row, acts) {
	const words = { sending: "unsent.sending", accepted: "unsent.accepted", waiting: `unsent.waits_${row.why}`, refused: "unsent.refused" };
	const buttons = row.is === "refused"
		? [button("unsent.edit", () => acts.editAgain(row.id)), button("unsent.discard", () => acts.takeBack(row.id))]
		: row.is === "waiting" && button("unsent.take_back", () => acts.editAgain(row.id));
	const why = row.is === "refused" && el("span", failure(row.problem));
	return said("user", el("div.text", { lang: lang(row.text) }, row.text), el("div", { class: ["unsent", row.is], role: "status" }, el("span", t(words[row.is])), why, buttons));
}

/** Why something failed, in the page's words if it has some. */
export function failure({ status, name, body }) {
	if (!status) return t("state.network");
	const isTooLong = name === "does-not-fit" && body?.bytes;
	return tOr(`problem.${isTooLong ? "too-long" : name}`, "problem.unknown", { bytes: body?.bytes ?? 0, max: body?.max_bytes ?? 0, detail: body?.detail ?? "" });
}
