//! The same turn as plain async functions: no actor, no mailbox, no queue.

use std::sync::Arc;

use madang::{
    CallId, Clock, LanguageTag, Limits, SessionId, SystemClock, Timestamp, TurnId, TurnOptions,
    UserId,
    error::Bound,
    event::{ChatMessage, Content, Ending, EntryOrigin, EventKind, TurnEnding},
    ledger::{CallRecord, CallResult, Effect},
    model::{ChatModel, Completion, CompletionRequest, Deltas, Usage},
    store::Store,
    tool::{Access, Locale, Tool, ToolContext, ToolOutcome, ToolRegistry, ToolSpec},
};
use madang_actors::{
    admission::Admission,
    ledger::{Ended, Proposal, Transition, digest, text_digest},
    port::{Transaction, TurnStep, Write},
    protocol::{CompletionId, PromptMessage, WantedCall},
    session::{Durability, Feed, FeedBounds, prompt_entry},
    telemetry::{CallIds, CompletionSpan, ToolCallSpan, TurnSpan},
};
use metrics::SharedString;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};
use uuid::Uuid;

/// What all chats share.
pub(crate) struct Plain {
    model: Arc<dyn ChatModel>,
    store: Arc<dyn Store>,
    registry: Arc<ToolRegistry>,
    specs: Arc<[ToolSpec]>,
    limits: Limits,
    admission: Admission,
    name: SharedString,
    clock: Arc<dyn Clock>,
}

/// One chat.
pub(crate) struct Chat {
    plain: Arc<Plain>,
    session: SessionId,
    user: UserId,
    feed: Arc<Feed>,
    messages: Vec<ChatMessage>,
    prompt: Arc<Vec<PromptMessage>>,
}

impl Plain {
    pub(crate) fn new(model: Arc<dyn ChatModel>, store: Arc<dyn Store>, tool: impl Tool) -> Self {
        let mut registry = ToolRegistry::new();
        registry.register(tool).unwrap();
        let specs = registry.iter().map(|tool| tool.spec().clone()).collect();
        Self {
            name: SharedString::from(model.info().name),
            model,
            store,
            registry: Arc::new(registry),
            specs,
            admission: Admission::new(&Limits::default()),
            limits: Limits::default(),
            clock: Arc::new(SystemClock),
        }
    }

    pub(crate) async fn open(self: &Arc<Self>, user: &str, session: &str) -> Chat {
        let user = UserId::new(user).unwrap();
        let session = SessionId::new(session).unwrap();
        let at = self.clock.now();
        self.write(&[Write::Session { session: session.clone(), user: user.clone(), at }]).await;
        let feed = Feed::new(FeedBounds::of(&self.limits));
        Chat {
            plain: self.clone(),
            session,
            user,
            feed,
            messages: Vec::new(),
            prompt: Arc::default(),
        }
    }

    /// Begins a transaction. No call waits for one for longer than the actors allow.
    async fn begin(&self) -> Box<dyn Transaction> {
        timeout(self.limits.store_timeout, self.store.begin()).await.unwrap().unwrap()
    }

    async fn write(&self, writes: &[Write]) {
        let mut transaction = self.begin().await;
        transaction.write(writes).await.unwrap();
        transaction.commit().await.unwrap();
    }
}

impl Chat {
    /// Runs a turn with as many rounds as the model wants.
    pub(crate) async fn turn(&mut self, text: &str) {
        let turn = TurnId::new(Uuid::now_v7());
        let admission = &self.plain.admission;
        let _permit = admission.admit(Bound::RunningTurns, &self.user, 1).unwrap();
        let bytes = admission.admit(Bound::QueuedBytes, &self.user, text.len()).unwrap();
        let mut span = TurnSpan::begin(&self.session, &self.user, turn, false);
        let started = Write::TurnStarted {
            session: self.session.clone(),
            turn,
            at: self.plain.clock.now(),
            options: TurnOptions::default(),
            text: text_digest(text),
            max_stored_bytes: u64::MAX,
        };
        let asked = self.message(turn, Content::user(text));
        self.plain.write(&[started, self.says(&asked)]).await;
        drop(bytes);
        let shown =
            EventKind::UserMessage { text: text.into(), key: None, origin: EntryOrigin::Chat };
        self.show(asked, shown);
        for round in 1.. {
            let completion = self.complete(span.span()).await;
            if completion.tool_calls.is_empty() {
                self.ends(turn, &completion.text).await;
                return span.ended(TurnEnding::Answered, None, Usage::default());
            }
            for wanted in completion.tool_calls {
                self.call(turn, round, wanted, span.span()).await;
            }
        }
    }

    async fn complete(&self, turn: &Span) -> Completion {
        let plain = &self.plain;
        let now = Instant::now();
        let due = now + plain.limits.completion_timeout;
        let first_due = due.min(now + plain.limits.first_token_timeout);
        let id = CompletionId::new(Uuid::now_v7());
        let request = CompletionRequest {
            id,
            session: self.session.clone(),
            user: self.user.clone(),
            system: None,
            instructions: None,
            messages: self.prompt.clone(),
            tools: plain.specs.clone(),
            language: LanguageTag::EN,
            max_tokens: plain.limits.max_completion_tokens,
        };
        self.feed.begin(id);
        let feed = self.feed.clone();
        let span = CompletionSpan::begin(turn, &plain.name, &request);
        let (clock, ticks) = (span.clock(), span.clock());
        let deltas = Deltas::new(move |delta| {
            ticks.ticks();
            feed.push(id, delta);
        });
        span.runs();
        let completion = plain.model.complete(request, deltas, CancellationToken::new());
        let completion = tokio::select! {
            biased;
            completion = timeout_at(due, completion.instrument(span.span().clone())) => completion,
            () = sleep_until(first_due), if !clock.has_first_token() => unreachable!("it answers at once"),
        };
        let completion = completion.unwrap();
        self.feed.silence();
        span.ended(&completion);
        completion.unwrap()
    }

    async fn call(&mut self, turn: TurnId, round: u32, wanted: WantedCall, span: &Span) {
        let plain = self.plain.clone();
        let call = CallId::new(Uuid::now_v7());
        let seq = self.next();
        let session = self.session.clone();
        let user = self.user.clone();
        let at = plain.clock.now();
        let proposed = EventKind::ToolCallProposed { call, model: None, wanted: wanted.clone() };
        self.feed.publish(turn, at, Durability::Transient, proposed);
        let tool = plain.registry.get(&wanted.name).unwrap().clone();
        let checked = tool.check(&wanted.arguments, &plain.limits).unwrap();
        let approved =
            digest(tool.schema_digest(), &checked.arguments, &user, &session, call, None);
        let permit = plain.admission.admit(Bound::RunningCalls, &user, 1).unwrap();
        let whose = CallIds { session: &session, user: &user, turn, call };
        let span = ToolCallSpan::begin(span, Some(&tool.spec().name), whose);
        let within = span.span().clone();
        // In a task: a panic ends it alone, and what it began is finished though no caller waits.
        let work = async move {
            let _permit = permit;
            let ctx = ToolContext {
                session: session.clone(),
                user: user.clone(),
                call,
                locale: Locale::default(),
                time_zone: "UTC".into(),
                clock: plain.clock.clone(),
                cancelled: Default::default(),
                progress: Default::default(),
                extensions: Default::default(),
            };
            let arguments = checked.arguments;
            // What runs is what was checked.
            let digest = digest(tool.schema_digest(), &arguments, &user, &session, call, None);
            assert_eq!(digest, approved);
            let prepared =
                timeout(plain.limits.tool_timeout, tool.tool().prepare(&arguments, &ctx));
            let prepared = prepared.await.unwrap().unwrap();
            let mut transaction = plain.begin().await;
            transaction.savepoint(None).await.unwrap();
            let access = Access::Transaction(transaction.connection());
            let deadline = plain.limits.transaction_deadline;
            let outcome = tool.tool().call(arguments.clone(), prepared, &ctx, access);
            let outcome = timeout(deadline, outcome).await.unwrap().unwrap();
            let step = |transition| Write::Call { session: session.clone(), call, at, transition };
            let name = wanted.name.clone();
            let raw = wanted.arguments.clone();
            let called = TurnStep::Called { round, from: seq, usage: Usage::default() };
            let ended = Ended {
                arguments: None,
                outcome: outcome.clone(),
                effect: Effect::Committed,
                result: CallResult::Shown,
                decided_by: None,
            };
            let record = [
                Write::Turn { session: session.clone(), turn, at, step: called },
                step(Transition::Proposed(Proposal {
                    model: None,
                    opaque: None,
                    turn,
                    seq,
                    name,
                    arguments: raw,
                    user,
                })),
                step(Transition::Running { arguments: arguments.clone().into(), digest }),
                step(Transition::Ended(ended)),
            ];
            transaction.write(&record).await.unwrap();
            transaction.keep().await.unwrap();
            transaction.commit().await.unwrap();
            (arguments, outcome, wanted.name)
        };
        let (arguments, outcome, name) = tokio::spawn(work.instrument(within)).await.unwrap();
        span.ended(Some(&outcome));
        let record = Box::new(self.record(call, name, arguments, outcome, at));
        let message = ChatMessage { seq, turn, at, content: Content::ToolCall(record.clone()) };
        self.show(message, EventKind::ToolCallEnded { record });
    }

    fn record(
        &self,
        id: CallId,
        name: Arc<str>,
        arguments: serde_json::Value,
        outcome: ToolOutcome,
        at: Timestamp,
    ) -> CallRecord {
        CallRecord {
            model: None,
            opaque: None,
            id,
            name,
            arguments: arguments.into(),
            asked: None,
            approval: None,
            outcome: Some(outcome),
            effect: Effect::Committed,
            result: CallResult::Shown,
            resolved_by: None,
            proposed_at: at,
            ended_at: self.plain.clock.now(),
        }
    }

    async fn ends(&mut self, turn: TurnId, text: &str) {
        let (text, ending): (Arc<str>, _) = (text.into(), Ending::Complete);
        let answer = self.message(turn, Content::model(text.clone(), ending));
        let end = Write::TurnEnded {
            session: self.session.clone(),
            turn,
            at: self.plain.clock.now(),
            behind: answer.seq,
            ending: TurnEnding::Answered,
            error: None,
            usage: Usage::default(),
        };
        self.plain.write(&[self.says(&answer), end]).await;
        let at = answer.at;
        self.show(
            answer,
            EventKind::ModelMessage { text, ending, model: None, origin: EntryOrigin::Chat },
        );
        let ended = EventKind::TurnEnded { ending: TurnEnding::Answered, usage: Usage::default() };
        self.feed.publish(turn, at, Durability::End, ended);
    }

    fn message(&self, turn: TurnId, content: Content) -> ChatMessage {
        ChatMessage { seq: self.next(), turn, at: self.plain.clock.now(), content }
    }

    fn says(&self, message: &ChatMessage) -> Write {
        Write::Message { session: self.session.clone(), message: message.clone() }
    }

    fn show(&mut self, message: ChatMessage, kind: EventKind) {
        self.feed.publish(message.turn, message.at, Durability::Entry(message.seq), kind);
        let plain = &self.plain;
        Arc::make_mut(&mut self.prompt).extend(prompt_entry(
            &message,
            false,
            None,
            &plain.specs,
            Locale::default(),
            &plain.limits,
        ));
        self.messages.push(message);
    }

    fn next(&self) -> u64 {
        self.messages.len() as u64 + 1
    }
}
