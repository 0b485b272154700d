//! Puts variables of the environment into texts of the configuration: `${NAME}`.

/// Replaces each `${NAME}` by the variable's value.
pub(super) fn expand(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let (name, behind) = behind.split_once('}').ok_or("has a ${ without its }")?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(format!("has ${{{name}}}, which names no variable"));
        }
        let value = variable(name).ok_or_else(|| {
            format!("needs the variable {name}, which the environment does not have")
        })?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_once_and_what_is_missing_is_named() {
        let variable = |name: &str| match name {
            "TOKEN" => Some("a${B}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let table = [
            ("no variable $HOME", Ok("no variable $HOME")),
            ("Bearer ${TOKEN}!", Ok("Bearer a${B}!")),
            ("${EMPTY}${EMPTY}", Ok("")),
            ("${GONE}", Err("needs the variable GONE, which the environment does not have")),
            ("${A-B}", Err("has ${A-B}, which names no variable")),
            ("${", Err("has a ${ without its }")),
        ];
        for (text, expected) in table {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(expand(text, &variable), expected, "{text}");
        }
    }
}
