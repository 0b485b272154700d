// Builds elements. Whatever is a text becomes a text node, so no text is ever read as markup.

import { t, tOr } from "./texts.js";

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
	copy: "M7 7h9.5v9.5H7zM4 13H3.5V3.5H13V4",
	edit: "M4 16l.8-3.4L13.5 4 16 6.5l-8.6 8.7z",
	again: "M15.5 8A6 6 0 1 0 16 11.5M15.8 4v4h-4",
	more: "M4.5 10h.1M10 10h.1M15.4 10h.1",
	inbox: "M3.5 11 5.5 4.5h9L16.5 11v4.5h-13zM3.5 11h4l1 2h3l1-2h4",
};

const IS_PROPERTY = new Set(["value", "disabled", "checked", "hidden", "open", "selected", "readOnly"]);

/**
 * Makes an element, such as `"p.aside"`. Of its optional properties, `on` has listeners by type, `class` may be a list, and
 * what is missing or false sets nothing.
 */
export function el(name, ...given) {
	const [tag, ...classes] = name.split(".");
	const node = document.createElement(tag);
	const props = given[0]?.constructor === Object ? given.shift() : {};
	const all = [...classes, props.class].flat().filter(Boolean);
	if (all.length) node.className = all.join(" ");
	for (const [name, value] of Object.entries(props)) {
		if (name === "class" || value === undefined || value === null || value === false) continue;
		if (name === "on") for (const [type, hear] of Object.entries(value)) node.addEventListener(type, hear);
		else if (IS_PROPERTY.has(name)) node[name] = value;
		else node.setAttribute(name, value === true ? "" : String(value));
	}
	if (tag === "button" && !props.type) node.type = tag;
	node.append(...given.flat(3).filter((child) => child !== undefined && child !== null && child !== false));
	return node;
}

export function icon(name) {
	const svg = document.createElementNS(SVG, "svg");
	svg.setAttribute("viewBox", "0 0 20 20");
	svg.setAttribute("class", "icon");
	svg.ariaHidden = "true";
	const path = document.createElementNS(SVG, "path");
	path.setAttribute("d", ICONS[name]);
	svg.append(path);
	return svg;
}

export function button(key, press, props, values) {
	return el("button", { ...props, on: { click: press } }, t(key, values));
}

export function iconButton(name, key, press, props) {
	return el("button", { "aria-label": t(key), title: t(key), ...props, class: ["plain", "square", props?.class], on: { click: press } }, icon(name));
}

/** Writes other words. The same words stay, so that nobody hears them twice. */
export function put(node, words) {
	if (node.textContent !== words) node.textContent = words;
}

export function modal(props, ...children) {
	const dialog = el("dialog", props, children);
	dialog.addEventListener("close", () => dialog.remove());
	document.body.append(dialog);
	dialog.showModal();
	return dialog;
}

/** Puts nodes into a parent. Those in their place are not moved, and keep focus and selection. */
export function arrange(parent, nodes) {
	let at = parent.firstChild;
	for (const node of nodes) {
		if (node === at) at = at.nextSibling;
		else parent.insertBefore(node, at);
	}
	while (at?.nextSibling) at.nextSibling.remove();
	at?.remove();
}

export const isComposing = (event) => event.isComposing || event.keyCode === 229;

/** The language of a text by its letters; none if it is the page's. */
export function languageOf(text, page) {
	const isOther = page === "ko" && /\p{Script=Latin}{2}/u.test(text);
	const found = /\p{Script=Hangul}/u.test(text) ? "ko" : isOther ? "en" : null;
	return found === page ? null : found;
}

export function announce(text, isUrgent = false) {
	const region = document.getElementById(isUrgent ? "urgent" : "polite");
	if (!region || !text) return;
	// Old lines go, so that the page does not grow.
	while (region.childElementCount > 4) region.firstChild.remove();
	region.append(el("p", text));
}

export async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
		toast(t("act.copied"));
	} catch {
		toast(t("act.not_copied"));
	}
}

/** On a touch screen no keys are hinted at. */
export const isTouched = () => matchMedia("(pointer: coarse)").matches;

/** Shows a sentence for a while, and reads it out. */
export function toast(text) {
	const region = document.getElementById("toasts");
	if (!region) return;
	const note = el("p.toast", text);
	region.append(note);
	setTimeout(() => note.remove(), 8000);
}

/** Milliseconds in which a key or click was not meant for a new question. */
export const ARMING = 700;

/** Asks once more in the words of a room, above an optional field. */
export function confirmed(room, values, field) {
	return new Promise((resolve) => {
		const end = (value) => () => dialog.close(value);
		const yes = el("button.yes", { disabled: true, on: { click: end("yes") } }, tOr(`${room}.yes`, `menu.${room}`, values));
		const no = el("button.no", { autofocus: true, on: { click: end("no") } }, tOr(`${room}.no`, "menu.cancel", values));
		field?.addEventListener("keydown", (event) => {
			if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
			// Or else the key presses what is behind the dialog, too.
			event.preventDefault();
			yes.click();
		});
		const dialog = modal(
			{ class: "small", role: "alertdialog", "aria-labelledby": "sure-title", "aria-describedby": "sure-text", on: { close: () => resolve(dialog.returnValue === "yes") } },
			el("h2", { id: "sure-title" }, t(`${room}.title`, values)),
			el("p", { id: "sure-text" }, t(`${room}.text`, values)),
			field,
			el("div.ask-buttons", no, yes),
		);
		field?.focus();
		setTimeout(() => (yes.disabled = false), ARMING);
	});
}
