// The ledger of a chat: every call with what became of it, whether the chain holds, what is allowed without a
// question, and what a person finds out about an unknown effect.

import { call, segment } from "./api.js";
import { announce, button, el, icon } from "./dom.js";
import { failure, json, resolver, stateOfRow } from "./entries.js";
import { clock, t, tOr } from "./texts.js";

const PAGE = 100;
const NOTHING = "–";
const FILTERS = ["all", "asked", "error", "unknown"];

const BELONGS = {
	all: () => true,
	asked: (row) => Boolean(row.shown),
	error: (row) => row.outcome !== null && row.outcome?.status !== "ok",
	unknown: (row) => row.effect === "unknown",
};

export class LedgerView {
	#app;
	#session;
	#rows = [];
	#next = null;
	#filter = "all";
	#tool = "";
	#resolving = null;
	#off = new AbortController();

	constructor(app, session) {
		this.#app = app;
		this.#session = session;
		this.#body = el("div", { class: "rows" });
		this.#standing = el("div", {});
		this.#proof = el("div", { class: "proof", role: "status" });
		const filters = FILTERS.map((name) => el("button", { type: "button", "aria-pressed": String(name === "all"), "data-filter": name, on: { click: () => this.#choose(name) } }, t(`ledger.filter_${name}`)));
		const tool = el("input", { type: "search", id: "tool", placeholder: t("ledger.tool_filter"), "aria-label": t("ledger.tool_filter"), on: { input: () => {
			this.#tool = tool.value.trim().toLowerCase();
			this.#draw();
		} } });
		this.node = el(
			"section",
			{ class: "page" },
			el(
				"div",
				{ class: "scroll", tabindex: "0" },
				el(
					"div",
					{ class: ["sheet", "broad"] },
					el("p", { class: "lead" }, t("ledger.lead"), " ", el("a", { href: `#/s/${segment(session)}` }, t("ledger.back"))),
					this.#standing,
					el("div", { class: "tools" }, el("div", { class: "filters", role: "group", "aria-label": t("ledger.filters") }, filters), tool),
					this.#body,
					this.#verifier(),
				),
			),
		);
		this.#load();
		this.#loadStanding();
	}

	#body;
	#standing;
	#proof;

	end() {
		this.#off.abort();
	}

	focus() {
		this.node.querySelector(".scroll").focus();
	}

	/** A call ended or was resolved: what is shown is read again, unless a person is at work in it. */
	refresh() {
		if (this.#body.contains(document.activeElement)) return;
		this.#next = null;
		this.#load();
		this.#loadStanding();
	}

	async #load() {
		const after = this.#next ? `&after=${segment(this.#next)}` : "";
		try {
			const { calls, next } = await call("GET", `v1/ledger?session=${segment(this.#session)}&limit=${PAGE}${after}`, { signal: this.#off.signal });
			const known = new Set(calls.map((row) => row.call));
			this.#rows = [...this.#rows.filter((row) => !known.has(row.call)), ...calls];
			this.#next = next;
			this.#draw();
		} catch (error) {
			if (!this.#off.signal.aborted) this.#body.replaceChildren(this.#failed(error, () => this.#load()));
		}
	}

	#failed(error, again) {
		const words = failure(error);
		return el("div", { class: "empty", role: "alert" }, el("p", {}, words), button("state.try_now", again));
	}

	async #choose(name) {
		this.#filter = name;
		for (const button of this.node.querySelectorAll("[data-filter]")) button.setAttribute("aria-pressed", String(button.dataset.filter === name));
		// Unknown effects may lie behind what was loaded.
		if (name === "unknown" && this.#next) {
			const calls = await this.#all(`v1/sessions/${segment(this.#session)}/unresolved`, "calls");
			const known = new Set(this.#rows.map((row) => row.call));
			this.#rows.push(...calls.filter((row) => !known.has(row.call)));
		}
		this.#draw();
		announce(t("ledger.count", { count: this.#visible().length }));
	}

	#visible() {
		return this.#rows.filter((row) => BELONGS[this.#filter](row) && row.name.toLowerCase().includes(this.#tool));
	}

	#draw() {
		const rows = this.#visible();
		if (!rows.length) {
			this.#body.replaceChildren(el("div", { class: "empty" }, el("p", {}, t(this.#rows.length ? "ledger.none_of_these" : "ledger.empty"))));
			return;
		}
		const columns = ["time", "tool", "arguments", "asked", "decided", "outcome", "effect", "resolved"];
		const head = el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, t(`ledger.${name}`)))));
		const table = el("table", { "aria-label": t("ledger.title") }, head, el("tbody", {}, rows.map((row) => this.#row(row))));
		const more = this.#next && button("ledger.more", () => this.#load());
		this.#body.replaceChildren(el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": t("ledger.title") }, table), more ?? "");
	}

	#row(row) {
		// The effect has a column of its own.
		const { words, symbol, is, why } = stateOfRow({ ...row, effect: null });
		const approval = row.approval && tOr(`approval.${row.approval.kind}`, "approval.once");
		const cell = (name, ...children) => el("td", { "data-label": t(`ledger.${name}`) }, children);
		return el(
			"tr",
			{ "data-call": row.call },
			cell("time", el("time", { datetime: new Date(row.proposed_at).toISOString() }, clock(row.proposed_at))),
			cell("tool", el("code", {}, row.name)),
			cell("arguments", this.#arguments(row)),
			cell("asked", t(row.shown ? "ask.yes" : "ask.no")),
			cell("decided", row.decided_by ?? NOTHING, approval && el("span", { class: "aside" }, approval)),
			cell("outcome", el("span", { class: ["outcome", is] }, icon(symbol), words), why && el("span", { class: "aside" }, why)),
			cell("effect", row.effect ? t(`effect.${row.effect}`) : NOTHING),
			cell("resolved", this.#resolution(row)),
		);
	}

	#arguments(row) {
		const parts = [json(row.arguments)];
		if (row.asked !== undefined) parts.push(el("p", { class: "aside" }, t("call.asked_with")), json(row.asked));
		return el("details", {}, el("summary", {}, t("ledger.show")), parts);
	}

	/** Who found out what an unknown effect was; or two buttons, each with a second step. */
	#resolution(row) {
		if (row.resolved_by) return [resolver(row.resolved_by), row.resolved_at && el("span", { class: "aside" }, clock(row.resolved_at))];
		if (row.effect !== "unknown") return NOTHING;
		if (!this.#app.canDecide) return t("ledger.no_scope");
		if (this.#resolving?.call !== row.call) {
			const choose = (effect) => () => {
				this.#resolving = { call: row.call, effect };
				this.#draw();
				this.node.querySelector(".sure button").focus();
			};
			return el("div", { class: "resolve" }, button("ledger.it_did", choose("committed")), button("ledger.it_did_not", choose("none")));
		}
		const { effect } = this.#resolving;
		const back = () => {
			this.#resolving = null;
			this.#draw();
			this.node.querySelector(`[data-call="${CSS.escape(row.call)}"] .resolve button`)?.focus();
		};
		return el(
			"div",
			{ class: ["resolve", "sure"], role: "group", "aria-label": t(`ledger.sure_${effect}`) },
			el("p", {}, t(`ledger.sure_${effect}`)),
			button("ask.back", back),
			button("ledger.record", (event) => this.#resolve(row, effect, event.target), { class: "yes" }),
		);
	}

	async #resolve(row, effect, button) {
		button.disabled = true;
		try {
			const resolved = await call("POST", `v1/calls/${segment(row.call)}/resolve`, { body: { effect } });
			Object.assign(row, resolved);
			announce(t("ledger.recorded"));
		} catch (error) {
			announce(failure(error), true);
			// Another person may have been quicker: the row says so.
			if (error.name === "not-unknown") Object.assign(row, await call("GET", `v1/calls/${segment(row.call)}`).catch(() => ({})));
		}
		this.#resolving = null;
		this.#draw();
		this.node.querySelector(".scroll").focus();
	}

	/** Reads all pages of a list, as far as they can be read. */
	async #all(path, list) {
		const found = [];
		let next = null;
		do {
			const page = await call("GET", next ? `${path}?after=${segment(next)}` : path, { signal: this.#off.signal }).catch(() => ({ [list]: [] }));
			found.push(...page[list]);
			next = page.next;
		} while (next);
		return found;
	}

	async #loadStanding() {
		const path = `v1/sessions/${segment(this.#session)}/standing-approvals`;
		const held = await this.#all(path, "standing_approvals");
		if (!held.length) return this.#standing.replaceChildren();
		const revoke = (tool) => async () => {
			await call("DELETE", `${path}/${segment(tool)}`).catch((error) => announce(failure(error), true));
			announce(t("standing.revoked", { tool }));
			await this.#loadStanding();
			this.node.querySelector(".scroll").focus();
		};
		const rows = held.map((one) => el("li", {}, el("p", {}, el("code", {}, one.tool), " ", el("span", { class: "aside" }, t("standing.until", { time: clock(one.until), uses: one.uses }))), this.#app.canDecide && el("button", { type: "button", "aria-label": t("standing.revoke_named", { tool: one.tool }), on: { click: revoke(one.tool) } }, t("standing.revoke"))));
		this.#standing.replaceChildren(el("h2", {}, t("standing.title")), el("ul", { class: "questions" }, rows));
	}

	#verifier() {
		const head = el("input", { id: "head", class: "code", autocomplete: "off", spellcheck: "false", "aria-describedby": "head-hint" });
		const verify = async (event) => {
			event.preventDefault();
			const kept = head.value.trim();
			try {
				const found = await call("GET", `v1/sessions/${segment(this.#session)}/ledger/verify${kept ? `?head=${segment(kept)}` : ""}`);
				this.#proof.replaceChildren(
					el("p", { class: "ok" }, icon("check"), t("ledger.holds", { calls: found.calls, transitions: found.transitions })),
					kept ? el("p", {}, t("ledger.vouched", { count: found.vouched_for })) : "",
					el("p", {}, t("ledger.head"), " ", el("code", {}, found.head)),
				);
			} catch (error) {
				this.#proof.replaceChildren(el("p", { class: "bad" }, icon("warn"), failure(error)));
			}
		};
		return el(
			"form",
			{ class: "verify", on: { submit: verify } },
			el("h2", {}, t("ledger.verify_title")),
			el("label", { for: "head" }, t("ledger.kept_head")),
			el("div", { class: "tools" }, head, el("button", { type: "submit" }, t("ledger.verify"))),
			el("p", { id: "head-hint", class: "hint" }, t("ledger.verify_hint")),
			this.#proof,
		);
	}
}
