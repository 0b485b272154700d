//! Writes a page as a Markdown list with one line for each block.
use super::super::block::OutlineLine;

/// The columns of one level.
const LEVEL: usize = 2;

/// Writes a page, with `- ` before each block and two spaces for each block around it.
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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::notes::block::BlockId;

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
}
