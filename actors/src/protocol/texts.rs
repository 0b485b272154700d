//! The one table of every text that a person sees, in Korean and English.

use std::{borrow::Cow, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Bound, Breach, CancelReason, Effect, EffectResolution, LimitExceeded, Locale, Notice};

/// The type of a failure inside a call, as the model and the user are told it; never its message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fault(Cow<'static, str>);

impl Fault {
    /// The handler panicked.
    pub const PANIC: Self = Self(Cow::Borrowed("Panic"));
    /// The outcome could not be serialised.
    pub const SERIALIZE: Self = Self(Cow::Borrowed("Serialize"));
    /// The reply was lost and the ledger knows no end.
    pub const REPLY_LOST: Self = Self(Cow::Borrowed("ReplyLost"));

    /// Makes the type that an error gives itself.
    #[must_use]
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self(name.into())
    }

    /// Gives its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// Makes `Error`, for an error that gives itself no type.
impl Default for Fault {
    fn default() -> Self {
        Self(Cow::Borrowed("Error"))
    }
}

/// A text for a person; `text.in_locale(..)` gives its words.
#[derive(Debug, Clone, PartialEq)]
pub enum Text<'a> {
    /// No tool of this name is registered.
    UnknownTool(&'a str),
    /// The arguments break the schema; the problems are listed.
    BadArguments(&'a str),
    /// A problem with the arguments.
    Breach(&'a Breach),
    /// The handler failed unexpectedly.
    HandlerFailed(&'a Fault),
    /// The handler passed its deadline.
    TimedOut {
        /// The deadline that passed.
        seconds: f64,
        /// The effect that the handler may have had.
        effect: Effect,
    },
    /// A bound was reached.
    Overloaded,
    /// A bound of admission was reached.
    TooMany(&'a LimitExceeded),
    /// The model asked for more calls at once than are taken; this one was not run.
    TooManyCalls(usize),
    /// The store is unavailable or full; nothing was run.
    StoreFailed,
    /// The tool has changed since the person was asked about it.
    ToolChanged,
    /// The approval in the ledger was not sealed here, or was changed.
    NotSealed,
    /// The reach of "always", for the question.
    Standing {
        /// The time that it lasts.
        lifetime: Duration,
        /// The number of calls that it covers.
        uses: u32,
        /// The resource that it is bound to.
        resource: Option<&'a str>,
    },
    /// The call was recorded as begun, and its end is unknown.
    EndUnknown,
    /// The stored outcome of a call cannot be read.
    Unreadable,
    /// More rounds were asked for than are allowed.
    TooManyRounds,
    /// The model failed, in this way.
    ModelFailed(&'a str),
    /// The model answered without so many of the oldest messages.
    MessagesLeftOut(u32),
    /// The turn could not be stored.
    TurnNotStored,
    /// The turn is given up, and its end is not stored yet.
    TurnInterrupted,
    /// The turn was cut off and does not go on.
    TurnCutOff,
    /// A system notice.
    Notice(Notice),
    /// The sentence that the model reads in place of a message that is left out.
    LeftOut,
    /// Why a call was cancelled.
    Cancelled(CancelReason),
    /// The sentence that the model is told of a call whose result was discarded.
    Discarded {
        /// The name of the tool.
        tool: &'a str,
        /// The effect of the call.
        effect: Effect,
    },
    /// What an unknown effect turned out to be.
    Resolved {
        /// The name of the tool.
        tool: &'a str,
        /// The effect that the call had.
        resolution: EffectResolution,
    },
    /// The sentence of a question where the tool gives no consequence of its own.
    RunTool(&'a str),
}

impl Text<'_> {
    /// Gives the words in this language.
    #[must_use]
    pub fn in_locale(&self, locale: Locale) -> String {
        Words { text: self, locale }.to_string()
    }
}

struct Words<'a> {
    text: &'a Text<'a>,
    locale: Locale,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pick = |ko: &'static str, en: &'static str| self.locale.pick(ko, en);
        match self.text {
            Text::UnknownTool(name) => {
                write!(f, "{}: {name}", pick("알 수 없는 도구", "unknown tool"))
            }
            Text::BadArguments(problems) => {
                write!(f, "{}: {problems}", pick("인자 오류", "invalid arguments"))
            }
            Text::Breach(breach) => write_breach(f, breach, self.locale),
            Text::HandlerFailed(fault) => {
                write!(f, "{}: {}", pick("도구 실행 실패", "the tool failed"), fault.name())
            }
            Text::TimedOut { seconds, effect } => {
                match self.locale {
                    Locale::Ko => write!(f, "도구가 {seconds}초 안에 끝나지 않았습니다."),
                    Locale::En => write!(f, "The tool did not finish within {seconds} s."),
                }?;
                f.write_str(match effect {
                    Effect::Unknown => {
                        pick(" 이미 적용되었을 수도 있습니다.", " It may have taken effect.")
                    }
                    Effect::Committed => {
                        pick(" 그러나 적용되었습니다.", " It took effect all the same.")
                    }
                    Effect::None => pick(" 아무것도 바뀌지 않았습니다.", " Nothing was changed."),
                })
            }
            Text::Overloaded => f.write_str(pick(
                "지금은 요청이 너무 많습니다. 잠시 뒤에 다시 시도해 주세요.",
                "Too much is going on right now. Please try again in a moment.",
            )),
            Text::TooMany(refusal) => {
                let LimitExceeded { bound, max, retry_after, .. } = refusal;
                let what = match bound {
                    Bound::AwakeSessions => pick("열린 대화", "open chats"),
                    Bound::RunningTurns => pick("진행 중인 대화", "running turns"),
                    Bound::OpenQuestions => pick("답을 기다리는 질문", "open questions"),
                    Bound::RunningCalls => pick("실행 중인 도구", "running tools"),
                    Bound::QueuedBytes => pick("저장을 기다리는 바이트", "bytes waiting to be stored"),
                    Bound::WaitingMessages => pick("기다리는 메시지", "waiting messages"),
                    // Waiting makes no room.
                    Bound::StoredBytes => {
                        return match self.locale {
                            Locale::Ko => write!(
                                f,
                                "저장된 내용이 한도({max}바이트)에 이르렀습니다. 한도를 늘리거나 저장된 내용을 지운 뒤에 다시 시도해 주세요."
                            ),
                            Locale::En => write!(
                                f,
                                "As much is stored of this user as is allowed ({max} bytes). Please try again once the bound was raised or the user was forgotten."
                            ),
                        };
                    }
                };
                let seconds = retry_after.map(|after| after.as_secs().max(1));
                match (self.locale, seconds) {
                    (Locale::Ko, Some(seconds)) => write!(
                        f,
                        "{what} 수가 한도({max})에 이르렀습니다. 약 {seconds}초 뒤에 다시 시도해 주세요."
                    ),
                    (Locale::Ko, None) => write!(
                        f,
                        "{what} 수가 한도({max})에 이르렀습니다. 잠시 뒤에 다시 시도해 주세요."
                    ),
                    (Locale::En, Some(seconds)) => write!(
                        f,
                        "There are too many {what} ({max} are allowed). Please try again in about {seconds} s."
                    ),
                    (Locale::En, None) => write!(
                        f,
                        "There are too many {what} ({max} are allowed). Please try again in a moment."
                    ),
                }
            }
            Text::TooManyCalls(max) => match self.locale {
                Locale::Ko => write!(
                    f,
                    "한 번에 받는 도구 호출은 {max}개까지라서 실행하지 않았습니다. 아직 필요하면 다시 불러 주세요."
                ),
                Locale::En => write!(
                    f,
                    "Not run, because at most {max} calls are taken at once. Call it again if it is still needed."
                ),
            },
            Text::StoreFailed => f.write_str(pick(
                "저장소를 쓸 수 없어 실행하지 않았습니다.",
                "The store is not available, so nothing was run.",
            )),
            Text::ToolChanged => f.write_str(pick(
                "물어본 뒤에 도구가 바뀌어 실행하지 않았습니다.",
                "Not run, because the tool has changed since the question was asked.",
            )),
            Text::NotSealed => f.write_str(pick(
                "기록된 승인이 이 프로그램의 것이 아니거나 바뀌어 실행하지 않았습니다.",
                "Not run, because the recorded approval was not given here, or was changed.",
            )),
            Text::Standing { lifetime, uses, resource } => {
                write_standing(f, *lifetime, *uses, *resource, self.locale)
            }
            Text::EndUnknown => f.write_str(pick(
                "실행이 시작되었지만 결과를 확인할 수 없습니다. 적용되었을 수도 있습니다.",
                "It had begun, but how it ended is not known. It may have taken effect.",
            )),
            Text::Unreadable => f.write_str(pick(
                "저장된 호출 결과를 읽을 수 없습니다.",
                "The stored result of the call cannot be read.",
            )),
            Text::TooManyRounds => f.write_str(pick(
                "도구 호출 루프가 너무 길어 중단했습니다.",
                "Stopped, because the chain of tool calls became too long.",
            )),
            Text::ModelFailed(kind) => {
                write!(f, "{}: {kind}", pick("LLM 응답 실패", "the model failed"))?;
                match *kind {
                    "Repetition" => f.write_str(pick(
                        ". 같은 말을 되풀이해 멈췄습니다. 다른 말로 다시 물어보거나, 대화를 정리하고 물어보세요.",
                        ". It repeated itself and was stopped. Ask in other words, or clear the chat and ask again.",
                    )),
                    "AnswerTooLong" => f.write_str(pick(
                        ". 쓸 수 있는 답을 하기 전에 한도에 닿았습니다. 한 번에 하나씩, 더 짧게 부탁해 보세요.",
                        ". It reached its bound before it said anything of use. Ask for one thing at a time, and for less.",
                    )),
                    _ => Ok(()),
                }
            }
            Text::MessagesLeftOut(count) => match self.locale {
                Locale::Ko => write!(f, "대화가 길어 오래된 메시지 {count}개는 빼고 답했습니다."),
                Locale::En => {
                    write!(f, "The chat is long: answered without its {count} oldest messages.")
                }
            },
            Text::TurnNotStored => f.write_str(pick(
                "대화를 저장할 수 없어 중단했습니다.",
                "Stopped, because the chat could not be stored.",
            )),
            Text::TurnInterrupted => f.write_str(pick(
                "중단되었습니다. 일어난 일이 저장되면 차례가 끝납니다.",
                "Interrupted. The turn ends once what happened is stored.",
            )),
            Text::TurnCutOff => f.write_str(pick(
                "도중에 끊겨 끝내지 못했습니다. 다시 말씀해 주세요.",
                "It was cut off and could not be finished. Please say it again.",
            )),
            Text::Notice(Notice::EffectUnknown) => f.write_str(pick(
                "도구를 실행하던 중에 끊겨, 적용되었는지 알 수 없습니다. 직접 확인해 주세요. 다시 실행하지는 않았습니다.",
                "A tool was cut off while it ran, and whether it took effect is not known. Please check; it was not run again.",
            )),
            Text::Notice(Notice::TurnLeftOut) => f.write_str(pick(
                "이 메시지를 읽다가 모델이 멈췄습니다. 이제부터는 이 메시지의 내용을 빼고 대화를 이어 갑니다.",
                "The model broke down over this message. From now on the chat goes on without its text.",
            )),
            Text::LeftOut => f.write_str(pick(
                "(이 메시지는 모델을 멈추게 하여 내용을 뺐습니다.)",
                "(The text of this message is left out, because the model broke down over it.)",
            )),
            Text::Notice(Notice::Unreadable) => f.write_str(pick(
                "여기에 있던 내용은 읽을 수 없습니다.",
                "An entry that stood here cannot be read.",
            )),
            Text::Notice(Notice::SuggestClear) => f.write_str(pick(
                "지난 대화를 정리할까요?",
                "Shall we clear the conversation so far?",
            )),
            Text::Cancelled(reason) => f.write_str(match reason {
                CancelReason::Denied => {
                    pick("사용자가 허락하지 않았습니다.", "You did not allow it.")
                }
                CancelReason::Expired => pick(
                    "제때 답이 없어 취소했습니다.",
                    "Cancelled, because no answer came in time.",
                ),
                CancelReason::Unreachable => pick(
                    "확인해 줄 사람이 없어 실행하지 않았습니다.",
                    "Not run, because no person could be asked.",
                ),
                CancelReason::Dismissed => {
                    pick("화면을 닫아 취소했습니다.", "Cancelled, because the screen was closed.")
                }
                CancelReason::Withdrawn => pick(
                    "시작하기 전에 대화가 멈춰 실행하지 않았습니다.",
                    "Not run, because the turn ended before it began.",
                ),
            }),
            Text::Discarded { tool, effect } => {
                write!(f, "{tool}: ")?;
                f.write_str(match effect {
                    Effect::None => pick(
                        "화면이 닫혀 결과를 버렸습니다. 적용되지 않았습니다.",
                        "the screen was closed and the result discarded. It did not take effect.",
                    ),
                    Effect::Committed => pick(
                        "화면이 닫혀 결과를 버렸지만, 적용되었습니다.",
                        "the screen was closed and the result discarded, but it took effect.",
                    ),
                    Effect::Unknown => pick(
                        "화면이 닫혀 결과를 버렸습니다. 적용되었을 수도 있습니다.",
                        "the screen was closed and the result discarded. It may have taken effect.",
                    ),
                })
            }
            Text::Resolved { tool, resolution } => {
                write!(f, "{tool}: ")?;
                f.write_str(match resolution {
                    EffectResolution::TookEffect => {
                        pick("확인 결과 적용되었습니다.", "it is known now that it took effect.")
                    }
                    EffectResolution::DidNot => pick(
                        "확인 결과 적용되지 않았습니다.",
                        "it is known now that it did not take effect.",
                    ),
                })
            }
            Text::RunTool(name) => match self.locale {
                Locale::Ko => write!(f, "도구 {name}을(를) 실행합니다."),
                Locale::En => write!(f, "Runs the tool {name}."),
            },
        }
    }
}

fn write_standing(
    f: &mut fmt::Formatter<'_>,
    lifetime: Duration,
    uses: u32,
    resource: Option<&str>,
    locale: Locale,
) -> fmt::Result {
    let minutes = lifetime.as_secs().div_ceil(60);
    let is_whole_hours = minutes >= 60 && minutes.is_multiple_of(60);
    let count = if is_whole_hours { minutes / 60 } else { minutes };
    let resource = resource.map(|resource| serde_json::Value::from(resource).to_string());
    match locale {
        Locale::Ko => {
            let unit = if is_whole_hours { "시간" } else { "분" };
            write!(f, "\"항상\"은 {count}{unit} 동안 최대 {uses}번")?;
            resource.map_or(Ok(()), |resource| write!(f, ", {resource}에만"))?;
            f.write_str(" 적용됩니다.")
        }
        Locale::En => {
            let unit = match (is_whole_hours, count) {
                (true, 1) => "hour",
                (true, _) => "hours",
                (false, 1) => "minute",
                (false, _) => "minutes",
            };
            let times = if uses == 1 { "once" } else { "times" };
            write!(f, "\"Always\" holds for {count} {unit}, ")?;
            if uses == 1 {
                write!(f, "{times}")?
            } else {
                write!(f, "at most {uses} {times}")?
            }
            resource.map_or(Ok(()), |resource| write!(f, ", for {resource} only"))?;
            f.write_str(".")
        }
    }
}

/// JSON's own words (`string`, `object`, names of formats) are the same in every language.
fn write_breach(f: &mut fmt::Formatter<'_>, breach: &Breach, locale: Locale) -> fmt::Result {
    // Both languages put the quantity into the middle of the sentence.
    let around =
        |f: &mut fmt::Formatter<'_>, ko: [&str; 2], en: [&str; 2], middle: &dyn fmt::Display| {
            let [before, after] = locale.pick(ko, en);
            write!(f, "{before}{middle}{after}")
        };
    match breach {
        Breach::TooLong { max_bytes } => {
            around(f, ["", "바이트를 넘습니다"], ["longer than ", " bytes"], max_bytes)
        }
        Breach::TooDeep { max_levels } => {
            around(f, ["", "단계보다 깊습니다"], ["nested deeper than ", " levels"], max_levels)
        }
        Breach::TooComplex => {
            f.write_str(locale.pick("검사하기에 너무 복잡합니다", "too complex to be checked"))
        }
        Breach::NotJson { line, column } => match locale {
            Locale::Ko => write!(f, "올바른 JSON이 아닙니다 ({line}행 {column}열)"),
            Locale::En => write!(f, "not valid JSON (line {line}, column {column})"),
        },
        Breach::NotAnObject => {
            f.write_str(locale.pick("JSON 객체여야 합니다", "must be a JSON object"))
        }
        Breach::Missing => f.write_str(locale.pick("꼭 있어야 합니다", "is required")),
        Breach::Unknown(keys) => {
            around(f, ["허용되지 않은 키: ", ""], ["keys not allowed: ", ""], &Listed(keys))
        }
        Breach::Type(types) => {
            around(f, ["", " 형식이어야 합니다"], ["must be of type ", ""], &Listed(types))
        }
        Breach::OneOf(values) => {
            around(f, ["다음 중 하나여야 합니다: ", ""], ["must be one of ", ""], &Listed(values))
        }
        Breach::AtLeast(bound) => {
            around(f, ["", " 이상이어야 합니다"], ["must be at least ", ""], bound)
        }
        Breach::AtMost(bound) => {
            around(f, ["", " 이하여야 합니다"], ["must be at most ", ""], bound)
        }
        Breach::Above(bound) => {
            around(f, ["", "보다 커야 합니다"], ["must be greater than ", ""], bound)
        }
        Breach::Below(bound) => {
            around(f, ["", "보다 작아야 합니다"], ["must be less than ", ""], bound)
        }
        Breach::MultipleOf(factor) => {
            around(f, ["", "의 배수여야 합니다"], ["must be a multiple of ", ""], factor)
        }
        Breach::MinLength(bound) => {
            around(f, ["", "자 이상이어야 합니다"], ["needs at least ", " characters"], bound)
        }
        Breach::MaxLength(bound) => {
            around(f, ["", "자 이하여야 합니다"], ["takes at most ", " characters"], bound)
        }
        Breach::MinItems(bound) => {
            around(f, ["항목이 ", "개 이상이어야 합니다"], ["needs at least ", " items"], bound)
        }
        Breach::MaxItems(bound) => {
            around(f, ["항목이 ", "개 이하여야 합니다"], ["takes at most ", " items"], bound)
        }
        Breach::MinProperties(bound) => {
            around(f, ["키가 ", "개 이상이어야 합니다"], ["needs at least ", " keys"], bound)
        }
        Breach::MaxProperties(bound) => {
            around(f, ["키가 ", "개 이하여야 합니다"], ["takes at most ", " keys"], bound)
        }
        Breach::Pattern(pattern) => {
            around(f, ["", " 패턴에 맞아야 합니다"], ["must match the pattern ", ""], pattern)
        }
        Breach::Format(format) => {
            around(f, ["올바른 ", " 값이 아닙니다"], ["is not a valid ", ""], format)
        }
        Breach::NotUnique => f.write_str(locale.pick("같은 항목이 있습니다", "has equal items")),
        Breach::NoSuchItem => {
            f.write_str(locale.pick("필요한 항목이 없습니다", "lacks an item of the kind needed"))
        }
        Breach::KeyName => {
            f.write_str(locale.pick("키 이름이 올바르지 않습니다", "has a key of a wrong name"))
        }
        Breach::NotAllowed => f.write_str(locale.pick("허용되지 않습니다", "is not allowed")),
        Breach::NoForm => {
            f.write_str(locale.pick("허용된 형태가 아닙니다", "has none of the allowed forms"))
        }
        Breach::SeveralForms => f.write_str(
            locale.pick("여러 형태에 동시에 맞습니다", "has more than one of the allowed forms"),
        ),
        Breach::Misfit { expected: Some(expected) } => around(
            f,
            ["올바르지 않습니다. 필요한 값: ", ""],
            ["does not fit, expected ", ""],
            expected,
        ),
        Breach::Misfit { expected: None } => {
            f.write_str(locale.pick("올바르지 않습니다", "does not fit"))
        }
    }
}

struct Listed<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
