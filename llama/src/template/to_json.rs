//! The filter `tojson`, as Hugging Face defines it for chat templates: it writes JSON as Python
//! does, for a model and not for a page.

use madang_parser::call::json;
use minijinja::{Error, ErrorKind, State, Value as Jinja, value::Kwargs};
use serde_json::{Map, Value};

use super::weights::pay_json;
use crate::hidden::{Escapes, in_ascii, marks_in_json};

/// Writes JSON with blanks after `,` and `:`, and with characters as they are, unless the template
/// asks for something else.
#[expect(clippy::needless_pass_by_value, reason = "minijinja hands its filters values")]
pub(super) fn to_json(
    state: &State<'_, '_>,
    value: &Jinja,
    ensure_ascii: Option<Jinja>,
    indent: Option<usize>,
    options: Kwargs,
) -> Result<String, Error> {
    let is_ascii = match ensure_ascii {
        Some(given) => given.is_true(),
        None => options.get::<Option<Jinja>>("ensure_ascii")?.is_some_and(|given| given.is_true()),
    };
    let indent = match indent {
        Some(indent) => Some(indent),
        None => options.get::<Option<usize>>("indent")?,
    };
    let is_sorted = options.get::<Option<Jinja>>("sort_keys")?.is_some_and(|given| given.is_true());
    let separators = options.get::<Option<Vec<String>>>("separators")?;
    options.assert_all_used()?;
    pay_json(state, value, indent)?;
    let mut value: Value = serde_json::to_value(value).map_err(|error| {
        Error::new(ErrorKind::BadSerialization, "failed to write JSON").with_source(error)
    })?;
    if is_sorted {
        value = sorted(value);
    }
    let separators = match separators.as_deref() {
        None => None,
        Some([item, key]) => Some([&**item, &**key]),
        Some(_) => {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                "there are two separators of JSON",
            ));
        }
    };
    let written = json::write_with(&value, indent, separators);
    Ok(if is_ascii {
        marks_in_json(&in_ascii(&written), Escapes::Ascii)
    } else {
        marks_in_json(&written, Escapes::Json)
    })
}

/// Sorts the keys of all objects. It recurses as deep as the value is, which is weighed before.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> =
                members.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(members.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::render;
    use crate::hidden;

    #[test]
    fn json_has_the_form_that_the_template_asks_for() {
        let ascii = r#"{"\uc18d\uc131": [1, 2.5], "\ud83c\udf0a": "\u00e9"}"#;
        let source = "{{ {'속성': [1, 2.5], '🌊': 'é'} | tojson(ensure_ascii=True) }}";
        assert_eq!(render(source, &[]), Ok(ascii.into()));
        let source = "{{ {'b': {'d': 1, 'c': []}, 'a': 'é'} | tojson(sort_keys=true, separators=(',', ':')) }}";
        assert_eq!(render(source, &[]), Ok(r#"{"a":"é","b":{"c":[],"d":1}}"#.into()));
        assert!(render("{{ [] | tojson(unknown=1) }}", &[]).is_err());
        // A hidden text is escaped as well, where it comes back.
        let mut hidden_texts = hidden::Hidden::default();
        let message = json!({"role": "user", "content": hidden_texts.hide("é\"")});
        let rendered =
            render("{{ messages[0].content | tojson(ensure_ascii=true) }}", &[message]).unwrap();
        let pieces = hidden_texts.uncover(&rendered, 100).unwrap();
        let text: String = pieces.iter().map(hidden::Piece::text).collect();
        assert_eq!(text, r#""\u00e9\"""#);
    }
}
