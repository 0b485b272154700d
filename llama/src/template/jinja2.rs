//! What jinja2 does differently from minijinja. Templates are written for jinja2.

use minijinja::{Environment, Error, Value, value::ValueKind};

use super::weights::{PLAIN, is_namespace};

/// Adds what only jinja2 has, and replaces what it does in another way.
pub(super) fn install(environment: &mut Environment<'_>) {
    environment.add_test("iterable", |value: &Value| {
        !value.is_none() && !is_namespace(value) && value.try_iter().is_ok()
    });
    environment.add_test("mapping", |value: &Value| {
        value.kind() == ValueKind::Map && !is_namespace(value)
    });
    environment.add_test("callable", |value: &Value| {
        matches!(value.kind(), ValueKind::Undefined | ValueKind::Plain)
    });
    environment.add_test("sequence", |value: &Value| {
        let kind = value.kind();
        matches!(kind, ValueKind::Undefined | ValueKind::String | ValueKind::Seq | ValueKind::Map)
    });
    // In jinja2 an undefined value has no items, and a template may count them.
    for (name, of_nothing) in [
        ("length", Value::from(0)),
        ("count", Value::from(0)),
        ("first", Value::UNDEFINED),
        ("last", Value::UNDEFINED),
        ("items", Value::from(Vec::<Value>::new())),
    ] {
        environment.add_filter(name, move |value: &Value| {
            if value.is_undefined() {
                return Ok(of_nothing.clone());
            }
            if name == "last" && value.kind() == ValueKind::Map {
                return Ok(value.try_iter()?.last().unwrap_or_default());
            }
            plain(name, value)
        });
    }
    environment.add_filter("int", |value: &Value, otherwise: Option<Value>| {
        plain("int", value).unwrap_or_else(|_| otherwise.unwrap_or_else(|| Value::from(0)))
    });
    environment.add_filter("float", |value: &Value, otherwise: Option<Value>| {
        plain("float", value).unwrap_or_else(|_| otherwise.unwrap_or_else(|| Value::from(0.0)))
    });
}

/// Applies minijinja's own filter.
fn plain(name: &str, value: &Value) -> Result<Value, Error> {
    PLAIN.empty_state().apply_filter(name, std::slice::from_ref(value))
}

#[cfg(test)]
mod tests {
    use super::super::tests::render;

    #[test]
    fn none_and_undefined_are_what_they_are_in_jinja2() {
        for (expression, expected) in [
            ("none is iterable", "False"),
            ("no_name is iterable", "True"),
            ("'text' is sequence", "True"),
            ("{} is sequence", "True"),
            ("namespace() is mapping", "False"),
            ("namespace() is iterable", "False"),
            ("raise_exception is callable", "True"),
            ("'text' is callable", "False"),
            ("no_name | length", "0"),
            ("no_name | items | list", "[]"),
            ("'text' | int", "0"),
            ("'text' | float(2.5)", "2.5"),
            ("documents is none", "True"),
        ] {
            assert_eq!(
                render(&format!("{{{{ {expression} }}}}"), &[]),
                Ok(expected.into()),
                "{expression}"
            );
        }
        assert!(render("{{ none | length }}", &[]).is_err());
    }
}
