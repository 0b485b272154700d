//! Tests that forced tokens leave the bundled model's text unchanged, in fewer decodes.

use std::num::NonZeroU32;

use llama_cpp_2::{
    context::params::LlamaContextParams,
    llama_batch::LlamaBatch,
    model::{LlamaModel as Weights, params::LlamaModelParams},
    token::LlamaToken,
};
use madang_actors::protocol::Completion;
use madang_parser::Parser;

use super::super::{
    answer::{Answer, Flow},
    backend::backend,
    dialect::Dialect,
    frames::frames,
    gguf::Gguf,
    grammar::Grammars,
    prompt::PromptWriter,
    repetition::Repetition,
    sampler::{Sampler, Sampling},
    source::ModelFile,
    spans::spans,
    template::LEAST_BYTES,
    vocabulary::Vocabulary,
};
use super::*;

/// A text and its number of decodes.
#[derive(Debug)]
struct Measured {
    completion: Completion,
    steps: usize,
}

/// The bundled model and the parts of a completion.
struct Bench<'m> {
    weights: &'m Weights,
    vocabulary: Vocabulary<'m>,
    dialect: Dialect,
    grammars: Grammars,
    tools: Vec<ToolSpec>,
}

impl<'m> Bench<'m> {
    fn new(weights: &'m Weights, gguf: &Gguf) -> Self {
        let vocabulary = Vocabulary::of(weights).unwrap();
        let dialect = Dialect::detect(gguf, &|text| vocabulary.has(text));
        let frames = frames(&dialect, &vocabulary.markers);
        let vocabulary = vocabulary.of_family(dialect.family, None, &frames).unwrap();
        let style = dialect.style.clone();
        let grammars =
            Grammars::new(vocabulary.token_environment(), dialect.family, style).unwrap();
        let tools = madang_toolkits::life::tools().iter().map(|tool| tool.spec().clone()).collect();
        Self { weights, vocabulary, dialect, grammars, tools }
    }

    /// Runs a bare decode loop, with forced tokens or without.
    fn run(&self, question: &str, is_forced: bool) -> Measured {
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(1_024))
            .with_n_batch(512)
            .with_n_threads(1)
            .with_n_threads_batch(1);
        let mut context = self.weights.new_context(backend().unwrap(), params).unwrap();
        let writer = PromptWriter {
            dialect: &self.dialect,
            markers: &self.vocabulary.markers,
            bos: &self.vocabulary.bos,
            eos: &self.vocabulary.eos,
            has_thinking: false,
            system: None,
            instructions: None,
            tools: &self.tools,
            max_bytes: LEAST_BYTES,
        };
        let prompt = writer.write(&[&user(question)]).unwrap();
        let mut next = self.vocabulary.tokenize(&spans(&prompt.pieces, &self.vocabulary.markers));
        let parser = Parser::new(self.dialect.family, &[]);
        let sampler = Sampler::new(&Sampling::default());
        let repetition = Repetition::new(0);
        let answer = Answer::new(parser, sampler, repetition, false);
        let mut answer = answer.calling(self.grammars.compiled_for(&self.tools));
        let mut batch = LlamaBatch::new(512, 1);
        let mut at = 0;
        let mut steps = 0;
        let deltas = Deltas::ignored();
        while steps < 200 {
            batch.clear();
            for (index, token) in next.iter().enumerate() {
                batch.add(*token, at, &[0], index + 1 == next.len()).unwrap();
                at += 1;
            }
            context.decode(&mut batch).unwrap();
            steps += 1;
            let token = answer.choose(context.get_logits_ith(batch.n_tokens() - 1)).unwrap();
            if self.vocabulary.ends(token) {
                break;
            }
            answer.take(token, &self.vocabulary.bytes(token), &deltas);
            next = vec![token];
            if answer.flow() == Flow::GoesOn && is_forced {
                let forced: Vec<LlamaToken> = answer.forced(&self.vocabulary, 100, &deltas);
                next.extend(forced);
            }
            if answer.flow() == Flow::Ended {
                break;
            }
        }
        answer.finish(false, &deltas);
        let completion = answer.into_completion(FinishReason::Stop, Usage::default()).unwrap();
        Measured { completion, steps }
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "a test counts")]
fn forced_tokens_say_the_same_in_fewer_steps() {
    let options = crate::tests::bundled();
    let file = ModelFile::of(&options.source).unwrap();
    let gguf = Gguf::read(file.path()).unwrap();
    let weights =
        Weights::load_from_file(backend().unwrap(), file.path(), &LlamaModelParams::default())
            .unwrap();
    let bench = Bench::new(&weights, &gguf);
    let mut with = 0;
    let mut without = 0;
    for question in [
        "수면에 좋은 프로토콜 찾아줘",
        "감사 일기 습관으로 추가해줘",
        "지금 하고 있는 습관 보여줘",
        "집중에 도움 되는 거 있어?",
        "Show me my habits",
        "Find something for better sleep",
    ] {
        let plain = bench.run(question, false);
        let forced = bench.run(question, true);
        assert_eq!(forced.completion.tool_calls, plain.completion.tool_calls, "{question}");
        assert_eq!(forced.completion.text, plain.completion.text, "{question}");
        if !plain.completion.tool_calls.is_empty() {
            with += forced.steps;
            without += plain.steps;
        }
    }
    println!("{with} decode steps with forced tokens, {without} without");
    assert!(without > 0, "the bundled model calls tools");
    assert!(with * 10 <= without * 9, "{with} steps with forced tokens, {without} without");
}
