//! Schemas as servers write them.

/// The name of a tool, whether it is taken, and its schema.
pub(super) const SCHEMAS: [(&str, bool, &str); 39] = [
    (
        "draft_07",
        true,
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"type":"integer"}}}"##,
    ),
    (
        "draft_07_without_fragment",
        true,
        r#"{"$schema":"http://json-schema.org/draft-07/schema","type":"object","properties":{"a":{"type":"integer"}}}"#,
    ),
    (
        "dialect_of_no_year",
        true,
        r#"{"$schema":"http://json-schema.org/schema#","type":"object","properties":{"a":{"type":"integer"}}}"#,
    ),
    (
        "dialect_of_others",
        true,
        r#"{"$schema":"https://spec.openapis.org/oas/3.1/dialect/base","type":"object","properties":{"a":{"type":"integer"}}}"#,
    ),
    (
        "its_own_address",
        true,
        r##"{"$id":"https://example.com/x.json","type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}"##,
    ),
    (
        "recursive",
        true,
        r##"{"type":"object","properties":{"child":{"$ref":"#"},"v":{"type":"integer"}}}"##,
    ),
    (
        "recursive_by_name",
        true,
        r##"{"type":"object","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"properties":{"root":{"$ref":"#/$defs/n"}}}"##,
    ),
    (
        "reference_with_words",
        true,
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/s","description":"the a","default":"q"}},"$defs":{"s":{"type":"string"}}}"##,
    ),
    (
        "reference_with_blank",
        false,
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/Foo%20Bar"}},"$defs":{"Foo Bar":{"type":"string"}}}"##,
    ),
    (
        "nullable",
        true,
        r#"{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"type":["integer","null"]},"c":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}}"#,
    ),
    (
        "large_numbers",
        true,
        r#"{"type":"object","properties":{"a":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807},"b":{"type":"integer","maximum":18446744073709551615}}}"#,
    ),
    (
        "formats",
        true,
        r#"{"type":"object","properties":{"a":{"type":"string","format":"uri"},"b":{"type":"string","format":"int64"},"c":{"type":"integer","format":"int32"}}}"#,
    ),
    ("mixed_enum", true, r#"{"type":"object","properties":{"a":{"enum":["x",1,null,true]}}}"#),
    (
        "any_part",
        true,
        r#"{"type":"object","properties":{"a":{"type":"array","items":true},"b":true,"c":{}}}"#,
    ),
    (
        "one_of",
        true,
        r#"{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}"#,
    ),
    (
        "wrong_default",
        true,
        r#"{"type":"object","properties":{"a":{"type":"integer","default":"5"}}}"#,
    ),
    (
        "unevaluated",
        true,
        r#"{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}}],"properties":{"b":{"type":"string"}},"unevaluatedProperties":false}"#,
    ),
    (
        "keys_of_all_kinds",
        true,
        r#"{"type":"object","properties":{"날짜":{"type":"string"},"a b":{"type":"string"},"x.y":{"type":"string"},"quote\"d":{"type":"string"}},"required":["날짜"]}"#,
    ),
    (
        "keys_by_pattern",
        true,
        r#"{"type":"object","patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}"#,
    ),
    (
        "keys_like_keywords",
        true,
        r#"{"type":"object","properties":{"$ref":{"type":"string"},"type":{"type":"string"},"properties":{"type":"object"}}}"#,
    ),
    ("open_object", true, r#"{"type":"object","additionalProperties":{}}"#),
    (
        "pattern_of_javascript",
        true,
        r#"{"type":"object","properties":{"m":{"type":"string","pattern":"^[\\w-]+\\/[\\w.-]+$"}}}"#,
    ),
    (
        "pattern_of_letters",
        true,
        r#"{"type":"object","properties":{"m":{"type":"string","pattern":"^\\p{L}+$"},"u":{"type":"string","pattern":"^[\\u4e00-\\u9fa5]+$"}}}"#,
    ),
    (
        "pattern_that_looks_ahead",
        false,
        r#"{"type":"object","properties":{"m":{"type":"string","pattern":"^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z]{2,}$"}}}"#,
    ),
    ("no_schema", false, r#"null"#),
    ("empty", false, r#"{}"#),
    ("dialect_alone", false, r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#),
    ("shouted", false, r#"{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}"#),
    ("type_any", false, r#"{"type":"object","properties":{"a":{"type":"any"}}}"#),
    ("type_str", false, r#"{"type":"object","properties":{"a":{"type":"str"}}}"#),
    (
        "reference_to_nothing",
        false,
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}"##,
    ),
    (
        "reference_elsewhere",
        false,
        r#"{"type":"object","properties":{"a":{"$ref":"http://example.com/a.json"}}}"#,
    ),
    (
        "reference_by_its_address",
        false,
        r#"{"$id":"https://example.com/x.json","type":"object","properties":{"a":{"$ref":"x.json#/$defs/b"}},"$defs":{"b":{"type":"string"}}}"#,
    ),
    (
        "broken_pattern",
        false,
        r#"{"type":"object","properties":{"m":{"type":"string","pattern":"("}}}"#,
    ),
    ("required_null", false, r#"{"type":"object","properties":{},"required":null}"#),
    (
        "required_flag",
        false,
        r#"{"type":"object","properties":{"a":{"type":"string","required":true}}}"#,
    ),
    ("properties_null", false, r#"{"type":"object","properties":null}"#),
    (
        "exclusive_flag",
        false,
        r#"{"type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true}}}"#,
    ),
    (
        "items_as_list",
        true,
        r#"{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"integer"}]}}}"#,
    ),
];
