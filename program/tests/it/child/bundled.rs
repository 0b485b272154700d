//! Tests the bundled model in a process of its own: it answers as in this process, and its death in
//! mid-sentence costs one turn.

use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use madang::{
    Runtime, SessionId, UserId,
    error::TurnError,
    event::{EventKind, StreamItem, TurnEnding},
    model::{
        ChatModel, Completion, CompletionDelta, CompletionRequest, Deltas, ModelError, ModelInfo,
        PromptMessage,
        child::{ChildModel, ChildOptions},
        llama::LlamaModel,
    },
    store::SqliteStore,
    tool::{BoxFuture, ToolSpec},
};
use madang_toolkits::{
    demonstration::{self, Demonstration},
    life,
};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{load, request};

async fn child() -> ChildModel {
    load(ChildOptions::new(env!("CARGO_BIN_EXE_madang")).argument("engine")).await.unwrap()
}

async fn here() -> Demonstration<LlamaModel> {
    tokio::task::spawn_blocking(demonstration::load).await.unwrap().unwrap()
}

fn asks(text: &str) -> CompletionRequest {
    let tools: Arc<[ToolSpec]> = life::tools().iter().map(|tool| tool.spec().clone()).collect();
    let messages = Arc::new(vec![PromptMessage::User { text: text.into() }]);
    CompletionRequest { messages, tools, system: None, max_tokens: 200, ..request("") }
}

/// Returns each stream and its end, with this many side by side, and the tokens a second of all.
async fn say(model: &dyn ChatModel, text: &str, side_by_side: usize) -> (Vec<String>, f64) {
    let begin = Instant::now();
    let one = || async {
        let heard = Arc::new(Mutex::new(String::new()));
        let hears = Arc::clone(&heard);
        let deltas =
            Deltas::new(move |delta| hears.lock().unwrap().push_str(&format!("{delta:?}")));
        let completion =
            model.complete(asks(text), deltas, CancellationToken::new()).await.unwrap();
        let Completion { text, tool_calls, finish, usage, .. } = completion;
        let heard = heard.lock().unwrap().clone();
        (format!("{heard} -> {finish:?} {text} {tool_calls:?}"), usage.completion_tokens)
    };
    let mut all: Vec<_> = (0..side_by_side).map(|_| Box::pin(one())).collect();
    let mut said = Vec::new();
    let mut tokens = 0;
    let ended = std::future::poll_fn(|context| {
        all.retain_mut(|one| match one.as_mut().poll(context) {
            std::task::Poll::Ready((words, spent)) => {
                said.push(words);
                tokens += spent;
                false
            }
            std::task::Poll::Pending => true,
        });
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    });
    ended.await;
    (said, f64::from(tokens) / begin.elapsed().as_secs_f64())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn it_says_the_same_as_in_this_process() {
    let here = here().await;
    let child = child().await;
    assert_eq!(child.info(), here.info());
    assert_eq!(child.caveats(), here.caveats());
    let tools = asks("").tools;
    assert_eq!(child.unconstrained(&tools), here.unconstrained(&tools));
    let mut ratios = Vec::new();
    for side_by_side in [1, 8] {
        for text in
            ["수면에 좋은 프로토콜 찾아줘", "안녕", "what can you do for me?", "내 습관 보여줘"]
        {
            let (said_here, fast_here) = say(&here, text, side_by_side).await;
            let (said, fast) = say(&child, text, side_by_side).await;
            assert_eq!(said, said_here, "{text}");
            ratios.push((side_by_side, fast, fast_here));
        }
    }
    for (side_by_side, fast, fast_here) in ratios {
        println!(
            "{side_by_side} at once: {fast:.0} tokens/s in a child, {fast_here:.0} here, ratio {:.2}",
            fast / fast_here
        );
    }
    super::until("it reports what it did", || child.figures()["completions"] == 36).await;
    tokio::task::spawn_blocking(move || drop((child, here))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_one_user_wrote_is_not_known_when_another_one_asks_the_same() {
    let child = child().await;
    let ask = async |name: &str, session: &str| {
        let asked = CompletionRequest {
            user: UserId::new(name).unwrap(),
            session: SessionId::new(session).unwrap(),
            max_tokens: 1,
            ..asks("내 비밀번호는 4921이야, 기억해 줘")
        };
        child.complete(asked, Deltas::ignored(), CancellationToken::new()).await.unwrap().usage
    };
    let first = ask("kim", "a chat").await;
    assert_eq!(ask("kim", "a chat").await.cached_tokens, first.prompt_tokens - 1);
    assert_eq!(ask("lee", "a chat").await.cached_tokens, 0);
    assert_eq!(ask("lee", "other").await.cached_tokens, 0);
    tokio::task::spawn_blocking(move || drop(child)).await.unwrap();
}

/// Makes a model whose process is killed once, as soon as a word was streamed.
#[derive(Debug)]
struct Interrupted {
    model: Arc<ChildModel>,
    is_killed: Arc<OnceLock<()>>,
}

impl ChatModel for Interrupted {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    fn complete(
        &self,
        request: CompletionRequest,
        deltas: Deltas,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Completion, ModelError>> {
        let model = Arc::clone(&self.model);
        let is_killed = Arc::clone(&self.is_killed);
        let deltas = Deltas::new(move |delta| {
            deltas.push(delta);
            if matches!(delta, CompletionDelta::Text(_)) {
                is_killed.get_or_init(|| {
                    let process = i32::try_from(model.stats().process.unwrap()).unwrap();
                    kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
                });
            }
        });
        self.model.complete(request, deltas, cancel)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_death_in_mid_sentence_fails_the_turn_and_the_next_one_is_answered() {
    let child = Arc::new(child().await);
    let model = Interrupted { model: Arc::clone(&child), is_killed: Arc::default() };
    let runtime = Runtime::builder()
        .model(model)
        .store(SqliteStore::in_memory().migrations("life", &life::MIGRATIONS).await.unwrap())
        .tools(life::tools())
        .start()
        .await
        .unwrap();
    let session = runtime.user("kim").unwrap().session("s").await.unwrap();
    let mut events = session.subscribe();
    let mut ends = Vec::new();
    for _ in 0..2 {
        // Without a call, its answer is a sentence of several tokens.
        session.send("안녕하세요").await.unwrap();
        let told = async {
            loop {
                let StreamItem::Event(event) = events.next().await.unwrap() else { continue };
                if let EventKind::Error { error: TurnError::Model { kind, .. }, .. } = &event.kind {
                    ends.push(kind.clone());
                } else if let EventKind::TurnEnded { ending, .. } = &event.kind {
                    return ends.push(format!("{ending:?}"));
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), told).await.unwrap();
    }
    let [failed, answered] =
        [TurnEnding::Failed, TurnEnding::Answered].map(|end| format!("{end:?}"));
    assert_eq!(ends, [ModelError::ENGINE_DIED, &failed, &answered]);
    assert_eq!((child.stats().started, child.stats().died), (2, 1));
    runtime.shutdown().await.unwrap();
}
