//! A store that lets the process die between any two of its steps.

use std::sync::Arc;

use madang::tool::BoxFuture;
use madang_actors::port::{Store, Transaction, Write};
use madang_testing::{Read, StepResult, Steps};

use super::point::{Point, Points};

/// The steps of a store, with points to die at.
#[derive(Debug)]
pub(super) struct MortalSteps(pub(super) Points);

impl Steps for MortalSteps {
    fn begin<'a>(&'a self, of: &'a dyn Store) -> BoxFuture<'a, Read<Box<dyn Transaction>>> {
        self.0.pass(Point::StoreBegin);
        of.begin()
    }

    fn savepoint<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        self.0.pass(Point::StoreSavepoint);
        of.savepoint()
    }

    fn keep<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        self.0.pass(Point::StoreKeep);
        of.keep()
    }

    fn undo<'a>(&'a self, of: &'a mut dyn Transaction) -> BoxFuture<'a, StepResult> {
        self.0.pass(Point::StoreUndo);
        of.undo()
    }

    fn write<'a>(
        &'a self,
        of: &'a mut dyn Transaction,
        writes: &'a [Write],
    ) -> BoxFuture<'a, StepResult> {
        Box::pin(async {
            self.0.pass(Point::StoreWrite);
            let written = of.write_all(writes).await;
            self.0.pass(Point::StoreWritten);
            written
        })
    }

    fn advance_savepoint<'a>(
        &'a self,
        of: &'a mut dyn Transaction,
        writes: &'a [Write],
    ) -> BoxFuture<'a, StepResult> {
        Box::pin(async {
            self.0.pass(Point::StoreWrite);
            let written = of.advance_savepoint(writes).await;
            self.0.pass(Point::StoreWritten);
            written
        })
    }

    fn commit(self: Arc<Self>, of: Box<dyn Transaction>) -> BoxFuture<'static, StepResult> {
        Box::pin(async move {
            self.0.pass(Point::StoreCommit);
            let committed = of.commit().await;
            self.0.pass(Point::StoreCommitted);
            committed
        })
    }
}
