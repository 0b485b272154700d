//! Tests how a process ends, and what its callers get.

use std::time::Duration;

use madang::model::{
    ModelError,
    child::{ChildError, ChildModel, ChildOptions},
};
use tempfile::TempDir;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    ChildFixture, kind, load,
    stand_in::{DEATHS, HANGS, left_over, mark, options},
    until, words,
};

/// Restarts at once, with the usual bounds: a busy machine stops a process for seconds.
fn hurried(options: ChildOptions) -> ChildOptions {
    options.restart_delay(Duration::ZERO, Duration::ZERO)
}

/// Bounds for processes that are asked to hang.
fn impatient(options: ChildOptions) -> ChildOptions {
    let ms = Duration::from_millis;
    let s = Duration::from_secs;
    hurried(options).ping_every(ms(50)).silent_after(s(8)).still_after(s(10))
}

/// Steps that run once in a test.
fn once(folder: &TempDir, name: &str, how: &str) -> String {
    format!("once {} {how}", folder.path().join(name).display())
}

#[tokio::test]
async fn a_completion_that_streamed_nothing_is_asked_again() {
    async fn each(fixture: ChildFixture, ways: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for how in ways {
            let steps = format!("begin;{};say here I am", once(&folder, how, how));
            let (streamed, ended) = fixture.ask(steps).await;
            let ended = ended.unwrap_or_else(|error| panic!("after {how}: {}", words(&error)));
            assert_eq!(ended.text, "here I am", "after {how}");
            assert_eq!(streamed.last().unwrap(), r#"Text("here I am")"#, "after {how}");
        }
        let stats = fixture.stats();
        let deaths = ways.len() as u64;
        assert_eq!((stats.died, stats.asked_again, stats.refused), (deaths, deaths, 0));
        fixture.close().await;
    }
    let (ends, hangs): (Vec<_>, Vec<_>) = DEATHS.iter().partition(|how| !HANGS.contains(how));
    let [stops, freezes] = [&hangs[..1], &hangs[1..]];
    let (ending, stopping, freezing) = (
        ChildFixture::with(hurried).await,
        ChildFixture::with(impatient).await,
        ChildFixture::with(impatient).await,
    );
    tokio::join!(each(ending, &ends), each(stopping, stops), each(freezing, freezes));
}

#[tokio::test]
async fn a_completion_that_was_seen_fails_and_says_why() {
    async fn each(fixture: ChildFixture, ways: &[(&str, &str)]) {
        for (how, reason) in ways {
            let (streamed, ended) =
                fixture.ask(format!("number {reason};say so far;{how};wait 60000")).await;
            assert_eq!(streamed, [r#"Text("so far")"#], "{how}");
            assert_eq!(kind(&ended), ModelError::ENGINE_DIED, "{how}");
            let said = words(&ended.unwrap_err());
            assert!(said.contains(reason), "{how}: {said}");
            assert_eq!(fixture.ask("say next").await.1.unwrap().text, "next", "after {how}");
        }
        fixture.close().await;
    }
    let ends = [
        ("abort", "the model's process ended (signal: 6 (SIGABRT)"),
        ("abort", "it said last: GGML_ASSERT(it was asked to) failed"),
        ("segfault", "signal: 11 (SIGSEGV)"),
        ("kill", "signal: 9 (SIGKILL)"),
        ("leave", "exit status: 0"),
        ("garbage", "wrote a frame of"),
    ];
    let stops = [("stop", "gave no sign of life any more")];
    let freezes = [("freeze", "got no further with what it was asked")];
    let (ending, stopping, freezing) = (
        ChildFixture::with(hurried).await,
        ChildFixture::with(impatient).await,
        ChildFixture::with(impatient).await,
    );
    tokio::join!(each(ending, &ends), each(stopping, &stops), each(freezing, &freezes));
}

#[tokio::test]
async fn a_request_that_ends_two_processes_is_refused_and_its_neighbours_are_answered() {
    let fixture = ChildFixture::with(hurried).await;
    let killer = || fixture.ask("wait 50;abort");
    let (boom, one, two, three) = tokio::join!(
        killer(),
        fixture.ask("number 1;wait 300;say a"),
        fixture.ask("number 2;wait 300;say b"),
        fixture.ask("number 3;wait 300;say c"),
    );
    let said = [one, two, three].map(|(_, ended)| ended.unwrap().text);
    assert_eq!(said, ["a", "b", "c"]);
    assert_eq!(kind(&boom.1), ChildModel::KILLED_ENGINE);
    assert!(words(&boom.1.unwrap_err()).contains("ran when 2 processes of the model ended"));
    assert_eq!(fixture.stats().died, 2);
    // A repeated request is recognised, whichever user sends it.
    assert_eq!(kind(&killer().await.1), ChildModel::KILLED_ENGINE);
    let stats = fixture.stats();
    assert_eq!((stats.started, stats.died, stats.refused), (3, 2, 2));
    fixture.close().await;
}

#[tokio::test]
async fn a_model_that_panics_ends_its_own_completion_only() {
    let fixture = ChildFixture::with(hurried).await;
    let (panicked, beside) =
        tokio::join!(fixture.ask("say a;wait 50;panic"), fixture.ask("say b;wait 300;say c"));
    assert_eq!(kind(&panicked.1), "Panic");
    assert_eq!(beside.1.unwrap().text, "bc");
    assert_eq!(fixture.stats().died, 0);
    fixture.close().await;
}

#[tokio::test]
async fn a_process_that_dies_without_requests_is_replaced() {
    let fixture = ChildFixture::with(hurried).await;
    let first = fixture.stats().process.unwrap();
    rustix::process::kill_process(pid(first), rustix::process::Signal::KILL).unwrap();
    fixture
        .until("another one is started", |stats| {
            stats.process.is_some_and(|process| process != first)
        })
        .await;
    assert_eq!(fixture.ask("say hello").await.1.unwrap().text, "hello");
    fixture.close().await;
}

fn pid(process: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(i32::try_from(process).unwrap()).unwrap()
}

#[tokio::test]
async fn a_model_that_cannot_be_loaded_is_told_in_its_own_words_and_not_tried_again() {
    let mark = mark();
    let failed = load(options("cannot load", &mark)).await.unwrap_err();
    assert_eq!(words(&failed), "the model failed: NoModel: the disk is elsewhere");
    let failed = load(options("dies while it loads", &mark)).await.unwrap_err();
    assert!(failed.to_string().contains("SIGABRT"), "{failed}");
    let failed = load(options("speaks another language", &mark)).await.unwrap_err();
    assert!(failed.to_string().contains("wrote a frame of"), "{failed}");
    let hurried = options("loads for ever", &mark).ping_every(Duration::from_millis(50));
    let failed = load(hurried.load_within(Duration::from_millis(500))).await.unwrap_err();
    assert!(failed.to_string().contains("did not load the model in time"), "{failed}");
    let failed = load(ChildOptions::new("/no/such/program")).await.unwrap_err();
    assert!(matches!(failed, ChildError::Start { .. }), "{failed:?}");
    assert_eq!(left_over(&mark), [""; 0]);
}

#[tokio::test]
async fn a_model_that_hangs_is_dropped_within_its_bound() {
    for how in ["stop", "freeze"] {
        let fixture =
            ChildFixture::with(|options| options.end_within(Duration::from_millis(200))).await;
        let began = std::sync::Arc::new(tokio::sync::Notify::new());
        let begins = std::sync::Arc::clone(&began);
        let model = std::sync::Arc::clone(&fixture.model);
        let asked = tokio::spawn(async move {
            let deltas = madang::model::Deltas::new(move |_| begins.notify_one());
            let request = super::request(format!("say a;{how}"));
            madang::model::ChatModel::complete(&*model, request, deltas, Default::default()).await
        });
        began.notified().await;
        asked.abort();
        assert!(asked.await.unwrap_err().is_cancelled());
        let began = Instant::now();
        fixture.close().await;
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(200), "{how} did not hang: {took:?}");
        assert!(took < Duration::from_secs(20), "{how} was waited for {took:?}");
    }
}

/// The mark of a process that lives until it is killed, and the way in which it hangs.
const ROLE: &str = "MADANG_LIVES_WITH_A_CHILD";

#[test]
#[ignore = "the test below starts it as a process of its own"]
fn lives_with_a_child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (mark, how) = role.split_once(' ').unwrap();
    let model = ChildModel::load(options("serves", mark)).unwrap();
    let threads = tokio::runtime::Runtime::new().unwrap();
    let (_, ended) = threads.block_on(super::ask(&model, how, CancellationToken::new()));
    panic!("a model that hangs does not answer: {ended:?}");
}

#[tokio::test]
async fn however_its_program_ends_the_process_ends_with_it() {
    for how in ["never", "freeze", "stop"] {
        let mark = mark();
        let folder = tempfile::tempdir().unwrap();
        let sign = folder.path().join("sign");
        let mut program = tokio::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child::ends::lives_with_a_child", "--ignored"])
            .env(ROLE, format!("{mark} sign {};{how}", sign.display()))
            .stdout(std::process::Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        until("its child does as it is asked", || sign.exists()).await;
        program.kill().await.unwrap();
        until("its child ends", || left_over(&mark).is_empty()).await;
    }
}
