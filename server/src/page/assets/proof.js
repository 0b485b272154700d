// The half of a login that no browser sends by itself. The cookie goes to every port of its host; this goes to our own alone.

const NAME = "madang.proof";

/** What the requests of this tab bring. It stays when another tab signs someone else in: then they count no more. */
let proof = null;

export const proofHeader = () => (proof ? { "madang-proof": proof } : {});

/** Tells whether a sign-in came since a request was made, so that it may count if it is made again. */
export const isOld = (headers) => (headers["madang-proof"] ?? null) !== proof;

/** Takes what the tabs of this origin have kept. */
export function learnProof() {
	try {
		proof = localStorage.getItem(NAME);
	} catch {
		// Where storage is forbidden, a login is that of one tab.
	}
}

/** Keeps the half of a new login, or of none. */
export function keepProof(given) {
	proof = given;
	try {
		if (given) localStorage.setItem(NAME, given);
		else localStorage.removeItem(NAME);
	} catch {
		// As above.
	}
}
