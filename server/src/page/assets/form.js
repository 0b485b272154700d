// Arguments that a person changes: in fields made of the schema of the tool, or as one text.

import { el } from "./dom.js";
import { editable, typed, visible } from "./editable.js";
import { Exact, write } from "./json.js";
import { t } from "./texts.js";

const MAX_FIELDS = 24;
const WHOLE = new Set(["type", "properties", "required", "additionalProperties", "title", "description", "$schema"]);

/** The name of an argument as people write it: `page_id` and `pageId` are "Page id". */
export function nameOf(key) {
	const words = visible(key).replace(/[_-]+/g, " ").replace(/([a-z\d])([A-Z])/g, (_, end, begin) => `${end} ${begin.toLowerCase()}`);
	return words.charAt(0).toUpperCase() + words.slice(1);
}

const isPlain = (value) => typeof value === "string" && visible(value) === value;
const isNumber = (value) => typeof value === "number" || value instanceof Exact;
const number = (text) => {
	const { value } = typed(`{"value":${text}}`);
	return isNumber(value?.value) ? value.value : NaN;
};
const lines = (text) => text.split("\n").filter(Boolean);
const areLines = (value) => Array.isArray(value) && isPlain(value.join("\n")) && write(lines(value.join("\n"))) === write(value);

/** Each type: whether a field shows a value, and the value of a text. NaN is none. */
const TYPES = { string: [isPlain, String], integer: [isNumber, number], number: [isNumber, number], array: [areLines, lines] };

/** A rule without the choice of null. */
function single(rule) {
	const ways = (rule.anyOf ?? rule.oneOf)?.filter((way) => way.type !== "null");
	if (!ways) return rule;
	return ways.length === 1 ? ways[0] : { enum: ways.every((way) => "const" in way) ? ways.map((way) => way.const) : [] };
}

function fieldOf(name, given, rule, required) {
	const [type, ...others] = [rule.type ?? []].flat().filter((one) => one !== "null");
	const options = type === "boolean" ? [false, true] : rule.enum?.filter((one) => one !== null);
	const id = `at-${name}`;
	const isGiven = (given ?? null) !== null;
	// What nobody touched stays what it was.
	const made = (field, was, read) => ({ name, field, type, value: () => (field.value === was ? given : read(field.value)) });
	if (options) {
		const chosen = options.findIndex((one) => write(one) === write(given));
		if (!options.length || (chosen < 0 && isGiven)) return null;
		const choices = options.map((one, at) => el("option", { value: String(at), selected: at === chosen }, type === "boolean" ? t(one ? "ask.yes" : "ask.no") : isPlain(one) ? one : write(one)));
		const field = el("select", { id, required }, (!required || chosen < 0) && el("option", { value: "-1" }, "–"), choices);
		return made(field, String(chosen), (at) => options[at]);
	}
	const [shows, parse] = TYPES[type] ?? [];
	if (!shows || others.length || (isGiven && !shows(given)) || (parse === lines && rule.items?.type !== "string")) return null;
	const was = [given ?? ""].flat().join("\n");
	const field = el("textarea", { id, required, rows: "1", inputmode: parse === number && "decimal", value: was });
	return made(field, was, (text) => (text || required ? parse(text) : undefined));
}

/** Fields for arguments; null if one of them has no field. */
export function fieldsOf(schema, given) {
	const rules = Object.entries(schema?.properties ?? {});
	const values = new Map(Object.entries(given));
	const isKnown = [...values.keys()].every((key) => rules.some(([name]) => name === key)) && Object.keys(schema ?? {}).every((key) => WHOLE.has(key));
	if (!isKnown || !rules.length || rules.length > MAX_FIELDS) return null;
	const fields = rules.map(([name, rule]) => fieldOf(name, values.get(name), single(rule), Boolean(schema.required?.includes(name))));
	if (fields.includes(null)) return null;
	const mark = (names) => fields.forEach(({ name, field }) => (field.ariaInvalid = names.includes(name)));
	const check = () => {
		const found = fields.map((field) => [field.name, field.value()]);
		const wrong = fields.filter((_, at) => Number.isNaN(found[at][1]));
		mark(wrong.map(({ name }) => name));
		return wrong.length ? { wrong: wrong.map(({ name, type }) => `${nameOf(name)}: ${t("rule.type", { expected: type })}`) } : { value: Object.fromEntries(found) };
	};
	const hint = (isTrue, key) => isTrue && el("span.hint", " ", t(key));
	const node = el("div.fields", fields.map(({ name, field, type }) => [el("label", { for: field.id }, nameOf(name), hint(type === "array", "ask.lines"), hint(!field.required, "ask.optional")), field]));
	return { node, check, mark, focus: () => (node.querySelector("[aria-invalid=true]") ?? fields[0].field).focus() };
}

/** The same as one text; `tell` hears what is wrong with it while it is typed. */
export function textOf(given, tell) {
	const mark = (names) => (text.ariaInvalid = names.length > 0);
	const check = () => {
		const found = typed(text.value);
		if (found.wrong) found.wrong = [t(`ask.wrong_${found.wrong}`, { line: found.line, column: found.column })];
		mark(found.wrong ?? []);
		return found;
	};
	const text = el("textarea", { id: "ask-edit", class: "code", rows: "8", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-describedby": "ask-wrong", value: editable(given), on: { input: () => tell(check().wrong) } });
	return { node: el("div.fields", el("label", { for: "ask-edit" }, t("ask.arguments")), text), check, mark, focus: () => text.focus() };
}
