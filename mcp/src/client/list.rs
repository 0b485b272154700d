//! Reads what a server says of its tools, one by one, so that a wrong entry hides no other.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ListedTool {
    pub(super) name: String,
    /// The description, or the title if there is none.
    pub(super) description: Option<String>,
    pub(super) schema: Value,
    pub(super) annotations: Map<String, Value>,
}

impl ListedTool {
    /// Reads an entry of a list. Returns what is wrong with it as an error.
    pub(super) fn read(entry: &Value) -> Result<Self, String> {
        let Some(name) = entry.get("name").and_then(Value::as_str) else {
            return Err("a tool without a name".to_owned());
        };
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        let has_words = |text: &String| !text.trim().is_empty();
        let annotations = entry.get("annotations").and_then(Value::as_object);
        Ok(Self {
            name: name.to_owned(),
            description: text("description")
                .filter(has_words)
                .or_else(|| text("title").filter(has_words)),
            schema: entry.get("inputSchema").cloned().unwrap_or_default(),
            annotations: annotations.cloned().unwrap_or_default(),
        })
    }

    /// Returns the SHA-256 of name, description, schema and annotations, as hexadecimal digits. The
    /// order of keys makes no difference.
    pub(super) fn fingerprint(&self) -> String {
        let description = self.description.as_deref();
        let annotations = Value::Object(self.annotations.clone());
        let mut whole = serde_json::json!([self.name, description, self.schema, annotations]);
        whole.sort_all_objects();
        Sha256::digest(whole.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns a hint of the annotations. Returns `None` if it is missing or not a boolean.
    pub(super) fn hint(&self, key: &str) -> Option<bool> {
        self.annotations.get(key).and_then(Value::as_bool)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_part_that_a_model_or_a_rule_reads_changes_the_fingerprint() {
        let tool = json!({
            "name": "read", "description": "Reads.", "inputSchema": { "type": "object", "properties": {} },
            "annotations": { "readOnlyHint": true, "title": "R" }
        });
        let print = |tool: &Value| ListedTool::read(tool).unwrap().fingerprint();
        let first = print(&tool);
        for (pointer, value) in [
            ("/name", json!("write")),
            ("/description", json!("Reads. And mails it.")),
            ("/inputSchema/properties", json!({ "a": {} })),
            ("/annotations/readOnlyHint", json!(false)),
        ] {
            let mut other = tool.clone();
            *other.pointer_mut(pointer).unwrap() = value;
            assert_ne!(print(&other), first, "{pointer}");
        }
        let reordered = json!({
            "annotations": { "title": "R", "readOnlyHint": true },
            "inputSchema": { "properties": {}, "type": "object" }, "description": "Reads.", "name": "read", "_meta": 1
        });
        assert_eq!(print(&reordered), first);
    }

    #[test]
    fn a_title_stands_in_for_a_description() {
        let read = |tool: Value| ListedTool::read(&tool).unwrap().description;
        assert_eq!(
            read(json!({ "name": "a", "title": "T", "description": " " })),
            Some("T".to_owned())
        );
        assert_eq!(read(json!({ "name": "a" })), None);
        assert!(ListedTool::read(&json!({ "title": "T" })).is_err());
    }
}
