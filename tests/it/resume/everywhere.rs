//! The process ends behind every single commit of a turn, one world for each; every world comes to
//! the same end.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use madang::{
    SessionId,
    approval::Decision,
    ledger::Effect,
    model::{
        ChatModel, Completion, CompletionRequest, Deltas, ModelError, ModelInfo, PromptMessage,
    },
    store::Store,
};
use madang_actors::{
    ledger::{CallState, verify},
    port::{BoxFuture, Transaction},
};
use madang_testing::{Probe, StepResult, SteppedStore, Steps};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::life::{Life, World, ask};
use crate::support::wanted;

/// A model that goes by what it reads, as a real one does: everything at once, then a mail, then an
/// answer.
#[derive(Debug)]
struct ByReading;

impl ChatModel for ByReading {
    fn info(&self) -> ModelInfo {
        ModelInfo { name: "by reading".into(), has_parallel_calls: true, max_concurrent: 8 }
    }

    fn complete(
        &self,
        request: CompletionRequest,
        _: Deltas,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        let has_read = |tool: &str| {
            request.messages.iter().any(
                |message| matches!(message, PromptMessage::ToolCall { name, .. } if &**name == tool),
            )
        };
        let (text, names): (_, &[_]) = if !has_read("save") {
            ("Let me see.", &["look", "note", "save"])
        } else if !has_read("mail") {
            ("", &["mail"])
        } else {
            ("Done.", &[])
        };
        let completion = Completion {
            text: text.to_owned(),
            tool_calls: names.iter().map(|name| wanted(name, &json!({}))).collect(),
            ..Completion::default()
        };
        Box::pin(async { Ok(completion) })
    }
}

/// Keeps an image of a store's files as they are behind each commit.
#[derive(Debug)]
struct Images {
    path: PathBuf,
    taken: Arc<Mutex<Vec<PathBuf>>>,
}

impl Images {
    fn take(&self) {
        let mut taken = self.taken.lock().unwrap();
        let image = PathBuf::from(format!("{}-image-{}", self.path.display(), taken.len()));
        copy(&self.path, &image);
        taken.push(image);
    }
}

/// A database with its log.
pub(super) fn copy(from: &Path, to: &Path) {
    let log = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
    fs::copy(from, to).unwrap();
    // After an orderly end there is no log.
    if log(from).exists() {
        fs::copy(log(from), log(to)).unwrap();
    }
}

impl Steps for Images {
    fn commit(self: Arc<Self>, of: Box<dyn Transaction>) -> BoxFuture<'static, StepResult> {
        Box::pin(async move {
            of.commit().await?;
            self.take();
            Ok(())
        })
    }
}

/// Lives until the turn has ended, saying yes to everything. Gives the images of each commit on the
/// way. What was recorded as begun or ended before does not begin in this life.
fn lives_on(world: &World, begins: bool) -> (Life, Vec<PathBuf>) {
    let taken = Arc::<Mutex<Vec<_>>>::default();
    let images = Images { path: world.path(), taken: taken.clone() };
    let mut life = world.start_with(ByReading, |store| SteppedStore::new(store, images));
    let before = life.run(async |life| {
        let before = life.ledger().await;
        let (session, mut probe) = life.session().await;
        if begins {
            ask(&session, "go").await;
        }
        says_yes(&session, &mut probe).await;
        before
    });
    for row in before {
        let is_over = matches!(row.state, CallState::Running | CallState::Ended);
        let begun = world.begun(&row.name);
        assert!(begun <= usize::from(!is_over), "{} began {begun} times: {row:?}", row.name);
    }
    let taken = std::mem::take(&mut *taken.lock().unwrap());
    (life, taken)
}

async fn says_yes(session: &madang::Session, probe: &mut Probe) {
    let mut answered = 0;
    while session.turn().await.unwrap().is_some() {
        let asked: Vec<_> = session.state().await.unwrap().approval_request.into_iter().collect();
        for request in asked {
            if session.decide(&request, Decision::Approve).await.is_ok() {
                answered += 1;
            }
        }
        tokio::task::yield_now().await;
    }
    assert!(answered <= 1, "{}", probe.lines());
}

/// What must be true whenever the process ended, and however often.
fn check(world: &World, life: &mut Life, image: usize) {
    life.run(async |life| {
        let rows = life.ledger().await;
        let mut effects = BTreeMap::<_, Vec<_>>::new();
        for row in &rows {
            effects.entry(&*row.name).or_default().push(row.effect.expect("each call has its end"));
        }
        for tool in ["note", "save"] {
            assert_eq!(effects[tool], [Effect::Committed], "{tool} after commit {image}");
        }
        let [mail] = effects["mail"][..] else { panic!("one mail: {effects:?}") };
        assert_ne!(mail, Effect::None, "after commit {image}");
        let mut notes = world.notes();
        let mut in_ledger: Vec<_> = rows
            .iter()
            .filter(|row| ["note", "save"].contains(&&*row.name))
            .map(|row| row.call.to_string())
            .collect();
        notes.sort();
        in_ledger.sort();
        assert_eq!(notes, in_ledger, "each row once, after commit {image}");

        let session = SessionId::new("s").unwrap();
        let (links, end) = life.store.links(&session).await.unwrap();
        verify(&session, &links, &end).unwrap();
        let stored = life.store.session(&session).await.unwrap().unwrap();
        assert!(stored.open_turn.is_none());
        let seqs: Vec<_> = stored.messages.iter().map(|message| message.seq).collect();
        assert!(seqs.is_sorted_by(|a, b| *b == a + 1), "no gaps: {seqs:?}");
        let said: Vec<_> = stored
            .messages
            .iter()
            .filter_map(|message| match &message.content {
                madang::event::Content::User { text, .. }
                | madang::event::Content::Model { text, .. } => Some(text.to_string()),
                madang::event::Content::ToolCall(_)
                | madang::event::Content::Notice { .. }
                | madang::event::Content::Cleared => None,
            })
            .collect();
        assert_eq!(said, ["go", "Let me see.", "Done."], "after commit {image}");
    });
}

#[test]
fn a_turn_cut_off_behind_any_commit_comes_to_the_same_end_also_when_cut_off_twice() {
    let world = World::new();
    let (mut life, images) = lives_on(&world, true);
    check(&world, &mut life, usize::MAX);
    life.shut_down();
    assert!(images.len() >= 8, "the turn commits step by step: {}", images.len());
    // The first is of the session without its turn.
    for (number, image) in images.iter().enumerate().skip(2) {
        let world = World::from_image(image);
        let (mut life, again) = lives_on(&world, false);
        check(&world, &mut life, number);
        assert!(world.begun("note") <= 1 && world.begun("save") <= 1 && world.begun("mail") <= 1);
        life.shut_down();
        // A second crash, in the middle of going on.
        if let Some(image) = again.get(again.len() / 2) {
            let world = World::from_image(image);
            let (mut life, _) = lives_on(&world, false);
            check(&world, &mut life, number);
            life.shut_down();
        }
    }
}
