//! The second step of a call: a person's yes, where one is needed. Only this file makes a [`ClearedCall`].

use tokio::{sync::oneshot, time::Instant};
use tracing::debug;

use super::{
    Around,
    check::CheckedCall,
    msg::{DispatcherEvent, Standing},
    record::{Finished, Record},
};
use crate::{
    confirm::{ConfirmMsg, Verdict},
    ledger::{CallState, Transition},
    port::StoreError,
    protocol::{
        AnswerError, Asker, CancelReason, ConfirmationEnd, Decision, EffectPolicy, Question, Text,
        Timestamp, ToolOutcome,
    },
};

/// A call that may run: it needs no question, or a recorded approval of this very digest was used up for it.
#[derive(Debug)]
pub(super) struct ClearedCall {
    checked: CheckedCall,
}

impl ClearedCall {
    pub(super) const fn checked(&self) -> &CheckedCall {
        &self.checked
    }
}

/// Asks, where the tool's effect and predicate say so. The question is durable before anybody is asked, the answer
/// before anything runs.
///
/// # Errors
/// How the call ends instead, with whoever must hear that the denial was recorded.
pub(super) async fn clear(
    checked: CheckedCall,
    record: &mut Record,
    around: &Around,
) -> Result<ClearedCall, (CheckedCall, NotCleared)> {
    let cleared = match asked_before(&checked) {
        Some(standing) => go_on(standing, &checked, record, around).await,
        None if must_ask(&checked) => ask(&checked, record, around).await,
        None => Ok(()),
    };
    match cleared {
        Ok(()) => Ok(ClearedCall { checked }),
        Err(not_cleared) => Err((checked, not_cleared)),
    }
}

/// Why a call does not run.
#[derive(Debug)]
pub(super) enum NotCleared {
    /// It ends instead.
    Ends {
        finished: Finished,
        /// Whoever said no hears that it counts, once it is recorded.
        recorded: Option<oneshot::Sender<Result<(), AnswerError>>>,
    },
    /// Its question stays open in the ledger.
    Left,
}

impl NotCleared {
    fn because(reason: CancelReason) -> Self {
        Self::unrun(ToolOutcome::cancelled(reason))
    }

    const fn unrun(outcome: ToolOutcome) -> Self {
        Self::Ends { finished: Finished::unrun(outcome), recorded: None }
    }

    fn store(error: &StoreError, checked: &CheckedCall) -> Self {
        debug!(%error, "the store could not keep a question or its answer");
        Self::unrun(ToolOutcome::error(
            "store",
            Text::StoreFailed.in_locale(checked.request().locale),
        ))
    }
}

fn must_ask(checked: &CheckedCall) -> bool {
    let tool = checked.tool();
    tool.spec().effect == EffectPolicy::Destructive && tool.tool().asks(checked.arguments())
}

/// Where a call stands about which a person was asked before the process ended.
fn asked_before(checked: &CheckedCall) -> Option<&Standing> {
    let standing = checked.request().standing.as_ref()?;
    matches!(standing.state, CallState::Awaiting | CallState::Approved).then_some(standing)
}

/// Asks again what was asked before, with the same digest and until the same moment; or takes the approval, which was
/// not used up.
async fn go_on(
    standing: &Standing,
    checked: &CheckedCall,
    record: &mut Record,
    around: &Around,
) -> Result<(), NotCleared> {
    let request = checked.request();
    if request.dismissal.token.is_cancelled() {
        return Err(NotCleared::because(CancelReason::Dismissed));
    }
    if standing.digest != Some(checked.digest()) {
        // What would run is not what was shown.
        let reason = Text::ToolChanged.in_locale(request.locale);
        return Err(NotCleared::unrun(ToolOutcome::error("tool_changed", reason)));
    }
    let now = around.clock.now();
    let Some(expires_at) = standing.expires_at.filter(|expires_at| now < *expires_at) else {
        return Err(NotCleared::because(CancelReason::Expired));
    };
    if standing.state == CallState::Approved {
        return Ok(());
    }
    put(question(checked, expires_at), checked, record, around).await
}

async fn ask(
    checked: &CheckedCall,
    record: &mut Record,
    around: &Around,
) -> Result<(), NotCleared> {
    let request = checked.request();
    if request.dismissal.token.is_cancelled() {
        return Err(NotCleared::because(CancelReason::Dismissed));
    }
    if request.asker == Asker::Nobody {
        debug!(call = %request.call.id, "nobody can be asked");
        return Err(NotCleared::because(CancelReason::Unreachable));
    }
    let question = question(checked, around.clock.now().after(around.limits.confirmation_timeout));
    let awaiting = Transition::Awaiting {
        arguments: checked.arguments().clone(),
        digest: checked.digest(),
        expires_at: question.expires_at,
    };
    record.write(vec![awaiting]).await.map_err(|error| NotCleared::store(&error, checked))?;
    put(question, checked, record, around).await
}

/// Puts a question that is in the ledger to the person.
async fn put(
    question: Question,
    checked: &CheckedCall,
    record: &mut Record,
    around: &Around,
) -> Result<(), NotCleared> {
    let request = checked.request();
    let verdict = match verdict(&question, checked, around).await {
        Ok(verdict) => Ok(verdict),
        Err(Unanswered::Cancelled(reason)) => Err(reason),
        Err(Unanswered::Left) => return Err(NotCleared::Left),
    };
    let call = request.call.id;
    let end = match &verdict {
        Ok(Verdict::Decided { decision, .. }) => ConfirmationEnd::Decided { decision: *decision },
        Ok(Verdict::Expired | Verdict::Overloaded) => {
            ConfirmationEnd::Cancelled { reason: CancelReason::Expired }
        }
        Err(reason) => ConfirmationEnd::Cancelled { reason: *reason },
    };
    let result = match verdict {
        Ok(Verdict::Decided { decision: Decision::Approve, by, recorded }) => {
            let approved = Transition::Approved { digest: checked.digest(), by };
            let written = record.write(vec![approved]).await;
            let told = if written.is_ok() { Ok(()) } else { Err(AnswerError::NotRecorded) };
            crate::mailbox::answer(recorded, told);
            written.map_err(|error| NotCleared::store(&error, checked))
        }
        Ok(Verdict::Decided { decision: Decision::Deny, by, recorded }) => {
            let denied = Finished::unrun(ToolOutcome::cancelled(CancelReason::Denied));
            let finished = Finished { decided_by: Some(by), ..denied };
            Err(NotCleared::Ends { finished, recorded: Some(recorded) })
        }
        Ok(Verdict::Expired) => Err(NotCleared::because(CancelReason::Expired)),
        Ok(Verdict::Overloaded) => {
            let reason = Text::Overloaded.in_locale(request.locale);
            Err(NotCleared::unrun(ToolOutcome::error("overloaded", reason)))
        }
        Err(reason) => Err(NotCleared::because(reason)),
    };
    request.news.tell(DispatcherEvent::QuestionEnded { call, end });
    result
}

fn question(checked: &CheckedCall, expires_at: Timestamp) -> Question {
    let request = checked.request();
    let tool = checked.tool();
    let consequence = tool.tool().consequence(checked.arguments(), request.locale);
    Question {
        call: request.call.id,
        session: request.session.clone(),
        user: request.user.clone(),
        tool: tool.spec().name.clone(),
        arguments: checked.arguments().clone(),
        consequence: consequence
            .unwrap_or_else(|| Text::RunTool(&tool.spec().name).in_locale(request.locale)),
        digest: checked.digest(),
        expires_at,
    }
}

/// Why there is no verdict.
enum Unanswered {
    Cancelled(CancelReason),
    /// The runtime ends before the question does.
    Left,
}

/// Asks and waits for the person. A question that was lost with the ConfirmActor is asked again, until it expires.
async fn verdict(
    question: &Question,
    checked: &CheckedCall,
    around: &Around,
) -> Result<Verdict, Unanswered> {
    let request = checked.request();
    let due = Instant::now() + around.clock.now().until(question.expires_at);
    let mut confirm = around.confirm.actor();
    loop {
        let (reply, verdict) = oneshot::channel();
        let ask = ConfirmMsg::Ask { question: Box::new(question.clone()), due, reply };
        drop(confirm.cast(ask)); // if it is gone, the verdict's sender is gone with the message
        // Only now: whoever hears of a question may answer it at once. Asked again it is told again, because an answer
        // that was on its way is lost too.
        request.news.tell(DispatcherEvent::Asked { question: Box::new(question.clone()) });
        tokio::select! {
            // An answer that is there counts, also where the screen was closed at the same moment.
            biased;
            verdict = verdict => {
                if let Ok(verdict) = verdict {
                    return Ok(verdict);
                }
            }
            () = request.dismissal.token.cancelled() => {
                drop(around.confirm.send(ConfirmMsg::Withdraw { call: request.call.id }));
                return Err(Unanswered::Cancelled(CancelReason::Dismissed));
            }
            () = request.leave.cancelled() => {
                drop(around.confirm.send(ConfirmMsg::Withdraw { call: request.call.id }));
                return Err(Unanswered::Left);
            }
        }
        confirm = tokio::select! {
            confirm = around.confirm.after(&confirm) => confirm,
            () = tokio::time::sleep_until(due) => {
                return Err(Unanswered::Cancelled(CancelReason::Expired));
            }
            () = request.dismissal.token.cancelled() => {
                return Err(Unanswered::Cancelled(CancelReason::Dismissed));
            }
            () = request.leave.cancelled() => return Err(Unanswered::Left),
        };
    }
}
