// The question before a call runs. Only a button that says yes is a yes, and closing is no answer.

import { call, persist, segment, serverNow, whyOf } from "./api.js";
import { ARMING, announce, button, el, icon, iconButton, isComposing, isTouched, languageOf, put, toast } from "./dom.js";
import { editable, visible } from "./editable.js";
import { failure, stateOfRow } from "./entries.js";
import { fieldsOf, nameOf, textOf } from "./form.js";
import { Exact, write } from "./json.js";
import { span, spoken, t, tOr } from "./texts.js";

/** Seconds before the end at which the time is read out. */
const WARNINGS = [120, 30];

export class ApprovalDialog {
	#questions;
	#onDecided;
	#dialog = null;
	#request = null;
	#drafts = {};
	#parameters = null;
	#armedAt = 0;
	/** Whether the end of the question was on the screen: nobody agrees to what was not. */
	#isRead = false;
	#watch = null;
	#timers = [];
	#tried = null;
	#before = null;

	constructor(questions, onDecided) {
		this.#questions = questions;
		this.#onDecided = onDecided;
		questions.addEventListener("change", () => this.#refresh());
	}

	get isOpen() {
		return this.#dialog !== null;
	}

	get sending() {
		return this.#tried?.call ?? null;
	}

	show(request) {
		if (this.#request?.call === request.call) return;
		this.close();
		this.#timers = [];
		this.#request = request;
		this.#drafts = { message: "" };
		this.#before = document.activeElement;
		this.#dialog = this.#draw();
		document.body.append(this.#dialog);
		this.#dialog.showModal();
		this.#watchEnd();
		this.#choose();
		this.#watchTime();
		this.#questions.later.delete(request.call);
	}

	/** Closes it. The question stays, as a bar and in the inbox. */
	close(isByPerson = false) {
		if (!this.#dialog) return;
		if (isByPerson) this.#questions.later.add(this.#request.call);
		for (const timer of this.#timers) clearInterval(timer);
		this.#watch.disconnect();
		this.#dialog.close();
		this.#dialog.remove();
		this.#dialog = this.#request = null;
		if (this.#before?.isConnected && this.#before !== document.body) this.#before.focus();
		else document.querySelector("textarea")?.focus();
		this.#questions.dispatchEvent(new Event("change"));
	}

	#refresh() {
		if (this.#request && !this.#questions.get(this.#request.call)) {
			if (this.sending !== this.#request.call) toast(t("ask.over", { tool: this.#request.tool }));
			this.close();
		}
	}

	/** The sentence comes first. The arguments are folded only if it names each of them. */
	#draw() {
		const { tool, text, consequence } = this.#request;
		const given = this.#request.arguments;
		const lang = languageOf(text, spoken());
		const names = Object.keys(given).sort();
		const end = el("span.ask-end");
		const isTold = tells(consequence, given);
		const list = el("div", { id: "ask-text", tabindex: "0", role: "group", "aria-label": t("ask.text") }, el("dl", names.map((name) => el("div", el("dt", nameOf(name)), el("dd", { lang }, valueOf(given[name]))))), !isTold && end);
		return el(
			"dialog.ask",
			{ role: "alertdialog", closedby: "none", "aria-labelledby": "ask-title", "aria-describedby": "ask-means", on: { keydown: (event) => this.#key(event), cancel: (event) => event.preventDefault() } },
			el("div.head", el("h2", { id: "ask-title", lang }, visible(consequence || tool)), iconButton("cross", "ask.later", () => this.close(true))),
			el("p", { id: "ask-means" }, t("ask.title"), " ", el("code", tool)),
			names.length > 0 && el("details", { open: !isTold }, el("summary", t("ask.text"), icon("down")), list),
			(isTold || !names.length) && end,
			el("p.ask-left"),
			el("div.ask-rest", { role: "status", hidden: true }, el("p", t("ask.unread")), button("ask.more", () => this.#readOn())),
			el("div.ask-step"),
			el("p.ask-problem", { role: "alert" }),
		);
	}

	#key(event) {
		if (isComposing(event)) return;
		const isPress = event.key === "Enter" || event.key === " ";
		if (isPress && event.target.tagName === "BUTTON" && (event.repeat || !this.#isArmed())) {
			event.preventDefault();
			// Keys count after a pause without keys.
			if (!this.#isArmed()) this.#arm();
		}
		if (event.key !== "Escape") return;
		event.preventDefault();
		event.stopPropagation();
		if (this.#dialog.dataset.step === "choose") this.close(true);
		else this.#choose();
	}

	#watchEnd() {
		this.#isRead = false;
		const rest = this.#dialog.querySelector(".ask-rest");
		this.#watch = new IntersectionObserver((entries) => {
			const isSeen = entries.some((entry) => entry.isIntersecting);
			rest.hidden = isSeen;
			if (!isSeen) return;
			this.#watch.disconnect();
			this.#isRead = true;
			if (document.activeElement === document.body || rest.contains(document.activeElement)) this.#dialog.querySelector(".ask-step button").focus();
			this.#arm();
		});
		this.#watch.observe(this.#dialog.querySelector(".ask-end"));
	}

	#readOn() {
		const end = this.#dialog.querySelector(".ask-end");
		const around = end.parentElement;
		const before = around.scrollTop;
		this.#dialog.querySelector("details:has(.ask-end)")?.setAttribute("open", "");
		around.scrollTop += around.clientHeight * 0.9;
		if (around.scrollTop === before) end.scrollIntoView({ block: "nearest" });
	}

	#isArmed() {
		return performance.now() >= this.#armedAt;
	}

	#arm() {
		this.#armedAt = performance.now() + ARMING;
		this.#mark();
		this.#timers.push(setTimeout(() => this.#mark(), ARMING + 5));
	}

	#counts(isYes) {
		return this.#isArmed() && !this.#tried && (this.#isRead || !isYes);
	}

	#mark() {
		this.#dialog?.querySelectorAll(".ask-step button").forEach((button) => (button.ariaDisabled = !this.#counts(button.className === "yes")));
	}

	#button(label, act, props = {}) {
		const press = () => this.#counts(props.class === "yes") && act();
		return el("button", { ...props, on: { click: press } }, t(label));
	}

	#step(name, ...children) {
		this.#dialog.dataset.step = name;
		this.#dialog.querySelector(".ask-step").replaceChildren(...children.filter(Boolean));
		this.#problem("");
	}

	#choose() {
		this.#step(
			"choose",
			el(
				"div.ask-buttons",
				this.#button("ask.no", () => this.#decide({ decision: "deny" }), { class: "no" }),
				this.#button("ask.no_with", () => this.#denyWith()),
				this.#button("ask.edit", () => this.#edit()),
				this.#button("ask.always", () => this.#always()),
				this.#button("ask.yes", () => this.#decide({ decision: "approve" }), { class: "yes" }),
			),
			!isTouched() && el("p.hint", t("ask.hint")),
		);
		this.#arm();
		this.#dialog.querySelector(".no").focus();
	}

	#denyWith() {
		const message = el("textarea", { id: "ask-message", rows: "3", value: this.#drafts.message, on: { input: () => (this.#drafts.message = message.value) } });
		const send = () => this.#decide(message.value.trim() ? { decision: "deny_with", message: message.value } : { decision: "deny" });
		this.#step("deny_with", el("label", { for: "ask-message" }, t("ask.message")), message, el("div.ask-buttons", this.#back(), this.#button("ask.no_send", send, { class: "no" })));
		message.focus();
	}

	async #edit(asText = false) {
		const request = this.#request;
		const before = this.#drafts.editor;
		const given = asText ? this.#checked(before) : request.arguments;
		if (!given) return;
		if (!before || asText) {
			const step = this.#dialog.querySelector(".ask-step").firstChild;
			this.#problem(t("call.proposed"));
			this.#parameters ??= call("GET", "v1/tools").then(({ tools }) => new Map(tools.map((tool) => [tool.name, tool.parameters])));
			const parameters = asText ? null : await this.#parameters.catch(() => (this.#parameters = null));
			// By now a person may have gone on.
			if (!step.isConnected || this.#tried) return;
			const editor = fieldsOf(parameters?.get(request.tool), given);
			this.#drafts = { ...this.#drafts, isForm: Boolean(editor), why: !editor && !asText, editor: editor ?? textOf(given, (wrong) => this.#wrong(wrong)) };
		}
		const { editor, isForm, why } = this.#drafts;
		const run = () => {
			const changed = this.#checked(editor);
			if (changed) this.#decide({ decision: "edit", arguments: changed });
		};
		this.#step(
			"edit",
			why && el("p.hint", t("ask.no_form")),
			editor.node,
			el("div", { id: "ask-wrong", class: "wrong", role: "status" }),
			el("div.ask-buttons", this.#back(), isForm && button("ask.json", () => this.#edit(true)), this.#button("ask.run_edited", run, { class: "yes" })),
		);
		this.#arm();
		editor.focus();
	}

	/** The arguments of an editor; if it has none, what is wrong is said and shown. */
	#checked(editor) {
		const { wrong, value } = editor.check();
		this.#wrong(wrong);
		if (wrong) editor.focus();
		return value;
	}

	#always() {
		const back = this.#back();
		this.#step(
			"always",
			el("p", { id: "ask-always" }, t("ask.always_means", { tool: this.#request.tool }), " ", this.#request.text.split("\n").at(-1)),
			el("div.ask-buttons", { role: "group", "aria-labelledby": "ask-always" }, back, this.#button("ask.always_yes", () => this.#decide({ decision: "approve_always" }), { class: "yes" })),
		);
		this.#arm();
		announce(t("ask.always_means", { tool: this.#request.tool }), true);
		back.focus();
	}

	#back() {
		return button("ask.back", () => this.#choose());
	}

	#wrong(lines = []) {
		this.#dialog.querySelector("#ask-wrong").replaceChildren(lines.length ? el("ul", lines.map((line) => el("li", line))) : "");
	}

	#problem(text) {
		this.#dialog.querySelector(".ask-problem").textContent = text;
	}

	/** Sends a decision until it is recorded or refused. Sending it twice is safe. */
	async #decide(decision) {
		const request = this.#request;
		const attempt = { call: request.call };
		this.#tried = attempt;
		this.#busy(true);
		const isShown = () => this.#request?.call === request.call;
		const path = `v1/approvals/${segment(request.call)}/decision`;
		const body = { digest: request.digest, ...decision };
		try {
			await persist(() => call("POST", path, { body }), { onWait: (error) => isShown() && this.#problem(t(`unsent.waits_${whyOf(error)}`)) });
			announce(t(decision.decision.startsWith("deny") ? "ask.told_no" : "ask.told_yes", { tool: request.tool }));
			this.#onDecided(request.call);
		} catch (error) {
			await this.#refused(error, request, isShown);
		} finally {
			this.#tried = null;
			if (isShown()) this.#busy(false);
			this.#questions.dispatchEvent(new Event("change"));
		}
	}

	async #refused(error, request, isShown) {
		if (error.name === "does-not-fit" && isShown()) return this.#misfit(error);
		if (error.name === "not-open" || error.status === 404) {
			const row = await call("GET", `v1/calls/${segment(request.call)}`).catch(() => null);
			toast(row ? t("ask.was", { tool: request.tool, state: stateOfRow(row).words }) : t("ask.over", { tool: request.tool }));
			return this.#onDecided(request.call);
		}
		if (isShown()) this.#problem(failure(error));
	}

	#misfit(error) {
		const problems = error.body.problems ?? [];
		const { editor, isForm } = this.#drafts;
		if (this.#dialog.dataset.step !== "edit" || !problems.length) return this.#problem(failure(error));
		this.#wrong(problems.map((problem) => problemLine(problem, isForm)));
		editor.mark(problems.map(({ pointer }) => pointer.split("/")[2]));
		editor.focus();
	}

	#busy(isBusy) {
		if (this.#dialog) this.#dialog.ariaBusy = isBusy;
		this.#mark();
		if (isBusy) this.#problem(t("ask.sending"));
		else if (this.#dialog?.querySelector(".ask-problem").textContent === t("ask.sending")) this.#problem("");
	}

	#watchTime() {
		const left = () => this.#request.expires_at - serverNow();
		const warnings = WARNINGS.filter((seconds) => left() > seconds * 1000);
		const tell = () => {
			const line = this.#dialog.querySelector(".ask-left");
			const words = left() > 0 ? t("ask.left", { time: span(left()) }) : t("ask.expired");
			put(line, words);
			const due = warnings.findIndex((seconds) => left() <= seconds * 1000);
			if (due >= 0) {
				warnings.splice(due, 1);
				announce(words, true);
			}
		};
		tell();
		this.#timers.push(setInterval(tell, 1000));
	}
}

/** Whether a sentence names a value, and each value in it, in words of its own. */
function tells(sentence, value) {
	if (typeof value === "object" && value !== null && !(value instanceof Exact)) return Object.values(value).every((inner) => tells(sentence, inner));
	const word = String(value);
	// A Korean particle follows directly.
	const goesOn = (next) => IN_WORD.test(next) && (!HANGUL.test(next) || HANGUL.test(word.at(-1)));
	return ` ${sentence} `.split(word).some((part, at, parts) => at > 0 && !IN_WORD.test(parts[at - 1].at(-1)) && !goesOn(part[0]));
}

const IN_WORD = /[\p{L}\p{N}_]/u;
const HANGUL = /\p{Script=Hangul}/u;

const valueOf = (value) => (typeof value === "string" ? visible(value) : editable(value));

/** A problem of changed arguments, in the page's words if it has some. */
function problemLine({ pointer, detail, rule, expected = [], keys = [] }, isForm) {
	const path = pointer.replace(/^\/arguments/, "");
	const place = isForm ? nameOf(path.slice(1)) : path;
	const shown = [expected].flat().map((value) => (rule === "enum" ? write(value) : String(value)));
	const words = tOr(`rule.${rule}`, "rule.unknown", { detail, expected: shown.join(", "), keys: keys.join(", ") });
	return place ? `${place}: ${words}` : words;
}

