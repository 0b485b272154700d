//! What kills and power cuts happen to: a runtime on SQLite with tools that leave traces, and people who chat with it.

mod chat;
mod model;
mod plan;
mod point;
mod store;
mod tools;

use std::{path::Path, sync::Arc};

use madang::{Limits, Runtime, error::BuildError, store::SqliteStore};
use madang_testing::SteppedStore;

use crate::oracle::Line;

pub use chat::{Chat, ChatError};
pub use plan::{Act, Step, TurnPlan};
pub use point::{Point, Points};
pub use tools::{Bug, EFFECTS};

pub(crate) use model::follow;
pub(crate) use tools::PARTS;

use model::PlanModel;
use store::MortalSteps;
use tools::Tools;

/// Where people say what they know.
pub type Say = Arc<dyn Fn(Line) + Send + Sync>;

/// The database of a test runtime.
pub const DATABASE: &str = "proof.db";
/// The file with the letters that were sent.
pub const LETTERS: &str = "letters.txt";

/// A runtime with the tools of a proof, and what its people need.
#[derive(Clone)]
pub struct TestRuntime {
    runtime: Runtime,
    say: Say,
    points: Points,
}

impl TestRuntime {
    /// Starts a runtime on this store, whose file is `DATABASE` in the folder.
    ///
    /// # Errors
    /// [`BuildError`] if it cannot be started.
    pub async fn start(
        folder: &Path,
        store: SqliteStore,
        points: Points,
        bug: Option<Bug>,
        say: Say,
    ) -> Result<Self, BuildError> {
        let tools = Tools {
            points: points.clone(),
            say: say.clone(),
            bug,
            database: folder.join(DATABASE),
            letters: folder.join(LETTERS),
        };
        let mut limits = Limits::default();
        // Sessions fall asleep between their turns now and then, and are read from the store again.
        limits.session_idle = std::time::Duration::from_millis(20);
        let runtime = Runtime::builder()
            .model(PlanModel::new(points.clone()))
            .store(SteppedStore::new(store, MortalSteps(points.clone())))
            .tools(tools.all())
            .limits(limits)
            .start()
            .await?;
        say(Line::Ready);
        Ok(Self { runtime, say, points })
    }

    /// Ends the runtime in order.
    ///
    /// # Errors
    /// [`madang::error::ShutdownError`] if something was still running.
    pub async fn shutdown(&self) -> Result<(), madang::error::ShutdownError> {
        self.runtime.shutdown().await?;
        (self.say)(Line::Done);
        Ok(())
    }
}

impl std::fmt::Debug for TestRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestRuntime").field("runtime", &self.runtime).finish_non_exhaustive()
    }
}
