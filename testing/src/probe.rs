//! Reads a session's events for a test: waits for states under a deadline, and renders events as
//! lines.

use std::{sync::Arc, time::Duration};

use madang_actors::{
    protocol::{ApprovalEnd, ApprovalRequest, CallResult, EventKind, SessionEvent},
    session::{StreamItem, Subscription},
};

/// How long a test waits for the next item of the feed. Then it fails and shows the events so far.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads a session's feed and remembers its events.
#[derive(Debug)]
pub struct Probe {
    subscription: Subscription,
    events: Vec<Arc<SessionEvent>>,
    text: String,
    questions_read: usize,
}

impl Probe {
    /// Creates a probe that reads the rest of this subscription.
    #[must_use]
    pub fn new(subscription: Subscription) -> Self {
        Self { subscription, events: Vec::new(), text: String::new(), questions_read: 0 }
    }

    /// Waits until `is_true` returns true for the events so far.
    ///
    /// # Panics
    /// Panics if the feed closes before that, or is silent for a minute.
    pub async fn until(&mut self, is_true: impl Fn(&[Arc<SessionEvent>]) -> bool) {
        while !is_true(&self.events) {
            if let Err(problem) = self.hear().await {
                panic!("{problem}; so far:\n{}", self.lines());
            }
        }
    }

    /// Reads the next item of the feed.
    async fn hear(&mut self) -> Result<(), &'static str> {
        let next = tokio::time::timeout(PATIENCE, self.subscription.next());
        match next.await.map_err(|_| "waited too long")? {
            Some(StreamItem::Event(event)) => self.events.push(event),
            Some(StreamItem::Text { text, .. }) => self.text.push_str(&text),
            Some(_) => {}
            None => return Err("the screen was closed"),
        }
        Ok(())
    }

    /// Waits until this many turns have ended, in all that this has read.
    ///
    /// # Panics
    /// Panics if the feed closes before that, or is silent for a minute.
    pub async fn until_turns_ended(&mut self, count: usize) {
        let is_end = |event: &Arc<SessionEvent>| matches!(event.kind, EventKind::TurnEnded { .. });
        self.until(|events| events.iter().filter(|event| is_end(event)).count() >= count).await;
    }

    /// Waits until the streamed text contains this.
    ///
    /// # Panics
    /// Panics if the feed closes before that, or is silent for a minute.
    pub async fn until_streamed(&mut self, part: &str) {
        while !self.text.contains(part) {
            if let Err(problem) = self.hear().await {
                panic!("{problem} while {part:?} was waited for; so far: {:?}", self.text);
            }
        }
    }

    /// Waits for the next question and returns it.
    ///
    /// # Panics
    /// Panics if the feed closes before that, or is silent for a minute.
    pub async fn approval_request(&mut self) -> ApprovalRequest {
        let nth = self.questions_read;
        self.questions_read += 1;
        self.until(|events| asked(events).nth(nth).is_some()).await;
        asked(&self.events).nth(nth).cloned().expect("it was waited for")
    }

    /// Drops the rest of the items, and returns true when the feed is closed, or false if it is
    /// silent for a minute.
    pub async fn is_closed(&mut self) -> bool {
        loop {
            match tokio::time::timeout(PATIENCE, self.subscription.next()).await {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Returns the events so far.
    #[must_use]
    pub fn events(&self) -> &[Arc<SessionEvent>] {
        &self.events
    }

    /// Renders the events so far as lines, without ids and times.
    #[must_use]
    pub fn lines(&self) -> String {
        self.events.iter().map(|event| line(&event.kind)).collect::<Vec<_>>().join("\n")
    }
}

fn asked(events: &[Arc<SessionEvent>]) -> impl Iterator<Item = &ApprovalRequest> {
    events.iter().filter_map(|event| {
        let EventKind::ApprovalRequested { request } = &event.kind else { return None };
        Some(request)
    })
}

fn line(kind: &EventKind) -> String {
    match kind {
        EventKind::UserMessage { text, .. } => format!("user: {text}"),
        EventKind::ModelMessage { text, ending, .. } => format!("model: {text} ({ending:?})"),
        EventKind::ToolCallProposed { wanted, .. } => {
            format!("proposed {} {}", wanted.name, wanted.arguments)
        }
        EventKind::ApprovalRequested { request } => {
            format!("asked {} {}", request.tool, request.arguments)
        }
        EventKind::ApprovalEnded { end: ApprovalEnd::Decided { decision }, .. } => {
            format!("answered {decision:?}")
        }
        EventKind::ApprovalEnded { end: ApprovalEnd::Cancelled { reason }, .. } => {
            format!("question ended {reason:?}")
        }
        EventKind::ToolCallEnded { record } => {
            let outcome = record.outcome.as_ref().map_or_else(
                || "discarded".to_owned(),
                |outcome| serde_json::to_string(outcome).unwrap_or_else(|error| error.to_string()),
            );
            let result = if record.result == CallResult::Discarded { " discarded" } else { "" };
            format!(
                "call {} {} -> {outcome} effect {:?}{result}",
                record.name, record.arguments, record.effect
            )
        }
        EventKind::ToolCallResolved { text, .. } => format!("resolved {text}"),
        EventKind::SystemNotice { text, .. } => format!("notice: {text}"),
        EventKind::Error { text, .. } => format!("error: {text}"),
        EventKind::Cleared => "cleared".to_owned(),
        EventKind::MessagesLeftOut { messages, .. } => format!("left out {messages} messages"),
        EventKind::TurnResumed => "turn resumed".to_owned(),
        EventKind::TurnInterrupted { .. } => "turn interrupted".to_owned(),
        EventKind::TurnEnded { ending, .. } => format!("turn ended {ending:?}"),
        #[allow(
            unreachable_patterns,
            reason = "the tests of `madang-actors` compile this file as theirs"
        )]
        EventKind::ApprovalEnded { .. } | _ => format!("{kind:?}"),
    }
}
