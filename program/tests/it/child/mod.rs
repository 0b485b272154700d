//! Tests a model in a process of its own. It answers as in this process. After any end of its
//! process the program goes on, every completion has one end, and no process stays.

#[cfg(feature = "llama")]
mod bundled;
mod deaths;
mod ends;
#[cfg(feature = "llama")]
mod hostile_files;
#[cfg(feature = "llama")]
mod long_texts;
mod program;
mod stand_in;

use std::{
    error::Error,
    sync::{Arc, Mutex},
    time::Duration,
};

use madang::model::{
    ChatModel, Completion, Deltas, ModelError,
    child::{ChildModel, ChildOptions, ChildStats},
};
use madang_test_support::gguf::TinyModel;
#[cfg(feature = "llama")]
use tokio_util::sync::CancellationToken;

use stand_in::{StandIn, left_over, mark, options, request};

/// How long a test waits for anything before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A model that says "abc", with room for the tools of a chat.
#[cfg(feature = "llama")]
pub(crate) fn model_with_template(template: &'static str) -> Vec<u8> {
    model_saying(template, &TinyModel::new().next)
}

/// A model in which a table gives the next token after the last, with the same room.
#[cfg(feature = "llama")]
pub(crate) fn model_saying(
    template: &'static str,
    next: &[(&'static str, &'static str)],
) -> Vec<u8> {
    let template = Some(template);
    let context_length = 65_536;
    TinyModel { template, context_length, ..TinyModel::saying(next) }.bytes()
}

/// Makes a model whose processes are stand-ins.
struct ChildFixture {
    model: Arc<ChildModel>,
    mark: String,
}

impl ChildFixture {
    async fn new() -> Self {
        Self::with(|options| options).await
    }

    async fn with(choose: impl FnOnce(ChildOptions) -> ChildOptions + Send + 'static) -> Self {
        let mark = mark();
        let options = choose(options("serves", &mark));
        Self { model: Arc::new(load(options).await.unwrap()), mark }
    }

    /// Returns the stream and its end.
    async fn ask(&self, steps: impl Into<String>) -> (Vec<String>, Result<Completion, ModelError>) {
        ask(&*self.model, steps, CancellationToken::new()).await
    }

    fn stats(&self) -> ChildStats {
        self.model.stats()
    }

    /// Waits until the model's processes reach a state.
    async fn until(&self, what: &str, is_so: impl Fn(ChildStats) -> bool) {
        until(what, || is_so(self.stats())).await;
    }

    /// Drops the model, and requires that no process stays.
    async fn close(self) {
        let Self { model, mark } = self;
        let model = Arc::into_inner(model).expect("no other holder of the model");
        tokio::task::spawn_blocking(move || drop(model)).await.unwrap();
        assert_eq!(left_over(&mark), [""; 0]);
    }
}

async fn load(options: ChildOptions) -> Result<ChildModel, madang::model::child::ChildError> {
    tokio::task::spawn_blocking(|| ChildModel::load(options)).await.unwrap()
}

async fn ask(
    model: &dyn ChatModel,
    steps: impl Into<String>,
    cancel: CancellationToken,
) -> (Vec<String>, Result<Completion, ModelError>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let deltas = Deltas::new(move |delta| hears.lock().unwrap().push(format!("{delta:?}")));
    let answer = model.complete(request(steps), deltas, cancel);
    let answer = tokio::time::timeout(PATIENCE, answer).await.expect("every completion ends");
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    (heard, answer)
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("{what}"));
}

/// Joins an error with its causes.
fn words(error: &dyn Error) -> String {
    let cause = error.source().map(|cause| format!(": {}", words(cause)));
    format!("{error}{}", cause.unwrap_or_default())
}

/// Returns the kind of error of a failed completion.
fn kind(answer: &Result<Completion, ModelError>) -> &str {
    answer.as_ref().map_or_else(ModelError::kind, |_| "answered")
}

#[tokio::test]
async fn it_streams_and_ends_as_the_model_itself_does() {
    let fixture = ChildFixture::new().await;
    for steps in [
        "begin;think what is it;say Hel;say lo;say \u{1f600}\n;call look",
        "",
        "say half;fail odd weather",
    ] {
        let (streamed, ended) = fixture.ask(steps).await;
        let (streamed_here, ended_here) = ask(&StandIn, steps, CancellationToken::new()).await;
        assert_eq!(streamed, streamed_here, "{steps}");
        match (ended, ended_here) {
            (Ok(ended), Ok(ended_here)) => assert_eq!(ended, ended_here, "{steps}"),
            (Err(ended), Err(ended_here)) => assert_eq!(words(&ended), words(&ended_here)),
            (ended, ended_here) => panic!("{steps}: {ended:?}, but {ended_here:?}"),
        }
    }
    assert_eq!(fixture.model.info(), StandIn.info());
    assert_eq!(fixture.model.caveats(), StandIn.caveats());
    let tools = request("").tools;
    let model = Arc::clone(&fixture.model);
    let asked = tokio::task::spawn_blocking(move || model.unconstrained(&tools)).await.unwrap();
    assert_eq!(asked, StandIn.unconstrained(&request("").tools));
    assert_eq!(fixture.stats().started, 1);
    fixture.close().await;
}

#[tokio::test]
async fn it_says_how_much_is_loaded_and_what_it_has_done() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let fixture = ChildFixture::with(|options| {
        let options = options.ping_every(Duration::from_millis(5));
        options.on_progress(move |done| hears.lock().unwrap().push(done))
    })
    .await;
    assert_eq!(*heard.lock().unwrap(), [0.25, 0.5, 1.0]);
    until("it reports", || !fixture.model.figures().is_null()).await;
    assert_eq!(fixture.model.figures()["decodes"], 7);
    fixture.close().await;
}

#[tokio::test]
async fn a_cancelling_caller_learns_what_was_spent_and_a_leaving_caller_frees_the_permit() {
    let fixture = ChildFixture::new().await;
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let asked = ask(&*fixture.model, "say a;never", cancel);
    let ((streamed, ended), ()) = tokio::join!(asked, async { stop.cancel() });
    let Err(ModelError::Cancelled { usage }) = ended else { panic!("{ended:?}") };
    // The cancellation may come before the request reaches the child.
    assert!(usage.prompt_tokens == 3 || streamed.is_empty(), "{usage:?} {streamed:?}");
    for _ in 0..3 * stand_in::MAX_CONCURRENT {
        let began = Arc::new(tokio::sync::Notify::new());
        let begins = Arc::clone(&began);
        let deltas = Deltas::new(move |_| begins.notify_one());
        let answer =
            fixture.model.complete(request("say a;never"), deltas, CancellationToken::new());
        tokio::select! {
            ended = answer => panic!("{ended:?}"),
            () = began.notified() => (),
        }
    }
    assert_eq!(fixture.ask("say there is room").await.1.unwrap().text, "there is room");
    fixture.close().await;
}

#[tokio::test]
async fn more_than_may_wait_are_refused_at_once() {
    let fixture = ChildFixture::with(|options| options.max_waiting(2)).await;
    let cancel = CancellationToken::new();
    let wait = || ask(&*fixture.model, "never", cancel.clone());
    let refused = async {
        let refused = fixture.ask("say c").await.1;
        cancel.cancel();
        refused
    };
    let ((_, one), (_, two), refused) = tokio::join!(wait(), wait(), refused);
    assert_eq!([kind(&one), kind(&two), kind(&refused)], ["Cancelled", "Cancelled", "Overloaded"]);
    assert_eq!(fixture.ask("say d").await.1.unwrap().text, "d");
    fixture.close().await;
}

#[tokio::test]
async fn a_request_too_large_for_the_pipe_is_refused_and_harms_no_other() {
    let fixture = ChildFixture::new().await;
    let (_, ended) = fixture.ask("say ".to_owned() + &"a".repeat(65 << 20)).await;
    assert_eq!(kind(&ended), ChildModel::PROMPT_TOO_LONG);
    assert_eq!(fixture.ask("say b").await.1.unwrap().text, "b");
    assert_eq!(fixture.stats().started, 1);
    fixture.close().await;
}
