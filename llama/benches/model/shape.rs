//! Models in the shape of real ones, with random weights: as fast, and meaningless.

use madang_test_support::gguf::GgufFile;

/// The shape of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    layers: usize,
    width: usize,
    heads: usize,
    kv_heads: usize,
    feed_forward: usize,
}

/// Half a billion parameters: an answer of a processor takes minutes with more.
pub(crate) const SMALL: Shape =
    Shape { name: "0.5 B", layers: 24, width: 896, heads: 14, kv_heads: 2, feed_forward: 4_864 };
/// Eight billion parameters, for a graphics card.
pub(crate) const LARGE: Shape =
    Shape { name: "8 B", layers: 32, width: 4_096, heads: 32, kv_heads: 8, feed_forward: 14_336 };

const TOKENS: usize = 150_000;
/// The number of the type in `ggml`.
const Q4_0: u32 = 2;
/// 2^-8 as a number of 16 bits.
const SCALE: u16 = 0x1c00;
/// 2^-4.
const LOUD: u16 = 0x2c00;
/// The last token is so loud that the model calls a tool every few tokens, if it may.
const CONTROLS: [&str; 4] = ["<|im_start|>", "<|im_end|>", "</tool_call>", "<tool_call>"];

const TEMPLATE: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}\
    {% for call in m.tool_calls or [] %}<tool_call>\n{{ call.function | tojson }}\n</tool_call>{% endfor %}\
    <|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\n' }}";

/// Makes the bytes of the file. Each byte of a text is one token.
pub(crate) fn file(shape: Shape) -> Vec<u8> {
    let Shape { name, layers, width, heads, kv_heads, feed_forward } = shape;
    let mut file = GgufFile::default();
    let names: Vec<String> = (0..TOKENS).map(token_text).collect();
    let kinds: Vec<i32> = (0..TOKENS).map(|token| if is_control(token) { 3 } else { 1 }).collect();
    file.text("general.architecture", "llama");
    file.text("general.name", name);
    file.number("llama.context_length", 8_192);
    file.number("llama.embedding_length", wide(width));
    file.number("llama.block_count", wide(layers));
    file.number("llama.feed_forward_length", wide(feed_forward));
    file.number("llama.attention.head_count", wide(heads));
    file.number("llama.attention.head_count_kv", wide(kv_heads));
    file.number("llama.rope.dimension_count", wide(width / heads));
    file.float("llama.attention.layer_norm_rms_epsilon", 1e-5);
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", "gpt-2");
    file.texts("tokenizer.ggml.tokens", &names);
    file.integers("tokenizer.ggml.token_type", &kinds);
    file.texts("tokenizer.ggml.merges", &["h i".to_owned()]);
    file.number("tokenizer.ggml.eos_token_id", wide(TOKENS - CONTROLS.len() + 1));
    file.text("tokenizer.chat_template", TEMPLATE);
    let mut random = Random(7);
    let mut tokens: Vec<u8> = random.take_blocks(width / 32 * (TOKENS - 1), SCALE).collect();
    tokens.extend(random.take_blocks(width / 32, LOUD));
    file.quantised("token_embd.weight", &[width, TOKENS], Q4_0, tokens);
    let mut matrix = |file: &mut GgufFile, name: &str, columns: usize, rows: usize| {
        let blocks = columns / 32 * rows;
        file.quantised(name, &[columns, rows], Q4_0, random.take_blocks(blocks, SCALE));
    };
    file.tensor("output_norm.weight", &[width], vec![1.0; width]);
    let kv = width / heads * kv_heads;
    for layer in 0..layers {
        let tensor = |part: &str| format!("blk.{layer}.{part}.weight");
        file.tensor(&tensor("attn_norm"), &[width], vec![1.0; width]);
        file.tensor(&tensor("ffn_norm"), &[width], vec![1.0; width]);
        matrix(&mut file, &tensor("attn_q"), width, width);
        matrix(&mut file, &tensor("attn_k"), width, kv);
        matrix(&mut file, &tensor("attn_v"), width, kv);
        matrix(&mut file, &tensor("attn_output"), width, width);
        matrix(&mut file, &tensor("ffn_gate"), width, feed_forward);
        matrix(&mut file, &tensor("ffn_up"), width, feed_forward);
        matrix(&mut file, &tensor("ffn_down"), feed_forward, width);
    }
    file.finish()
}

const fn is_control(token: usize) -> bool {
    token >= TOKENS - CONTROLS.len()
}

/// Makes a byte-level vocabulary: bytes first, one merged pair, then unmerged words.
fn token_text(token: usize) -> String {
    if is_control(token) {
        return CONTROLS[token + CONTROLS.len() - TOKENS].to_owned();
    }
    let Ok(byte) = u8::try_from(token) else {
        return if token == 256 { "hi".to_owned() } else { format!("w{token}") };
    };
    let is_plain = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    if is_plain(byte) {
        return char::from(byte).to_string();
    }
    let before = (0..byte).filter(|other| !is_plain(*other)).count();
    char::from_u32(256 + wide(before)).expect("256 letters follow there").to_string()
}

fn wide(number: usize) -> u32 {
    u32::try_from(number).expect("numbers of a model are small")
}

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    /// Makes blocks of 32 weights: a scale in 16 bits, and 4 bits for each weight.
    fn take_blocks(&mut self, count: usize, scale: u16) -> impl Iterator<Item = u8> + '_ {
        (0..count).flat_map(move |_| {
            let mut block = [0; 18];
            block[..2].copy_from_slice(&scale.to_le_bytes());
            block[2..10].copy_from_slice(&self.next().to_le_bytes());
            block[10..].copy_from_slice(&self.next().to_le_bytes());
            block
        })
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}
