// What the server offers beside chats: models, and sentences to begin with.

import { call } from "./api.js";
import { ofBrowser } from "./storage.js";

export const offers = { models: [], suggestions: {} };

export async function askOffers() {
	const [models, found] = await Promise.all(["models", "suggestions"].map((name) => call("GET", `v1/${name}`).catch(() => ({}))));
	offers.models = (models.data ?? []).map(({ id }) => id);
	offers.suggestions = found.suggestions ?? {};
}

/** The model that a person chose, unless it is the first, which is the server's choice. */
export const chosenModel = () => offers.models.slice(1).find((name) => name === ofBrowser.get("model"));
