//! Shows a chat in a terminal: streaming text, questions, calls, commands.

use std::time::Duration;

use indicatif::ProgressBar;
use madang::{
    Error,
    approval::{ApprovalEnd, Decision},
    event::{Content, Ending, EventKind, Notice, StreamItem, TurnEnding, plain, quoted},
    language::Text as LibraryText,
    ledger::{EffectResolution, LedgerRow},
};

use super::{
    asking::Part,
    editor::{Editor, Typed},
    flow::Flow,
    pages::Pages,
    prompts,
    screen::Screen,
    streamed::Streamed,
    summary::{how_far, json, short, summary},
    talk::{Next, Talk},
    wrap::{Gutter, Size, rows},
};
use crate::{
    args::Toolkits,
    failure::Failure,
    language::UiLanguage,
    output,
    printable::printable,
    style::{bold, dim, red},
    texts::Text,
};

/// Runs turns until the person leaves.
pub(super) async fn run(mut talk: Talk, model: &str, toolkits: &Toolkits) -> Result<(), Failure> {
    let earlier = talk.session.state().await.map_err(Failure::of)?.messages;
    let said_before = earlier.iter().filter_map(|message| match &message.content {
        Content::User { text, .. } => Some(text),
        Content::Model { .. }
        | Content::ToolCall(_)
        | Content::Notice { .. }
        | Content::Cleared => None,
    });
    // A text from another program may have several lines.
    let typed_before = said_before.clone().map(|text| printable(text).replace(['\n', '\t'], " "));
    let mut screen = Terminal::new(talk.locale, Editor::new(typed_before.collect())?);
    said_before.for_each(|text| talk.follow_language(text, &mut screen));
    let locale = talk.locale;
    screen.dim(&Text::Welcome { model: &plain(model) }.in_locale(locale))?;
    if earlier.is_empty() {
        let mut examples = String::new();
        for prompt in prompts::first_prompts(
            &toolkits.names.iter().map(|toolkit| toolkit.name()).collect::<Vec<_>>(),
            locale == UiLanguage::Ko,
        ) {
            examples.push_str("\n  ");
            examples.push_str(prompt.says);
        }
        screen.dim(&Text::Examples(&examples).in_locale(locale))?;
    } else {
        screen.dim(&Text::Reopened { entries: earlier.len() }.in_locale(locale))?;
    }
    let mut next = talk.go_on(&mut screen).await?;
    screen.stop_waiting();
    let mut stopped_at: Option<String> = None;
    while next == Next::Turn {
        let typed = tokio::select! {
            typed = screen.editor.line() => typed?,
            _ = talk.signals.next() => return Ok(()),
        };
        next = match typed {
            Typed::Line(line) => {
                stopped_at = None;
                enter(line, &mut talk, &mut screen).await?
            }
            // Nothing was typed since the last time: leaving is meant.
            Typed::Stopped(draft) if stopped_at.as_ref() == Some(&draft) => Next::Leave,
            Typed::Stopped(draft) => {
                screen.say(&Text::HowToLeave.in_locale(talk.locale));
                screen.editor.goes_on_with(draft.clone());
                stopped_at = Some(draft);
                Next::Turn
            }
            Typed::Leave => Next::Leave,
        };
    }
    Ok(())
}

/// Runs a line that begins with a slash as a command, and any other line as a turn.
async fn enter(line: String, talk: &mut Talk, screen: &mut Terminal) -> Result<Next, Failure> {
    let locale = talk.locale;
    if talk.ends_answer(line.trim()) {
        return Ok(Next::Turn);
    }
    let text = match line.trim() {
        "" => return Ok(Next::Turn),
        "/quit" => return Ok(Next::Leave),
        "/clear" => {
            talk.session.clear().await.map_err(Failure::of)?;
            Text::Cleared.in_locale(locale)
        }
        "/approvals" => {
            let standing = talk.session.standing_approvals().await.map_err(Failure::of)?;
            let tools: Vec<_> = standing.iter().map(|approval| plain(&approval.tool)).collect();
            Text::StandingApprovals(&tools.join(", ")).in_locale(locale)
        }
        other if other.starts_with("/revoke ") => {
            let tool = other["/revoke ".len()..].trim();
            talk.session.revoke(tool).await.map_err(Failure::of)?;
            Text::AsksAgain(&plain(tool)).in_locale(locale)
        }
        "/unknown" => unresolved(&talk.session.unresolved().await.map_err(Failure::of)?, locale),
        other if other.starts_with("/resolve ") => {
            resolve(&other["/resolve ".len()..], talk, screen).await?;
            return Ok(Next::Turn);
        }
        other if other.starts_with('/') => Text::Commands.in_locale(locale),
        yes if std::mem::take(&mut screen.asks_to_clear) && is_yes(yes) => {
            Text::WhichYes(&quoted(yes)).in_locale(locale)
        }
        _ => {
            screen.wait();
            let next = talk.turn(line, screen).await;
            screen.stop_waiting();
            return next;
        }
    };
    screen.dim(&text)?;
    Ok(Next::Turn)
}

/// Tells whether a line is a bare yes, which may answer the program instead of the model.
fn is_yes(line: &str) -> bool {
    let word = line.trim_end_matches(['.', '!', '~', ' ']).to_lowercase();
    const YES: [&str; 19] = [
        "예",
        "네",
        "넵",
        "넹",
        "응",
        "어",
        "그래",
        "그래요",
        "좋아",
        "좋아요",
        "ㅇㅇ",
        "ㅇㅋ",
        "y",
        "yes",
        "yeah",
        "yep",
        "ok",
        "okay",
        "sure",
    ];
    YES.contains(&&*word)
}

/// Records what the person found out about a call: its number in the chat, and whether it took
/// effect.
async fn resolve(said: &str, talk: &mut Talk, screen: &mut Terminal) -> Result<(), Failure> {
    let locale = talk.locale;
    let calls = talk.session.unresolved().await.map_err(Failure::of)?;
    let resolved = match said.split_whitespace().collect::<Vec<_>>()[..] {
        [number, "yes"] => Some((number, EffectResolution::TookEffect)),
        [number, "no"] => Some((number, EffectResolution::DidNot)),
        _ => None,
    };
    let found = resolved.and_then(|(number, resolution)| {
        let seq: u64 = number.parse().ok()?;
        Some((calls.iter().find(|row| row.seq == seq)?.call, resolution))
    });
    let Some((call, resolution)) = found else {
        return screen.dim(&unresolved(&calls, locale));
    };
    match talk.session.resolve(call, resolution).await {
        Ok(()) => talk.catch_up(screen),
        Err(Error::StillRuns) => screen.dim(&Text::StillRuns.in_locale(locale)),
        Err(Error::NotUnknown { .. } | Error::UnknownCall(_)) => {
            screen.dim(&Text::ResolvedBefore.in_locale(locale))
        }
        Err(error) => {
            let id = talk.session.id();
            Err(Failure::of_store(format!("failed to resolve a call of session {id}"), error))
        }
    }
}

/// Lists the calls with unknown effects by number, and shows how to resolve them.
fn unresolved(calls: &[LedgerRow], locale: UiLanguage) -> String {
    let line = |row: &LedgerRow| {
        format!("{} {} {}\n", row.seq, plain(&row.name), short(&json(&row.arguments)))
    };
    let calls: String = calls.iter().map(line).collect();
    Text::Unresolved(&calls).in_locale(locale)
}

/// The screen of a terminal.
#[derive(Debug)]
struct Terminal {
    locale: UiLanguage,
    editor: Editor,
    streamed: Streamed,
    flow: Flow,
    /// The unshown rest of the open question.
    question: Pages,
    /// Whether the answer follows the prompt on the same line.
    has_open_question: bool,
    /// Whether the program has just asked whether to clear the chat.
    asks_to_clear: bool,
    waiting: Option<ProgressBar>,
}

impl Terminal {
    fn new(locale: UiLanguage, editor: Editor) -> Self {
        Self {
            locale,
            editor,
            streamed: Streamed::new(),
            flow: Flow::default(),
            question: Pages::default(),
            has_open_question: false,
            asks_to_clear: false,
            waiting: None,
        }
    }

    /// Shows that work is going on.
    fn wait(&mut self) {
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(120));
        self.waiting = Some(bar);
    }

    fn stop_waiting(&mut self) {
        if let Some(bar) = self.waiting.take() {
            bar.finish_and_clear();
        }
    }

    fn dim(&mut self, text: &str) -> Result<(), Failure> {
        self.below()?;
        self.lines(text, dim)
    }

    fn red(&mut self, text: &str) -> Result<(), Failure> {
        self.below()?;
        self.lines(text, red)
    }

    /// Prints lines of the program.
    fn lines(&self, text: &str, style: impl Fn(&str) -> String) -> Result<(), Failure> {
        let rows = rows(text, Size::now().writable(), Gutter::LINE);
        rows.iter().try_for_each(|row| output::line(&style(row)))
    }

    /// Goes to the beginning of a line, below streamed text or a question.
    fn below(&mut self) -> Result<(), Failure> {
        self.stop_waiting();
        self.flow.end();
        let is_open = self.streamed.abandon() | std::mem::take(&mut self.has_open_question);
        if is_open { output::line("") } else { Ok(()) }
    }

    /// Shows text of the model.
    fn said(&mut self, text: &str) -> Result<(), Failure> {
        output::piece(&self.flow.piece(&printable(text), Size::now().writable()))
    }

    /// Shows the next or the last page of the question, and how to go on.
    fn page(&mut self, is_last: bool) -> Result<(), Failure> {
        if std::mem::take(&mut self.has_open_question) {
            output::line("")?;
        }
        let is_first = self.question.shown() == 0;
        let (left_out, rows) =
            if is_last { self.question.last() } else { (0, self.question.next()) };
        if left_out > 0 {
            output::line(&bold(&Text::LeftOut { rows: left_out }.in_locale(self.locale)))?;
        }
        for (index, row) in rows.iter().enumerate() {
            let is_tool = is_first && index == 0;
            output::line(&if is_tool { bold(row) } else { row.clone() })?;
        }
        self.more()
    }

    /// Tells how a question with more pages goes on.
    fn more(&mut self) -> Result<(), Failure> {
        if !self.question.has_more() {
            return Ok(());
        }
        let shown = self.question.shown();
        let total = self.question.total();
        self.prompt(&Text::More { shown, total }.in_locale(self.locale))
    }

    /// Shows the possible keys, each followed by its meaning.
    fn prompt(&mut self, text: &str) -> Result<(), Failure> {
        if std::mem::replace(&mut self.has_open_question, true) {
            output::line("")?;
        }
        let rows = rows(text, Size::now().writable(), Gutter::LINE);
        output::piece(&bold(&rows.join("\n")))
    }

    fn event(&mut self, event: &EventKind) -> Result<(), Failure> {
        let locale = self.locale;
        match event {
            EventKind::ModelMessage { text, ending, .. } => {
                self.stop_waiting();
                let rest = self.streamed.message(text);
                self.said(&rest)?;
                self.flow.end();
                match ending {
                    Ending::Complete => output::line(""),
                    Ending::Interrupted => {
                        output::line(&format!(" {}", dim(&Text::Interrupted.in_locale(locale))))
                    }
                }
            }
            EventKind::ToolCallEnded { record } => {
                self.dim(&summary(record, locale))?;
                self.wait();
                Ok(())
            }
            EventKind::ApprovalRequested { request } => {
                self.below()?;
                let Size { rows: height, .. } = Size::now();
                let all = rows(&request.text, Size::now().writable(), Gutter::QUESTION);
                self.question = Pages::new(all, height);
                self.page(false)
            }
            EventKind::ApprovalEnded { end, .. } => {
                self.question = Pages::default();
                let answered = answered(end, locale);
                if std::mem::take(&mut self.has_open_question) {
                    output::piece(" ")?;
                }
                self.lines(&answered, str::to_owned)?;
                self.wait();
                Ok(())
            }
            EventKind::SystemNotice { notice: Notice::SuggestClear, text } => {
                self.asks_to_clear = true;
                self.dim(&format!("※ {} {}", plain(text), Text::HowToClear.in_locale(locale)))
            }
            EventKind::SystemNotice { notice: Notice::TurnLeftOut, text } => self.red(&plain(text)),
            EventKind::SystemNotice { notice: Notice::EffectUnknown, text } => {
                let how = Text::HowToResolve.in_locale(locale);
                self.red(&format!("{} {how}", plain(text)))
            }
            EventKind::SystemNotice { notice: Notice::Unreadable, text } => self.dim(text),
            EventKind::ToolCallResolved { text, .. }
            | EventKind::MessagesLeftOut { text, .. }
            | EventKind::TurnInterrupted { text } => self.dim(&plain(text)),
            EventKind::TurnResumed => self.dim(&Text::GoesOn.in_locale(locale)),
            EventKind::Error { text, .. } => {
                self.red(&plain(text))?;
                self.dim(&Text::TryOtherwise.in_locale(locale))
            }
            EventKind::TurnEnded { ending, .. } => match ending {
                TurnEnding::Dismissed => self.dim(&Text::Dismissed.in_locale(locale)),
                TurnEnding::Answered | TurnEnding::Stopped | TurnEnding::Failed => self.below(),
            },
            EventKind::UserMessage { .. }
            | EventKind::ToolCallProposed { .. }
            | EventKind::Cleared
            | _ => Ok(()),
        }
    }
}

impl Screen for Terminal {
    fn show(&mut self, item: &StreamItem) -> Result<(), Failure> {
        match item {
            StreamItem::Event(event) => self.event(&event.kind),
            StreamItem::Text { text, .. } => {
                let new = self.streamed.delta(text);
                if new.is_empty() {
                    return Ok(());
                }
                self.stop_waiting();
                self.said(&new)
            }
            StreamItem::ReplayFailed => self.dim(&Text::Missed.in_locale(self.locale)),
            StreamItem::Progress { progress, .. } => {
                if let Some(bar) = &self.waiting {
                    bar.set_message(how_far(progress));
                }
                Ok(())
            }
            // The complete event follows.
            StreamItem::Thinking { .. } | StreamItem::Lagged { .. } | _ => Ok(()),
        }
    }

    fn speak(&mut self, locale: UiLanguage) {
        self.locale = locale;
    }

    fn say(&mut self, sentence: &str) {
        self.stop_waiting();
        self.flow.end();
        if self.streamed.is_open() || std::mem::take(&mut self.has_open_question) {
            output::notice("");
        }
        for row in rows(sentence, Size::now().writable(), Gutter::LINE) {
            output::faint_notice(&row);
        }
    }

    fn part(&mut self, part: Part) -> Result<(), Failure> {
        match part {
            Part::Page => self.page(false),
            Part::End => self.page(true),
            Part::Prompt => self.prompt(&Text::MayIt.in_locale(self.locale)),
            Part::StandingApproval => self.prompt(&Text::ConfirmAlways.in_locale(self.locale)),
        }
    }

    fn has_more(&self) -> bool {
        self.question.has_more()
    }

    fn ask_again(&mut self) -> Result<(), Failure> {
        self.more()
    }

    fn typed_ahead(&mut self, text: String) {
        self.editor.typed_ahead(&text);
    }

    fn editor(&mut self) -> Result<Option<&mut Editor>, Failure> {
        self.stop_waiting();
        if std::mem::take(&mut self.has_open_question) {
            output::line("")?;
        }
        Ok(Some(&mut self.editor))
    }
}

fn answered(end: &ApprovalEnd, locale: UiLanguage) -> String {
    let decision = match end {
        ApprovalEnd::Decided { decision } => decision,
        ApprovalEnd::Cancelled { reason } => {
            return LibraryText::Cancelled(*reason).in_locale(locale.locale());
        }
    };
    let text = match decision {
        Decision::Approve => Text::Yes,
        Decision::ApproveAlways => Text::Always,
        Decision::Deny => Text::No,
        Decision::DenyWith { message } => {
            return format!("{}: {}", Text::No.in_locale(locale), plain(message));
        }
        Decision::Edit { .. } => Text::Edited,
    };
    text.in_locale(locale)
}
