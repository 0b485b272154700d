//! Writes a page as a Markdown list with one line a block, and reads an edited one. Pure.
use super::super::block::OutlineLine;

/// The columns of one level.
const LEVEL: usize = 2;

/// Writes a page: `- ` before each block, two spaces for each block that it lies in.
pub(super) fn render(lines: &[OutlineLine]) -> String {
    let mut text = String::new();
    for OutlineLine { depth, content, .. } in lines {
        text.extend(std::iter::repeat_n(' ', depth * LEVEL));
        text.push_str("- ");
        text.push_str(content);
        text.push('\n');
    }
    text
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileLine {
    /// The columns before its text.
    pub(super) indent: usize,
    /// Its text without the list marker.
    pub(super) content: String,
}

/// Reads a file as lines. A line without a list marker counts too; a blank line does not.
pub(super) fn parse(text: &str) -> Vec<FileLine> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    lines.filter(|line| !line.trim().is_empty()).map(line).collect()
}

fn line(line: &str) -> FileLine {
    let said = line.trim_start_matches([' ', '\t']);
    let before = &line[..line.len() - said.len()];
    let indent = before.chars().map(|c| if c == '\t' { LEVEL } else { 1 }).sum();
    let content = match said.strip_prefix("- ") {
        Some(content) => content,
        None if said == "-" => "",
        None => said,
    };
    FileLine { indent, content: content.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::notes::{block::BlockId, rules::judge_content};

    fn lines(lines: &[(usize, &str)]) -> Vec<OutlineLine> {
        let id = BlockId(Uuid::nil());
        lines
            .iter()
            .map(|(depth, content)| OutlineLine {
                id,
                depth: *depth,
                content: (*content).to_owned(),
            })
            .collect()
    }

    #[test]
    fn a_page_is_a_list() {
        let page = lines(&[(0, "## 오늘의 주요 활동"), (1, "- [x] 작업 완료"), (2, ""), (0, "끝")]);
        assert_eq!(render(&page), "- ## 오늘의 주요 활동\n  - - [x] 작업 완료\n    - \n- 끝\n");
        assert_eq!(render(&[]), "");
    }

    #[test]
    fn what_editors_make_of_a_list_is_read() {
        let read: Vec<_> = parse("\u{feff}# Title\r\n\r\n-\r\n\t- a\n      b\n * c \n")
            .into_iter()
            .map(|line| (line.indent, line.content))
            .collect();
        let expected = [(0, "# Title"), (0, ""), (2, "a"), (6, "b"), (1, "* c ")];
        assert_eq!(read, expected.map(|(indent, content)| (indent, content.to_owned())));
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_back(page in prop::collection::vec((0..20_usize, any::<String>()), 0..30)) {
            let page: Vec<_> = page.iter().filter(|(_, content)| judge_content(content).is_ok()).map(|(depth, content)| (*depth, content.as_str())).collect();
            let read: Vec<_> = parse(&render(&lines(&page))).into_iter().map(|line| (line.indent / LEVEL, line.content)).collect();
            let page: Vec<_> = page.into_iter().map(|(depth, content)| (depth, content.to_owned())).collect();
            prop_assert_eq!(read, page);
        }
    }
}
