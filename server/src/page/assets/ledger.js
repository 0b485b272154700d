// The ledger of a chat: its calls, whether the chain is intact, what runs without a question, and unknown effects that a
// person resolves.

import { call, linkTo, pathOf, segment } from "./api.js";
import { announce, button, el, icon } from "./dom.js";
import { callCard, detail, failure } from "./entries.js";
import { clock, t } from "./texts.js";

const BELONGS = {
	all: () => true,
	asked: (row) => Boolean(row.shown),
	error: (row) => row.outcome !== null && row.outcome?.status !== "ok",
	unknown: (row) => row.effect === "unknown",
};

export class LedgerView {
	#app;
	#session;
	#rows = new Map();
	#next = null;
	#filter = "all";
	#tool = "";
	#resolving = null;
	#off = new AbortController();
	#body = el("div.rows");
	#standing = el("div");
	#proof = el("div.proof", { role: "status" });

	constructor(app, session) {
		this.#app = app;
		this.#session = session;
		const filters = Object.keys(BELONGS).map((name) => button(`ledger.filter_${name}`, () => this.#choose(name), { "aria-pressed": String(name === "all"), "data-filter": name }));
		const tool = el("input", { type: "search", id: "tool", placeholder: t("ledger.tool_filter"), "aria-label": t("ledger.tool_filter"), on: { input: () => {
			this.#tool = tool.value.trim().toLowerCase();
			this.#draw();
		} } });
		this.node = el(
			"section.page",
			el(
				"div.scroll",
				{ tabindex: "0" },
				el(
					"div.sheet",
					el("p.lead", t("ledger.lead"), " ", el("a", { href: linkTo(session) }, t("ledger.back"))),
					this.#standing,
					el("div.tools", el("div.filters", { role: "group", "aria-label": t("ledger.filters") }, filters), tool),
					this.#body,
					this.#verifier(),
				),
			),
		);
		this.#load();
		this.#loadStanding();
	}

	end() {
		this.#off.abort();
	}

	focus() {
		this.node.querySelector(".scroll").focus();
	}

	/** Reads again what is shown, unless a person is at work here. */
	refresh() {
		if (this.#body.contains(document.activeElement)) return;
		this.#load(null, this.#rows.size);
		this.#loadStanding();
	}

	/** Reads the calls after a cursor: a page, and more pages until these are as many. */
	async #load(next = this.#next, least = 1) {
		try {
			do {
				const after = next ? `&after=${segment(next)}` : "";
				const page = await call("GET", `v1/ledger?session=${segment(this.#session)}${after}`, { signal: this.#off.signal });
				this.#add(page.calls);
				least -= page.calls.length;
				next = page.next;
			} while (next && least > 0);
			// A deleted chat has none.
			if (!this.#rows.size) await call("GET", pathOf(this.#session));
			this.#next = next;
			this.#draw();
		} catch (error) {
			if (!this.#off.signal.aborted) this.#body.replaceChildren(el("div.empty", { role: "alert" }, el("p", failure(error)), button("state.try_now", () => this.#load())));
		}
	}

	#add(calls) {
		for (const row of calls) this.#rows.set(row.call, row);
	}

	async #choose(name) {
		this.#filter = name;
		for (const button of this.node.querySelectorAll("[data-filter]")) button.ariaPressed = button.dataset.filter === name;
		// Unknown effects may come after what was loaded.
		if (name === "unknown" && this.#next) this.#add(await this.#all(`${pathOf(this.#session)}/unresolved`, "calls"));
		this.#draw();
		announce(t("ledger.count", { count: this.#visible().length }));
	}

	#visible() {
		const rows = [...this.#rows.values()].filter((row) => BELONGS[this.#filter](row) && row.name.toLowerCase().includes(this.#tool));
		return rows.sort((one, other) => one.proposed_at - other.proposed_at);
	}

	#draw() {
		const rows = this.#visible();
		if (!rows.length) return this.#body.replaceChildren(el("div.empty", el("p", t(this.#rows.size ? "ledger.none_of_these" : "ledger.empty"))));
		const more = this.#next && button("ledger.more", () => this.#load());
		this.#body.replaceChildren(...rows.map((row) => this.#row(row)), more ?? "");
	}

	#row(row) {
		const node = callCard(row, this.#resolution(row), [
			detail("ledger.time", clock(row.proposed_at)),
			detail("ledger.asked", t(row.shown ? "ask.yes" : "ask.no")),
			row.decided_by && detail("ledger.decided", row.decided_by),
		]);
		node.dataset.call = row.call;
		return node;
	}

	/** Two buttons for an effect that is unknown, each with a second step. */
	#resolution(row) {
		if (row.effect !== "unknown") return null;
		if (!this.#app.canDecide) return t("ledger.no_scope");
		if (this.#resolving?.call !== row.call) {
			const choose = (effect) => () => {
				this.#resolving = { call: row.call, effect };
				this.#draw();
				this.node.querySelector(".sure button").focus();
			};
			return el("div.resolve", button("ledger.it_did", choose("committed")), button("ledger.it_did_not", choose("none")));
		}
		const { effect } = this.#resolving;
		const back = () => {
			this.#resolving = null;
			this.#draw();
			this.node.querySelector(`[data-call="${CSS.escape(row.call)}"] .resolve button`)?.focus();
		};
		return el(
			"div.resolve.sure",
			{ role: "group", "aria-label": t(`ledger.sure_${effect}`) },
			el("p", t(`ledger.sure_${effect}`)),
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
			// Another person may have been quicker.
			if (error.name === "not-unknown") Object.assign(row, await call("GET", `v1/calls/${segment(row.call)}`).catch(() => ({})));
		}
		this.#resolving = null;
		this.#draw();
		this.focus();
	}

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
		const path = `${pathOf(this.#session)}/standing-approvals`;
		const held = await this.#all(path, "standing_approvals");
		if (!held.length) return this.#standing.replaceChildren();
		const revoke = (tool) => async () => {
			await call("DELETE", `${path}/${segment(tool)}`).catch((error) => announce(failure(error), true));
			announce(t("standing.revoked", { tool }));
			await this.#loadStanding();
			this.focus();
		};
		const rows = held.map((one) => el("li", el("p", el("code", one.tool), " ", el("span.aside", t("standing.until", { time: clock(one.until), uses: one.uses }))), this.#app.canDecide && button("standing.revoke", revoke(one.tool), { "aria-label": t("standing.revoke_named", { tool: one.tool }) })));
		this.#standing.replaceChildren(el("h2", t("standing.title")), el("ul.questions", rows));
	}

	#verifier() {
		const head = el("input", { id: "head", class: "code", autocomplete: "off", spellcheck: "false", "aria-describedby": "head-hint" });
		const verify = async (event) => {
			event.preventDefault();
			const kept = head.value.trim();
			try {
				const found = await call("GET", `${pathOf(this.#session)}/ledger/verify${kept ? `?head=${segment(kept)}` : ""}`);
				this.#proof.replaceChildren(
					el("p.ok", icon("check"), t("ledger.holds", { calls: found.calls, transitions: found.transitions })),
					kept ? el("p", t("ledger.vouched", { count: found.vouched_for })) : "",
					el("p", t("ledger.head"), " ", el("code", found.head)),
				);
			} catch (error) {
				this.#proof.replaceChildren(el("p.bad", icon("warn"), failure(error)));
			}
		};
		return el(
			"form.verify",
			{ on: { submit: verify } },
			el("h2", t("ledger.verify_title")),
			el("label", { for: "head" }, t("ledger.kept_head")),
			el("div.tools", head, el("button", { type: "submit" }, t("ledger.verify"))),
			el("p.hint", { id: "head-hint" }, t("ledger.verify_hint")),
			this.#proof,
		);
	}
}
