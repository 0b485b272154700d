//! Reads from a message of the person whether it asks to remove something, or only asks a question.

/// Parts of messages that ask to delete or to end something.
const REMOVING_PARTS: [&str; 46] = [
    "지우",
    "지워",
    "지운",
    "지울",
    "삭제",
    "없애",
    "없앨",
    "없앤",
    "빼",
    "뺄",
    "끝",
    "그만",
    "중단",
    "종료",
    "제거",
    "멈",
    "관두",
    "관둘",
    "관둬",
    "치우",
    "치워",
    "치울",
    "버려",
    "버리",
    "버릴",
    "내려",
    "내릴",
    "정리",
    "취소",
    "날려",
    "날릴",
    "접",
    "포기",
    "졸업",
    "해제",
    "떼",
    "까지만",
    "안 할",
    "안할",
    "안 해",
    "안해",
    "give up",
    "giving up",
    "no longer",
    "no more",
    "any more",
];

/// Beginnings of English words that ask for the same.
const REMOVING_STEMS: [&str; 25] = [
    "delet",
    "remov",
    "eras",
    "stop",
    "quit",
    "drop",
    "cancel",
    "finish",
    "discard",
    "scrap",
    "scratch",
    "trash",
    "kill",
    "clear",
    "strik",
    "wip",
    "retir",
    "throw",
    "toss",
    "destroy",
    "dump",
    "anymore",
    "discontinu",
    "terminat",
    "abandon",
];

/// English words that ask for it only if they are whole.
const REMOVING_WORDS: [&str; 14] = [
    "end", "ends", "ended", "ending", "rid", "off", "done", "bin", "cut", "out", "lose", "away",
    "close", "through",
];

/// Words that begin an English question, and no order. "Have", "when" and "which" begin both.
const ASKING: [&str; 9] = ["did", "was", "were", "is", "are", "does", "why", "didn't", "isn't"];

/// Words after "what" and "how" with which these begin a question.
const ASKING_AFTER: [&str; 11] =
    ["if", "did", "was", "is", "are", "do", "does", "many", "long", "much", "often"];

/// Words after which an order may follow in the same sentence.
const JOINING: [&str; 4] = ["and", "then", "so", "or"];

/// Words before the beginning of a question or an order.
const FILLERS: [&str; 10] = ["so", "and", "but", "hm", "hmm", "well", "wait", "then", "ok", "okay"];

/// Parts of messages that ask to leave something as it is, whatever else they say.
const KEEPING: [&str; 12] = [
    "leave it",
    "leave that",
    "keep it",
    "keep that",
    "지우지 마",
    "지우지마",
    "삭제하지 마",
    "끝내지 마",
    "그대로 둬",
    "그냥 둬",
    "놔둬",
    "냅둬",
];

/// Returns whether a message asks to leave something as it is.
pub(super) fn asks_to_keep(message: &str) -> bool {
    let message = message.to_lowercase();
    KEEPING.iter().any(|part| message.contains(part))
}

/// Returns whether a message asks to delete or to end something.
pub(super) fn asks_to_remove(message: &str) -> bool {
    let message = message.to_lowercase();
    let mut words = message.split(|letter: char| !letter.is_alphanumeric());
    REMOVING_PARTS.iter().any(|part| message.contains(part))
        || words.any(|word| {
            REMOVING_WORDS.contains(&word)
                || REMOVING_STEMS.iter().any(|stem| word.starts_with(stem))
        })
}

/// Returns whether each sentence of a message is an English question and nothing more. Korean words
/// for a question may as well begin a line that is to be written.
pub(super) fn only_asks(message: &str) -> bool {
    let message = message.to_lowercase();
    let sentences = message.split(['.', '?', '!', '\n', ';']);
    sentences.filter(|sentence| !sentence.trim().is_empty()).all(is_question)
}

/// Returns whether an English sentence, in small letters, is a question and nothing more.
fn is_question(sentence: &str) -> bool {
    let words = sentence.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let begin = words.iter().position(|word| !FILLERS.contains(word)).unwrap_or(words.len());
    let (begins, rest) = match &words[begin..] {
        ["what" | "how", second, rest @ ..] => (ASKING_AFTER.contains(second), rest),
        ["do", second, rest @ ..] => (["i", "we"].contains(second), rest),
        [first, rest @ ..] => (ASKING.contains(first), rest),
        [] => return false,
    };
    begins && !sentence.contains(',') && !rest.iter().any(|word| JOINING.contains(word))
}
