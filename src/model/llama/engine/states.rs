//! What the context knows of a chat, as bytes: copied out when the chat moves to memory, and in again when it comes back.

use llama_cpp_2::{LlamaStateSeqFlags, context::LlamaContext};

use super::sequence::Sequence;

/// The keys and values of a chat, as the context wrote them. Nobody else can make one.
#[derive(Debug)]
pub(super) struct State(Vec<u8>);

impl State {
    /// How much memory it takes.
    pub(super) const fn bytes(&self) -> usize {
        self.0.capacity()
    }
}

/// Copies states out of one context and back, into memory that others gave back where it fits: an allocator takes 29 ms to
/// hand out and take back 48 MiB, in which nobody generates, and 5 ms to fill them.
#[derive(Debug, Default)]
pub(super) struct States {
    /// What was given back last. One is enough: where memory is full, each chat that comes sends one away.
    spare: Option<State>,
}

impl States {
    /// What a sequence holds; `None` if llama.cpp could not write it.
    pub(super) fn get(&mut self, context: &LlamaContext<'_>, sequence: Sequence) -> Option<State> {
        let size = context.state_seq_get_size_ext(sequence.id(), LlamaStateSeqFlags::empty());
        // Not a large one for a small chat: it would be counted, and used, for as long as that rests.
        let fits = |spare: &State| (size..=2 * size).contains(&spare.bytes());
        let mut bytes =
            self.spare.take_if(|spare| fits(spare)).map_or_else(Vec::new, |spare| spare.0);
        bytes.resize(size, 0);
        #[expect(unsafe_code, reason = "the binding's safe way allocates for each chat")]
        // SAFETY: the buffer has as many bytes as llama.cpp just said that it writes for this sequence.
        let written = unsafe {
            context.state_seq_get_data_ext(
                bytes.as_mut_ptr(),
                sequence.id(),
                LlamaStateSeqFlags::empty(),
            )
        };
        (written == size).then_some(State(bytes))
    }

    /// Lets a sequence hold it again; false if there is no room.
    pub(super) fn set(
        &self,
        context: &mut LlamaContext<'_>,
        state: &State,
        sequence: Sequence,
    ) -> bool {
        #[expect(unsafe_code, reason = "the binding's safe way takes only what it allocated")]
        // SAFETY: `get` alone makes states, of the engine's one context, and nobody changes them.
        unsafe {
            context.state_seq_set_data_ext(&state.0, sequence.id(), LlamaStateSeqFlags::empty())
        }
    }

    /// Nobody needs it any more.
    pub(super) fn give_back(&mut self, state: State) {
        self.spare = Some(state);
    }
}
