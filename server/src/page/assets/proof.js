// The half of a login that no browser sends by itself: a cookie goes to every port of its host, and this only to ours.

import { ofBrowser } from "./storage.js";

/** What this tab sends. If another tab signs someone else in, it is refused from then on. */
let proof = null;

export const proofHeader = () => (proof ? { "madang-proof": proof } : {});

/** Whether a sign-in came after a request, so that it may succeed again. */
export const isOld = (headers) => (headers["madang-proof"] ?? null) !== proof;

/** Takes what the tabs of this origin have kept. */
export function learnProof() {
	proof = ofBrowser.get("proof");
}

export function keepProof(given) {
	proof = given;
	ofBrowser.set("proof", given);
}
