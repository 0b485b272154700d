//! A call without a model as all its handles share it: how far it has come, and what ended it.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::keyed::KeyedCall;
use crate::{
    dispatcher::{CallEnd, DispatcherEvent},
    protocol::{ApprovalRequest, CallId, SessionId, ToolProgress, WantedCall},
};

/// The part of a call that all its handles share. The pipeline of the call holds it until the end.
#[derive(Debug)]
pub(super) struct SharedCall {
    pub(super) id: CallId,
    pub(super) session: SessionId,
    /// The tool and the arguments, as the ledger has them.
    pub(super) wanted: WantedCall,
    pub(super) dismissal: CancellationToken,
    pub(super) stage: watch::Sender<Stage>,
    /// Kept as long as the call: a later caller with the key finds it.
    pub(super) entry: Option<Arc<KeyedCall<Self>>>,
}

/// How far a call has come.
#[derive(Debug, Default)]
pub(super) struct Stage {
    /// How many times a person was asked: a request that is asked again counts again.
    pub(super) asked: u64,
    /// The request that is open.
    pub(super) open: Option<Arc<ApprovalRequest>>,
    pub(super) end: Option<CallEnd>,
    /// How many reports of progress its handler has made.
    pub(super) reports: u64,
    /// The newest of them.
    pub(super) newest: Option<ToolProgress>,
}

impl SharedCall {
    pub(super) fn new(
        id: CallId,
        session: SessionId,
        wanted: WantedCall,
        dismissal: CancellationToken,
        entry: Option<Arc<KeyedCall<Self>>>,
    ) -> Self {
        let stage = watch::Sender::new(Stage::default());
        Self { id, session, wanted, dismissal, stage, entry }
    }

    /// Returns whether it is of this tool and these arguments, and in this session. Arguments are
    /// compared as JSON, if both are JSON.
    pub(super) fn is(&self, wanted: &WantedCall, session: &SessionId) -> bool {
        self.session == *session
            && self.wanted.name == wanted.name
            && are_same(&self.wanted.arguments, &wanted.arguments)
    }

    /// Returns whether its end is known here and the ledger does not have it. A later caller then
    /// asks the ledger.
    pub(super) fn has_unrecorded_end(&self) -> bool {
        self.stage.borrow().end.as_ref().is_some_and(|end| !end.is_recorded)
    }

    /// Notes an event of its pipeline before the end, which comes by the reply.
    pub(super) fn on(&self, event: DispatcherEvent) {
        match event {
            DispatcherEvent::ApprovalRequested { request } => {
                self.stage.send_modify(|stage| {
                    stage.asked += 1;
                    stage.open = Some(Arc::new(*request));
                });
            }
            DispatcherEvent::ApprovalEnded { .. } => {
                self.stage.send_modify(|stage| stage.open = None);
            }
            DispatcherEvent::Ended(_)
            | DispatcherEvent::Left { .. }
            | DispatcherEvent::Lost { .. } => (),
        }
    }

    /// Notes a report of its handler. Returns whether the call continues.
    pub(super) fn reports(&self, report: ToolProgress) -> bool {
        self.stage.send_if_modified(|stage| {
            let goes_on = stage.end.is_none();
            if goes_on {
                stage.reports += 1;
                stage.newest = Some(report);
            }
            goes_on
        })
    }

    /// Notes its end; the first one stays.
    pub(super) fn ended(&self, end: CallEnd) {
        self.stage.send_modify(|stage| {
            stage.open = None;
            stage.end.get_or_insert(end);
        });
    }
}

fn are_same(one: &str, other: &str) -> bool {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || json(one).zip(json(other)).is_some_and(|(one, other)| one == other)
}
