//! A tool call without a model.

use std::{
    fmt,
    future::{pending, ready},
    sync::Arc,
};

use madang_actors::{
    dispatcher::{
        CallEnd, Cancellation, DispatchRequest, DispatcherEvent, DispatcherMsg, end_lost,
    },
    mailbox::{Recipient, Reply},
    port::BoxFuture,
    protocol::{
        ApprovalRequest, Bound, CallId, CallRecord, Decision, DecisionError, Fault, LanguageTag,
        SessionId, ToolCall, ToolOutcome, UserId, WantedCall, call_envelope,
    },
};
use tokio::sync::mpsc;
use tracing::debug;
use uuid::Uuid;

use crate::{Runtime, error::SessionError};

/// A tool call that an application or a person on the command line asks for, and no model.
#[derive(Debug)]
pub struct Call {
    user: UserId,
    name: Arc<str>,
    arguments: Arc<str>,
    language: Option<LanguageTag>,
    time_zone: Option<Arc<str>>,
    approver: Approver,
    session: Option<SessionId>,
}

/// Decides about a call without a model. An "always" covers later calls of the call's session, which is one of its own by
/// default.
#[derive(Default)]
pub enum Approver {
    /// Asks no person: a destructive call is cancelled as unreachable.
    #[default]
    None,
    /// Decides so.
    Decided(Decision),
    /// Asks this function, and asks it again where the arguments that it typed do not fit the tool. `None` leaves the
    /// request open until it expires.
    Ask(Box<dyn Fn(ApprovalRequest) -> BoxFuture<'static, Option<Decision>> + Send + Sync>),
}

impl fmt::Debug for Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Decided(decision) => write!(f, "Decided({decision:?})"),
            Self::Ask(_) => f.write_str("Ask"),
        }
    }
}

impl Call {
    /// Makes a call of this tool with the raw text of its arguments. By default no person is asked.
    #[must_use]
    pub fn new(user: UserId, name: impl Into<Arc<str>>, arguments: impl Into<Arc<str>>) -> Self {
        Self {
            user,
            name: name.into(),
            arguments: arguments.into(),
            language: None,
            time_zone: None,
            approver: Approver::None,
            session: None,
        }
    }

    /// Puts the call behind the last entry of this session. Its tools find the earlier chat there, and readers of the
    /// chat find the call. A session of its own by default.
    #[must_use]
    pub fn session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// Sets what decides about it, where its tool needs an approval.
    #[must_use]
    pub fn approver(mut self, approver: Approver) -> Self {
        self.approver = approver;
        self
    }

    /// Sets the language of reasons and questions. By default that of the runtime.
    #[must_use]
    pub fn language(mut self, tag: LanguageTag) -> Self {
        self.language = Some(tag);
        self
    }

    /// Sets the user's time zone, an IANA name. By default that of the runtime.
    #[must_use]
    pub fn time_zone(mut self, time_zone: impl Into<Arc<str>>) -> Self {
        self.time_zone = Some(time_zone.into());
        self
    }
}

/// The end of a call without a model.
#[derive(Debug, Clone, PartialEq)]
pub struct CallReport {
    /// The session under which the ledger has it.
    pub session: SessionId,
    /// The ledger's record of the call.
    pub record: CallRecord,
    /// The outcome as a model would read it.
    pub envelope: String,
    /// Whether the ledger has this end. False where the store could not be written, or takes no more of the user; the
    /// record is then what this runtime knows.
    pub is_recorded: bool,
}

impl Runtime {
    /// Brings one call to its end: look up, validate, confirm, run, envelope. Never panics; every path ends in exactly
    /// one outcome. It is recorded under a session of its own or under the named one. The named session sleeps
    /// meanwhile, and its messages wait for the end of the call.
    ///
    /// Dropping the future leaves the call running to its end.
    ///
    /// # Errors
    /// [`SessionError::TimeZone`] for an unknown time zone; [`SessionError::Foreign`] for another user's session;
    /// [`SessionError::Busy`] for a session in which a turn or call has not ended. [`SessionError::Closed`] after the
    /// runtime has shut down; [`SessionError::Overloaded`] where too many bytes wait to be stored, and the call was not
    /// recorded.
    pub async fn dispatch(&self, call: Call) -> Result<CallReport, SessionError> {
        let Call { user, name, arguments, language, time_zone, approver, session } = call;
        if self.shared().is_closed() {
            return Err(SessionError::Closed);
        }
        let time_zone = self.shared().time_zones.of(&user, time_zone)?;
        let admission = &self.shared().handles.calls.admission;
        let bytes = admission.admit(Bound::QueuedBytes, &user, arguments.len());
        let _bytes = bytes.map_err(SessionError::Overloaded)?;
        let place = self.place_of_call(&user, session).await?;
        let (session, turn, seq) = (place.session.clone(), place.turn, place.seq);
        let locale = self.shared().languages.locale(language);
        let (news, mut heard) = mpsc::unbounded_channel();
        let at = self.shared().clock.now();
        let max_stored_bytes = self.shared().limits.max_stored_bytes_per_user as u64;
        let preamble = place.turn_of_its_own(&user, at, max_stored_bytes);
        let (late, answered) = match place.held {
            Some((slot, begun)) => (
                slot.late(turn, locale, self.shared().clock.clone()),
                Recipient::channel(news.clone()).holding(begun),
            ),
            None => (Recipient::nobody(), Recipient::channel(news.clone())),
        };
        let wanted = WantedCall { name: name.clone(), arguments }.bounded(&self.shared().limits);
        let request = Arc::new(DispatchRequest {
            preamble,
            ledger_row: None,
            span: tracing::Span::current(),
            session: session.clone(),
            user,
            turn,
            seq,
            call: ToolCall {
                id: CallId::new(Uuid::now_v7()),
                name: wanted.name,
                arguments: wanted.arguments,
            },
            locale,
            time_zone,
            can_ask: !matches!(approver, Approver::None),
            cancellation: Cancellation::of_caller(self.shared().context.closing.child_token()),
            proposed_at: at,
            beyond: None,
            news: Recipient::channel(news),
            late,
        });
        let lost = DispatcherEvent::Lost { call: request.call.id, seq: request.seq };
        let reply = Reply::new(answered, lost);
        let dispatch = DispatcherMsg::Dispatch { request: request.clone(), reply };
        drop(self.shared().handles.dispatcher.send(dispatch)); // if it is gone, the reply says "lost"
        let (mut asked, mut decided) = (None::<ApprovalRequest>, None);
        let mut deciding: BoxFuture<'_, Option<Decision>> = Box::pin(pending());
        let end = loop {
            let event = tokio::select! {
                biased;
                event = heard.recv() => event,
                decision = &mut deciding => {
                    deciding = Box::pin(pending());
                    if let (Some(request), Some(decision)) = (&asked, decision) {
                        decided = Some(decision.clone());
                        if let Err(DecisionError::DoesNotFit { .. }) = self.decide_on(request, decision).await
                            && matches!(approver, Approver::Ask(_))
                        {
                            decided = None;
                            deciding = approver.decide(request.clone());
                        }
                    }
                    continue;
                }
            };
            match event {
                Some(DispatcherEvent::ApprovalRequested { request }) => {
                    // A request that was lost with the ConfirmActor comes again; the person is not asked again.
                    match (&decided, &asked) {
                        (Some(decision), _) => {
                            // A decision that does not count was reported already.
                            drop(self.decide_on(&request, decision.clone()).await);
                        }
                        (None, Some(_)) => {}
                        (None, None) => {
                            asked = Some((*request).clone());
                            deciding = approver.decide(*request);
                        }
                    }
                }
                Some(DispatcherEvent::ApprovalEnded { .. }) => {}
                Some(DispatcherEvent::Ended(end)) => break end,
                Some(DispatcherEvent::Left { .. } | DispatcherEvent::Lost { .. }) | None => {
                    break end_lost(&self.shared().handles.calls, request, &Fault::REPLY_LOST)
                        .await;
                }
            }
        };
        let CallEnd { record, is_recorded, .. } = end;
        let tool = self.registry().get(&name).ok().map(|tool| tool.spec());
        let max_bytes = self.shared().limits.max_envelope_bytes;
        let envelope = call_envelope(&record, tool, locale, max_bytes);
        Ok(CallReport { session, record: *record, envelope, is_recorded })
    }

    async fn decide_on(
        &self,
        request: &ApprovalRequest,
        decision: Decision,
    ) -> Result<(), DecisionError> {
        let ApprovalRequest { user, call, digest, .. } = request;
        let counts = self.decide(user, *call, *digest, decision).await;
        if let Err(error) = &counts {
            debug!(%call, %error, "a decision does not count");
        }
        counts
    }
}

impl CallReport {
    /// Gives the outcome; `None` only where the runtime was shut down while the handler ran.
    #[must_use]
    pub fn outcome(&self) -> Option<&ToolOutcome> {
        self.record.outcome.as_ref()
    }
}

impl Approver {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'static, Option<Decision>> {
        match self {
            Self::None => Box::pin(ready(None)),
            Self::Decided(decision) => Box::pin(ready(Some(decision.clone()))),
            Self::Ask(ask) => ask(request),
        }
    }
}
