// How many questions wait, in the title and on the icon of the tab.

const ICON = new URL("icon.svg", import.meta.url).href;
const DOT = '<circle cx="24" cy="8" r="8" fill="#d97706"/></svg>';

let drawing = null;
let wanted = 0;

export async function tellWaiting(title, waiting) {
	document.title = waiting ? `(${waiting}) ${title}` : title;
	wanted = waiting;
	const link = document.querySelector("link[rel=icon]");
	if (!waiting && link.href !== ICON) link.href = ICON;
	if (!waiting) return;
	drawing ??= fetch(ICON).then((response) => response.text());
	const text = await drawing.catch(() => "");
	if (text && wanted) link.href = `data:image/svg+xml,${encodeURIComponent(text.replace("</svg>", DOT))}`;
}
