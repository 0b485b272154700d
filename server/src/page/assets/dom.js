// Builds elements. Whatever is a text becomes a text node, so no text is ever read as markup.

import { t } from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";

const ICONS = {
	menu: "M3 5.5h14M3 10h14M3 14.5h14",
	plus: "M10 4v12M4 10h12",
	send: "M10 16V4.5M5 9l5-5 5 5",
	stop: "M6 6h8v8H6z",
	check: "M4.5 10.5l3.5 3.5 7.5-8",
	cross: "M5.5 5.5l9 9M14.5 5.5l-9 9",
	ask: "M7.5 7.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M10 14.3v.2",
	warn: "M10 3.5 17 16H3zM10 8.5v3.5M10 13.9v.2",
	work: "M10 3v3M10 14v3M3 10h3M14 10h3M5 5l2 2M13 13l2 2M5 15l2-2M13 7l2-2",
	down: "M5 8l5 5 5-5",
	ledger: "M5 3.5h10v13H5zM8 7h4M8 10h4M8 13h2",
	inbox: "M3.5 11 5.5 4.5h9L16.5 11v4.5h-13zM3.5 11h4l1 2h3l1-2h4",
};

const IS_PROPERTY = new Set(["value", "disabled", "checked", "hidden", "open", "selected", "readOnly"]);

/** Makes an element. `on` has listeners by type, `class` may be a list, and what is missing or false sets nothing. */
export function el(tag, props, ...children) {
	const node = document.createElement(tag);
	for (const [name, value] of Object.entries(props ?? {})) {
		if (value === undefined || value === null || value === false) continue;
		if (name === "on") for (const [type, hear] of Object.entries(value)) node.addEventListener(type, hear);
		else if (name === "class") node.className = Array.isArray(value) ? value.filter(Boolean).join(" ") : value;
		else if (IS_PROPERTY.has(name)) node[name] = value;
		else node.setAttribute(name, value === true ? "" : String(value));
	}
	node.append(...children.flat(3).filter((child) => child !== undefined && child !== null && child !== false));
	return node;
}

/** Makes an icon; it says nothing, so its button has a name in words. */
export function icon(name) {
	const svg = document.createElementNS(SVG, "svg");
	for (const [key, value] of Object.entries({ viewBox: "0 0 20 20", class: "icon", "aria-hidden": "true", focusable: "false" })) svg.setAttribute(key, value);
	const path = document.createElementNS(SVG, "path");
	path.setAttribute("d", ICONS[name]);
	svg.append(path);
	return svg;
}

export function button(key, press, props) {
	return el("button", { type: "button", ...props, on: { click: press } }, t(key));
}

export function iconButton(name, label, props) {
	return el("button", { type: "button", "aria-label": label, title: label, ...props, class: ["plain", "square", props?.class] }, icon(name));
}

/** Gives nodes to a parent and moves none that is at its place, so that focus and selection stay. */
export function arrange(parent, nodes) {
	let at = parent.firstChild;
	for (const node of nodes) {
		if (node === at) at = at.nextSibling;
		else parent.insertBefore(node, at);
	}
	while (at) {
		const next = at.nextSibling;
		at.remove();
		at = next;
	}
}

/** Whether a key is a part of composing a letter, and so means nothing else. */
export const isComposing = (event) => event.isComposing || event.keyCode === 229;

/** Guesses the language of a text by its letters; none where it is that of the page. */
export function languageOf(text, page) {
	let found = null;
	if (/\p{Script=Hangul}/u.test(text)) found = "ko";
	else if (page === "ko" && /\p{Script=Latin}{2}/u.test(text)) found = "en";
	return found === page ? null : found;
}

/** Tells readers of a screen something, without moving the focus. */
export function announce(text, isUrgent = false) {
	const region = document.getElementById(isUrgent ? "urgent" : "polite");
	if (!region || !text) return;
	// Old lines go, so that the page does not grow; each new one is an addition, and so is read.
	while (region.childElementCount > 4) region.firstChild.remove();
	region.append(el("p", {}, text));
}

/** Shows a sentence for a while, and reads it out; what it says stands elsewhere too. */
export function toast(text) {
	const region = document.getElementById("toasts");
	if (!region) return;
	const note = el("p", { class: "toast" }, text);
	region.append(note);
	setTimeout(() => note.remove(), 8000);
}

/** A key or click that was on its way when a question came up is none for it. */
export const ARMING = 700;

/** Asks once more before something that cannot be taken back, in the words of a room; gives whether it may be. */
export function confirmed(room, values) {
	return new Promise((resolve) => {
		const end = (value) => () => dialog.close(value);
		const yes = el("button", { type: "button", class: "yes", disabled: true, on: { click: end("yes") } }, t(`${room}.yes`, values));
		const no = el("button", { type: "button", class: "no", autofocus: true, on: { click: end("no") } }, t(`${room}.no`, values));
		const dialog = el(
			"dialog",
			{ class: "small", role: "alertdialog", "aria-labelledby": "sure-title", "aria-describedby": "sure-text" },
			el("h2", { id: "sure-title" }, t(`${room}.title`, values)),
			el("p", { id: "sure-text" }, t(`${room}.text`, values)),
			el("div", { class: "ask-buttons" }, no, yes),
		);
		dialog.addEventListener("close", () => {
			dialog.remove();
			resolve(dialog.returnValue === "yes");
		});
		document.body.append(dialog);
		dialog.showModal();
		setTimeout(() => (yes.disabled = false), ARMING);
	});
}
