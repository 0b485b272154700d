//! A model that the tests write: a real GGUF for the real llama.cpp, in which a table gives the
//! next token after the last.
//!
//! One layer with zero weights in attention and feed-forward passes the embedding on. Embeddings
//! are one-hot, so the output matrix is the table. The vocabulary is the 256 bytes, each a token
//! with its own number, and a few control tokens.

use std::{fs, path::Path};

use super::GgufFile;

/// A model to be written.
#[derive(Debug, Clone)]
pub struct TinyModel {
    /// The name that llama.cpp knows its layers by.
    pub architecture: &'static str,
    /// The chat template in its file.
    pub template: Option<&'static str>,
    /// The table: (last token, next token), by name.
    pub next: Vec<(&'static str, &'static str)>,
    /// The token that follows where the table says nothing.
    pub always: Option<&'static str>,
    /// The longest context.
    pub context_length: u32,
    /// The control tokens, behind the plain ones.
    pub controls: Vec<&'static str>,
    /// Tokens that the model's makers defined, special or not.
    pub defined: Vec<&'static str>,
    /// The merged pair in the letters of byte-level BPE, and the kind of its token; 1 is ordinary.
    pub merged: ([&'static str; 2], i32),
    /// The way in which llama.cpp finds words.
    pub pre_tokenizer: &'static str,
}

/// The control tokens of ChatML with Hermes tool calls and thinking.
pub const CONTROLS: [&str; 6] =
    ["<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>"];

/// ChatML with Hermes tool calls.
pub const CHATML: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}\
    {% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n\
    {% endfor %}{{ '<|im_start|>assistant\n' }}";

const WIDTH: usize = 320;
const HEADS: u32 = 5;
const FEED_FORWARD: usize = 32;
/// Bytes and one merged pair, since BPE needs one; the control tokens follow.
const PLAIN_TOKENS: usize = 256 + 1;

impl Default for TinyModel {
    fn default() -> Self {
        Self::new()
    }
}

impl TinyModel {
    /// Makes a model that answers "abc" and ends.
    pub fn new() -> Self {
        let next = vec![("\n", "a"), ("a", "b"), ("b", "c"), ("c", "<|im_end|>")];
        let controls = CONTROLS.to_vec();
        Self {
            architecture: "llama",
            template: Some(CHATML),
            next,
            always: None,
            context_length: 512,
            controls,
            defined: Vec::new(),
            merged: (["h", "i"], 1),
            pre_tokenizer: "gpt-2",
        }
    }

    /// Makes a model that follows this table.
    pub fn saying(next: &[(&'static str, &'static str)]) -> Self {
        Self { next: next.to_vec(), ..Self::new() }
    }

    /// Writes the file of the model.
    pub fn write(&self, path: &Path) {
        fs::write(path, self.bytes()).expect("the directory of a test can be written");
    }

    /// Returns the bytes of its file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = GgufFile::default();
        let tokens = self.vocabulary(&mut file);
        let key = |name: &str| format!("{}.{name}", self.architecture);
        file.text("general.architecture", self.architecture);
        file.text("general.name", "tiny");
        file.number(&key("context_length"), self.context_length);
        file.number(&key("embedding_length"), wide(WIDTH));
        file.number(&key("block_count"), 1);
        file.number(&key("feed_forward_length"), wide(FEED_FORWARD));
        file.number(&key("attention.head_count"), HEADS);
        file.number(&key("attention.head_count_kv"), 1);
        file.float(&key("attention.layer_norm_rms_epsilon"), 1e-5);
        let one_hot = (0..tokens)
            .flat_map(|token| (0..WIDTH).map(move |at| if at == token { 1.0 } else { 0.0 }));
        let mut table = vec![0.0; tokens * WIDTH];
        if let Some(always) = self.always {
            table[self.token_id(always) * WIDTH..][..WIDTH].fill(0.5);
        }
        for (last, next) in &self.next {
            table[self.token_id(next) * WIDTH + self.token_id(last)] = 1.0;
        }
        let head = WIDTH / HEADS as usize;
        let zeros = |rows: usize, columns: usize| vec![0.0; rows * columns];
        file.tensor("token_embd.weight", &[WIDTH, tokens], one_hot.collect());
        file.tensor("output.weight", &[WIDTH, tokens], table);
        file.tensor("output_norm.weight", &[WIDTH], vec![1.0; WIDTH]);
        file.tensor("blk.0.attn_norm.weight", &[WIDTH], vec![1.0; WIDTH]);
        file.tensor("blk.0.ffn_norm.weight", &[WIDTH], vec![1.0; WIDTH]);
        file.tensor("blk.0.attn_q.weight", &[WIDTH, WIDTH], zeros(WIDTH, WIDTH));
        file.tensor("blk.0.attn_k.weight", &[WIDTH, head], zeros(WIDTH, head));
        file.tensor("blk.0.attn_v.weight", &[WIDTH, head], zeros(WIDTH, head));
        file.tensor("blk.0.attn_output.weight", &[WIDTH, WIDTH], zeros(WIDTH, WIDTH));
        file.tensor("blk.0.ffn_gate.weight", &[WIDTH, FEED_FORWARD], zeros(WIDTH, FEED_FORWARD));
        file.tensor("blk.0.ffn_up.weight", &[WIDTH, FEED_FORWARD], zeros(WIDTH, FEED_FORWARD));
        file.tensor("blk.0.ffn_down.weight", &[FEED_FORWARD, WIDTH], zeros(WIDTH, FEED_FORWARD));
        file.finish()
    }

    /// Writes the vocabulary and the template; returns the number of tokens.
    pub fn vocabulary(&self, file: &mut GgufFile) -> usize {
        let controls = self.controls.len();
        let defined = self.defined.len();
        let tokens = PLAIN_TOKENS + controls + defined;
        let names: Vec<String> = (0..tokens).map(|token| self.token_text(token)).collect();
        let (pair, merged) = self.merged;
        let kinds = [(1, PLAIN_TOKENS - 1), (merged, 1), (3, controls), (4, defined)];
        let kinds = kinds.into_iter().flat_map(|(kind, count)| std::iter::repeat_n(kind, count));
        let kinds: Vec<i32> = kinds.collect();
        file.text("tokenizer.ggml.model", "gpt2");
        file.text("tokenizer.ggml.pre", self.pre_tokenizer);
        file.texts("tokenizer.ggml.tokens", &names);
        file.integers("tokenizer.ggml.token_type", &kinds);
        file.texts("tokenizer.ggml.merges", &[pair.join(" ")]);
        file.number("tokenizer.ggml.eos_token_id", wide(self.token_id("<|im_end|>")));
        if let Some(template) = self.template {
            file.text("tokenizer.chat_template", template);
        }
        tokens
    }

    fn specials(&self) -> impl Iterator<Item = &&'static str> {
        self.controls.iter().chain(&self.defined)
    }

    /// Returns the number of a token: a byte's own, or that of a special token.
    pub fn token_id(&self, name: &str) -> usize {
        match self.specials().position(|special| *special == name) {
            Some(at) => PLAIN_TOKENS + at,
            None => usize::from(*name.as_bytes().first().expect("a token has a name")),
        }
    }

    /// Returns the text of a token as byte-level BPE writes it: unprintable bytes have letters of
    /// their own.
    fn token_text(&self, token: usize) -> String {
        if token >= PLAIN_TOKENS {
            let mut specials = self.specials();
            return (*specials.nth(token - PLAIN_TOKENS).expect("it is one of them")).into();
        }
        let Ok(byte) = u8::try_from(token) else { return self.merged.0.concat() };
        let is_plain = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
        if is_plain(byte) {
            return char::from(byte).to_string();
        }
        let before = (0..byte).filter(|other| !is_plain(*other)).count();
        char::from_u32(256 + wide(before)).expect("256 letters follow there").to_string()
    }
}

fn wide(number: usize) -> u32 {
    u32::try_from(number).expect("the model is tiny")
}
