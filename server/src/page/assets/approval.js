// The question before a call runs, as a modal. Only a button that says yes is a yes, and closing is no answer.

import { call, persist, segment, serverNow } from "./api.js";
import { ARMING, announce, button, el, iconButton, isComposing, languageOf, toast } from "./dom.js";
import { editable, typed, visible } from "./editable.js";
import { failure, stateOfRow } from "./entries.js";
import { write } from "./json.js";
import { span, spoken, t, tOr } from "./texts.js";

/** Seconds before the end at which the time left is read out. */
const WARNINGS = [120, 30];

export class ApprovalDialog {
	#questions;
	#onDecided;
	#dialog = null;
	#request = null;
	#drafts = {};
	#armedAt = 0;
	/** Whether the end of the question was on the screen: what lies below the fold nobody has agreed to. */
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

	/** The call that is asked about, or whose answer is on its way though the question was closed. */
	get sending() {
		return this.#tried?.call ?? null;
	}

	show(request) {
		if (this.#request?.call === request.call) return;
		this.close();
		this.#timers = [];
		this.#request = request;
		this.#drafts = { edit: editable(request.arguments), message: "" };
		this.#before = document.activeElement;
		this.#dialog = this.#draw();
		document.body.append(this.#dialog);
		this.#dialog.showModal();
		this.#watchEnd();
		this.#choose();
		this.#watchTime();
		this.#questions.later.delete(request.call);
	}

	/** Closes it. By a person this is no answer: the question stays, as a bar and in the inbox. */
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
		// The bar and the inbox show it again.
		this.#questions.dispatchEvent(new Event("change"));
	}

	#refresh() {
		if (this.#request && !this.#questions.get(this.#request.call)) {
			const isOurs = this.#tried?.call === this.#request.call;
			if (!isOurs) toast(t("ask.over", { tool: this.#request.tool }));
			this.close();
		}
	}

	#draw() {
		const { tool, text, consequence } = this.#request;
		const lang = (words) => languageOf(words, spoken());
		const later = iconButton("cross", t("ask.later"), { on: { click: () => this.close(true) } });
		return el(
			"dialog",
			{ class: "ask", role: "alertdialog", closedby: "none", "aria-labelledby": "ask-title", "aria-describedby": "ask-means ask-text", on: { keydown: (event) => this.#key(event), cancel: (event) => event.preventDefault() } },
			el("div", { class: "head" }, el("h2", { id: "ask-title" }, t("ask.title")), later),
			el("p", { class: "ask-tool" }, t("ask.tool"), " ", el("code", {}, tool)),
			el("p", { id: "ask-means", lang: lang(consequence) }, visible(consequence)),
			el("pre", { id: "ask-text", tabindex: "0", role: "group", "aria-label": t("ask.text"), lang: lang(text) }, text, el("span", { class: "ask-end" })),
			el("p", { class: "ask-left" }),
			el("div", { class: "ask-rest", role: "status", hidden: true }, el("p", {}, t("ask.unread")), button("ask.more", () => this.#readOn())),
			el("div", { class: "ask-step" }),
			el("p", { class: "ask-problem", role: "alert" }),
		);
	}

	#key(event) {
		if (isComposing(event)) return;
		const isPress = event.key === "Enter" || event.key === " ";
		if (isPress && event.target.tagName === "BUTTON" && (event.repeat || !this.#isArmed())) {
			event.preventDefault();
			// While keys come, the moment moves on from which a key counts.
			if (!this.#isArmed()) this.#arm();
		}
		if (event.key !== "Escape") return;
		event.preventDefault();
		event.stopPropagation();
		if (this.#dialog.dataset.step === "choose") this.close(true);
		else this.#choose();
	}

	/** Looks whether the end of the question is on the screen, past every edge that could hide it. */
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

	/** Shows what is below, for whoever has no wheel, and no eyes on the screen. */
	#readOn() {
		const text = this.#dialog.querySelector("#ask-text");
		const before = text.scrollTop;
		text.scrollTop += text.clientHeight * 0.9;
		if (text.scrollTop === before) text.querySelector(".ask-end").scrollIntoView({ block: "nearest" });
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
		this.#dialog?.querySelectorAll(".ask-step button").forEach((button) => button.setAttribute("aria-disabled", String(!this.#counts(button.className === "yes"))));
	}

	#button(label, act, props = {}) {
		const press = () => this.#counts(props.class === "yes") && act();
		return el("button", { type: "button", ...props, on: { click: press } }, t(label));
	}

	#step(name, ...children) {
		this.#dialog.dataset.step = name;
		this.#dialog.querySelector(".ask-step").replaceChildren(...children);
		this.#problem("");
	}

	#choose() {
		this.#step(
			"choose",
			el(
				"div",
				{ class: "ask-buttons" },
				this.#button("ask.no", () => this.#decide({ decision: "deny" }), { class: "no" }),
				this.#button("ask.no_with", () => this.#denyWith()),
				this.#button("ask.edit", () => this.#edit()),
				this.#button("ask.always", () => this.#always()),
				this.#button("ask.yes", () => this.#decide({ decision: "approve" }), { class: "yes" }),
			),
			el("p", { class: "hint" }, t("ask.hint")),
		);
		this.#arm();
		this.#dialog.querySelector(".no").focus();
	}

	#denyWith() {
		const message = el("textarea", { id: "ask-message", rows: "3", value: this.#drafts.message, on: { input: () => (this.#drafts.message = message.value) } });
		const send = () => this.#decide(message.value.trim() ? { decision: "deny_with", message: message.value } : { decision: "deny" });
		this.#step("deny_with", el("label", { for: "ask-message" }, t("ask.message")), message, el("div", { class: "ask-buttons" }, this.#back(), this.#button("ask.no_send", send, { class: "no" })));
		message.focus();
	}

	#edit() {
		const check = () => {
			this.#drafts.edit = text.value;
			const found = typed(text.value);
			this.#wrong(text, "wrong" in found ? [t(`ask.wrong_${found.wrong}`, { line: found.line ?? 1, column: found.column ?? 1 })] : []);
			return found;
		};
		const text = el("textarea", { id: "ask-edit", class: "code", rows: "8", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": "ask-wrong", value: this.#drafts.edit, on: { input: check } });
		const run = () => {
			const found = check();
			if ("wrong" in found) return text.focus();
			this.#decide({ decision: "edit", arguments: found.value });
		};
		this.#step(
			"edit",
			el("label", { for: "ask-edit" }, t("ask.arguments")),
			text,
			el("div", { id: "ask-wrong", class: "wrong", role: "status" }),
			el("div", { class: "ask-buttons" }, this.#back(), this.#button("ask.run_edited", run, { class: "yes" })),
		);
		this.#arm();
		text.focus();
	}

	#always() {
		const back = this.#back();
		this.#step(
			"always",
			el("p", { id: "ask-always" }, t("ask.always_means", { tool: this.#request.tool })),
			el("div", { class: "ask-buttons", role: "group", "aria-labelledby": "ask-always" }, back, this.#button("ask.always_yes", () => this.#decide({ decision: "approve_always" }), { class: "yes" })),
		);
		this.#arm();
		announce(t("ask.always_means", { tool: this.#request.tool }), true);
		back.focus();
	}

	#back() {
		return button("ask.back", () => this.#choose());
	}

	#wrong(text, lines) {
		const list = this.#dialog.querySelector("#ask-wrong");
		list.replaceChildren(lines.length ? el("ul", {}, lines.map((line) => el("li", {}, line))) : "");
		text.setAttribute("aria-invalid", String(lines.length > 0));
	}

	#problem(text) {
		this.#dialog.querySelector(".ask-problem").textContent = text;
	}

	/** Sends a decision until it counts or is refused; to say the same twice is to say it once. */
	async #decide(decision) {
		const request = this.#request;
		const attempt = { call: request.call };
		this.#tried = attempt;
		this.#busy(true);
		const isShown = () => this.#request?.call === request.call;
		const path = `v1/approvals/${segment(request.call)}/decision`;
		const body = { digest: request.digest, ...decision };
		try {
			await persist(() => call("POST", path, { body }), { onWait: (error) => isShown() && this.#problem(waitingFor(error)) });
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

	/** The question stays open: what does not fit is said beside what was typed. */
	#misfit(error) {
		const text = this.#dialog.querySelector("#ask-edit");
		const problems = error.body.problems ?? [];
		if (!text || !problems.length) return this.#problem(failure(error));
		this.#wrong(text, problems.map(problemLine));
		text.focus();
	}

	#busy(isBusy) {
		this.#dialog?.setAttribute("aria-busy", String(isBusy));
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
			if (line.textContent !== words) line.textContent = words;
			const due = warnings.findIndex((seconds) => left() <= seconds * 1000);
			if (due >= 0) {
				warnings.splice(due, 1);
				announce(words, true);
			}
		};
		tell();
		this.#timers = [...this.#timers, setInterval(tell, 1000)];
	}
}

/** A problem of changed arguments on one line: the place within them, and the rule in the page's words where it has some. */
function problemLine({ pointer, detail, rule, expected = [], keys = [] }) {
	const place = pointer.replace(/^\/arguments/, "");
	const shown = [expected].flat().map((value) => (rule === "enum" ? write(value) : String(value)));
	const words = tOr(`rule.${rule}`, "rule.unknown", { detail, expected: shown.join(", "), keys: keys.join(", ") });
	return place ? `${place}: ${words}` : words;
}

function waitingFor(error) {
	if (error.status === 401) return t("ask.waits_sign_in");
	return t(error.status ? "ask.waits_server" : "ask.waits_network");
}
