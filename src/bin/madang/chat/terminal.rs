//! A chat in a terminal: streaming text, questions, the line of a tool call, commands.

use std::time::Duration;

use crossterm::style::Stylize;
use indicatif::ProgressBar;
use madang::{
    ConfirmationEnd, Content, Decision, Ending, EventKind, Item, LedgerRow, Locale, Notice,
    Question, SettleError, Settlement, Text as LibraryText, TurnEnding, plain,
};

use super::{
    editor::{Editor, Typed},
    printable::printable,
    screen::Screen,
    streamed::Streamed,
    summary::{json, short, summary},
    talk::{Next, Talk},
};
use crate::{failure::Failure, output, texts::Text};

/// Takes turns until the person leaves.
pub(super) async fn run(mut talk: Talk, model: &str) -> Result<(), Failure> {
    let locale = talk.options.locale;
    let earlier = talk.session.state().await.map_err(Failure::of)?.messages;
    let typed_before = earlier.iter().filter_map(|message| match &message.content {
        Content::User { text } => Some(text.to_string()),
        Content::Model { .. }
        | Content::ToolCall(_)
        | Content::Notice { .. }
        | Content::Cleared => None,
    });
    let mut screen = Terminal::new(locale, Editor::new(typed_before.collect())?);
    screen.dim(&Text::Welcome { model: &printable(model) }.in_locale(locale))?;
    if !earlier.is_empty() {
        screen.dim(&Text::Reopened { entries: earlier.len() }.in_locale(locale))?;
    }
    let mut next = talk.go_on(&mut screen).await?;
    screen.stop_waiting();
    while next == Next::Turn {
        let typed = tokio::select! {
            typed = screen.editor.line() => typed?,
            _ = talk.signals.next() => return Ok(()),
        };
        next = match typed {
            Typed::Line(line) => enter(line, &mut talk, &mut screen).await?,
            Typed::Leave => Next::Leave,
        };
    }
    Ok(())
}

/// What begins with a slash is a command, all else a turn.
async fn enter(line: String, talk: &mut Talk, screen: &mut Terminal) -> Result<Next, Failure> {
    let locale = talk.options.locale;
    match line.trim() {
        "/quit" => Ok(Next::Leave),
        "/clear" => {
            talk.session.clear().await.map_err(Failure::of)?;
            screen.dim(&Text::Cleared.in_locale(locale))?;
            Ok(Next::Turn)
        }
        "/grants" => {
            let grants = talk.session.grants().await.map_err(Failure::of)?;
            let tools: Vec<_> = grants.iter().map(|grant| plain(&grant.tool)).collect();
            screen.dim(&Text::Grants(&tools.join(", ")).in_locale(locale))?;
            Ok(Next::Turn)
        }
        other if other.starts_with("/revoke ") => {
            let tool = other["/revoke ".len()..].trim();
            talk.session.revoke(tool).await.map_err(Failure::of)?;
            screen.dim(&Text::AsksAgain(&plain(tool)).in_locale(locale))?;
            Ok(Next::Turn)
        }
        "/unknown" => {
            let calls = talk.session.unsettled().await.map_err(Failure::of)?;
            screen.dim(&unsettled(&calls, locale))?;
            Ok(Next::Turn)
        }
        other if other.starts_with("/settle ") => {
            settle(&other["/settle ".len()..], talk, screen).await?;
            Ok(Next::Turn)
        }
        other if other.starts_with('/') => {
            screen.dim(&Text::Commands.in_locale(locale))?;
            Ok(Next::Turn)
        }
        "" => Ok(Next::Turn),
        _ => {
            screen.wait();
            let next = talk.turn(line, screen).await;
            screen.stop_waiting();
            next
        }
    }
}

/// What the person has found out about a call: its number in the chat, and whether it took effect.
async fn settle(said: &str, talk: &mut Talk, screen: &mut Terminal) -> Result<(), Failure> {
    let locale = talk.options.locale;
    let calls = talk.session.unsettled().await.map_err(Failure::of)?;
    let settled = match said.split_whitespace().collect::<Vec<_>>()[..] {
        [number, "yes"] => Some((number, Settlement::TookEffect)),
        [number, "no"] => Some((number, Settlement::DidNot)),
        _ => None,
    };
    let found = settled.and_then(|(number, settlement)| {
        let seq: u64 = number.parse().ok()?;
        Some((calls.iter().find(|row| row.seq == seq)?.call, settlement))
    });
    let Some((call, settlement)) = found else {
        return screen.dim(&unsettled(&calls, locale));
    };
    match talk.session.settle(call, settlement).await {
        Ok(()) => talk.catch_up(screen),
        Err(SettleError::StillRuns) => screen.dim(&Text::StillRuns.in_locale(locale)),
        Err(
            SettleError::NotUnknown { .. } | SettleError::UnknownCall(_) | SettleError::NotYours,
        ) => screen.dim(&Text::SettledBefore.in_locale(locale)),
        Err(error @ SettleError::Store(_)) => {
            let id = talk.session.id();
            Err(Failure::of_store(format!("failed to settle a call of session {id}"), error))
        }
    }
}

/// The calls of which nobody can tell whether they took effect, with their numbers, and how to say so.
fn unsettled(calls: &[LedgerRow], locale: Locale) -> String {
    let line = |row: &LedgerRow| {
        format!("{} {} {}\n", row.seq, plain(&row.name), short(&json(&row.arguments)))
    };
    let calls: String = calls.iter().map(line).collect();
    Text::Unsettled(&calls).in_locale(locale)
}

/// The screen of a terminal.
#[derive(Debug)]
struct Terminal {
    locale: Locale,
    editor: Editor,
    streamed: Streamed,
    /// The question whose answer will stand behind it.
    has_open_question: bool,
    waiting: Option<ProgressBar>,
}

impl Terminal {
    const fn new(locale: Locale, editor: Editor) -> Self {
        Self { locale, editor, streamed: Streamed::new(), has_open_question: false, waiting: None }
    }

    /// Shows that something is going on.
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
        output::line(&text.dim().to_string())
    }

    /// Goes to the beginning of a line, where streamed text stands open.
    fn below(&mut self) -> Result<(), Failure> {
        self.stop_waiting();
        if self.streamed.abandon() { output::line("") } else { Ok(()) }
    }

    fn event(&mut self, event: &EventKind) -> Result<(), Failure> {
        let locale = self.locale;
        match event {
            EventKind::ModelMessage { text, ending } => {
                self.stop_waiting();
                let rest = self.streamed.message(text);
                output::piece(&printable(&rest))?;
                match ending {
                    Ending::Complete => output::line(""),
                    Ending::Interrupted => {
                        output::line(&format!(" {}", Text::Interrupted.in_locale(locale).dim()))
                    }
                }
            }
            EventKind::ToolCallEnded { record } => {
                self.dim(&summary(record, locale))?;
                self.wait();
                Ok(())
            }
            EventKind::ConfirmationAsked { question } => {
                self.below()?;
                self.has_open_question = true;
                // While the keyboard is listened to, a line break alone does not go back to the beginning of the line.
                output::piece(&asked(question, locale).replace('\n', "\r\n"))
            }
            EventKind::ConfirmationEnded { end, .. } => {
                let gap = if std::mem::take(&mut self.has_open_question) { " " } else { "" };
                output::line(&format!("{gap}{}", answered(end, locale)))?;
                self.wait();
                Ok(())
            }
            EventKind::SystemNotice { notice: Notice::SuggestClear, text } => {
                self.dim(&format!("{text} {}", Text::HowToClear.in_locale(locale)))
            }
            EventKind::SystemNotice { notice: Notice::EffectUnknown, text } => {
                self.below()?;
                let how = Text::HowToSettle.in_locale(locale);
                output::line(&format!("{text} {how}").red().to_string())
            }
            EventKind::ToolCallSettled { text, .. } | EventKind::MessagesLeftOut { text, .. } => {
                self.dim(&printable(text))
            }
            EventKind::TurnResumed => self.dim(&Text::GoesOn.in_locale(locale)),
            EventKind::Error { text, .. } => {
                self.below()?;
                output::line(&printable(text).red().to_string())
            }
            EventKind::TurnEnded { ending: TurnEnding::Dismissed, .. } => {
                self.dim(&Text::Dismissed.in_locale(locale))
            }
            EventKind::TurnEnded { .. } => self.below(),
            EventKind::UserMessage { .. }
            | EventKind::ToolCallProposed { .. }
            | EventKind::Cleared => Ok(()),
        }
    }
}

impl Screen for Terminal {
    fn show(&mut self, item: &Item) -> Result<(), Failure> {
        match item {
            Item::Event(event) => self.event(&event.kind),
            Item::Text(text) => {
                let new = self.streamed.delta(text);
                if new.is_empty() {
                    return Ok(());
                }
                self.stop_waiting();
                output::piece(&printable(&new))
            }
            // What was missed follows.
            Item::Thinking(_) | Item::Lagged { .. } => Ok(()),
            Item::Unread => self.dim(&Text::Missed.in_locale(self.locale)),
        }
    }

    fn say(&mut self, sentence: &str) {
        self.stop_waiting();
        let gap = if self.streamed.is_open() || std::mem::take(&mut self.has_open_question) {
            "\n"
        } else {
            ""
        };
        output::remark(&format!("{gap}{}", sentence.dim()));
    }

    fn ask_again(&mut self) -> Result<(), Failure> {
        self.has_open_question = true;
        output::piece(&Text::MayIt.in_locale(self.locale).bold().to_string())
    }

    fn editor(&mut self) -> Result<Option<&mut Editor>, Failure> {
        self.stop_waiting();
        if std::mem::take(&mut self.has_open_question) {
            output::line("")?;
        }
        Ok(Some(&mut self.editor))
    }
}

/// The question, whole, and how to answer.
fn asked(question: &Question, locale: Locale) -> String {
    let shown = question.plain_text();
    let (tool, rest) = shown.split_once('\n').unwrap_or((&shown, ""));
    format!("{}\n{rest}\n{}", tool.bold(), Text::MayIt.in_locale(locale).bold())
}

fn answered(end: &ConfirmationEnd, locale: Locale) -> String {
    match end {
        ConfirmationEnd::Decided { decision: Decision::Approve } => Text::Yes.in_locale(locale),
        ConfirmationEnd::Decided { decision: Decision::ApproveAlways } => {
            Text::Always.in_locale(locale)
        }
        ConfirmationEnd::Decided { decision: Decision::Deny } => Text::No.in_locale(locale),
        ConfirmationEnd::Decided { decision: Decision::DenyWith { message } } => {
            format!("{}: {}", Text::No.in_locale(locale), plain(message))
        }
        ConfirmationEnd::Decided { decision: Decision::Edit { .. } } => {
            Text::Edited.in_locale(locale)
        }
        ConfirmationEnd::Cancelled { reason } => LibraryText::Cancelled(*reason).in_locale(locale),
    }
}
