// Signing in: by a token from the address or a form, which is kept nowhere.

import { call, persist } from "./api.js";
import { el, icon } from "./dom.js";
import { failure } from "./entries.js";
import { keepProof } from "./proof.js";
import { ofTab } from "./storage.js";
import { t } from "./texts.js";

/** Takes the token out of the address and the history. */
export function takeToken() {
	const token = new URLSearchParams(location.hash.slice(1)).get("token");
	if (!token) return null;
	history.replaceState(null, "", location.pathname + location.search);
	return token;
}

/** Whether a person asked for this page, and no page of another site. */
export const isByPerson = () => document.documentElement.dataset.opened === "person";

/** Asks until the server answers, also that it does not know this browser or token. */
export function whoAmI(token) {
	const asked = () => call("GET", "v1/me", { token }).catch((error) => {
		if (error.status === 401 || (token && error.status < 500)) return null;
		throw error;
	});
	return persist(asked);
}

/** Loads the page again for another user: nothing written before is sent in that name. */
export function beginAnew(user) {
	ofTab.clear();
	ofTab.set("user", user);
	history.replaceState(null, "", location.pathname + location.search);
	location.reload();
}

export class LoginView {
	#field = el("input", { id: "token", name: "token", type: "password", autocomplete: "current-password", required: true, "aria-describedby": "login-hint login-problem" });
	#problem = el("p", { id: "login-problem", class: "ask-problem", role: "alert" });
	#button = el("button.yes", { type: "submit" }, t("login.go"));

	constructor({ isExpired, onDone }) {
		this.#onDone = onDone;
		this.node = el(
			"section.login",
			el(
				"form",
				{ on: { submit: (event) => (event.preventDefault(), this.go()) } },
				el("h1", t("app.name")),
				el("p", isExpired ? [icon("warn"), t("login.expired")] : t("login.lead")),
				el("label", { for: "token" }, t("login.token")),
				this.#field,
				el("p.hint", { id: "login-hint" }, t("login.hint")),
				this.#problem,
				this.#button,
			),
		);
	}

	#onDone;

	focus() {
		this.#field.focus();
	}

	async go(given) {
		if (given) this.#field.value = given;
		const token = this.#field.value.trim();
		if (!token) return;
		this.#button.disabled = true;
		this.#problem.textContent = "";
		try {
			const { proof } = await call("POST", "v1/login", { body: { token } });
			keepProof(proof);
			this.#field.value = "";
			this.#onDone();
		} catch (error) {
			this.#problem.textContent = failure(error);
			this.focus();
		} finally {
			this.#button.disabled = false;
		}
	}
}
