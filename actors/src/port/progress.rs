//! Passes a handler's reports on to readers.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;

use crate::protocol::ToolProgress;

/// Receives a handler's reports and passes them on at its own pace. It never blocks, and is cheap
/// to clone.
#[derive(Clone, Default)]
pub struct ProgressReporter(Option<Arc<Inner>>);

struct Inner {
    pass: Box<dyn Fn(ToolProgress) + Send + Sync>,
    max_bytes: usize,
    /// The shortest time between two reports that are passed on.
    pause: Duration,
    passed: Mutex<Option<Instant>>,
}

impl ProgressReporter {
    /// Passes reports on to a function, which must not block. A message has at most this many
    /// bytes, and there is at least this pause between two of them.
    pub fn new(
        pass: impl Fn(ToolProgress) + Send + Sync + 'static,
        max_bytes: usize,
        pause: Duration,
    ) -> Self {
        let passed = Mutex::default();
        Self(Some(Arc::new(Inner { pass: Box::new(pass), max_bytes, pause, passed })))
    }

    /// Passes a report on, unless the last one was passed on a moment ago.
    pub fn report(&self, progress: ToolProgress) {
        let Some(inner) = &self.0 else { return };
        let Some(progress) = progress.bounded(inner.max_bytes) else { return };
        let now = Instant::now();
        {
            let mut passed = inner.passed.lock().expect("no code under this lock panics");
            if passed.is_some_and(|before| now.duration_since(before) < inner.pause) {
                return;
            }
            *passed = Some(now);
        }
        (inner.pass)(progress);
    }
}

impl fmt::Debug for ProgressReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressReporter")
    }
}

#[cfg(test)]
mod tests {
    use tokio::{sync::mpsc, time::advance};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn reports_pass_at_a_pace_with_their_message_cut_and_without_what_is_no_number() {
        let (readers, mut read) = mpsc::unbounded_channel();
        let pause = Duration::from_millis(100);
        let reporter = ProgressReporter::new(move |report| readers.send(report).unwrap(), 4, pause);
        reporter.report(ToolProgress::new(f64::NAN));
        reporter.report(ToolProgress::new(0.0).out_of(f64::INFINITY));
        for done in 0..1_000 {
            reporter.report(ToolProgress::new(f64::from(done)).out_of(1e3).saying("가나다"));
            advance(Duration::from_millis(1)).await;
        }
        let mut passed = Vec::new();
        while let Ok(progress) = read.try_recv() {
            passed.push(progress);
        }
        assert_eq!(passed.len(), 10);
        assert_eq!(passed[1], ToolProgress::new(100.0).out_of(1e3).saying("가"));
        ProgressReporter::default().report(ToolProgress::new(1.0));
    }
}
