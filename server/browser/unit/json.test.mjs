// Numbers as they stand in their source, and all else as the standard has it.

import assert from "node:assert/strict";
import test from "node:test";

import { editable, typed } from "../../src/page/assets/editable.js";
import { Exact, NotJson, read, write } from "../../src/page/assets/json.js";

const EXACT = ["1234567890123456789", "-9223372036854775808", "18446744073709551615", "9007199254740993", "1.0", "1.10", "-0", "1e5", "1E+2", "1e400", "0.1000000000000000055511151231257827", "123456789012345678901234567890"];
const PLAIN = ["0", "7", "-12", "9007199254740991", "0.5", "1700000000000", "1e+21", "1e-7"];

test("every number is written as it was read, alone and in arguments that a person edits", () => {
  for (const digits of [...EXACT, ...PLAIN]) {
    const text = `{"id":${digits},"more":[${digits},{"deep":${digits}}]}`;
    assert.equal(write(read(text)), text);
    assert.equal(editable(read(text)).replace(/\s/g, ""), text);
    assert.equal(write(typed(editable(read(text))).value), text);
  }
});

test("what JavaScript would write in other letters is no number of it", () => {
  for (const digits of EXACT) assert.deepEqual(read(digits), new Exact(digits));
  for (const digits of PLAIN) assert.equal(read(digits), Number(digits));
  assert.ok(read("4.0") > 0 && Number(read("4.0")) === 4);
});

const TEXTS = [
  "{}", "[]", " [ 1 , 2 ] ", '{"a":{"b":[{},[],null,true,false]}}', '"\\u0041\\n\\\\"', '["\\\\","\\"",""]', '{"a":1,"a":2}', '{"__proto__":{"x":1},"constructor":2}', '{"2":1,"1":2}', '"\ud800"', "\t\r\n7", '["\u2028"]',
  "", " ", "{", "[1", "[1,]", "[,1]", '{"a"}', '{"a":}', '{"a":1,}', "{a:1}", "01", "1.", ".5", "+1", "-", "1e", "tru", "nul l", "truefalse", "1 2", "]", "[1}", "{]", '"a', '"a\\', '"\\x"', '"\\u12g4"', '"a\nb"', "'a'", "\u00a01", "NaN", "Infinity", "[1]]", '{"a":1 "b":2}', "\ufeff1", "undefined",
];

test("what is JSON, and what it says, is as the browser has it", () => {
  for (const text of TEXTS) {
    let expected = NotJson;
    try {
      expected = JSON.parse(text);
    } catch {
      assert.throws(() => read(text), NotJson, text);
      continue;
    }
    assert.deepStrictEqual(read(text), expected, text);
    assert.equal(write(read(text)), JSON.stringify(expected), text);
    assert.equal(write(read(text), true), JSON.stringify(expected, null, 2), text);
  }
});

test("a part that is undefined is left out, as of a body that has it not", () => {
  assert.equal(write({ a: undefined, b: 1 }), '{"b":1}');
});

test("nesting that no server reads is no JSON, so that what is read can be walked", () => {
  const nested = (depth) => "[".repeat(depth) + "]".repeat(depth);
  assert.equal(write(read(nested(200))), nested(200));
  assert.throws(() => read(nested(100_000)), NotJson);
});

test("a long text of backslashes or quotation marks is read once", () => {
  for (const piece of ["\\\\", '\\"', "a"]) {
    const text = `"${piece.repeat(1_000_000)}"`;
    const begun = performance.now();
    read(text);
    assert.ok(performance.now() - begun < 2_000, piece);
  }
});
