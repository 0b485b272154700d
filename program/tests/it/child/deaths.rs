//! Tests thousands of deaths of every kind at random moments. Each completion has one end, each
//! text reaches its caller, and no process stays. `MADANG_CHILD_DEATHS=10000` sets their number.

use std::{
    collections::BTreeMap,
    env,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use madang::{
    Runtime, Session,
    event::{Ending, EventKind, StreamItem},
    model::{
        ChatModel as _, Completion, CompletionDelta, Deltas, ModelError,
        child::{ChildModel, ChildOptions, ChildStats},
    },
};
use madang_testing::{MemoryStore, RuntimeHooks as _};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    load,
    stand_in::{DEATHS, left_over, mark, options, request},
};

/// The deaths, unless the environment says otherwise.
const DIE: u64 = 300;
/// The models side by side; most of the time is spent waiting for deaths.
const MODELS: u64 = 4;
/// The completions at once before each model, more than it takes at once.
const CALLERS: u64 = 6;
/// Longer than any step takes on a busy machine, even a death that only silence reveals.
const STUCK: Duration = Duration::from_secs(60);

/// Gives the same random-looking numbers for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn death(&mut self) -> &'static str {
        DEATHS[usize::try_from(self.below(DEATHS.len() as u64)).unwrap()]
    }
}

/// A request, and its answer if it is answered.
struct Plan {
    steps: String,
    text: String,
}

impl Plan {
    /// Mostly harmless; some die at once, in mid-text, or a while later.
    fn draw(dice: &mut Dice, number: &str) -> Self {
        let mut plan = Self { steps: format!("number {number}"), text: String::new() };
        let say = |plan: &mut Self, dice: &mut Dice| {
            for word in 0..dice.below(4) {
                let word = format!("{number}.{word} ");
                plan.steps += &format!(";say {word};wait {}", dice.below(4));
                plan.text += &word;
            }
        };
        if dice.below(2) == 0 {
            plan.steps += ";begin";
        }
        match dice.below(10) {
            0 => {
                say(&mut plan, dice);
                plan.steps += &format!(";wait {};{};wait 600000", dice.below(5), dice.death());
            }
            1 => {
                plan.steps += &format!(";doom {} {}", dice.below(40), dice.death());
                say(&mut plan, dice);
            }
            _ => {
                plan.steps += &format!(";wait {}", dice.below(10));
                say(&mut plan, dice);
            }
        }
        plan
    }
}

/// The counts of a run.
#[derive(Default)]
struct Tally {
    asked: AtomicU64,
    ended: std::sync::Mutex<BTreeMap<String, u64>>,
    /// Callers that left before the end.
    left: AtomicU64,
    /// Wrong texts, deltas behind an end, completions without an end.
    wrong: std::sync::Mutex<Vec<String>>,
}

impl Tally {
    fn note(&self, plan: &Plan, heard: &str, ended: &Result<Completion, ModelError>) {
        let kind = match ended {
            Ok(Completion { text, .. }) if *text != plan.text || heard != plan.text => {
                self.complain(format!("{} was answered with {text}, streamed {heard}", plan.steps));
                "answered"
            }
            Ok(_) => "answered",
            Err(error) => error.kind(),
        };
        if !plan.text.starts_with(heard) {
            self.complain(format!("{} streamed {heard}", plan.steps));
        }
        *self.ended.lock().unwrap().entry(kind.to_owned()).or_default() += 1;
    }

    fn complain(&self, what: String) {
        self.wrong.lock().unwrap().push(what);
    }
}

/// Sends requests until enough processes have died.
async fn client(model: Arc<ChildModel>, tally: Arc<Tally>, mut dice: Dice, name: String, die: u64) {
    for number in 0_u64.. {
        if model.stats().died >= die {
            return;
        }
        let plan = Plan::draw(&mut dice, &format!("{name}.{number}"));
        let heard = Arc::new(std::sync::Mutex::new(String::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (hears, over, complains) =
            (Arc::clone(&heard), Arc::clone(&is_over), Arc::clone(&tally));
        let deltas = Deltas::new(move |delta| {
            if over.load(Ordering::SeqCst) {
                complains.complain(format!("{delta:?} came behind the end"));
            }
            if let CompletionDelta::Text(text) = delta {
                hears.lock().unwrap().push_str(text);
            }
        });
        let cancel = CancellationToken::new();
        tally.asked.fetch_add(1, Ordering::Relaxed);
        let answer = model.complete(request(plan.steps.as_str()), deltas, cancel.clone());
        let fate = dice.below(20);
        let after = Duration::from_millis(dice.below(20));
        let ended = match fate {
            // Leaves without cancelling.
            0 => match timeout(after, answer).await {
                Ok(ended) => ended,
                Err(_) => {
                    tally.left.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
            },
            1 => {
                let cancelling = async {
                    tokio::time::sleep(after).await;
                    cancel.cancel();
                };
                let Ok((ended, ())) =
                    timeout(STUCK, async { tokio::join!(answer, cancelling) }).await
                else {
                    return tally.complain(format!("{} was cancelled and did not end", plan.steps));
                };
                ended
            }
            _ => match timeout(STUCK, answer).await {
                Ok(ended) => ended,
                Err(_) => return tally.complain(format!("{} did not end", plan.steps)),
            },
        };
        is_over.store(true, Ordering::SeqCst);
        let heard = heard.lock().unwrap().clone();
        tally.note(&plan, &heard, &ended);
    }
}

fn hurried(mark: &str) -> ChildOptions {
    let ms = Duration::from_millis;
    let options = options("frail", mark).ping_every(ms(25)).silent_after(ms(500));
    let options = options.still_after(ms(750)).restart_delay(Duration::ZERO, Duration::ZERO);
    options.end_within(ms(500))
}

/// Starts models until one is loaded, because some stand-ins die before.
async fn loaded(mark: &str) -> (ChildModel, u64) {
    for died in 0.. {
        if let Ok(model) = load(hurried(mark)).await {
            return (model, died);
        }
        assert!(died < 100, "no stand-in loads its model");
    }
    unreachable!("there is an end above")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_completion_ends_once_however_many_processes_die() {
    let die = env::var("MADANG_CHILD_DEATHS").map_or(DIE, |count| count.parse().unwrap());
    let mark = mark();
    let begin = Instant::now();
    let tally = Arc::new(Tally::default());
    let mut models = JoinSet::new();
    for number in 0..MODELS {
        let tally = Arc::clone(&tally);
        let mark = mark.clone();
        models.spawn(async move {
            let (model, died) = loaded(&mark).await;
            let model = Arc::new(model);
            let mut clients = JoinSet::new();
            for client_number in 0..CALLERS {
                let dice = Dice(1_000 * number + client_number);
                let name = format!("{number}.{client_number}");
                let model = Arc::clone(&model);
                let tally = Arc::clone(&tally);
                clients.spawn(client(model, tally, dice, name, die.div_ceil(MODELS)));
            }
            while let Some(ended) = clients.join_next().await {
                ended.unwrap();
            }
            let stats = model.stats();
            tokio::task::spawn_blocking(move || drop(model)).await.unwrap();
            (stats, died)
        });
    }
    let mut all = ChildStats::default();
    while let Some(ended) = models.join_next().await {
        let (stats, died_at_first) = ended.unwrap();
        all.started += stats.started + died_at_first;
        all.died += stats.died + died_at_first;
        all.asked_again += stats.asked_again;
        all.refused += stats.refused;
    }
    let wrong = std::mem::take(&mut *tally.wrong.lock().unwrap());
    let ended = tally.ended.lock().unwrap().clone();
    let asked = tally.asked.load(Ordering::Relaxed);
    let left = tally.left.load(Ordering::Relaxed);
    println!(
        "{} processes died of {} in {:.0?}; {asked} completions: {ended:?}, {left} were left by their clients; {} were \
         asked again, {} refused",
        all.died,
        all.started,
        begin.elapsed(),
        all.asked_again,
        all.refused,
    );
    assert!(
        wrong.is_empty(),
        "{} wrong, such as {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(20)]
    );
    assert_eq!(ended.values().sum::<u64>() + left, asked, "every completion ends once");
    assert!(all.died >= die && asked > all.died, "too little happened to prove anything");
    for kind in ["answered", ModelError::ENGINE_DIED, ChildModel::KILLED_ENGINE, "Cancelled"] {
        assert!(ended.contains_key(kind), "no caller got {kind}");
    }
    assert_eq!(left_over(&mark), [""; 0], "no process is left");
}

/// The turns of each session.
const TURNS: usize = 12;
const SESSIONS: u64 = 8;

/// The ends of one session's turns, and the texts of the answered ones.
async fn chat(session: Session, mut dice: Dice, name: u64) -> BTreeMap<String, u64> {
    let mut events = session.subscribe();
    let mut ended = BTreeMap::new();
    for number in 0..TURNS {
        let plan = Plan::draw(&mut dice, &format!("{name}.{number}"));
        session.send(plan.steps.as_str()).await.unwrap();
        let told = async {
            let mut said = None;
            loop {
                let StreamItem::Event(event) = events.next().await.unwrap() else { continue };
                if let EventKind::ModelMessage { text, ending: Ending::Complete, .. } = &event.kind
                {
                    said = Some(text.to_string());
                } else if let EventKind::TurnEnded { ending, .. } = &event.kind {
                    return (format!("{ending:?}"), said);
                }
            }
        };
        let (ending, said) = timeout(STUCK, told).await.expect("every turn ends");
        if ending == "Answered" {
            assert_eq!(said.unwrap_or_default(), plan.text, "{}", plan.steps);
        }
        *ended.entry(ending).or_default() += 1;
    }
    ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_turn_ends_once_and_the_runtime_is_whole_behind_it() {
    let mark = mark();
    let (model, _) = loaded(&mark).await;
    let builder = Runtime::builder().model(model).store(MemoryStore::new());
    let runtime = builder.start().await.unwrap();
    let mut chats = JoinSet::new();
    for name in 0..SESSIONS {
        let session = runtime.user("kim").unwrap().session(&format!("{name}")).await.unwrap();
        chats.spawn(chat(session, Dice(7_000 + name), name));
    }
    let mut ended: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(chat) = chats.join_next().await {
        chat.unwrap()
            .into_iter()
            .for_each(|(kind, count)| *ended.entry(kind).or_default() += count);
    }
    println!("turns: {ended:?}");
    assert_eq!(ended.values().sum::<u64>(), SESSIONS * TURNS as u64);
    assert!(ended["Answered"] > 0 && ended["Failed"] > 0, "{ended:?}");
    runtime.shutdown().await.unwrap();
    assert_eq!(runtime.running_tasks(), 0, "no task is left");
    drop(runtime);
    super::until("the model goes with its runtime", || left_over(&mark).is_empty()).await;
}
