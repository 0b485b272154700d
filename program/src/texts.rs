//! The program's own texts of a chat, in Korean and English; the library's table has all others.

use madang::{SessionId, UserId, language::Particle, model::Caveat};

use crate::language::UiLanguage;

/// A text of the program.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text<'a> {
    /// Tells which address opens the page.
    OpenLink(&'a str),
    /// Tells that the server ends.
    Ending,
    /// Tells how few connections the limit of open files leaves room for.
    RoomFor { connections: usize },
    /// Tells that the file of tokens has none, so that no request has a credential.
    NoTokens { file: &'a str },
    /// Tells why the model may answer or call worse than it could.
    Caveat(&'a Caveat),
    /// Explains how to return to this chat.
    NewSession(&'a SessionId),
    /// Names the model, and explains how to leave.
    Welcome { model: &'a str },
    /// Suggests sentences, one a line.
    Examples(&'a str),
    /// Follows a yes after the notice about clearing, which may be meant for either.
    WhichYes(&'a str),
    /// Suggests what to try after a failure of the model.
    TryOtherwise,
    /// Tells how many entries a reopened chat has.
    Reopened { entries: usize },
    /// Asks whether to run the call, and explains how to answer.
    MayIt,
    /// Explains "always", and how to confirm it.
    ConfirmAlways,
    /// Says that the question goes on.
    More { shown: usize, total: usize },
    /// Says how many rows of the question were skipped.
    LeftOut { rows: usize },
    /// The arguments are too long to be changed here.
    TooLongToEdit,
    /// The answer was yes.
    Yes,
    /// The answer was yes, from now on.
    Always,
    /// The answer was no.
    No,
    /// The answer was yes, with other arguments.
    Edited,
    /// The prompt of a message to the model.
    WhyNot,
    /// The prompt of the changed arguments.
    Arguments,
    /// A call that ran without a question.
    RanByStandingApproval,
    /// A call whose arguments the person changed.
    Changed,
    /// Lists the tools that run without a question; empty if none.
    StandingApprovals(&'a str),
    /// Says that this tool asks again.
    AsksAgain(&'a str),
    /// Lists the calls with unknown effects, one a line; empty if none.
    Unresolved(&'a str),
    /// Tells how to list and resolve such calls.
    HowToResolve,
    /// The call cannot be resolved yet.
    StillRuns,
    /// The call was resolved elsewhere.
    ResolvedBefore,
    /// The answer came too late, or could not be recorded.
    AnswerDoesNotCount,
    /// The model was interrupted here.
    Interrupted,
    /// The turn is being stopped; how to leave.
    Stopping,
    /// How to leave, if nothing runs that could be stopped.
    HowToLeave,
    /// The turn was dismissed.
    Dismissed,
    /// How the chat is cleared.
    HowToClear,
    /// How the chat is cleared, if no command can be typed.
    HowToClearElsewhere,
    /// The chat was cleared.
    Cleared,
    /// An unknown command.
    Commands,
    /// The text of a turn is too long.
    TooLong { bytes: u64, max_bytes: u64 },
    /// This line of standard input is not UTF-8.
    NotUtf8 { line: u64 },
    /// Too many turns or calls wait.
    Overloaded,
    /// The user's storage limit is reached.
    TooMuchStored { user: &'a UserId, max_bytes: u64 },
    /// The turn's actor died.
    CutOff(&'a SessionId),
    /// Some events were missed.
    Missed,
    /// No person can be asked here.
    NoTerminalToAsk,
    /// A question from before is open, and no person can be asked here.
    QuestionWaits,
    /// An interrupted turn goes on.
    GoesOn,
    /// The program was asked to end: explains how to continue.
    LeftOpen(&'a SessionId),
    /// The program was asked to end before the call began.
    NotBegun,
    /// Another program holds the database, and the call only reads.
    ReadsBeside,
    /// A model is being downloaded.
    Downloading { model: &'a str, size: &'a str },
    /// Another program downloads this file, and is waited for.
    AnotherDownloads { file: &'a str },
    /// The hub's newest file is not available, so the older one in the cache is used.
    OlderModel { why: &'a str },
    /// The hub has another file under the same name than the one that was used before.
    ModelChanged { now: &'a str, older: &'a str },
    /// The hub is asked without the token, which every host on the way could read.
    TokenKeptBack { host: &'a str },
    /// Lists the limits of a verification of the ledger.
    NotChecked { has_head: bool, vouched_for: u64 },
    /// Lists the limits of a verification without the seal keys.
    NoSealKeys,
}

impl Text<'_> {
    /// Returns the text in this language.
    pub(crate) fn in_locale(self, locale: UiLanguage) -> String {
        let pick = |ko: &str, en: &str| locale.pick(ko, en).to_owned();
        match self {
            Self::OpenLink(link) => match locale {
                UiLanguage::Ko => format!("브라우저에서 여세요: {link}"),
                UiLanguage::En => format!("open {link}"),
            },
            Self::Ending => pick(
                "서버를 끝냅니다. 다시 신호를 보내면 바로 끝납니다.",
                "the server ends; a second signal ends it at once",
            ),
            Self::RoomFor { connections } => match locale {
                UiLanguage::Ko => format!(
                    "연결은 한 번에 {connections}개까지만 받습니다. 더 받으려면 열 수 있는 파일 수를 늘리세요(ulimit -n)."
                ),
                UiLanguage::En => format!(
                    "there is room for {connections} connections at once; a higher limit of open files (ulimit -n) gives more"
                ),
            },
            Self::NoTokens { file } => match locale {
                UiLanguage::Ko => format!(
                    "{file}에 토큰이 없어서 아직 아무도 들어올 수 없습니다. `madang token add USER --tokens {file}` 로 만드세요."
                ),
                UiLanguage::En => format!(
                    "{file} has no token yet, so every request is refused; `madang token add USER --tokens {file}` makes one"
                ),
            },
            Self::Caveat(caveat) => match (locale, caveat) {
                (UiLanguage::Ko, Caveat::NoTemplate) => {
                    "모델 파일에 대화 서식이 없어 흔한 서식을 씁니다. 답과 도구 사용이 나빠질 수 있습니다. 서식이 있는 GGUF를 받아 보세요."
                        .to_owned()
                }
                (UiLanguage::Ko, Caveat::TemplateGivenUp { problem }) => format!(
                    "모델 파일의 대화 서식을 쓸 수 없어({problem}) 다른 서식을 씁니다. 답과 도구 사용이 나빠질 수 있습니다. 다른 GGUF를 받아 보세요."
                ),
                (UiLanguage::Ko, Caveat::UnknownCalls) => {
                    "이 모델이 도구를 부르는 고유한 방식은 아직 몰라서 JSON으로 부르게 합니다. 도구를 잘못 부르거나 호출을 답처럼 보여 줄 수 있습니다."
                        .to_owned()
                }
                (UiLanguage::Ko, Caveat::Demonstration) => {
                    "습관과 노트 도구만 아는 아주 작은 데모 모델입니다. 실제 모델을 쓰려면 --hf OWNER/REPO 나 --model PATH 를 주세요 (madang chat --hf OWNER/REPO)."
                        .to_owned()
                }
                (UiLanguage::En, Caveat::Demonstration) => {
                    "this is a very small demonstration model, which knows only the tools for habits and notes; for real work take a model with --hf OWNER/REPO or --model PATH (madang chat --hf OWNER/REPO)"
                        .to_owned()
                }
                (UiLanguage::Ko | UiLanguage::En, caveat) => caveat.to_string(),
            },
            Self::NewSession(id) => match locale {
                UiLanguage::Ko => format!("대화 {id} (이어 하려면: --session {id})"),
                UiLanguage::En => format!("session {id} (to come back: --session {id})"),
            },
            Self::Welcome { model } => match locale {
                UiLanguage::Ko => format!("마당 · {model} · 나가려면 Ctrl-D"),
                UiLanguage::En => format!("Madang · {model} · Ctrl-D leaves"),
            },
            Self::Examples(examples) => match locale {
                UiLanguage::Ko => {
                    format!("이렇게 말해 보세요:{examples}\n명령은 /help 를 입력하면 나옵니다.")
                }
                UiLanguage::En => format!("Try saying:{examples}\nType /help for commands."),
            },
            Self::WhichYes(line) => match locale {
                UiLanguage::Ko => format!(
                    "{line}: 아직 아무것도 하지 않았습니다. 대화를 정리하려면 /clear 를, 모델에게 하는 말이면 한 번 더 입력하세요."
                ),
                UiLanguage::En => format!(
                    "{line}: nothing was done yet. Type /clear to clear the chat, or say it once more if it is for the model."
                ),
            },
            Self::TryOtherwise => pick(
                "다른 말로 짧게 다시 말해 보거나, /clear 로 대화를 정리해 보세요.",
                "Say it again in other, fewer words, or begin anew with /clear.",
            ),
            Self::Reopened { entries } => match locale {
                UiLanguage::Ko => format!("이전 대화 {entries}개 항목에 이어서 합니다."),
                UiLanguage::En => format!("Goes on after {entries} earlier entries."),
            },
            Self::MayIt => pick(
                "실행할까요? (a 이 대화에서 항상, m 이유를 말하고 거절, e 인자 고치기) [y/n]",
                "Run it? (a always in this chat, m no and why, e change the arguments) [y/n]",
            ),
            Self::ConfirmAlways => pick(
                "이 대화에서는 이 도구를 앞으로 묻지 않고 실행합니다. Enter를 누르면 확정하고, 다른 키를 누르면 취소합니다.",
                "From now on this tool runs in this chat without a question. Enter confirms, any other key takes it back.",
            ),
            Self::More { shown, total } => match locale {
                UiLanguage::Ko => format!(
                    "{total}줄 중 {shown}줄까지 보았습니다. (Enter 더 보기, g 끝으로, m 이유를 말하고 거절, n 거절)"
                ),
                UiLanguage::En => format!(
                    "{shown} of {total} lines; there is more. (Enter goes on, g to the end, m no and why, n no)"
                ),
            },
            Self::LeftOut { rows } => match locale {
                UiLanguage::Ko => format!("… {rows}줄을 보지 않고 넘어갔습니다."),
                UiLanguage::En => format!("… {rows} lines were passed over and not shown."),
            },
            Self::TooLongToEdit => pick(
                "인자가 너무 길어서 여기서 고칠 수 없습니다. m을 눌러 무엇을 바꿀지 말해 주세요.",
                "the arguments are too long to be changed here: press m and say what to change",
            ),
            Self::Yes => pick("예", "yes"),
            Self::Always => pick("예, 이 대화에서 항상", "yes, always in this chat"),
            Self::No => pick("아니요", "no"),
            Self::Edited => pick("예, 고친 인자로", "yes, with the changed arguments"),
            Self::WhyNot => pick("모델에게 전할 말: ", "Tell the model: "),
            Self::Arguments => pick("인자: ", "Arguments: "),
            Self::RanByStandingApproval => pick("(묻지 않고 실행)", "(always allowed)"),
            Self::Changed => pick("(고친 인자로)", "(with your arguments)"),
            Self::StandingApprovals("") => pick(
                "이 대화에서 묻지 않고 실행하는 도구가 없습니다.",
                "No tool runs without a question in this chat.",
            ),
            Self::StandingApprovals(tools) => match locale {
                UiLanguage::Ko => {
                    format!(
                        "묻지 않고 실행하는 도구: {tools}. /revoke 이름 을 입력하면 다시 묻습니다."
                    )
                }
                UiLanguage::En => {
                    format!("Run without a question: {tools}. Type /revoke NAME to be asked again.")
                }
            },
            Self::AsksAgain(tool) => match locale {
                UiLanguage::Ko => {
                    let object = Particle::Object.after(tool);
                    format!("이제 {tool}{object} 실행하기 전에 다시 묻습니다.")
                }
                UiLanguage::En => format!("You are asked again before {tool} runs."),
            },
            Self::Unresolved("") => pick(
                "적용되었는지 알 수 없는 도구 호출이 없습니다.",
                "It is known of every tool call whether it took effect.",
            ),
            Self::Unresolved(calls) => match locale {
                UiLanguage::Ko => format!(
                    "적용되었는지 알 수 없는 도구 호출:\n{calls}확인한 뒤에 적용되었으면 /resolve 번호 yes, 아니면 /resolve 번호 no 를 입력하세요."
                ),
                UiLanguage::En => format!(
                    "Not known whether they took effect:\n{calls}When you have looked, type /resolve NUMBER yes if it did, /resolve NUMBER no if not."
                ),
            },
            Self::HowToResolve => pick(
                "확인한 뒤에 /unknown 을 입력해 알려 주세요.",
                "When you have looked, type /unknown to say so.",
            ),
            Self::StillRuns => pick(
                "그 도구는 아직 실행 중입니다. 끝나면 적용되었는지 스스로 기록합니다.",
                "That tool still runs: when it ends it is recorded whether it took effect.",
            ),
            Self::ResolvedBefore => pick(
                "그 호출은 이미 확인되었습니다.",
                "It is already known whether that call took effect.",
            ),
            Self::AnswerDoesNotCount => pick(
                "그 대답은 반영되지 않았습니다. 질문이 이미 끝났거나 대답을 기록하지 못했습니다.",
                "That answer does not count: the question had ended, or the answer could not be recorded.",
            ),
            Self::Interrupted => pick("(중단됨)", "(interrupted)"),
            Self::Stopping => {
                pick("중단하는 중입니다. 한 번 더 누르면 나갑니다.", "Stopping. Once more leaves.")
            }
            Self::HowToLeave => pick(
                "나가려면 Ctrl-C를 한 번 더 누르세요. 쓰던 글은 그대로 있습니다.",
                "Once more leaves. What you have typed is still there.",
            ),
            Self::Dismissed => pick("중단했습니다.", "Stopped."),
            Self::HowToClear => pick("/clear 를 입력하면 정리합니다.", "Type /clear to do so."),
            Self::HowToClearElsewhere => pick(
                "터미널에서 열고 /clear 를 입력하면 정리합니다.",
                "Open it in a terminal and type /clear to do so.",
            ),
            Self::Cleared => pick("대화를 정리했습니다.", "Cleared."),
            Self::Commands => pick(
                "명령:\n  \
                 /clear  대화를 정리하고 새로 시작합니다\n  \
                 /approvals  묻지 않고 실행하는 도구를 보여 줍니다\n  \
                 /revoke 이름  그 도구를 실행하기 전에 다시 묻게 합니다\n  \
                 /unknown  적용되었는지 알 수 없는 호출을 보여 줍니다\n  \
                 /resolve 번호 yes|no  그 호출이 적용되었는지 알려 줍니다\n  \
                 /quit  나갑니다. Ctrl-D나 Ctrl-C 두 번도 같습니다",
                "Commands:\n  \
                 /clear  begins the chat anew\n  \
                 /approvals  lists the tools that run without a question\n  \
                 /revoke NAME  lets that tool ask again\n  \
                 /unknown  lists the calls of which it is not known whether they took effect\n  \
                 /resolve NUMBER yes|no  says whether that call took effect\n  \
                 /quit  leaves, as Ctrl-D and twice Ctrl-C do",
            ),
            Self::TooLong { bytes, max_bytes } => match locale {
                UiLanguage::Ko => format!(
                    "입력이 {bytes}바이트로 너무 깁니다. {max_bytes}바이트까지 줄여 주세요."
                ),
                UiLanguage::En => {
                    format!("the text is too long ({bytes} bytes): shorten it to {max_bytes} bytes")
                }
            },
            Self::NotUtf8 { line } => match locale {
                UiLanguage::Ko => format!(
                    "입력의 {line}번째 줄이 UTF-8이 아니라서 건너뛰었습니다. 변환해서 다시 입력해 주세요."
                ),
                UiLanguage::En => format!(
                    "line {line} of the input is not UTF-8 and was skipped: convert it and send it again"
                ),
            },
            Self::Overloaded => pick(
                "지금은 요청이 너무 많습니다. 잠시 뒤에 다시 입력해 주세요.",
                "too much is waiting: send it again in a moment",
            ),
            Self::TooMuchStored { user, max_bytes } => match locale {
                UiLanguage::Ko => format!(
                    "저장된 내용이 한도({max_bytes}바이트)에 이르렀습니다. `madang forget {user}`로 지우거나 다른 데이터베이스를 쓰세요."
                ),
                UiLanguage::En => format!(
                    "the storage limit of {max_bytes} bytes is reached: make room with `madang forget {user}`, or use another database"
                ),
            },
            Self::ReadsBeside => pick(
                "다른 프로그램이 데이터베이스를 쓰고 있어서 읽기만 합니다. 이 호출은 기록에 남지 않습니다.",
                "another program uses the database: this call only reads, and the ledger will not have it",
            ),
            Self::CutOff(id) => match locale {
                UiLanguage::Ko => format!(
                    "대화가 도중에 끊겼습니다. 도구가 한 일은 `madang ledger --session {id}`로 확인하세요."
                ),
                UiLanguage::En => format!(
                    "the turn was cut off: see what its tools did with `madang ledger --session {id}`"
                ),
            },
            Self::Missed => pick(
                "놓친 부분을 아직 읽지 못했습니다. 다시 시도합니다.",
                "a part that was missed could not be read yet; trying again",
            ),
            Self::NoTerminalToAsk => pick(
                "터미널이 아니어서 물어볼 수 없습니다. 확인이 필요한 도구는 실행되지 않습니다. --confirm approve 또는 deny를 쓰세요.",
                "without a terminal no question can be asked, so calls that must be confirmed do not run: use --confirm approve or deny",
            ),
            Self::QuestionWaits => pick(
                "전에 물어본 질문이 대답을 기다립니다. 터미널에서 열거나 --confirm approve 또는 deny를 쓰세요.",
                "a question from before waits for an answer: open the session in a terminal, or use --confirm approve or deny",
            ),
            Self::GoesOn => pick("끊긴 데서 이어서 합니다.", "Goes on where it was cut off."),
            Self::LeftOpen(id) => match locale {
                UiLanguage::Ko => format!("종료합니다. 이어 하려면: --session {id}"),
                UiLanguage::En => format!("ended as asked: go on with --session {id}"),
            },
            Self::NotBegun => pick(
                "종료합니다. 도구를 실행하지 않았습니다.",
                "ended as asked: the call had not begun, and nothing was run",
            ),
            Self::Downloading { model, size } => match locale {
                UiLanguage::Ko => format!("{model} 모델을 내려받습니다 ({size})."),
                UiLanguage::En => format!("Downloads {model} ({size})."),
            },
            Self::AnotherDownloads { file } => match locale {
                UiLanguage::Ko => {
                    format!("다른 프로그램이 {file} 파일을 내려받고 있어서 기다립니다.")
                }
                UiLanguage::En => format!("Waits for another program that downloads {file}."),
            },
            Self::OlderModel { why } => match locale {
                UiLanguage::Ko => format!("이미 받아 둔 모델을 씁니다: {why}"),
                UiLanguage::En => format!("Uses the model that is here: {why}"),
            },
            Self::ModelChanged { now, older } => match locale {
                UiLanguage::Ko => format!(
                    "허브의 모델 파일이 바뀌었습니다: 이제 {now}{} 씁니다. 이전 파일을 쓰려면 --hf {older}",
                    Particle::Object.after(now)
                ),
                UiLanguage::En => format!(
                    "The model's file has changed on the hub: uses {now} now. For the one before: --hf {older}"
                ),
            },
            Self::TokenKeptBack { host } => match locale {
                UiLanguage::Ko => format!(
                    "{host}{} https가 아니어서 토큰을 보내지 않고 묻습니다. HF_ENDPOINT에 https 주소를 주세요.",
                    Particle::Topic.after(host)
                ),
                UiLanguage::En => format!(
                    "Asks {host} without the token, which others could read on the way: give an address with https in HF_ENDPOINT."
                ),
            },
            Self::NoSealKeys => pick(
                "봉인 키가 없어 확인하지 못한 것: 승인이 정말 그 사람의 것인지, 대화가 정말 그 사람의 것인지.",
                "Not checked without the seal keys: whether the users that the tables name gave the approvals and opened the sessions.",
            ),
            Self::NotChecked { has_head: false, .. } => pick(
                "확인하지 못한 것: 보관해 둔 head 없이는 끝이 잘려 나갔는지, 전체가 앞뒤 맞게 다시 쓰였는지, 대화가 통째로 지워졌는지 알 수 없습니다. head를 다른 곳에 보관하고 다음에 --session ID --head HASH로 확인하세요. 대화 글과 애플리케이션의 표는 사슬에 들어 있지 않습니다.",
                "Not checked: without a head that was kept elsewhere it stays unknown whether the end was cut off, all was rewritten to fit, or a whole session was removed. Keep the heads elsewhere, and check with --session ID --head HASH next time. The texts of the chat and the application's own tables are not in the chain.",
            ),
            Self::NotChecked { has_head: true, vouched_for } => match locale {
                UiLanguage::Ko => format!(
                    "전이 {vouched_for}개까지는 보관해 둔 head가 보증합니다. 확인하지 못한 것: 그 뒤가 잘려 나갔거나 다시 쓰였는지는 알 수 없습니다. 대화 글과 애플리케이션의 표는 사슬에 들어 있지 않습니다."
                ),
                UiLanguage::En => format!(
                    "The head that was kept vouches for the first {vouched_for} transitions. Not checked: whether anything after them was cut off or rewritten. The texts of the chat and the application's own tables are not in the chain."
                ),
            },
        }
    }
}
