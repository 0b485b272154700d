//! Puts variables into texts of the configuration: `${NAME}` of the environment, and those that
//! editors have.

use std::path::{MAIN_SEPARATOR, Path};

/// What the variables of a file mean.
#[derive(Clone, Copy)]
pub(super) struct Variables<'a> {
    /// Returns a variable of the environment.
    pub(super) environment: &'a dyn Fn(&str) -> Option<String>,
    /// The folder that an editor would have open.
    pub(super) workspace: &'a Path,
}

impl Variables<'_> {
    /// Replaces each `${..}` by its value. Returns which one is unknown, or does not end.
    pub(super) fn expand(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("${") {
            let (name, behind) = behind.split_once('}').ok_or("has a ${ without its }")?;
            expanded.push_str(before);
            expanded.push_str(&self.value(name)?);
            rest = behind;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    fn value(&self, whole: &str) -> Result<String, String> {
        if whole.starts_with("input:") {
            return Err(format!(
                "has ${{{whole}}}, which an editor would ask for: put it into a variable of the environment, and write ${{NAME}}"
            ));
        }
        match whole {
            "workspaceFolder" => return Ok(self.workspace.display().to_string()),
            "workspaceFolderBasename" => {
                let name = self.workspace.file_name().unwrap_or_default();
                return Ok(name.display().to_string());
            }
            "pathSeparator" | "/" => return Ok(MAIN_SEPARATOR.to_string()),
            _ => {}
        }
        let (name, default) = match whole.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (whole.strip_prefix("env:").unwrap_or(whole), None),
        };
        let name = if name == "userHome" { "HOME" } else { name };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(format!("has ${{{whole}}}, which names no variable"));
        }
        let value = (self.environment)(name).or_else(|| default.map(str::to_owned));
        value.ok_or_else(|| {
            format!("needs the variable {name}, which the environment does not have")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_once_and_what_is_missing_is_named() {
        let environment = |name: &str| match name {
            "TOKEN" => Some("a${B}".to_owned()),
            "EMPTY" => Some(String::new()),
            "HOME" => Some("/home/kim".to_owned()),
            _ => None,
        };
        let workspace = Path::new("/work/app");
        let variables = Variables { environment: &environment, workspace };
        let table = [
            ("no variable $HOME", Ok("no variable $HOME")),
            ("Bearer ${TOKEN}!", Ok("Bearer a${B}!")),
            ("Bearer ${env:TOKEN}!", Ok("Bearer a${B}!")),
            ("${EMPTY}${EMPTY}", Ok("")),
            ("${TOKEN:-b}${GONE:-b:-c}${GONE:-}", Ok("a${B}b:-c")),
            ("${userHome}${/}.x", Ok("/home/kim/.x")),
            ("${workspaceFolder}/.env ${workspaceFolderBasename}", Ok("/work/app/.env app")),
            ("${GONE}", Err("needs the variable GONE, which the environment does not have")),
            ("${env:GONE}", Err("needs the variable GONE, which the environment does not have")),
            (
                "${input:key}",
                Err(
                    "has ${input:key}, which an editor would ask for: put it into a variable of the environment, and write ${NAME}",
                ),
            ),
            ("${command:x}", Err("has ${command:x}, which names no variable")),
            ("${A-B}", Err("has ${A-B}, which names no variable")),
            ("${", Err("has a ${ without its }")),
        ];
        for (text, expected) in table {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(variables.expand(text), expected, "{text}");
        }
    }
}
