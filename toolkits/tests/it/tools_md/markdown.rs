//! Writes `TOOLS.md` from a registry: each tool with its description, effect and parameters.

use std::fmt::Write;

use madang::tool::{EffectPolicy, ToolRegistry, ToolSpec};
use serde_json::{Map, Value};

/// Writes all tools as Markdown: a section for each category, a table of parameters for each tool.
/// Categories stand in the order of their first tools.
pub(super) fn tools_markdown(registry: &ToolRegistry) -> String {
    let specs: Vec<_> = registry.iter().map(|tool| tool.spec()).collect();
    let mut categories: Vec<&str> = Vec::new();
    for spec in &specs {
        if !categories.contains(&&*spec.category) {
            categories.push(&spec.category);
        }
    }
    let mut page = String::from("# Tools\n");
    for category in categories {
        let title = if category.is_empty() { "Others" } else { category };
        page += &format!("\n## {}\n", escaped(title));
        for spec in specs.iter().filter(|spec| &*spec.category == category) {
            section(&mut page, spec).unwrap();
        }
    }
    page
}

fn section(page: &mut String, spec: &ToolSpec) -> std::fmt::Result {
    writeln!(
        page,
        "\n### `{}`\n\n{}\n\nEffect: {}.",
        spec.name,
        spec.description.trim(),
        effect(spec)
    )?;
    let mut rows = Vec::new();
    parameters(&spec.parameters, "", &mut rows);
    if rows.is_empty() {
        return writeln!(page, "\nNo parameters.");
    }
    writeln!(page, "\n| parameter | type | required | description |\n|---|---|---|---|")?;
    for Row { name, kind, is_required, description } in rows {
        let required = if is_required { "yes" } else { "no" };
        writeln!(page, "| `{name}` | {kind} | {required} | {description} |")?;
    }
    Ok(())
}

fn effect(spec: &ToolSpec) -> String {
    let effect = match spec.effect {
        EffectPolicy::Read => "reads only",
        EffectPolicy::Write => "writes",
        EffectPolicy::Destructive => "writes what a person must confirm",
    };
    if spec.is_idempotent {
        format!("{effect}; doing it twice does it once")
    } else {
        effect.to_owned()
    }
}

struct Row {
    name: String,
    kind: String,
    is_required: bool,
    description: String,
}

/// One row for each named key, those of lists and objects inside included. References are not
/// followed, so a schema that contains itself ends here.
fn parameters(schema: &Value, prefix: &str, rows: &mut Vec<Row>) {
    let required = schema.get("required").and_then(Value::as_array);
    for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        let name = format!("{prefix}{key}");
        rows.push(Row {
            name: name.clone(),
            kind: kind(property),
            is_required: required.is_some_and(|required| required.iter().any(|name| name == key)),
            description: description(property),
        });
        parameters(property, &format!("{name}."), rows);
        if let Some(items) = property.get("items") {
            parameters(items, &format!("{name}[]."), rows);
        }
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for form in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
            let mut more = Vec::new();
            parameters(form, prefix, &mut more);
            more.retain(|row| !rows.iter().any(|known| known.name == row.name));
            // A key that one of several forms requires may be absent in the others.
            rows.extend(
                more.into_iter()
                    .map(|row| Row { is_required: row.is_required && keyword == "allOf", ..row }),
            );
        }
    }
}

fn description(property: &Value) -> String {
    let mut words: String =
        escaped(property.get("description").and_then(Value::as_str).unwrap_or_default());
    if let Some(default) = property.get("default").filter(|default| !default.is_null()) {
        words += &format!("{}Default: `{default}`.", if words.is_empty() { "" } else { " " });
    }
    words
}

/// Describes in a few words which values fit: type, values, bounds.
fn kind(schema: &Value) -> String {
    let Some(keywords) = schema.as_object() else { return "anything".to_owned() };
    if let Some(values) = allowed_values(keywords) {
        let values = values.iter().map(|value| format!("`{}`", escaped(&value.to_string())));
        return values.collect::<Vec<_>>().join(", ");
    }
    let mut words = match keywords.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            // A type that may also be null is a parameter that may be left out.
            let kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            kinds.collect::<Vec<_>>().join(" or ")
        }
        _ => match forms(keywords) {
            Some(forms) => forms.map(kind).collect::<Vec<_>>().join(" or "),
            None => "anything".to_owned(),
        },
    };
    if words == "array"
        && let Some(items) = keywords.get("items")
    {
        words = format!("list of {}", kind(items));
    }
    let bound = |keyword: &str| keywords.get(keyword).filter(|bound| bound.is_number());
    for (least, most, unit) in [
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
    ] {
        words += &match (bound(least), bound(most)) {
            (Some(least), Some(most)) => format!(", {least} to {most}{unit}"),
            (Some(least), None) => format!(", at least {least}{unit}"),
            (None, Some(most)) => format!(", at most {most}{unit}"),
            (None, None) => continue,
        };
    }
    // Formats such as `uint8` only repeat the bounds.
    let format =
        keywords.get("format").and_then(Value::as_str).filter(|_| words.starts_with("string"));
    let pattern = keywords.get("pattern").and_then(Value::as_str);
    for (what, value) in [("format", format), ("pattern", pattern)] {
        if let Some(value) = value {
            words += &format!(", {what} `{}`", escaped(value));
        }
    }
    words
}

fn allowed_values(keywords: &Map<String, Value>) -> Option<Vec<Value>> {
    if let Some(value) = keywords.get("const") {
        return Some(vec![value.clone()]);
    }
    let mut values = match keywords.get("enum") {
        Some(values) => values.as_array()?.clone(),
        None => {
            let of_forms = forms(keywords)?.map(|form| allowed_values(form.as_object()?));
            of_forms.collect::<Option<Vec<_>>>()?.concat()
        }
    };
    values.retain(|value| !value.is_null());
    Some(values)
}

/// Gives the forms that a value may have, but for that of no value.
fn forms(keywords: &Map<String, Value>) -> Option<impl Iterator<Item = &Value>> {
    let forms = ["oneOf", "anyOf"].iter().find_map(|keyword| keywords.get(*keyword)?.as_array());
    Some(forms?.iter().filter(|form| form.get("type") != Some(&Value::from("null"))))
}

/// Escapes a text so that it stays in its cell.
fn escaped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

mod tests {
    use madang::tool::{NoArguments, ToolContext, plain, reading, transactional};
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Row {
        /// What to add.
        #[schemars(length(min = 1))]
        row: String,
        #[serde(default)]
        times: u8,
    }

    #[test]
    fn tools_md_has_a_section_for_each_category_and_a_table_for_each_tool() {
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema is looked at")]
        struct Many {
            /// First line,
            /// second | line.
            text: String,
            #[schemars(length(min = 1, max = 20), regex(pattern = "^a|b$"))]
            code: Option<String>,
            level: Option<Level>,
            #[serde(default)]
            #[schemars(range(min = 1, max = 10))]
            limit: u8,
            blocks: Vec<Block>,
        }
        #[derive(Deserialize, JsonSchema)]
        enum Level {
            /// Low.
            L2,
            /// High.
            L3,
        }
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema is looked at")]
        struct Block {
            content: String,
            indent: Option<u32>,
        }
        let mut registry = ToolRegistry::new();
        registry
            .register(
                reading(
                    "count",
                    "Counts rows.",
                    async |_: NoArguments, _: &mut (), _: &ToolContext| Ok(0),
                )
                .category("rows")
                .idempotent(),
            )
            .unwrap()
            .register(
                plain("many", "Takes much.", async |_: Many, _: &ToolContext| Ok(()))
                    .effect(EffectPolicy::Write),
            )
            .unwrap()
            .register(
                transactional("add", "Adds a row.", async |_: Row, _: &mut (), _: &ToolContext| {
                    Ok(())
                })
                .category("rows"),
            )
            .unwrap();
        expect_test::expect![[r##"
            # Tools

            ## rows

            ### `count`

            Counts rows.

            Effect: reads only; doing it twice does it once.

            No parameters.

            ### `add`

            Adds a row.

            Effect: writes what a person must confirm.

            | parameter | type | required | description |
            |---|---|---|---|
            | `row` | string, at least 1 characters | yes | What to add. |
            | `times` | integer, 0 to 255 | no | Default: `0`. |

            ## Others

            ### `many`

            Takes much.

            Effect: writes.

            | parameter | type | required | description |
            |---|---|---|---|
            | `text` | string | yes | First line, second \| line. |
            | `code` | string, 1 to 20 characters, pattern `^a\|b$` | no |  |
            | `level` | `"L2"`, `"L3"` | no |  |
            | `limit` | integer, 1 to 10 | no | Default: `0`. |
            | `blocks` | list of object | yes |  |
            | `blocks[].content` | string | yes |  |
            | `blocks[].indent` | integer, 0 to 4294967295 | no |  |
        "##]]
        .assert_eq(&tools_markdown(&registry));
    }
}
