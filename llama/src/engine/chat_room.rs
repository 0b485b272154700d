//! Chooses how many tokens a chat may have: as many as the model was trained for, and as there is
//! memory for.

use std::{fs, path::Path};

use llama_cpp_2::{
    LlamaBackendDeviceType, list_llama_ggml_backend_devices, model::LlamaModel as Weights,
};

use crate::gguf::Gguf;

/// What the choice depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Means {
    /// The tokens of the longest text in training.
    trained: u32,
    /// The bytes that a context keeps for a token.
    token_bytes: u64,
    /// The bytes that are free for contexts.
    free_bytes: u64,
}

impl Means {
    /// Looks at the model and at the machine, or at its graphics card if it keeps layers.
    pub(super) fn of(weights: &Weights, gguf: &Gguf, gpu_layers: u32) -> Self {
        let free_bytes = match card_bytes().filter(|_| gpu_layers > 0) {
            Some(bytes) => bytes,
            None => memory_bytes(),
        };
        Self { trained: weights.n_ctx_train(), token_bytes: token_bytes(weights, gguf), free_bytes }
    }

    /// Returns the tokens of a chat: as many as were asked for, or as half of the free memory
    /// holds.
    pub(super) fn room(self, asked: Option<u32>) -> u32 {
        let chosen = || {
            let tokens = self.free_bytes / 2 / CONTEXTS / self.token_bytes.max(1);
            let tokens = u32::try_from(tokens).unwrap_or(u32::MAX) / STEP * STEP;
            tokens.clamp(LEAST, MOST)
        };
        asked.unwrap_or_else(chosen).min(self.trained)
    }
}

/// Returns the default for the tokens of all chats together, if a chat has this room. It is enough
/// for four chats if they cost no more than many short ones need.
pub(super) fn cells(room: u32) -> u32 {
    room.saturating_mul(CHATS).min(CELLS).max(room)
}

/// The most tokens that are chosen for a chat. A processor reads more of them for minutes, and most
/// chats need fewer.
const MOST: u32 = 32_768;
/// The fewest tokens that are chosen, however little memory seems free: a few tools and a short
/// chat.
const LEAST: u32 = 4_096;
/// A choice is a multiple of these, as llama.cpp rounds.
const STEP: u32 = 256;
/// The main context, and the two of a prefill worker.
const CONTEXTS: u64 = 3;
/// The whole chats that fit into the context at once, or many more short ones.
const CHATS: u32 = 4;
/// How many tokens of a context many short chats fill. More of them would cost memory from the
/// start.
const CELLS: u32 = CHATS * LEAST;
/// The bytes of a number in the cache of keys and values, a half-precision float.
const NUMBER_BYTES: u64 = 2;

/// Counts the bytes of a token's keys and values in all layers. Layers with a window or a state
/// keep less.
fn token_bytes(weights: &Weights, gguf: &Gguf) -> u64 {
    let told = |name: &str| {
        let key = format!("{}.attention.{name}", gguf.architecture);
        weights.meta_val_str(&key).ok()?.trim().parse::<u64>().ok()
    };
    let heads = u64::from(weights.n_head().max(1));
    let head = u64::try_from(weights.n_embd()).unwrap_or(0) / heads;
    let pair = told("key_length").unwrap_or(head) + told("value_length").unwrap_or(head);
    u64::from(weights.n_layer()) * u64::from(weights.n_head_kv().max(1)) * pair * NUMBER_BYTES
}

/// Returns the free memory of all graphics cards. Returns `None` if there is no card.
fn card_bytes() -> Option<u64> {
    let cards = list_llama_ggml_backend_devices().into_iter().filter(|device| {
        matches!(
            device.device_type,
            LlamaBackendDeviceType::Gpu | LlamaBackendDeviceType::IntegratedGpu
        )
    });
    let free = cards.map(|card| card.memory_free as u64).reduce(|all, card| all + card);
    free.filter(|bytes| *bytes > 0)
}

/// Returns the free memory of the machine, or of the group that this process is confined to. If the
/// system does not say how much is free, it counts all memory that llama.cpp names.
fn memory_bytes() -> u64 {
    let read = |path: &str| fs::read_to_string(Path::new(path)).ok();
    let free = read("/proc/meminfo").and_then(|text| named(&text, "MemAvailable:"));
    let free = free.map(|kib| kib.saturating_mul(1_024)).or_else(|| {
        let machine = list_llama_ggml_backend_devices();
        let machine = machine.iter().find(|one| one.device_type == LlamaBackendDeviceType::Cpu);
        machine.map(|machine| machine.memory_total as u64)
    });
    let bound = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse::<u64>().ok());
    let bound = bound.map(|bound| {
        // What files occupy is given back when it is needed.
        let used = read("/sys/fs/cgroup/memory.stat").and_then(|text| named(&text, "anon"));
        bound.saturating_sub(used.unwrap_or(0))
    });
    free.unwrap_or(0).min(bound.unwrap_or(u64::MAX))
}

/// Returns the number after a name at the beginning of a line.
fn named(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn the_room_of_a_chat_comes_from_training_and_memory_unless_it_is_asked_for() {
        // Llama 3 8B keeps 128 KiB for a token, a model of 1B 16 KiB.
        let room = |trained, kib: u64, gib: u64, asked| {
            Means { trained, token_bytes: kib << 10, free_bytes: gib * GIB }.room(asked)
        };
        assert_eq!(room(131_072, 128, 32, None), MOST, "a documented bound, not the training's");
        assert_eq!(room(131_072, 128, 16, None), 21_760);
        assert_eq!(room(131_072, 128, 1, None), LEAST, "a small chat is tried in any case");
        assert_eq!(room(131_072, 16, 4, None), MOST);
        assert_eq!(room(2_048, 16, 64, None), 2_048, "never more than it was trained for");
        assert_eq!(room(131_072, 0, 0, None), LEAST);
        assert_eq!(room(131_072, 128, 1, Some(100_000)), 100_000);
        assert_eq!(room(8_192, 128, 64, Some(100_000)), 8_192);
        assert_eq!(room(8_192, 128, 64, Some(512)), 512);
    }

    #[test]
    fn longer_chats_do_not_multiply_the_memory_that_is_taken_at_the_start() {
        assert_eq!([512, 1_280, 4_096].map(cells), [2_048, 5_120, 16_384]);
        assert_eq!([16_384, 32_768, u32::MAX].map(cells), [16_384, 32_768, u32::MAX]);
    }

    #[test]
    fn a_figure_of_the_system_is_found_by_its_whole_name() {
        let text = "MemTotal:  65 kB\nMemAvailable:   12345 kB\nanon 7\nanon_thp 9\n";
        assert_eq!(named(text, "MemAvailable:"), Some(12_345));
        assert_eq!(named(text, "anon"), Some(7));
        assert_eq!(named(text, "MemFree:"), None);
        assert_eq!(named("MemAvailable: none", "MemAvailable:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_free_memory_of_this_machine_is_found() {
        assert!(memory_bytes() > 0);
    }
}
