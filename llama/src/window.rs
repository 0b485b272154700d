//! Chooses the messages of a chat that fit into a prompt, and leaves out the oldest whole groups.

use madang_actors::protocol::PromptMessage;

/// Finds the longest end of a chat that fits, and counts the messages that are left out. `fits`
/// returns the prompt if it fits. If a shorter end does not fit, a longer one does not either. The
/// user's last message always stays, and a call stays with its result. Returns `None` if nothing
/// fits, and an error of `fits` as it is.
pub(super) fn longest<T, E>(
    messages: &[PromptMessage],
    mut fits: impl FnMut(&[&PromptMessage]) -> Result<Option<T>, E>,
) -> Result<Option<(T, usize)>, E> {
    let choices = choices(messages);
    if let Some(whole) = fits(&choices[0])? {
        return Ok(Some((whole, 0)));
    }
    // The longest end so far that fits, with its prompt.
    let mut best = None;
    let mut low = 1;
    let mut high = choices.len();
    while low < high {
        let middle = usize::midpoint(low, high);
        match fits(&choices[middle])? {
            Some(prompt) => {
                best = Some((prompt, messages.len() - choices[middle].len()));
                high = middle;
            }
            None => low = middle + 1,
        }
    }
    Ok(best)
}

/// Lists the ends of a chat from the longest: the whole chat, the chat without the first turn,
/// without the first two, and so on. The last turn without its oldest steps comes at the end.
fn choices(messages: &[PromptMessage]) -> Vec<Vec<&PromptMessage>> {
    let is_user = |message: &PromptMessage| matches!(message, PromptMessage::User { .. });
    let mut choices = vec![messages.iter().collect()];
    // A turn without an answer may be left out too. If its message is too long for an answer, it
    // would block all later ones.
    let later_turns = (1..messages.len()).filter(|at| is_user(&messages[*at]));
    choices.extend(later_turns.map(|at| messages[at..].iter().collect()));
    let last_turn = messages.iter().rposition(is_user).unwrap_or_default();
    for from in last_turn + 2..messages.len() {
        choices.push(std::iter::once(&messages[last_turn]).chain(&messages[from..]).collect());
    }
    choices
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use madang_actors::protocol::CallId;

    use super::*;

    /// Builds a chat from letters: u for the user, m for the model, c for a call with its result.
    fn chat(letters: &str) -> Vec<PromptMessage> {
        let numbered = |(at, letter): (usize, char)| {
            let text = format!("{letter}{at}");
            match letter {
                'u' => PromptMessage::User { text: text.into() },
                'm' => PromptMessage::Model { text: text.into() },
                _ => PromptMessage::ToolCall {
                    opaque: None,
                    call: CallId::new(uuid::Uuid::nil()),
                    name: text.into(),
                    arguments: "{}".into(),
                    envelope: "{}".into(),
                },
            }
        };
        letters.chars().enumerate().map(numbered).collect()
    }

    fn fit(letters: &str, room: usize) -> Option<String> {
        let name = |message: &&PromptMessage| match message {
            PromptMessage::User { text } | PromptMessage::Model { text } => text.to_string(),
            PromptMessage::ToolCall { name, .. } => name.to_string(),
        };
        longest(&chat(letters), |messages| {
            let text: Vec<String> = messages.iter().map(name).collect();
            Ok::<_, Infallible>((messages.len() <= room).then(|| text.join(" ")))
        })
        .unwrap_or_else(|never| match never {})
        .map(|(text, left_out)| {
            assert_eq!(left_out, letters.len() - text.split(' ').count());
            text
        })
    }

    #[test]
    fn what_fits_stays_whole() {
        assert_eq!(fit("umucm", 5).as_deref(), Some("u0 m1 u2 c3 m4"));
    }

    #[test]
    fn the_oldest_turns_go_first() {
        assert_eq!(fit("umumum", 5).as_deref(), Some("u2 m3 u4 m5"));
        assert_eq!(fit("umumum", 3).as_deref(), Some("u4 m5"));
    }

    #[test]
    fn then_the_oldest_steps_of_the_last_turn_go_but_not_its_question() {
        assert_eq!(fit("umuccc", 3).as_deref(), Some("u2 c4 c5"));
        assert_eq!(fit("umuccc", 2).as_deref(), Some("u2 c5"));
        assert_eq!(fit("umuccc", 1), None);
    }

    #[test]
    fn a_turn_without_an_answer_goes_like_any_other() {
        assert_eq!(fit("uumu", 3).as_deref(), Some("u1 m2 u3"));
        assert_eq!(fit("umuu", 1).as_deref(), Some("u3"));
    }

    #[test]
    fn a_question_that_is_too_long_fits_nowhere() {
        assert_eq!(fit("u", 0), None);
    }
}
