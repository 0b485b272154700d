//! Asking a person about a call: the question is durable first, is made of what is stored, and ends once.

use serde_json::Value;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, sleep_until, timeout},
};
use tracing::warn;

use super::{
    CallContext, cancellation::Interruption, check::CheckedCall, msg::DispatcherEvent,
    record::Record,
};
use crate::{
    admission::Permit,
    approval::{CheckedDecision, ConfirmMsg, QuestionVerdict},
    failpoint::failpoint,
    ledger::Transition,
    mailbox::answer,
    port::{LedgerRow, StoreError, ToolFault},
    protocol::{
        ApprovalEnd, ApprovalRequest, Bound, CancelReason, DecisionError, LimitExceeded, MAX_BYTES,
        Shown, Text, Timestamp, UserId, plain, storable_text,
    },
};

/// How a question ended.
#[derive(Debug)]
pub(super) enum Answered {
    /// A person decided in time.
    Decided {
        /// The decision, with its arguments checked.
        decision: CheckedDecision,
        /// The person that decided.
        by: UserId,
        /// The moment of the decision.
        at: Timestamp,
        /// Tells the person, once the decision is recorded, that it counts.
        recorded: oneshot::Sender<Result<(), DecisionError>>,
    },
    /// The question ended without a decision.
    Cancelled(CancelReason),
    /// The runtime ends before the question does.
    Left,
    /// Too many questions are open already: none was asked.
    Overloaded(LimitExceeded),
    /// The question is longer than the store takes: none was asked.
    TooLong,
}

impl Answered {
    /// Gives the end as events tell it.
    pub(super) fn end(&self) -> ApprovalEnd {
        match self {
            Self::Decided { decision, .. } => ApprovalEnd::Decided { decision: decision.told() },
            Self::Cancelled(reason) => ApprovalEnd::Cancelled { reason: *reason },
            // No end is told of a question that goes on.
            Self::Left | Self::Overloaded(_) | Self::TooLong => {
                ApprovalEnd::Cancelled { reason: CancelReason::Unreachable }
            }
        }
    }
}

impl From<Interruption> for Answered {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Ends(reason) => Self::Cancelled(reason),
            Interruption::Stays => Self::Left,
        }
    }
}

/// Makes a question durable, asks it, and waits for its end.
///
/// # Errors
/// [`StoreError`] if the question could not be stored and read back; then it was not asked.
pub(super) async fn ask(
    checked: &mut CheckedCall,
    record: &mut Record,
    context: &CallContext,
) -> Result<Answered, StoreError> {
    // Before the question is stored: a durable question is always asked.
    let admitted = context.admission.admit(Bound::ApprovalRequests, &checked.request().user, 1);
    let permit = match admitted {
        Ok(permit) => permit,
        Err(refusal) => return Ok(Answered::Overloaded(refusal)),
    };
    let shown = shown(checked, context).await;
    if storable_text(&shown.text, MAX_BYTES).is_err() {
        return Ok(Answered::TooLong);
    }
    checked.asked_with(shown);
    let at = context.clock.now();
    let awaiting = Transition::Awaiting {
        arguments: checked.arguments().clone(),
        schema: checked.schema(),
        shown: checked.shown().cloned().map(Box::new),
        digest: checked.digest(),
        expires_at: at.after(context.limits.decision_timeout),
    };
    failpoint("question.stored").await?;
    record.write_at(at, vec![awaiting]).await?;
    asked(permit, checked, record, context).await
}

/// Asks a question that was asked before its process ended, and waits for its end. It was admitted then, so it waits
/// for its permit as long as it can be answered.
///
/// # Errors
/// [`StoreError`] if the question could not be read back; then it was not asked.
pub(super) async fn again(
    expires_at: Timestamp,
    checked: &CheckedCall,
    record: &Record,
    context: &CallContext,
) -> Result<Answered, StoreError> {
    let request = checked.request();
    let left = context.clock.now().until(expires_at);
    tokio::select! {
        biased;
        permit = context.admission.wait(Bound::ApprovalRequests, &request.user) => {
            asked(permit, checked, record, context).await
        }
        () = sleep(left) => Ok(Answered::Cancelled(CancelReason::Expired)),
        interruption = request.cancellation.question_interrupted() => Ok(interruption.into()),
    }
}

/// Asks a question that is durable, and waits for its end. The permit is held as long.
async fn asked(
    _permit: Permit,
    checked: &CheckedCall,
    record: &Record,
    context: &CallContext,
) -> Result<Answered, StoreError> {
    failpoint("question.read").await?;
    let question = question(record.row().await?, checked)?;
    failpoint("question.asked").await?;
    let (decision, by, recorded) = match verdict(&question, checked, context).await {
        Ok(QuestionVerdict::Decided { decision, by, recorded }) => (decision, by, recorded),
        Ok(QuestionVerdict::Expired) => return Ok(Answered::Cancelled(CancelReason::Expired)),
        Err(unanswered) => return Ok(unanswered),
    };
    let digest = question.digest;
    failpoint("question.answered").await?;
    // The store goes by the time of day and refuses a later answer; such an answer is never told to count.
    let at = context.clock.now();
    if at >= question.expires_at {
        answer(recorded, Err(DecisionError::NotOpen));
        return Ok(Answered::Cancelled(CancelReason::Expired));
    }
    // Arguments that were typed and are unchanged are a plain yes: no change is told.
    let is_same = matches!(&decision, CheckedDecision::Edit(typed) if checked.digest_of(&typed.arguments) == digest);
    let decision = if is_same { CheckedDecision::Approve } else { decision };
    Ok(Answered::Decided { decision, by, at, recorded })
}

/// Makes the question from the ledger's row: what is shown is what is stored.
pub(super) fn question(
    stored: LedgerRow,
    checked: &CheckedCall,
) -> Result<ApprovalRequest, StoreError> {
    let (Some(digest), Some(expires_at), Some(shown)) =
        (stored.digest, stored.expires_at, stored.shown)
    else {
        return Err(StoreError::refused("the ledger has no question about the call"));
    };
    if digest != checked.digest()
        || checked.digest_of(&stored.arguments) != digest
        || checked.shown() != Some(&shown)
    {
        return Err(StoreError::refused("the ledger has other arguments than the call"));
    }
    Ok(ApprovalRequest {
        call: stored.call,
        session: stored.session,
        user: stored.user,
        tool: stored.name,
        arguments: stored.arguments,
        consequence: shown.consequence.to_string(),
        text: shown.text,
        digest,
        expires_at,
    })
}

/// Writes down what a person will be shown: the call, its effect by what the store has now, and the reach of "always".
async fn shown(checked: &CheckedCall, context: &CallContext) -> Shown {
    let (request, tool) = (checked.request(), checked.tool());
    let locale = request.locale;
    let consequence = match seen(checked.arguments(), checked, context).await {
        Some(consequence) => consequence,
        None => tool
            .tool()
            .consequence(checked.arguments(), locale)
            .unwrap_or_else(|| Text::RunTool(&tool.spec().name).in_locale(locale)),
    };
    let written = ApprovalRequest {
        call: request.call.id,
        session: request.session.clone(),
        user: request.user.clone(),
        tool: tool.spec().name.clone(),
        arguments: checked.arguments().clone(),
        consequence,
        text: "".into(),
        digest: checked.digest(),
        expires_at: context.clock.now(),
    };
    let resource = tool.tool().resource(checked.arguments(), &context.tool_context(request));
    let standing = Text::Standing {
        lifetime: context.limits.standing_approval_lifetime,
        uses: context.limits.max_standing_uses,
        resource: resource.as_ref().map(|resource| &*resource.key),
    };
    let text = format!("{}\n  {}", written.plain_text(), plain(&standing.in_locale(locale)));
    Shown { text: text.into(), consequence: written.consequence.into() }
}

/// Asks the tool for the consequence by what the store has now. Where that cannot be read, the question is asked
/// without it.
async fn seen(arguments: &Value, checked: &CheckedCall, context: &CallContext) -> Option<String> {
    let tool = checked.tool();
    if !tool.tool().looks_before_asking() {
        return None;
    }
    let ctx = context.tool_context(checked.request());
    let looking = async {
        let mut reader = context.store.store().reader().await.map_err(ToolFault::from)?;
        tool.tool().consequence_from(arguments, &ctx, reader.connection()).await
    };
    match timeout(context.limits.store_timeout, looking).await {
        Ok(Ok(consequence)) => consequence,
        Ok(Err(fault)) => {
            warn!(tool = %tool.spec().name, ?fault, "what a call would do could not be looked up");
            None
        }
        Err(_) => {
            warn!(tool = %tool.spec().name, "looking up what a call would do took too long");
            None
        }
    }
}

/// Asks and waits for the person. A question that was lost with the ConfirmActor is asked again, until it expires or no
/// actor is left to take an answer.
async fn verdict(
    question: &ApprovalRequest,
    checked: &CheckedCall,
    context: &CallContext,
) -> Result<QuestionVerdict, Answered> {
    let request = checked.request();
    let due = Instant::now() + context.clock.now().until(question.expires_at);
    let mut confirm = context.confirm.actor();
    loop {
        let (reply, mut verdict) = oneshot::channel();
        let (asked, tool) = (Box::new(question.clone()), checked.tool().clone());
        // If the actor is gone, the verdict's sender is gone with the message.
        drop(confirm.cast(ConfirmMsg::Ask { request: asked, tool, due, reply }));
        // Only now, because a listener may answer a question at once. When asked again it is told again, because an
        // answer on its way is lost too.
        request
            .news
            .tell(DispatcherEvent::ApprovalRequested { request: Box::new(question.clone()) });
        tokio::select! {
            // An answer that has arrived counts, also where the turn was dismissed at the same moment.
            biased;
            verdict = &mut verdict => {
                if let Ok(verdict) = verdict {
                    return Ok(verdict);
                }
            }
            interruption = request.cancellation.question_interrupted() => {
                if let Some(won) = last_word(&mut verdict) {
                    return Ok(won);
                }
                drop(context.confirm.send(ConfirmMsg::Withdraw { call: request.call.id }));
                return Err(interruption.into());
            }
        }
        confirm = tokio::select! {
            biased;
            confirm = context.confirm.after(&confirm) => confirm,
            // No answer can come any more.
            () = context.confirm.restart_limit_reached() => {
                return Err(Answered::Cancelled(CancelReason::Unreachable));
            }
            () = sleep_until(due) => return Err(Answered::Cancelled(CancelReason::Expired)),
            interruption = request.cancellation.question_interrupted() => return Err(interruption.into()),
        };
    }
}

/// Takes the answer that won just now, which counts; from here on none can win.
fn last_word<T>(verdict: &mut oneshot::Receiver<T>) -> Option<T> {
    verdict.close();
    verdict.try_recv().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::check::check, *};
    use crate::{
        protocol::{Decision, Digest},
        test_runtime::TestRuntime,
        testing::FakeTool,
    };

    #[tokio::test]
    async fn what_the_store_gives_back_is_asked_only_where_it_is_what_was_written() {
        let test = TestRuntime::new([FakeTool::destructive("mail")]).await;
        let mut call = test.begin("mail", r#"{"to":"kim"}"#).await;
        let told = call.approval_request().await;
        let stored = test.ledger().await.remove(0);
        test.decide(&told, Decision::Deny).await.unwrap();
        call.end().await;
        let mut checked = check(call.request.clone(), &test.handles.calls).unwrap();
        checked.asked_with(stored.shown.as_deref().unwrap().clone());
        assert_eq!(question(stored.clone(), &checked).unwrap(), told);

        let changes: [fn(&mut LedgerRow); 5] = [
            |row| row.arguments = json!({ "to": "lee" }),
            |row| row.digest = Some(Digest::new([1; 32])),
            |row| row.shown.as_mut().unwrap().text = "Mail?".into(),
            |row| row.shown.as_mut().unwrap().consequence = "Nothing.".into(),
            |row| row.shown = None,
        ];
        let mut consistent = stored.clone();
        consistent.arguments = json!({ "to": "lee" });
        consistent.digest = Some(checked.digest_of(&consistent.arguments));
        let changed = changes.map(|change| {
            let mut changed = stored.clone();
            change(&mut changed);
            changed
        });
        for changed in changed.into_iter().chain([consistent]) {
            let refused = question(changed.clone(), &checked);
            assert!(matches!(refused, Err(StoreError::Refused { .. })), "{changed:?}");
        }
    }

    #[test]
    fn an_answer_that_won_before_its_screen_closed_counts_and_none_wins_behind_it() {
        let (answer, mut verdict) = oneshot::channel();
        answer.send("won").unwrap();
        assert_eq!(last_word(&mut verdict), Some("won"));
        let (answer, mut verdict) = oneshot::channel();
        assert_eq!(last_word(&mut verdict), None);
        assert_eq!(answer.send("too late"), Err("too late"), "whoever answers hears it");
    }
}
