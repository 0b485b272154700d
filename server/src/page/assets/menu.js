// What is done with a whole chat: it is renamed, saved as a file, cleared, deleted.

import { call, pathOf } from "./api.js";
import { button, confirmed, el, iconButton, toast } from "./dom.js";
import { failure } from "./entries.js";
import { t } from "./texts.js";

export function chatMenu(app, id, clear) {
	const path = pathOf(id);
	const tried = (act) => () => {
		// So that a dialog gives the focus back to the menu.
		list.hidePopover();
		act().catch((error) => toast(failure(error)));
	};
	const rename = async () => {
		const field = el("input", { maxlength: "80", value: app.titleOf(id), "aria-label": t("rename.title") });
		if (!(await confirmed("rename", {}, field))) return;
		const { title } = await call("PATCH", path, { body: { title: field.value.trim() || null } });
		app.renamed(id, title);
	};
	const save = (format, end) => async () => {
		const text = await call("GET", `${path}/export?format=${format}`, { isText: true });
		const address = URL.createObjectURL(new Blob([text]));
		el("a", { href: address, download: `${app.titleOf(id)}.${end}` }).click();
		URL.revokeObjectURL(address);
	};
	const remove = async () => {
		if (!(await confirmed("delete", { title: app.titleOf(id) }))) return;
		await call("DELETE", path);
		app.deleted(id);
	};
	const acts = { rename, markdown: save("markdown", "md"), json: save("json", "json"), clear, delete: remove };
	const list = el("div", { id: "chat-menu", popover: true, class: "list" }, Object.entries(acts).map(([name, act]) => button(`menu.${name}`, tried(act), { class: "plain" })));
	return [iconButton("more", "menu.open", null, { popovertarget: "chat-menu" }), list];
}
