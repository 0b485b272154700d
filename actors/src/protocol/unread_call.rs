//! Makes a call out of text that cannot be read as one. It is refused, so that the model reads what
//! was wrong and tries again.

use std::cmp::Reverse;

use serde::de::IgnoredAny;

use super::{ToolSpec, WantedCall};

impl WantedCall {
    /// Makes a call to the tool that a text names first, or to none. Its arguments are the text.
    ///
    /// Invariant: it never runs. A text that names a tool is not JSON, and no tool has an empty
    /// name.
    #[must_use]
    pub fn unread(text: &str, tools: &[ToolSpec]) -> Self {
        let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
        let named = tools.iter().filter_map(|tool| Some((text.find(&*tool.name)?, tool)));
        let first = named.min_by_key(|(at, tool)| (*at, Reverse(tool.name.len())));
        let name = first.filter(|_| !is_json).map_or("", |(_, tool)| &*tool.name);
        Self::new(name, text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_goes_to_the_tool_that_it_names_unless_that_could_run_it() {
        let tools = ["add", "add_note"].map(|name| ToolSpec::new(name, "A tool", json!({})));
        for (text, name) in [
            ("<act>[{\"add_note\": 1}]", "add_note"),
            ("then add, or add_note", "add"),
            ("{\"nam\": \"add\"}", ""),
            (" {\"add\": {}} ", ""),
            ("\"add\"", ""),
            ("none of them", ""),
        ] {
            assert_eq!(WantedCall::unread(text, &tools), WantedCall::new(name, text));
        }
    }
}
