//! The steps between a commit and its file, at each of which a test may end the process.
use std::{fmt, io, sync::Arc};

type Before = dyn Fn(&'static str) -> io::Result<()> + Send + Sync;

/// A hook that is called before each step. There is none outside of tests.
#[derive(Clone, Default)]
pub(super) struct Steps(Option<Arc<Before>>);

impl Steps {
    #[cfg(test)]
    pub(super) fn asking(
        before: impl Fn(&'static str) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(before)))
    }

    pub(super) fn before(&self, step: &'static str) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |before| before(step))
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Steps")
    }
}
