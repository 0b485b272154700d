//! Tests that a completion in a split context gives the same text as alone.

mod chats;
mod sharing;

use std::{collections::HashMap, sync::Arc, thread, time::Duration};

use llama_cpp_2::model::LlamaModel as Weights;
use madang_actors::{
    port::{Deltas, ModelError},
    protocol::{
        Completion, CompletionId, CompletionRequest, LanguageTag, PromptMessage, SessionId, Usage,
        UserId,
    },
};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::*;
use crate::{
    LlamaOptions,
    backend::backend,
    engine::{
        cache::{Cache, Tiers},
        generator::Generator,
        load::{self, Keeps, Shape},
        request::EngineRequest,
        stats::EngineStats,
        steps::{Bounds, Engine},
        tests::listening::listen,
    },
    gguf::Gguf,
    source::ModelFile,
    tests::random_model::{recurrent, windowed, with_unnamed_window},
};

/// A piece fits into the window, as with real models.
const BOUNDS: Bounds = Bounds { running: 8, prompt_tokens: 16 };
const SEQUENCES: usize = 23;
/// The margin of the likeliest token that another order of sums may turn: logits are some units
/// apart.
const MARGIN: f32 = 0.05;
/// The most tokens of a chat.
const CHAT: usize = 2_048;

/// A random model with unpredictable answers.
struct Model {
    weights: Weights,
    gguf: Gguf,
    keeps: Keeps,
}

impl Model {
    fn new(file: Vec<u8>) -> Self {
        let options = LlamaOptions::from_bytes("random", file);
        let file = ModelFile::of(&options.source).unwrap();
        let gguf = Gguf::read(file.path()).unwrap();
        let weights = load::load(&file, &gguf, None, 0).unwrap();
        let keeps = Keeps::of(&weights, &gguf);
        Self { weights, gguf, keeps }
    }

    fn shape(cells: usize) -> Shape {
        let [cells, batch, sequences] =
            [cells, BOUNDS.batch(), SEQUENCES + 1].map(|count| u32::try_from(count).unwrap());
        // Flash attention sums in 16 bits, in the order of the context.
        Shape { cells, batch, sequences, threads: 1, has_flash_attention: false }
    }

    fn engine<'m>(&'m self, cells: usize, prefill_worker: Option<PrefillWorker<'m>>) -> Engine<'m> {
        let context = load::context(Self::shape(cells));
        let context = self.weights.new_context(backend().unwrap(), context).unwrap();
        let tiers =
            Tiers { sequences: SEQUENCES, resting_tokens: CHAT / 2, swapped_bytes: 1 << 20 };
        let cache = Cache::new(context, self.keeps, tiers);
        let options = LlamaOptions::new("random.gguf").max_repeated_tokens(0);
        let generator = Generator::new(&self.weights, &self.gguf, &options, CHAT).unwrap();
        Engine::new(Arc::new(generator), cache, BOUNDS, prefill_worker, Arc::default())
    }

    /// Runs an engine with a prefill worker, with this room in all and in the worker. The worker's
    /// thread dies after this many orders.
    fn with_prefill_worker<T>(
        &self,
        (cells, room): (usize, usize),
        orders: usize,
        act: impl FnOnce(&mut Engine<'_>) -> T,
    ) -> T {
        let (thread, work) = channel();
        let scratch = Sequence::new(SEQUENCES).unwrap();
        let make = Make { shapes: [Self::shape(room); 2], scratch, keeps: self.keeps };
        thread::scope(|scope| {
            scope.spawn(move || (0..orders).all(|_| work.does_one(&self.weights, make)));
            let room = Room { split: room, main: cells };
            let mut worker = PrefillWorker::new(thread, room, BOUNDS.prompt_tokens);
            let deadline = Instant::now() + Duration::from_secs(60);
            while worker.has_contexts() == Some(false) {
                assert!(Instant::now() < deadline, "the contexts take too long");
                thread::yield_now();
            }
            act(&mut self.engine(cells, Some(worker)))
        })
    }

    /// Returns whether a text equals the one alone, but for choices that another order of sums may
    /// turn.
    fn check(&self, request: &CompletionRequest, text: &str) {
        let mut engine = self.engine(CHAT, None);
        let asked = Asked::begin(&mut engine, request.clone());
        let mut said = HashMap::new();
        while !engine.is_idle() {
            listen(&mut engine, &mut said);
        }
        let alone = asked.end().unwrap().text;
        if alone == text {
            return;
        }
        let common = alone.bytes().zip(text.bytes()).take_while(|(one, other)| one == other);
        let common = common.count();
        // One letter is one token.
        let (letter, margin) = said[&request.id][common];
        assert_eq!(
            usize::try_from(letter).ok(),
            alone.as_bytes().get(common).copied().map(usize::from)
        );
        assert!(margin < MARGIN, "{}: {text:?} instead of {alone:?}: {margin}", request.session);
    }
}

/// A completion of an engine.
struct Asked {
    cancel: CancellationToken,
    answer: oneshot::Receiver<Result<Completion, ModelError>>,
}

impl Asked {
    fn begin(engine: &mut Engine<'_>, request: CompletionRequest) -> Self {
        let (cancel, (reply, answer)) = (CancellationToken::new(), oneshot::channel());
        let wanted = [cancel.clone(), CancellationToken::new()];
        let deltas = Deltas::ignored();
        engine.begin(EngineRequest {
            request,
            deltas,
            cancel: wanted,
            has_begun: Arc::default(),
            reply,
        });
        Self { cancel, answer }
    }

    fn end(mut self) -> Result<Completion, ModelError> {
        self.answer.try_recv().expect("it has ended")
    }
}

fn request(session: &str, chat: Vec<PromptMessage>, max_tokens: u32) -> CompletionRequest {
    CompletionRequest {
        id: CompletionId::new(Uuid::now_v7()),
        session: SessionId::new(session).unwrap(),
        user: UserId::new("kim").unwrap(),
        system: Some("You are asked, and you answer. ".repeat(4).into()),
        instructions: None,
        messages: Arc::new(chat),
        tools: Arc::new([]),
        language: LanguageTag::EN,
        max_tokens,
    }
}

fn asks(text: &str) -> PromptMessage {
    PromptMessage::User { text: text.into() }
}

/// Begins chats with long answers, and lets each generate something.
fn talkers(engine: &mut Engine<'_>, count: usize) -> Vec<(CompletionRequest, Asked)> {
    let talk = |number| {
        let request = request(&format!("talks {number}"), vec![asks(&format!("{number}"))], 400);
        let asked = Asked::begin(engine, request.clone());
        (request, asked)
    };
    let talkers = (0..count).map(talk).collect();
    until(engine, |engine| engine.runs.iter().all(|run| run.usage.completion_tokens > 2));
    assert_eq!(engine.runs.len(), count, "a completion ended too early");
    talkers
}

fn finish(engine: &mut Engine<'_>) {
    until(engine, |engine| engine.is_idle());
}

fn until(engine: &mut Engine<'_>, is_so: impl Fn(&Engine<'_>) -> bool) {
    for _ in 0..20_000 {
        if is_so(engine) {
            return;
        }
        engine.step();
    }
    panic!("this goes on for ever: {:?}", engine.stats);
}

fn is_split(engine: &Engine<'_>) -> bool {
    engine.prefill_worker.as_ref().is_some_and(PrefillWorker::is_on)
}

const ENOUGH: (usize, usize) = (4 * CHAT, CHAT);

#[test]
fn beside_prompts_of_the_prefill_worker_all_say_what_they_say_alone() {
    for file in [with_unnamed_window(), windowed(), recurrent()] {
        let model = Model::new(file);
        let (asked, stats) = model.with_prefill_worker(ENOUGH, usize::MAX, |engine| {
            let mut asked = talkers(engine, 3);
            let long = "a long story ".repeat(50);
            for (session, text) in [
                ("first", format!("{long}1")),
                ("second", format!("{long}2")),
                ("short", "hm".into()),
            ] {
                let request = request(session, vec![asks(&text)], 30);
                asked.push((request.clone(), Asked::begin(engine, request)));
            }
            until(engine, is_split);
            finish(engine);
            assert!(!is_split(engine));
            (asked, engine.stats)
        });
        assert!(stats.splits > 0 && stats.prefill_worker_tokens > 600, "{stats:?}");
        for (request, asked) in asked {
            let ended = asked.end().unwrap();
            assert!(ended.text.len() > 10, "nothing is compared: {:?}", ended.text);
            model.check(&request, &ended.text);
            // Behind a window, llama.cpp may have overwritten a shareable part by then.
            let shares = model.keeps == Keeps::All && request.session.to_string() == "second";
            assert!(!shares || stats.prompt_tokens_reused > 700, "{stats:?}");
        }
    }
}

#[test]
fn a_prompt_cancelled_in_the_prefill_worker_ends_in_one_step_and_keeps_what_it_read() {
    let model = Model::new(with_unnamed_window());
    model.with_prefill_worker(ENOUGH, usize::MAX, |engine| {
        let talkers = talkers(engine, 2);
        let request = request("long", vec![asks(&"a long story ".repeat(80))], 30);
        let Asked { cancel, mut answer } = Asked::begin(engine, request.clone());
        until(engine, |engine| engine.stats.prefill_worker_tokens > 200);
        cancel.cancel();
        engine.step();
        let ended = answer.try_recv().unwrap();
        let Err(ModelError::Cancelled { usage }) = ended else { panic!("{ended:?}") };
        assert!((200..1_000).contains(&usage.prompt_tokens), "{usage:?}");
        until(engine, |engine| !is_split(engine));
        assert_eq!(engine.runs.len(), 2, "those that talk are not done yet");
        let again = Asked::begin(engine, request.clone());
        finish(engine);
        let ended = again.end().unwrap();
        assert!(ended.usage.cached_tokens >= 200, "{:?}", ended.usage);
        model.check(&request, &ended.text);
        for (request, asked) in talkers {
            model.check(&request, &asked.end().unwrap().text);
        }
    });
}

#[test]
fn a_chat_that_ended_beside_the_prefill_worker_goes_on_from_there_the_next_time() {
    let model = Model::new(with_unnamed_window());
    model.with_prefill_worker(ENOUGH, usize::MAX, |engine| {
        let _other = talkers(engine, 1);
        let brief = Asked::begin(engine, request("brief", vec![asks("say more")], 40));
        until(engine, |engine| engine.runs.iter().any(|run| run.usage.completion_tokens == 37));
        let long =
            Asked::begin(engine, request("long", vec![asks(&"a long story ".repeat(90))], 2));
        until(engine, |engine| engine.runs.len() == 2);
        assert!(is_split(engine), "more is left to read than was given to the worker");
        let ended = brief.end().unwrap();

        let said = PromptMessage::Model { text: ended.text.into() };
        let chat = vec![asks("say more"), said, asks("and?")];
        let again = Asked::begin(engine, request("brief", chat, 2));
        finish(engine);
        let Usage { cached_tokens, .. } = again.end().unwrap().usage;
        assert_eq!(cached_tokens, ended.usage.prompt_tokens + 39, "all but the last token");
        assert!(long.end().is_ok());
    });
}

#[test]
fn when_the_worker_dies_prompts_go_on_in_turns() {
    let [keeps_all, keeps_state] = [with_unnamed_window(), recurrent()].map(Model::new);
    // The worker makes the contexts, and reads nothing or some pieces.
    for (model, orders) in [(&keeps_all, 1), (&keeps_all, 2), (&keeps_all, 3), (&keeps_state, 3)] {
        model.with_prefill_worker(ENOUGH, orders, |engine| {
            let mut asked = talkers(engine, 2);
            let request = request("long", vec![asks(&"a long story ".repeat(50))], 30);
            asked.push((request.clone(), Asked::begin(engine, request)));
            finish(engine);
            let EngineStats { splits, prefill_worker_tokens, .. } = engine.stats;
            let is_read = prefill_worker_tokens > 0;
            // Of a prompt of 804 tokens, 512 are lost with the worker's state.
            let all = engine.stats.prompt_tokens_evaluated;
            assert!(model.keeps == Keeps::All || all > 804 + 512, "{all}");
            assert!(splits == 1 && is_read == (orders > 1), "{orders}: {prefill_worker_tokens}");
            for (request, asked) in asked {
                model.check(&request, &asked.end().unwrap().text);
            }
        });
    }
}

#[test]
fn without_memory_for_the_contexts_prompts_are_read_in_turns() {
    let model = Model::new(with_unnamed_window());
    model.with_prefill_worker(ENOUGH, 0, |engine| {
        let talkers = talkers(engine, 2);
        let request = request("long", vec![asks(&"a long story ".repeat(50))], 30);
        let long = Asked::begin(engine, request.clone());
        finish(engine);
        assert!(engine.prefill_worker.is_none() && engine.stats.splits == 0);
        model.check(&request, &long.end().unwrap().text);
        assert_eq!(talkers.len(), 2);
    });
}

#[test]
fn when_prompts_outgrow_their_context_all_join_and_read_on() {
    let model = Model::new(with_unnamed_window());
    model.with_prefill_worker((4 * CHAT, 700), usize::MAX, |engine| {
        let mut asked = talkers(engine, 2);
        for session in ["one", "two"] {
            let request = request(session, vec![asks(&format!("{session} story ").repeat(40))], 30);
            asked.push((request.clone(), Asked::begin(engine, request)));
            until(engine, |engine| is_split(engine) == (session == "one"));
        }
        assert!(engine.runs.iter().any(|run| run.unread() > 300), "much is left to read");
        finish(engine);
        for (request, asked) in asked {
            model.check(&request, &asked.end().unwrap().text);
        }
    });
}

#[test]
fn what_would_have_no_room_at_home_is_read_in_turns() {
    let model = Model::new(with_unnamed_window());
    model.with_prefill_worker((850, CHAT), usize::MAX, |engine| {
        let mut asked = talkers(engine, 3);
        let request = request("long", vec![asks(&"a long story ".repeat(50))], 10);
        asked.push((request.clone(), Asked::begin(engine, request)));
        finish(engine);
        assert!(engine.stats.splits == 0 && engine.stats.preempted > 0, "{:?}", engine.stats);
        for (request, asked) in asked {
            model.check(&request, &asked.end().unwrap().text);
        }
    });
}
