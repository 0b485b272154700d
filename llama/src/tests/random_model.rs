//! Small random models in which each token depends on all before it, with different kinds of
//! memory.

use madang_test_support::gguf::{GgufFile, TinyModel};

const WIDTH: usize = 64;
const FEED_FORWARD: usize = 64;

/// Makes a model in which three of four layers look only at the last 24 tokens. Earlier ones act
/// through the fourth.
pub(crate) fn windowed() -> Vec<u8> {
    let mut file = GgufFile::default();
    file.number("cohere2.attention.sliding_window", 24);
    file.float("cohere2.attention.layer_norm_epsilon", 1e-5);
    file.float("cohere2.logit_scale", 1.0);
    written(file, "cohere2", 4, |layer| attention(layer, &[("attn_norm", 1.0)]))
}

/// Makes a model whose file does not name the window of 4,096 tokens of half of its layers.
pub(crate) fn with_unnamed_window() -> Vec<u8> {
    let mut file = GgufFile::default();
    file.float("gemma2.attention.layer_norm_rms_epsilon", 1e-5);
    // The layers' output is louder than the token itself, which the model would otherwise repeat
    // for ever.
    let norms = [
        ("attn_norm", 1.0),
        ("post_attention_norm", 6.0),
        ("ffn_norm", 1.0),
        ("post_ffw_norm", 6.0),
    ];
    written(file, "gemma2", 2, |layer| attention(layer, &norms))
}

/// Makes a model that sums up all tokens in one state.
pub(crate) fn recurrent() -> Vec<u8> {
    const STATE: usize = 8;
    const KERNEL: usize = 4;
    const RANK: usize = 4;
    const INNER: usize = 2 * WIDTH;
    let mut file = GgufFile::default();
    file.float("mamba.attention.layer_norm_rms_epsilon", 1e-5);
    file.number("mamba.ssm.conv_kernel", wide(KERNEL));
    file.number("mamba.ssm.inner_size", wide(INNER));
    file.number("mamba.ssm.state_size", wide(STATE));
    file.number("mamba.ssm.time_step_rank", wide(RANK));
    written(file, "mamba", 2, |layer| {
        let weight = |part: &str| format!("blk.{layer}.{part}.weight");
        let bias = |part: &str| format!("blk.{layer}.{part}.bias");
        vec![
            (weight("attn_norm"), vec![WIDTH], Fill::Each(1.0)),
            (weight("ssm_in"), vec![WIDTH, 2 * INNER], Fill::Random),
            (weight("ssm_conv1d"), vec![KERNEL, INNER], Fill::Random),
            (bias("ssm_conv1d"), vec![INNER], Fill::Each(0.0)),
            (weight("ssm_x"), vec![INNER, RANK + 2 * STATE], Fill::Random),
            (weight("ssm_dt"), vec![RANK, INNER], Fill::Random),
            (bias("ssm_dt"), vec![INNER], Fill::Each(0.0)),
            // It forgets slowly.
            (format!("blk.{layer}.ssm_a"), vec![STATE, INNER], Fill::Each(-0.1)),
            (format!("blk.{layer}.ssm_d"), vec![INNER], Fill::Each(1.0)),
            (weight("ssm_out"), vec![INNER, WIDTH], Fill::Random),
        ]
    })
}

/// The content of a tensor.
#[derive(Clone, Copy)]
enum Fill {
    Random,
    Each(f32),
}

type Tensor = (String, Vec<usize>, Fill);

fn attention(layer: usize, norms: &[(&str, f32)]) -> Vec<Tensor> {
    let name = |part: &str| format!("blk.{layer}.{part}.weight");
    let norms = norms.iter().map(|(norm, each)| (name(norm), vec![WIDTH], Fill::Each(*each)));
    let weights = [
        ("attn_q", WIDTH, WIDTH),
        ("attn_k", WIDTH, WIDTH / 2),
        ("attn_v", WIDTH, WIDTH / 2),
        ("attn_output", WIDTH, WIDTH),
        ("ffn_gate", WIDTH, FEED_FORWARD),
        ("ffn_up", WIDTH, FEED_FORWARD),
        ("ffn_down", FEED_FORWARD, WIDTH),
    ];
    let weights = weights
        .iter()
        .map(|(part, columns, rows)| (name(part), vec![*columns, *rows], Fill::Random));
    norms.chain(weights).collect()
}

fn written(
    mut file: GgufFile,
    architecture: &str,
    layers: usize,
    tensors: impl Fn(usize) -> Vec<Tensor>,
) -> Vec<u8> {
    let key = |name: &str| format!("{architecture}.{name}");
    file.text("general.architecture", architecture);
    file.text("general.name", architecture);
    file.number(&key("context_length"), 8_192);
    file.number(&key("embedding_length"), wide(WIDTH));
    file.number(&key("block_count"), wide(layers));
    file.number(&key("feed_forward_length"), wide(FEED_FORWARD));
    file.number(&key("attention.head_count"), 4);
    file.number(&key("attention.head_count_kv"), 2);
    let tokens = TinyModel::new().vocabulary(&mut file);
    let mut state = 11_u64;
    let mut random = |columns: usize, count: usize| -> Vec<f32> {
        let scale = 3.0 / (columns as f32).sqrt();
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 40) as f32 / (1_u32 << 23) as f32 - 1.0) * scale
        };
        (0..count).map(next).collect()
    };
    let mut embeddings = random(WIDTH, WIDTH * tokens);
    // It writes only ASCII, because other bytes would come back changed in the next prompt.
    embeddings[128 * WIDTH..].fill(0.0);
    file.tensor("token_embd.weight", &[WIDTH, tokens], embeddings);
    file.tensor("output_norm.weight", &[WIDTH], vec![1.0; WIDTH]);
    for (name, dimensions, fill) in (0..layers).flat_map(tensors) {
        let count = dimensions.iter().product();
        let numbers = match fill {
            Fill::Random => random(dimensions[0], count),
            Fill::Each(number) => vec![number; count],
        };
        file.tensor(&name, &dimensions, numbers);
    }
    file.finish()
}

fn wide(number: usize) -> u32 {
    u32::try_from(number).expect("the model is small")
}
