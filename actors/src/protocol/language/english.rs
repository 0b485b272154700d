//! Every sentence of a runtime in English.

use std::{fmt::Display, time::Duration};

use super::{Language, count_words, listed, standing};
use crate::protocol::{
    Bound, Breach, CancelReason, Effect, EffectResolution, LanguageTag, LimitExceeded, Notice,
    PromptPart, PromptSize, Text,
};

/// English, the default.
#[derive(Debug, Clone, Copy)]
pub struct English;

impl Language for English {
    fn tag(&self) -> LanguageTag {
        LanguageTag::EN
    }

    /// A line of fewer than three words, such as `ok` or a name, may be of any language.
    fn is_of(&self, line: &str) -> bool {
        let (english, foreign) = count_words(line, |word| {
            word.chars().all(|letter| letter.is_ascii() || !letter.is_alphabetic())
        });
        english >= 3 && english > 4 * foreign
    }

    fn say(&self, text: &Text<'_>) -> Option<String> {
        Some(self.words(text))
    }
}

impl English {
    /// Says each text: it is what another language falls back to.
    pub(in crate::protocol) fn words(self, text: &Text<'_>) -> String {
        let words = match text {
            Text::UnknownTool(name) => return format!("unknown tool: {name}"),
            Text::NoTool => {
                "The call could not be read. Write the name of a tool, and its arguments."
            }
            Text::BadArguments(problems) => return format!("invalid arguments: {problems}"),
            Text::Breach(breach) => return breach_words(breach),
            Text::HandlerFailed(fault) => return format!("the tool failed: {}", fault.name()),
            Text::TimedOut { seconds, effect } => {
                let what = match effect {
                    Effect::Unknown => "It may have taken effect.",
                    Effect::Committed => "It took effect all the same.",
                    Effect::None => "Nothing was changed.",
                };
                return format!("The tool did not finish within {seconds} s. {what}");
            }
            Text::Overloaded => "Too much is going on right now. Please try again in a moment.",
            Text::TooMany(exceeded) => return too_many(exceeded),
            Text::TooManyCalls(max) => {
                return format!(
                    "Not run, because at most {max} calls are taken at once. Call it again if it is still needed."
                );
            }
            Text::StoreFailed => "The store is not available, so nothing was run.",
            Text::ToolChanged => {
                "Not run, because the tool has changed since the question was asked."
            }
            Text::NotSealed => {
                "Not run, because the recorded approval was not given here, or was changed."
            }
            Text::Standing { lifetime, uses, resource } => {
                return standing_words(*lifetime, *uses, *resource);
            }
            Text::EndUnknown => {
                "It had begun, but how it ended is not known. It may have taken effect."
            }
            Text::Unreadable => "The stored result of the call cannot be read.",
            Text::TooManyRounds => "Stopped, because the chain of tool calls became too long.",
            Text::PromptTooLong(size) => return too_long(size),
            Text::ModelFailed(kind) => return model_failed(kind),
            Text::MessagesLeftOut(count) => {
                return format!("The chat is long: answered without its {count} oldest messages.");
            }
            Text::TurnInterrupted => "Interrupted. It goes on once the store answers.",
            Text::WaitsForModel => "Interrupted. It goes on after a start with a model.",
            Text::TurnCutOff => "It was cut off and could not be finished. Please say it again.",
            Text::Notice(Notice::EffectUnknown) => {
                "A tool was cut off while it ran, and whether it took effect is not known. Please check; it was not run again."
            }
            Text::Notice(Notice::TurnLeftOut) => {
                "The model broke down over this message. From now on the chat goes on without its text."
            }
            Text::Notice(Notice::Unreadable) => "An entry that stood here cannot be read.",
            Text::Notice(Notice::Forked) => {
                "This chat goes on from another one. What tools did there stays done; it is recorded in that chat."
            }
            Text::Notice(Notice::SuggestClear) => "Shall we clear the conversation so far?",
            Text::LeftOut => {
                "(The text of this message is left out, because the model broke down over it.)"
            }
            Text::Cancelled(reason) => match reason {
                CancelReason::Denied => "You did not allow it.",
                CancelReason::Expired => "Cancelled, because no answer came in time.",
                CancelReason::Unreachable => "Not run, because no person could be asked.",
                CancelReason::Dismissed => "Cancelled, because the screen was closed.",
                CancelReason::Withdrawn => "Not run, because the turn ended before it began.",
            },
            Text::Discarded { tool, effect } => {
                let what = match effect {
                    Effect::None => {
                        "the screen was closed and the result discarded. It did not take effect."
                    }
                    Effect::Committed => {
                        "the screen was closed and the result discarded, but it took effect."
                    }
                    Effect::Unknown => {
                        "the screen was closed and the result discarded. It may have taken effect."
                    }
                };
                return format!("{tool}: {what}");
            }
            Text::Resolved { tool, resolution } => {
                let what = match resolution {
                    EffectResolution::TookEffect => "it is known now that it took effect.",
                    EffectResolution::DidNot => "it is known now that it did not take effect.",
                };
                return format!("{tool}: {what}");
            }
            Text::RunTool(name) => return format!("Runs the tool {name}."),
        };
        words.to_owned()
    }
}

fn too_many(exceeded: &LimitExceeded) -> String {
    let LimitExceeded { bound, max, retry_after, .. } = exceeded;
    let what = match bound {
        Bound::AwakeSessions => "open chats",
        Bound::RunningTurns => "running turns",
        Bound::ApprovalRequests => "open questions",
        Bound::Inboxes => "open inboxes",
        Bound::RunningCalls => "running tools",
        Bound::QueuedBytes => "bytes waiting to be stored",
        Bound::WaitingMessages => "waiting messages",
        // Waiting makes no room.
        Bound::StoredBytes => {
            return format!(
                "As much is stored of this user as is allowed ({max} bytes). Please try again once the bound was raised or the user was forgotten."
            );
        }
    };
    let when = retry_after
        .map_or("in a moment".to_owned(), |after| format!("in about {} s", after.as_secs().max(1)));
    format!("There are too many {what} ({max} are allowed). Please try again {when}.")
}

fn model_failed(kind: &str) -> String {
    let what = match kind {
        "Repetition" => {
            ". It repeated itself and was stopped. Ask in other words, or clear the chat and ask again."
        }
        "AnswerTooLong" => {
            ". It reached its bound before it said anything of use. Ask for one thing at a time, and for less."
        }
        "ConnectionLost" => ". It could not be reached, or the connection broke. Try again.",
        "Unauthorized" => ". Its provider does not take the key.",
        "Refused" => ". Its provider refuses to answer this.",
        "Http404" => ". Its provider knows no such model, or the address is wrong.",
        _ => "",
    };
    format!("the model failed: {kind}{what}")
}

fn too_long(size: &PromptSize) -> String {
    let what = match size.largest() {
        PromptPart::Tools => {
            "The descriptions of the tools are too long for it: offer fewer tools, or give it more room (--context)."
        }
        PromptPart::System => {
            "The system text is too long for it: shorten it, or give the model more room (--context)."
        }
        PromptPart::History => {
            "The chat is too long for it: clear it and ask again, or give the model more room (--context)."
        }
        PromptPart::Message => {
            "The message is too long for it: say less at once, or give the model more room (--context)."
        }
        PromptPart::Results => {
            "What the tools gave is too long for it: ask for less at once, or give the model more room (--context)."
        }
    };
    let PromptSize {
        tools,
        tools_bytes,
        system_bytes,
        history_bytes,
        message_bytes,
        results_bytes,
    } = size;
    format!(
        "the model failed: PromptTooLong. {what} In bytes: {tools} tools {tools_bytes}, system text {system_bytes}, chat before {history_bytes}, message {message_bytes}, results of this turn {results_bytes}."
    )
}

fn standing_words(lifetime: Duration, uses: u32, resource: Option<&str>) -> String {
    let (count, is_hours, resource) = standing(lifetime, resource);
    let unit = match (is_hours, count) {
        (true, 1) => "hour",
        (true, _) => "hours",
        (false, 1) => "minute",
        (false, _) => "minutes",
    };
    let times = if uses == 1 { "once".to_owned() } else { format!("at most {uses} times") };
    let only = resource.map_or_else(String::new, |resource| format!(", for {resource} only"));
    format!("\"Always\" holds for {count} {unit}, {times}{only}.")
}

fn breach_words(breach: &Breach) -> String {
    let around =
        |before: &str, middle: &dyn Display, after: &str| format!("{before}{middle}{after}");
    let words = match breach {
        Breach::TooLong { max_bytes } => return around("longer than ", max_bytes, " bytes"),
        Breach::TooDeep { max_levels } => {
            return around("nested deeper than ", max_levels, " levels");
        }
        Breach::TooComplex => "too complex to be checked",
        Breach::NotJson { line, column } => {
            return format!("not valid JSON (line {line}, column {column})");
        }
        Breach::TooManyDigits => "a whole number has more digits than 64 bits hold",
        Breach::NotAnObject => "must be a JSON object",
        Breach::Missing => "is required",
        Breach::Unknown(keys) => return around("keys not allowed: ", &listed(keys), ""),
        Breach::Type(types) => return around("must be of type ", &listed(types), ""),
        Breach::OneOf(values) => return around("must be one of ", &listed(values), ""),
        Breach::AtLeast(bound) => return around("must be at least ", bound, ""),
        Breach::AtMost(bound) => return around("must be at most ", bound, ""),
        Breach::Above(bound) => return around("must be greater than ", bound, ""),
        Breach::Below(bound) => return around("must be less than ", bound, ""),
        Breach::MultipleOf(factor) => return around("must be a multiple of ", factor, ""),
        Breach::MinLength(bound) => return around("needs at least ", bound, " characters"),
        Breach::MaxLength(bound) => return around("takes at most ", bound, " characters"),
        Breach::MinItems(bound) => return around("needs at least ", bound, " items"),
        Breach::MaxItems(bound) => return around("takes at most ", bound, " items"),
        Breach::MinProperties(bound) => return around("needs at least ", bound, " keys"),
        Breach::MaxProperties(bound) => return around("takes at most ", bound, " keys"),
        Breach::Pattern(pattern) => return around("must match the pattern ", pattern, ""),
        Breach::Format(format) => return around("is not a valid ", format, ""),
        Breach::NotUnique => "has equal items",
        Breach::NoSuchItem => "lacks an item of the kind needed",
        Breach::KeyName => "has a key of a wrong name",
        Breach::NotAllowed => "is not allowed",
        Breach::NoForm => "has none of the allowed forms",
        Breach::SeveralForms => "has more than one of the allowed forms",
        Breach::Misfit { expected: Some(expected) } => {
            return around("does not fit, expected ", expected, "");
        }
        Breach::Misfit { expected: None } => "does not fit",
    };
    words.to_owned()
}
