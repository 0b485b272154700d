// What this browser keeps, for a tab or for all. If storage is full or forbidden, the page works without it.

const tried = (act) => {
	try {
		return act();
	} catch {
		return null;
	}
};

const place = (storage) => ({
	get: (name) => tried(() => storage().getItem(`madang.${name}`)),
	/** Keeps a text, or removes it if it is null. */
	set: (name, text) => tried(() => (text === null ? storage().removeItem(`madang.${name}`) : storage().setItem(`madang.${name}`, text))),
	clear: () => tried(() => storage().clear()),
});

export const ofTab = place(() => sessionStorage);
export const ofBrowser = place(() => localStorage);
