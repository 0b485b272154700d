//! Gathers the tools of a server that count from the parts of its list.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{
    limits::{MAX_PAGES, MAX_TOOLS},
    list::ListedTool,
    text::visible,
};

/// The tools of a server that count, no two of one name, and what is wrong with the others.
#[derive(Debug, Default)]
pub(super) struct ToolList {
    pub(super) tools: Vec<ListedTool>,
    pub(super) odd: Vec<String>,
}

/// The parts of a list that have come so far. Each look at a server reads its list in this way, so
/// the same tools count at the start and later.
#[derive(Debug, Default)]
pub(super) struct ListParts {
    tools: Vec<ListedTool>,
    odd: Vec<String>,
    cursors: HashSet<String>,
}

impl ListParts {
    /// Takes a part, and returns the cursor with which to ask for the next one. Returns `None` at
    /// the end of the list. An empty cursor, or one that was there before, ends it too, because it
    /// asks for nothing new.
    pub(super) fn take(&mut self, entries: &[Value], next: Option<&str>) -> Option<String> {
        for entry in entries {
            match ListedTool::read(entry) {
                Ok(_) if self.tools.len() == MAX_TOOLS => {
                    let more =
                        format!("it has more than {MAX_TOOLS} tools, and the rest is left out");
                    self.odd.push(more);
                    return None;
                }
                Ok(tool) => self.tools.push(tool),
                Err(what) => self.odd.push(what),
            }
        }
        let next = next.filter(|cursor| !cursor.is_empty())?.to_owned();
        if self.cursors.len() + 1 == MAX_PAGES {
            let more =
                format!("its list has more than {MAX_PAGES} parts, and the rest is left out");
            self.odd.push(more);
            return None;
        }
        if !self.cursors.insert(next.clone()) {
            self.odd.push("its list leads back to a part that was read, and ends there".to_owned());
            return None;
        }
        Some(next)
    }

    /// Returns the tools that count. A tool that is listed again in the same words counts once. If
    /// different tools have one name, none of them counts, because a call would not say which is
    /// meant.
    pub(super) fn into_list(self) -> ToolList {
        let Self { tools, mut odd, .. } = self;
        let mut prints: HashMap<String, HashSet<String>> = HashMap::new();
        for tool in &tools {
            prints.entry(tool.name.clone()).or_default().insert(tool.fingerprint());
        }
        let mut seen = HashSet::new();
        let mut counting = Vec::new();
        for tool in tools {
            if !seen.insert(tool.name.clone()) {
                continue;
            }
            if prints.get(&tool.name).is_some_and(|prints| prints.len() > 1) {
                let name = visible(&tool.name);
                odd.push(format!(
                    "the tool {name:?} is left out: the server lists different tools by this name"
                ));
            } else {
                counting.push(tool);
            }
        }
        ToolList { tools: counting, odd }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(list: &ToolList) -> Vec<&str> {
        list.tools.iter().map(|tool| &*tool.name).collect()
    }

    #[test]
    fn a_tool_that_is_listed_twice_counts_once_and_two_of_one_name_do_not() {
        let mut parts = ListParts::default();
        let [a, b] =
            ["Reads.", "Writes."].map(|words| json!({ "name": "x", "description": words }));
        let c = json!({ "name": "y" });
        assert_eq!(parts.take(&[c.clone(), a.clone(), c], Some("2")), Some("2".to_owned()));
        assert_eq!(parts.take(&[b, a], None), None);
        let list = parts.into_list();
        assert_eq!(names(&list), ["y"]);
        assert_eq!(list.odd.len(), 1, "{:?}", list.odd);
    }

    #[test]
    fn an_empty_cursor_and_one_that_was_there_end_the_list() {
        let part = [json!({ "name": "x" })];
        let mut parts = ListParts::default();
        assert_eq!(parts.take(&part, Some("")), None);
        assert_eq!(parts.take(&part, Some("a")), Some("a".to_owned()));
        assert_eq!(parts.take(&part, Some("b")), Some("b".to_owned()));
        assert_eq!(parts.take(&part, Some("a")), None);
        let list = parts.into_list();
        assert_eq!((names(&list), list.odd.len()), (vec!["x"], 1));
    }

    #[test]
    fn a_list_that_goes_on_for_ever_ends_at_its_bounds() {
        let mut parts = ListParts::default();
        let asked = (0..).take_while(|part| parts.take(&[], Some(&part.to_string())).is_some());
        assert_eq!(asked.count(), MAX_PAGES - 1);
        let mut parts = ListParts::default();
        let many: Vec<_> =
            (0..=MAX_TOOLS).map(|name| json!({ "name": name.to_string() })).collect();
        assert_eq!(parts.take(&many, Some("next")), None);
        assert_eq!(parts.into_list().tools.len(), MAX_TOOLS);
    }
}
