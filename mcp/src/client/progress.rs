//! Passes a server's reports of progress to the calls that they are about. They are a stranger's
//! texts, shown only on the screen.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use madang::tool::{ProgressReporter, ToolProgress};
use rmcp::{
    RoleClient, ServiceError,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestHandle,
};
use tokio::sync::Mutex;

use super::text::visible;

/// The calls of a connection that wait for their answers, by the tokens under which the server may
/// report.
#[derive(Debug, Default)]
pub(super) struct Reports(Mutex<HashMap<ProgressToken, Weak<ProgressReporter>>>);

impl Reports {
    /// Sends a call and takes reports on it until the reporter is dropped. The token is made while
    /// the call is sent, and a report that comes at once waits until its call is known.
    pub(super) async fn send(
        &self,
        reporter: &Arc<ProgressReporter>,
        send: impl Future<Output = Result<RequestHandle<RoleClient>, ServiceError>>,
    ) -> Result<RequestHandle<RoleClient>, ServiceError> {
        let mut calls = self.0.lock().await;
        calls.retain(|_, reporter| reporter.strong_count() > 0);
        let sent = send.await?;
        calls.insert(sent.progress_token.clone(), Arc::downgrade(reporter));
        Ok(sent)
    }

    /// Passes a report on. A report on a call that is over, or on none, is dropped.
    pub(super) async fn report(&self, told: ProgressNotificationParam) {
        let reporter = self.0.lock().await.get(&told.progress_token).and_then(Weak::upgrade);
        let Some(reporter) = reporter else { return };
        let message = told.message.map(|message| visible(&message).into());
        let progress = ToolProgress { done: told.progress, total: told.total, message };
        reporter.report(progress);
    }
}
