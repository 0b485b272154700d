//! Decides to which chat a request of a stateless client belongs, by the chain that names a
//! history, and by comparing a stored chat with the client's.
//!
//! A client of this protocol sends its whole chat each time and does not name it. The chain is a
//! hash over the user, the instructions and each text in its order, so a history of any length is
//! one row. A chain only finds candidates. A chat is continued only if its texts are those of the
//! client.

use std::sync::Arc;

use madang::{
    UserId,
    approval::Digest,
    event::ChatMessage,
    session::{Imported, ImportedRole},
    turn::BETWEEN_MESSAGES,
};
use sha2::{Digest as _, Sha256};

use crate::surface::history::said_in;

/// Returns the chain of a history. It is the same only for the same user, instructions and texts.
pub(crate) fn chain(user: &UserId, instructions: Option<&str>, history: &[Imported]) -> Digest {
    let mut hash = Sha256::new();
    let mut part = |kind: u8, text: &str| {
        hash.update([kind]);
        // The length keeps two texts apart from one text that has both.
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    };
    part(0, user.as_str());
    part(1, instructions.unwrap_or_default());
    for Imported { role, text } in history {
        let kind = match role {
            ImportedRole::User => 2,
            ImportedRole::Model => 3,
        };
        part(kind, text.trim_end());
    }
    Digest::new(hash.finalize().into())
}

/// Returns whether a chat has exactly the client's history. White space at the end of a text does
/// not count, because clients trim it.
pub(crate) fn is_of(messages: &[ChatMessage], history: &[Imported]) -> bool {
    are_same(&said_in(messages), history)
}

/// Returns what is new in the client's last text, if the chat has the client's history. Returns
/// `None` if it is another chat. The chat may have one more text, to which no answer came. Clients
/// send it again before their next text.
pub(crate) fn new_text(
    messages: &[ChatMessage],
    history: &[Imported],
    text: &Arc<str>,
) -> Option<Arc<str>> {
    let ours = said_in(messages);
    let (known, unanswered) = ours.split_at_checked(history.len())?;
    match unanswered {
        _ if !are_same(known, history) => None,
        [] => Some(text.clone()),
        [Imported { role: ImportedRole::User, text: unanswered }] => {
            let behind = text.strip_prefix(unanswered.trim_end())?.trim_start_matches(' ');
            behind.strip_prefix(BETWEEN_MESSAGES).map(Into::into)
        }
        _ => None,
    }
}

fn are_same(ours: &[Imported], theirs: &[Imported]) -> bool {
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(ours, theirs)| {
            ours.role == theirs.role && ours.text.trim_end() == theirs.text.trim_end()
        })
}

#[cfg(test)]
mod tests {
    use madang::{
        Timestamp, TurnId,
        event::{Content, Ending, Notice},
    };
    use uuid::Uuid;

    use super::*;

    fn said(texts: &[(ImportedRole, &str)]) -> Vec<Imported> {
        texts.iter().map(|(role, text)| Imported { role: *role, text: (*text).into() }).collect()
    }

    fn kim() -> UserId {
        UserId::new("kim").unwrap()
    }

    #[test]
    fn a_chain_tells_users_instructions_sides_and_borders_apart() {
        use ImportedRole::{Model, User};
        let base = said(&[(User, "a"), (Model, "b")]);
        let chains = [
            chain(&kim(), None, &base),
            chain(&UserId::new("lee").unwrap(), None, &base),
            chain(&kim(), Some("x"), &base),
            chain(&kim(), None, &base[..1]),
            chain(&kim(), None, &said(&[(Model, "a"), (User, "b")])),
            chain(&kim(), None, &said(&[(User, "ab")])),
            chain(&kim(), None, &said(&[(User, "a"), (Model, "b"), (User, "")])),
        ];
        for (at, one) in chains.iter().enumerate() {
            assert!(chains[..at].iter().all(|other| other != one), "{at}");
        }
        assert_eq!(chain(&kim(), None, &said(&[(User, "a\n"), (Model, "b ")])), chains[0]);
    }

    #[test]
    fn a_chat_is_the_clients_where_both_sides_have_said_the_same() {
        let message = |content| ChatMessage {
            seq: 1,
            turn: TurnId::new(Uuid::nil()),
            at: Timestamp::from_millis(0),
            content,
        };
        let model = |text: &str| message(Content::model(text, Ending::Complete));
        let chat = [
            message(Content::user("Hi")),
            model("I look."),
            message(Content::Notice { notice: Notice::SuggestClear }),
            model(""),
            model("Done. "),
        ];
        use ImportedRole::{Model, User};
        assert!(is_of(&chat, &said(&[(User, "Hi"), (Model, "I look.\n\nDone.")])));
        for other in [
            said(&[(User, "Hi")]),
            said(&[(User, "Hi"), (Model, "I look.")]),
            said(&[(Model, "Hi"), (User, "I look.\n\nDone.")]),
            said(&[]),
        ] {
            assert!(!is_of(&chat, &other), "{other:?}");
        }
        assert!(is_of(&[], &[]));
    }

    #[test]
    fn a_text_without_an_answer_is_not_said_again() {
        use ImportedRole::{Model, User};
        let message = |content| ChatMessage {
            seq: 1,
            turn: TurnId::new(Uuid::nil()),
            at: Timestamp::from_millis(0),
            content,
        };
        let answered =
            [message(Content::user("Hi")), message(Content::model("Hello", Ending::Complete))];
        let asked = [&answered[..], &[message(Content::user("Delete it "))]].concat();
        let history = said(&[(User, "Hi"), (Model, "Hello")]);
        let new = |messages: &[ChatMessage], text: &str| new_text(messages, &history, &text.into());
        assert_eq!(new(&answered, "Bye").as_deref(), Some("Bye"));
        assert_eq!(new(&asked, "Delete it \n\nKeep it").as_deref(), Some("Keep it"));
        for other in ["Delete it ", "Delete it all", "Keep it\n\nDelete it "] {
            assert_eq!(new(&asked, other), None, "{other}");
        }
        assert_eq!(new(&answered[..1], "Bye"), None);
        let further = [&asked[..], &[message(Content::model("Done", Ending::Complete))]].concat();
        assert_eq!(new(&further, "Delete it \n\nKeep it"), None);
    }
}
