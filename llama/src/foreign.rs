//! Finds the text that opens a call which no family reads, so that such a call is never shown as an
//! answer.

/// The shortest opening that no answer has by chance.
const SHORTEST: usize = 4;

/// Finds the opening by comparing three renderings: a question, the question with an answer, and
/// the question with a call of `tool`. Returns `None` if there is none that only a call has.
pub(super) fn opening(asked: &str, said: &str, called: &str, tool: &str) -> Option<String> {
    let answer = behind(asked, said);
    // A call may come after what begins every answer.
    let call = [asked, said].map(|begin| behind(begin, called));
    let call = call.into_iter().min_by_key(|call| call.len())?;
    let head = &call[..call.find(tool)?];
    let ends = head.match_indices(['>', ']']).map(|(at, _)| at + 1).chain([head.len()]);
    let opening = ends.map(|end| head[..end].trim()).find(|opening| {
        // JSON could be read as the arguments of a call.
        let is_mark = opening.starts_with('<') && opening.len() >= SHORTEST;
        is_mark && !answer.contains(opening)
    });
    opening.map(str::to_owned)
}

/// Returns what a rendering has after the common beginning, from the mark on in which the two
/// differ.
fn behind<'t>(begin: &str, whole: &'t str) -> &'t str {
    let alike = begin.chars().zip(whole.chars()).take_while(|(one, other)| one == other);
    let alike: usize = alike.map(|(letter, _)| letter.len_utf8()).sum();
    let before = &whole[..alike];
    let open = before.rfind('<').filter(|at| !before[*at..].contains('>'));
    &whole[open.unwrap_or(alike)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_before_a_call_that_no_answer_has_opens_it() {
        let found =
            |said: &str, called: &str| opening("<user>a<model>", said, called, "probe_tool");
        let call = "<user>a<model><act>[{\"name\": \"probe_tool\"}]";
        assert_eq!(found("<user>a<model>probe-said", call).as_deref(), Some("<act>"));
        let tag = "<user>a<model><function name=\"probe_tool\">";
        let tagged = found("<user>a<model>probe-said", tag);
        assert_eq!(tagged.as_deref(), Some("<function name=\""));
        let shared = "<user>a<model><answer>probe-said</answer>";
        let behind = "<user>a<model><answer></answer><act>probe_tool";
        assert_eq!(found(shared, behind).as_deref(), Some("</answer><act>"));
        // The prompt of an answer ends later than the two answers part.
        let other = opening(
            "<model><plan></plan>",
            "<model><say>b",
            "<model><plan></plan><act>probe_tool",
            "probe_tool",
        );
        assert_eq!(other.as_deref(), Some("<act>"));
    }

    #[test]
    fn what_answers_have_too_opens_no_call() {
        let found =
            |called: &str| opening("<user>a<model>", "<user>a<model>b<end>", called, "probe_tool");
        assert_eq!(found("<user>a<model><end>probe_tool"), None);
        assert_eq!(found("<user>a<model>call probe_tool"), None);
        assert_eq!(found("<user>a<model>[{\"name\": \"probe_tool\"}]"), None);
    }
}
