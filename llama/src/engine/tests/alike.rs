//! Tests that the bundled model says the same beside others as alone, unless two tokens are nearly
//! equal.

use std::{collections::HashMap, sync::Arc};

use llama_cpp_2::model::LlamaModel as Weights;
use madang_actors::{
    port::Deltas,
    protocol::{
        CompletionId, CompletionRequest, LanguageTag, PromptMessage, SessionId, ToolSpec, UserId,
    },
};
use serde_json::Value;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::listening::{Said, listen};
use crate::{
    backend::backend,
    engine::{
        cache::{Cache, Tiers},
        generator::Generator,
        load::{self, Shape},
        request::EngineRequest,
        steps::{Bounds, Engine},
    },
    gguf::Gguf,
    source::ModelFile,
};
use madang_toolkits::life;

/// The difference of two floating point sums in another order.
const MARGIN: f32 = 0.01;

fn requests() -> Vec<CompletionRequest> {
    let tools: Arc<[ToolSpec]> = life::tools().iter().map(|tool| tool.spec().clone()).collect();
    // A third of the cases shows as much, sooner.
    let lines = include_str!("../../../../models/eval/cases/phrasings.jsonl").lines().step_by(3);
    let texts = lines.map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["turns"][0]["user"].as_str().unwrap().to_owned()
    });
    let request = |(at, text): (usize, String)| CompletionRequest {
        id: CompletionId::new(Uuid::from_u128(at as u128)),
        session: SessionId::new(at.to_string()).unwrap(),
        user: UserId::new("kim").unwrap(),
        system: None,
        instructions: None,
        messages: Arc::new(chat(at, text)),
        tools: Arc::clone(&tools),
        language: LanguageTag::KO,
        max_tokens: 48,
    };
    texts.enumerate().map(request).collect()
}

/// Makes a chat. Every second one has an earlier turn, the same in all.
fn chat(at: usize, text: String) -> Vec<PromptMessage> {
    let asked = PromptMessage::User {
        text: "안녕, 오늘 하루가 너무 길고 힘들었어. 뭘 하면 좋을까?".into(),
    };
    let said = PromptMessage::Model {
        text: "오늘 힘드셨군요. 어떤 도움이 필요한지 말씀해 주세요.".into(),
    };
    let now = PromptMessage::User { text: text.into() };
    if at.is_multiple_of(2) { vec![asked, said, now] } else { vec![now] }
}

fn engine<'m>(
    weights: &'m Weights,
    gguf: &Gguf,
    running: usize,
    has_flash_attention: bool,
) -> Engine<'m> {
    // Unconstrained choices, so that the margin is that of all tokens.
    let options = crate::tests::bundled().constrained_calls(false);
    let bounds = Bounds { running, prompt_tokens: 128 };
    let shape =
        Shape { cells: 16_384, batch: 256, sequences: 200, threads: 1, has_flash_attention };
    let params = load::context(shape);
    let context = weights.new_context(backend().unwrap(), params).unwrap();
    let tiers = Tiers { sequences: 199, resting_tokens: 1_024, swapped_bytes: 1 << 20 };
    let cache = Cache::new(context, load::Keeps::of(weights, gguf), tiers);
    Engine::new(
        Arc::new(Generator::new(weights, gguf, &options, 1_024).unwrap()),
        cache,
        bounds,
        None,
        Arc::default(),
    )
}

/// Completes all, as many at once as the engine takes, and records the tokens.
fn complete(
    engine: &mut Engine<'_>,
    requests: Vec<CompletionRequest>,
) -> HashMap<CompletionId, Said> {
    let mut waiting = requests.into_iter();
    let mut said: HashMap<CompletionId, Said> = HashMap::new();
    loop {
        while engine.may_begin()
            && let Some(request) = waiting.next()
        {
            let (reply, _) = oneshot::channel();
            let deltas = Deltas::ignored();
            let cancel = Default::default();
            engine.begin(EngineRequest {
                request,
                deltas,
                cancel,
                has_begun: Arc::default(),
                reply,
            });
        }
        if engine.is_idle() {
            return said;
        }
        listen(engine, &mut said);
    }
}

/// Compares the texts beside others with those alone.
#[derive(Debug, Default)]
struct Compared {
    same: usize,
    /// The case that differs, the position of the token, and the model's margin when it was alone.
    diverged: Vec<(CompletionId, usize, f32)>,
    /// The largest change of a margin.
    shift: f32,
}

impl Compared {
    #[expect(clippy::print_stdout, reason = "a test counts")]
    fn of(has_flash_attention: bool) -> Self {
        let file = ModelFile::of(&crate::tests::bundled().source).unwrap();
        let gguf = Gguf::read(file.path()).unwrap();
        let weights = load::load(&file, &gguf, None, 0).unwrap();
        let requests = requests();
        let mut beside = engine(&weights, &gguf, 32, has_flash_attention);
        let together = complete(&mut beside, requests.clone());
        assert!(beside.stats.prompt_tokens_reused > 500, "{:?}", beside.stats);
        drop(beside);
        let mut by_itself = engine(&weights, &gguf, 1, has_flash_attention);
        let mut compared = Self::default();
        for request in requests {
            let id = request.id;
            by_itself.cache.reset();
            let alone = complete(&mut by_itself, vec![request]).remove(&id).unwrap();
            compared.add(id, &alone, &together[&id]);
        }
        println!("flash attention {has_flash_attention}: {compared:?}");
        compared
    }

    fn add(&mut self, id: CompletionId, alone: &Said, beside: &Said) {
        let pairs = alone.iter().zip(beside);
        let alike = pairs.clone().take_while(|(one, other)| one.0 == other.0);
        let shifts = alike.map(|(one, other)| (one.1 - other.1).abs());
        self.shift = shifts.fold(self.shift, f32::max);
        if let Some(at) = pairs.clone().position(|(one, other)| one.0 != other.0) {
            self.diverged.push((id, at, alone[at].1));
        } else {
            assert_eq!(alone.len(), beside.len(), "{id}");
            self.same += 1;
        }
    }
}

#[test]
fn what_is_said_beside_others_is_what_is_said_alone() {
    let Compared { same, diverged, .. } = Compared::of(false);
    assert!(diverged.iter().all(|(.., margin)| *margin <= MARGIN), "{diverged:?}");
    assert!(diverged.len() * 20 <= same, "{diverged:?}");
}

#[test]
fn with_flash_attention_few_say_something_else_beside_others() {
    let Compared { same, diverged, .. } = Compared::of(true);
    assert!(diverged.len() * 20 <= same, "{diverged:?}");
}
