//! Asking a person about a call, which is the one way to wait for an approval. The request is
//! durable first, is made of what is stored, and ends once.

use std::sync::Arc;

use serde_json::Value;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, sleep_until, timeout},
};
use tracing::warn;

use super::{
    CallContext,
    check::CheckedCall,
    msg::{DispatchRequest, DispatcherEvent},
    not_run::NotRun,
    record::Record,
};
use crate::{
    admission::Permit,
    approval::{CheckedDecision, ConfirmMsg},
    failpoint::failpoint,
    ledger::Transition,
    port::{LedgerRow, StoreError, ToolFault},
    protocol::{
        ApprovalRequest, Bound, CancelReason, Decision, DecisionError, MAX_BYTES, Shown, Text,
        Timestamp, plain, storable_text,
    },
};

/// Asks a person about the call, and returns the decision with its moment. A request that is still
/// open in the ledger is asked again as it was. Any other is admitted and made durable first.
///
/// # Errors
/// [`NotRun`] says how the call ends without a decision.
pub(super) async fn ask(
    open_until: Option<Timestamp>,
    checked: &mut CheckedCall,
    record: &mut Record,
    context: &CallContext,
) -> Result<(CheckedDecision, Timestamp), NotRun> {
    let _permit = match open_until {
        Some(expires_at) => permit_again(expires_at, checked, context).await?,
        None => open(checked, record, context).await?,
    };
    let request = stored(checked, record).await;
    let request = request.map_err(|error| NotRun::store(&error, checked.request()))?;
    let request = Arc::new(request);
    let decision = decision(&request, checked, context).await?;
    let passed = failpoint("ask.decided").await.map_err(StoreError::from);
    passed.map_err(|error| NotRun::store(&error, checked.request()))?;
    // The store compares with the time of day and refuses a later decision. So no person learns of
    // a later one that it counts.
    let at = context.clock.now();
    if at >= request.expires_at {
        decision.tell(Err(DecisionError::NotOpen));
        return Err(NotRun::undecided(CancelReason::Expired));
    }
    // Arguments that were typed and are unchanged are a plain approval, so no change is reported.
    let is_same = matches!(decision.get(), Decision::Edit { arguments } if checked.digest_of(arguments) == request.digest);
    Ok((if is_same { decision.unedited() } else { decision }, at))
}

/// Takes a permit and makes the request durable. A durable request is always asked, so the permit
/// comes first.
async fn open(
    checked: &mut CheckedCall,
    record: &mut Record,
    context: &CallContext,
) -> Result<Permit, NotRun> {
    let request = checked.request().clone();
    let admitted = context.admission.admit(Bound::ApprovalRequests, &request.user, 1);
    let permit = admitted.map_err(|refusal| NotRun::overloaded(&refusal, &request))?;
    let shown = shown(checked, context).await;
    if storable_text(&shown.text, MAX_BYTES).is_err() {
        return Err(NotRun::too_long(&request));
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
    let written = async {
        failpoint("ask.stores").await?;
        record.write_at(at, vec![awaiting]).await
    };
    written.await.map_err(|error| NotRun::store(&error, &request))?;
    Ok(permit)
}

/// Takes a permit for a request that was admitted before its process ended, so it waits as long as
/// a person may decide.
async fn permit_again(
    expires_at: Timestamp,
    checked: &CheckedCall,
    context: &CallContext,
) -> Result<Permit, NotRun> {
    let request = checked.request();
    let left = context.clock.now().until(expires_at);
    tokio::select! {
        biased;
        permit = context.admission.wait(Bound::ApprovalRequests, &request.user) => Ok(permit),
        () = sleep(left) => Err(NotRun::undecided(CancelReason::Expired)),
        interruption = request.cancellation.approval_interrupted() => Err(interruption.into()),
    }
}

/// Reads the request from the ledger, so that what is shown is what is stored.
async fn stored(checked: &CheckedCall, record: &Record) -> Result<ApprovalRequest, StoreError> {
    failpoint("ask.reads").await?;
    let request = request(record.row().await?, checked)?;
    failpoint("ask.asks").await?;
    Ok(request)
}

/// Makes the request from the ledger's row, if that is what would run.
pub(super) fn request(
    stored: LedgerRow,
    checked: &CheckedCall,
) -> Result<ApprovalRequest, StoreError> {
    let (Some(digest), Some(expires_at), Some(shown)) =
        (stored.digest, stored.expires_at, stored.shown)
    else {
        return Err(StoreError::refused("the ledger has no request about the call"));
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
        consequence: shown.consequence,
        text: shown.text,
        digest,
        expires_at,
    })
}

/// Writes down what a person will be shown: the call, its effect by what the store has now, and the
/// reach of "always".
async fn shown(checked: &CheckedCall, context: &CallContext) -> Shown {
    let request = checked.request();
    let tool = checked.tool();
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
        consequence: consequence.into(),
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
    Shown { text: text.into(), consequence: written.consequence }
}

/// Asks the tool for the consequence from what the store has now. If that cannot be read, the
/// person is asked without it.
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

/// Asks and waits for the person. A request that was lost with the ConfirmActor is asked again,
/// until it expires or no actor is left to take a decision.
async fn decision(
    request: &Arc<ApprovalRequest>,
    checked: &CheckedCall,
    context: &CallContext,
) -> Result<CheckedDecision, NotRun> {
    let call = checked.request();
    let due = Instant::now() + context.clock.now().until(request.expires_at);
    let expired = || NotRun::undecided(CancelReason::Expired);
    let mut confirm = context.confirm.actor();
    call.cancellation.awaits_decision();
    loop {
        let (reply, mut decision) = oneshot::channel();
        let asked = request.clone();
        let tool = checked.tool().clone();
        // If the actor is gone, the sender of the reply is gone with the message.
        let _ = confirm.cast(ConfirmMsg::Ask { request: asked, tool, due, reply });
        // Only now, because a listener may decide at once. A request that is asked again is
        // reported again, because a decision on its way is lost too.
        context.inboxes.opened(request.clone());
        let told = Box::new((**request).clone());
        call.news.tell(DispatcherEvent::ApprovalRequested { request: told });
        tokio::select! {
            // A decision that has arrived counts, even if the turn was dismissed at the same
            // moment.
            biased;
            decision = &mut decision => {
                if let Ok(decision) = decision {
                    return counted(decision, call)?.ok_or_else(expired);
                }
            }
            interruption = call.cancellation.approval_interrupted() => {
                if let Some(won) = last_word(&mut decision) {
                    return counted(won, call)?.ok_or_else(expired);
                }
                let _ = context.confirm.send(ConfirmMsg::Withdraw { call: request.call });
                return Err(interruption.into());
            }
        }
        confirm = tokio::select! {
            biased;
            confirm = context.confirm.after(&confirm) => confirm,
            // No decision can come any more.
            () = context.confirm.restart_limit_reached() => {
                return Err(NotRun::undecided(CancelReason::Unreachable));
            }
            () = sleep_until(due) => return Err(expired()),
            interruption = call.cancellation.approval_interrupted() => return Err(interruption.into()),
        };
    }
}

/// Returns the decision that came, unless the turn was dismissed before because none had come.
fn counted(
    decision: Option<CheckedDecision>,
    call: &DispatchRequest,
) -> Result<Option<CheckedDecision>, NotRun> {
    if call.cancellation.decided() {
        return Ok(decision);
    }
    if let Some(decision) = decision {
        decision.tell(Err(DecisionError::NotOpen));
    }
    Err(NotRun::undecided(CancelReason::Dismissed))
}

/// Takes the decision that won just now, which is valid. From here on no other can win.
fn last_word<T>(decision: &mut oneshot::Receiver<T>) -> Option<T> {
    decision.close();
    decision.try_recv().ok()
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
        assert_eq!(request(stored.clone(), &checked).unwrap(), told);

        let changes: [fn(&mut LedgerRow); 5] = [
            |row| row.arguments = json!({ "to": "lee" }).into(),
            |row| row.digest = Some(Digest::new([1; 32])),
            |row| row.shown.as_mut().unwrap().text = "Mail?".into(),
            |row| row.shown.as_mut().unwrap().consequence = "Nothing.".into(),
            |row| row.shown = None,
        ];
        let mut consistent = stored.clone();
        consistent.arguments = json!({ "to": "lee" }).into();
        consistent.digest = Some(checked.digest_of(&consistent.arguments));
        let changed = changes.map(|change| {
            let mut changed = stored.clone();
            change(&mut changed);
            changed
        });
        for changed in changed.into_iter().chain([consistent]) {
            let refused = request(changed.clone(), &checked);
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
        assert_eq!(answer.send("too late"), Err("too late"), "the person hears it");
    }
}
