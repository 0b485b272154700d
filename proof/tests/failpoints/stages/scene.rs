//! Brings one turn to a stage, ends an actor there, and describes the results.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use madang::{
    Health, Limits, Runtime, Session, TurnId, TurnOptions,
    approval::Decision,
    error::TurnError,
    event::{EventKind, SessionEvent},
    ledger::{Effect, LedgerFilter},
    model::{
        ChatModel, Completion, CompletionRequest, Deltas, ModelError, ModelInfo, PromptMessage,
    },
    tool::{ToolOutcome, WantedCall},
};
use madang_actors::{
    approval::ConfirmMsg, dispatcher::DispatcherMsg, failpoint, llm::LlmMsg, port::BoxFuture,
    protocol::CallId, session::TurnEnd, store::StoreMsg,
};
use madang_testing::{FakeTool, Gate, MemoryStore, Probe, RuntimeHooks as _, SessionHooks as _};
use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::CancellationToken;

use super::plan::{Stage, Victim, Way};
use madang_proof::failpoints::PATIENCE;

/// Calls the tool that the user names, once; otherwise speaks, behind its session's gate if it has
/// one.
#[derive(Debug, Clone)]
struct Model {
    gates: BTreeMap<&'static str, Gate>,
}

impl ChatModel for Model {
    fn info(&self) -> ModelInfo {
        ModelInfo { name: "by words".into(), has_parallel_calls: true, max_concurrent: 8 }
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        _: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        Box::pin(async move {
            if let Some(PromptMessage::User { text }) = request.messages.last() {
                if request.tools.iter().any(|tool| tool.name == *text) {
                    let call = WantedCall::new(text.clone(), "{}");
                    return Ok(Completion { tool_calls: vec![call], ..Completion::default() });
                }
                if &**text == "speak" {
                    deltas.text("Well");
                    self.gates[request.session.as_str()].pass().await;
                }
            }
            Ok(Completion { text: "Well then.".to_owned(), ..Completion::default() })
        })
    }
}

/// A runtime with the session in question and a bystander.
pub(super) struct Scene {
    runtime: Runtime,
    store: MemoryStore,
    session: Session,
    speaks: Gate,
    works: Gate,
}

/// The answer of a turn's caller.
type Asked = tokio::task::JoinHandle<String>;

impl Scene {
    /// Plays one turn in which the victim ends at this stage, and describes the results.
    ///
    /// Checks in every case that one end of each turn was reported, and the bystander was served.
    /// The session must serve its next turn, nothing may be left running, and the runtime must be
    /// healthy.
    pub(super) async fn play(stage: Stage, victim: Victim, way: Way) -> String {
        let at = format!("{stage:?}, {victim:?}, {way:?}");
        let played = timeout(PATIENCE, Self::played(stage, victim, way));
        played.await.unwrap_or_else(|_| panic!("stuck: {at}"))
    }

    async fn played(stage: Stage, victim: Victim, way: Way) -> String {
        let beside_speaks = Gate::new();
        let scene = Self::new(&beside_speaks).await;
        let beside = scene.runtime.user("lee").unwrap().session("beside").await.unwrap();
        let bystander = ask(&beside, "speak");
        beside_speaks.arrived(1).await;

        let mut probe = Probe::new(scene.session.subscribe());
        let paused = if stage == Stage::AskStored { Some(scene.store.pause().await) } else { None };
        let asked = ask(&scene.session, stage.text());
        let (request, paused) = scene.comes_to(stage, &mut probe, paused).await;
        scene.ends(victim, way).await;
        drop(paused);
        scene.speaks.open();
        scene.works.open();
        if let Some(request) = request {
            // A lost question comes again, and none comes after the turn's end.
            while !asked.is_finished() {
                if scene.session.decide(&request, Decision::Approve).await.is_ok() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        let asked = asked.await.unwrap();
        // A turn whose caller was lost with the session goes on all the same.
        probe.until_turns_ended(1).await;

        beside_speaks.open();
        let expected = match victim {
            Victim::Llm => "died, Failed",
            Victim::Session
            | Victim::Dispatcher
            | Victim::Confirm
            | Victim::Store
            | Victim::Call => "Answered",
        };
        assert_eq!(bystander.await.unwrap(), expected, "{stage:?}, {victim:?}, {way:?}");
        assert_eq!(ask(&beside, "hello").await.unwrap(), "Answered", "afterwards");
        assert_eq!(ask(&scene.session, "hello").await.unwrap(), "Answered", "the next turn");
        scene.afterwards(&mut probe, asked).await
    }

    async fn new(beside_speaks: &Gate) -> Self {
        let store = MemoryStore::new();
        let speaks = Gate::new();
        let works = Gate::new();
        let gates = [("own", speaks.clone()), ("beside", beside_speaks.clone())].into();
        let limits = Limits { transaction_deadline: PATIENCE, ..Limits::default() };
        let runtime = Runtime::builder()
            .model(Model { gates })
            .store(store.clone())
            .tool(FakeTool::destructive_transactional("erase"))
            .tool(FakeTool::transactional("save").gate(&works))
            .tool(FakeTool::write("mail").gate(&works))
            .limits(limits)
            .start()
            .await
            .unwrap();
        let session = runtime.user("kim").unwrap().session("own").await.unwrap();
        Self { runtime, store, session, speaks, works }
    }

    /// Waits until the turn has reached the stage.
    async fn comes_to(
        &self,
        stage: Stage,
        probe: &mut Probe,
        mut paused: Option<madang_testing::Paused>,
    ) -> (Option<madang::approval::ApprovalRequest>, Option<madang_testing::Paused>) {
        let mut request = None;
        match stage {
            Stage::Idle => {
                self.speaks.open();
                probe.until_turns_ended(1).await;
            }
            Stage::AskStored => {
                // The question is behind the request in the session's mailbox.
                tokio::task::yield_now().await;
                self.session.state().await.unwrap();
            }
            Stage::ModelSpeaks => self.speaks.arrived(1).await,
            Stage::QuestionOpen => request = Some(probe.approval_request().await),
            Stage::HandlerInTransaction | Stage::HandlerOutside => self.works.arrived(1).await,
            Stage::AnswerStored => {
                probe.until_streamed("Well").await;
                paused = Some(self.store.pause().await);
                self.speaks.open();
                let is_silent = |text: Option<String>| text.is_none_or(|text| text.is_empty());
                while !is_silent(self.session.state().await.unwrap().streaming_text) {
                    tokio::task::yield_now().await;
                }
            }
        }
        assert_eq!(paused.is_some(), stage.is_being_stored());
        (request, paused)
    }

    async fn ends(&self, victim: Victim, way: Way) {
        /// Kills the actor, or sends a message at which it fails, and waits for its successor.
        macro_rules! ends {
            ($address:expr, $msg:expr) => {{
                let gone = $address.actor();
                match way {
                    Way::Killed => gone.kill(),
                    Way::Failed | Way::Panicked => drop($address.send($msg)),
                }
                let _ = $address.after(&gone).await;
            }};
        }
        let tree = self.runtime.actors();
        if let Some(action) = way.action() {
            failpoint::arm(victim.failpoint(), action, 0);
        }
        match victim {
            Victim::Session => match way {
                Way::Killed => self.session.kill(),
                Way::Failed | Way::Panicked => drop(self.session.state().await),
            },
            Victim::Llm => ends!(tree.llms[0], LlmMsg::Freed),
            Victim::Dispatcher => {
                let (reply, _) = oneshot::channel();
                ends!(tree.dispatcher, DispatcherMsg::RunningCalls { reply });
            }
            Victim::Confirm => {
                let call = CallId::new(uuid::Uuid::now_v7());
                ends!(tree.confirm, ConfirmMsg::Withdraw { call });
            }
            Victim::Store => {
                let (reply, _) = oneshot::channel();
                ends!(tree.store_actor, StoreMsg::Waiting { reply });
            }
            // Ends by itself with its handler.
            Victim::Call => {}
        }
    }

    /// Ends the runtime, and describes the turn for caller, subscribers and ledger.
    async fn afterwards(self, probe: &mut Probe, asked: String) -> String {
        assert!(!failpoint::disarm(), "it has gone off");
        let session = self.session.id().clone();
        let filter = LedgerFilter::default().in_session(&session);
        let calls = self.runtime.ledger(&filter).await.unwrap();
        assert!(calls.len() <= 1, "{calls:?}");
        let call = calls.first().map(|call| {
            let outcome = call.outcome.as_ref().map(|outcome| match outcome {
                ToolOutcome::Ok(_) => "ok",
                ToolOutcome::Err(error) => &error.code,
                ToolOutcome::Cancelled(cancelled) => cancelled.reason.name(),
            });
            let (outcome, effect) =
                (outcome.unwrap_or("open"), call.effect.unwrap_or(Effect::None));
            format!("{} {outcome} {effect:?}", call.name)
        });
        let rows = self.store.connection().values();
        let is_committed = calls.iter().any(|call| call.effect == Some(Effect::Committed));
        let writes = calls.iter().any(|call| matches!(&*call.name, "save" | "erase"));
        assert_eq!(
            rows.len(),
            usize::from(is_committed && writes),
            "what is written is in the ledger"
        );
        assert_eq!(self.runtime.health(), Health::Healthy);
        // The turn and the two after it have one end each.
        assert_eq!(ask(&self.session, "hello").await.unwrap(), "Answered");
        probe.until(|events| ends(events).count() > 2).await;
        self.runtime.shutdown().await.unwrap();
        assert_eq!(self.runtime.running_tasks(), 0);
        let turns: Vec<_> = ends(probe.events()).collect();
        let unique: BTreeSet<_> = turns.iter().collect();
        assert_eq!((turns.len(), unique.len()), (3, 3), "{}", probe.lines());
        let heard = heard_of(turns[0], probe.events());
        [Some(asked), Some(heard), call].into_iter().flatten().collect::<Vec<_>>().join(" | ")
    }
}

/// Lists the reported ends of turns, with repeats.
fn ends(events: &[Arc<SessionEvent>]) -> impl Iterator<Item = TurnId> {
    let ended = |event: &&Arc<SessionEvent>| matches!(event.kind, EventKind::TurnEnded { .. });
    events.iter().filter(ended).map(|event| event.turn)
}

/// Describes the reported end of a turn.
fn heard_of(turn: TurnId, events: &[Arc<SessionEvent>]) -> String {
    let mut heard = Vec::new();
    for event in events.iter().filter(|event| event.turn == turn) {
        if let EventKind::Error { error, .. } = &event.kind {
            heard.push(word(error));
        }
        if let EventKind::TurnEnded { ending, .. } = &event.kind {
            heard.push(format!("{ending:?}"));
        }
    }
    heard.join(", ")
}

/// Names the error of a turn whose actor or model died.
fn word(error: &TurnError) -> String {
    let died = TurnError::model(ModelError::ENGINE_DIED);
    if *error == died { "died".to_owned() } else { format!("{error:?}") }
}

/// Sends a text in a task of its own, which returns the caller's final answer.
fn ask(session: &Session, text: &'static str) -> Asked {
    let session = session.clone();
    tokio::spawn(async move {
        let options = TurnOptions::default();
        match session.send_with(text, options).await {
            Ok(turn) => match turn.ended().await {
                Ok(TurnEnd { ending, error: Some(error), .. }) => {
                    format!("{}, {ending:?}", word(&error))
                }
                Ok(TurnEnd { ending, .. }) => format!("{ending:?}"),
                Err(error) => format!("not told: {error}"),
            },
            Err(refused) => format!("refused: {refused}"),
        }
    })
}
