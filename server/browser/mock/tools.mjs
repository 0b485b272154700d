// The tools of the mock: names, arguments and questions as the habits' toolkit has them, and one whose effect can be unknown.

import { Exact, write } from "./json.mjs";

const ITEMS = [
  ["morning-light", "lightCircadian", "아침 햇빛 보기", "Morning sunlight"],
  ["fixed-wake", "sleep", "같은 기상 시각", "One time to get up"],
  ["evening-dim", "sleep", "저녁 불빛 낮추기", "Dim light in the evening"],
];
const CATEGORIES = ["lightCircadian", "sleep", "movement", "nutrition", "focusCognition", "recoveryStress"];

const text = (max) => ({ type: "string", max });

/** Each tool: its parameters, whether it must be asked about, what it says it will do, and what it does. */
export const TOOLS = {
  search_catalog: {
    parameters: { category: { type: "string", of: CATEGORIES }, keyword: text(50), limit: { type: "integer" } },
    run: ({ category, limit = 10 }, { language }) => {
      const found = ITEMS.filter((item) => !category || item[1] === category);
      const items = found.slice(0, limit).map(([id, kind, ko, en]) => ({ id, title: language === "ko" ? ko : en, category: kind }));
      return ok({ count: found.length, items });
    },
  },
  list_active_habits: {
    parameters: {},
    run: (_, { habits }) => ok({ count: habits.length, items: habits }),
  },
  add_habit: {
    parameters: {
      protocol_id: { ...text(64), required: true },
      frame_level: { type: "string", of: ["L0", "L1", "L2", "L3"], required: true },
      framed_text: { ...text(200), required: true },
      anchor_when: text(200),
      anchor_after_what: text(200),
      dose_text: text(200),
    },
    isDestructive: true,
    consequence: ({ protocol_id, framed_text }, language) => {
      const item = ITEMS.find(([id]) => id === protocol_id);
      const title = item ? item[language === "ko" ? 2 : 3] : protocol_id;
      return language === "ko" ? `새 습관을 추가합니다: '${title}' ('${framed_text}')` : `Adds a new habit: '${title}' ('${framed_text}')`;
    },
    run: (habit, { habits, language }) => {
      const item = ITEMS.find(([id]) => id === habit.protocol_id);
      if (!item) return failed("not_found", language === "ko" ? "그런 항목이 없습니다" : "there is no such item");
      if (["L0", "L1"].includes(habit.frame_level)) return failed("r3_frame", language === "ko" ? "L2나 L3로 말해 주세요" : "the frame level must be L2 or L3");
      const added = { habit_id: habits.length + 1, ...habit, title: item[language === "ko" ? 2 : 3] };
      habits.push(added);
      return { ...ok(added), effect: "committed" };
    },
  },
  log_tracker_entry: {
    parameters: { habit_id: { type: "integer", required: true }, value: { type: "string", of: ["done", "blank"], required: true }, note: text(200) },
    isDestructive: true,
    consequence: ({ habit_id }, language) => (language === "ko" ? `습관 ${habit_id}번을 오늘 한 것으로 기록합니다` : `Records habit ${habit_id} as done today`),
    run: (_, { language }) => failed("not_found", language === "ko" ? "그런 습관이 없습니다" : "there is no such habit"),
  },
  end_habit: {
    parameters: { habit_id: { type: "integer", required: true } },
    isDestructive: true,
    consequence: ({ habit_id }, language) => (language === "ko" ? `습관 ${habit_id}번을 끝냅니다` : `Ends habit ${habit_id}`),
    run: ({ habit_id }, { habits, language }) => {
      const at = habits.findIndex((habit) => habit.habit_id === habit_id);
      if (at < 0) return failed("not_found", language === "ko" ? "그런 습관이 없습니다" : "there is no such habit");
      habits.splice(at, 1);
      return { ...ok({ habit_id }), effect: "committed" };
    },
  },
  // Its argument has a shape that no form shows.
  add_routine: {
    parameters: { steps: { type: "array", required: true, shape: { type: "array", items: { type: "object", properties: { title: { type: "string" } } } } } },
    isDestructive: true,
    consequence: ({ steps }, language) => (language === "ko" ? `${steps.length}단계의 일과를 추가합니다` : `Adds a routine of ${steps.length} steps`),
    run: () => ({ ...ok({}), effect: "committed" }),
  },
  // A list of texts, which a form shows a line each.
  pack_bag: {
    parameters: { things: { type: "array", required: true, shape: { type: "array", items: { type: "string" } } } },
    isDestructive: true,
    consequence: ({ things }, language) => (language === "ko" ? `가방에 넣습니다: ${things.length}개` : `Packs things: ${things.length}`),
    run: () => ({ ...ok({}), effect: "committed" }),
  },
  // Works outside of the store and takes a while, so a crash leaves it unknown whether it took effect.
  send_letter: {
    parameters: { to: { ...text(200), required: true }, body: { ...text(2000), required: true } },
    isDestructive: true,
    isOutside: true,
    consequence: ({ to }, language) => (language === "ko" ? `${to}에게 편지를 보냅니다` : `Sends a letter to ${to}`),
    run: async ({ to }, { pause, report }) => {
      report({ done: 1, total: 2, message: "the stamp <b>sticks</b>" });
      await pause(1200);
      return { ...ok({ sent_to: to }), effect: "committed" };
    },
  },
};

const ok = (data) => ({ outcome: { status: "ok", data }, effect: "none" });
const failed = (code, reason) => ({ outcome: { status: "error", code, reason }, effect: "none" });

const isInteger = (given) => Number.isInteger(given) || (given instanceof Exact && /^-?\d+$/.test(given.text));

/** The problems of arguments: the place as a JSON Pointer, the rule by its name and in English words. */
export function problems(tool, value) {
  const broken = (pointer, rule, expected, detail) => ({ pointer, rule, expected, detail });
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [broken("/arguments", "type", ["object"], "must be a JSON object")];
  const found = [];
  for (const [name, rule] of Object.entries(tool.parameters)) {
    const given = value[name];
    const pointer = `/arguments/${name}`;
    if (given === undefined || (given === null && !rule.required)) {
      if (rule.required) found.push(broken(pointer, "required", undefined, "is required"));
    } else if (rule.type === "integer" ? !isInteger(given) : rule.type === "array" ? !Array.isArray(given) : typeof given !== "string") {
      found.push(broken(pointer, "type", [rule.type], `must be of type ${rule.type}`));
    } else if (rule.of && !rule.of.includes(given)) {
      found.push(broken(pointer, "enum", rule.of, `must be one of ${rule.of.map((one) => JSON.stringify(one)).join(", ")}`));
    } else if (rule.max && given.length > rule.max) {
      found.push(broken(pointer, "maxLength", rule.max, `takes at most ${rule.max} characters`));
    }
  }
  const keys = Object.keys(value).filter((name) => !(name in tool.parameters));
  if (keys.length) found.push({ pointer: "/arguments", rule: "additionalProperties", keys, detail: `keys not allowed: ${keys.join(", ")}` });
  return found;
}

/** The parameters of a tool as a JSON Schema. */
export function schemaOf(parameters) {
  const rules = Object.entries(parameters).map(([name, { type, of, max, shape, required }]) => [name, shape ?? { type: required ? type : [type, "null"], enum: of, maxLength: max }]);
  return { type: "object", properties: Object.fromEntries(rules), required: Object.keys(parameters).filter((name) => parameters[name].required) };
}

/** The question as a screen shows it. */
export function questionText(name, value, language) {
  const shown = Object.keys(value).sort().map((key) => `\n  ${key}: ${write(value[key])}`);
  const always = language === "ko" ? '"항상"은 24시간 동안 최대 32번 적용됩니다.' : '"Always" holds for 24 hours, at most 32 times.';
  return `${name}${shown.join("")}\n  ${TOOLS[name].consequence(value, language)}\n  ${always}`;
}
