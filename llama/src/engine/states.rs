//! What the context knows of a chat, as bytes: copied out when the chat moves to memory, and in again when it comes back.

use llama_cpp_2::{LlamaStateSeqFlags, context::LlamaContext};

use super::sequence::Sequence;

/// The keys and values of a chat, as the context wrote them. Only this file makes one.
#[derive(Debug)]
pub(super) struct State(Vec<u8>);

impl State {
    /// How much memory it takes.
    pub(super) const fn bytes(&self) -> usize {
        self.0.capacity()
    }

    /// Lets a sequence hold it again, of any context of the engine that it came from. False where that failed, as without room; what the
    /// sequence holds then is to be cleared.
    pub(super) fn restore(&self, context: &mut LlamaContext<'_>, sequence: Sequence) -> bool {
        #[expect(unsafe_code, reason = "the binding's safe way takes only what it allocated")]
        // SAFETY: llama.cpp wrote these bytes itself, and nothing has changed them. They stay inside of one engine, whose contexts
        // are of the same weights and the same `Shape`, but for cells and threads, which are not part of a state.
        unsafe {
            context.state_seq_set_data_ext(&self.0, sequence.id(), LlamaStateSeqFlags::empty())
        }
    }
}

/// Copies states out of a context, into memory that another chat gave back where it fits: an allocator takes 29 ms to hand
/// out and take back 48 MiB, in which no chat generates, and filling them takes 5 ms.
#[derive(Debug)]
pub(super) struct States {
    /// What was given back last. One is enough: where memory is full, each chat that comes sends one away.
    spare: Option<State>,
    /// None is larger.
    max_bytes: usize,
}

impl States {
    pub(super) const fn new(max_bytes: usize) -> Self {
        Self { spare: None, max_bytes }
    }

    /// What a sequence holds; `None` if that is too much, or llama.cpp could not write it.
    pub(super) fn get(&mut self, context: &LlamaContext<'_>, sequence: Sequence) -> Option<State> {
        let flags = LlamaStateSeqFlags::empty();
        let size = context.state_seq_get_size_ext(sequence.id(), flags);
        // llama.cpp says 0 where it failed.
        if size == 0 || size > self.max_bytes {
            return None;
        }
        let mut bytes = self.buffer(size);
        #[expect(unsafe_code, reason = "the binding's safe way allocates for each chat")]
        // SAFETY: the buffer has as many bytes as llama.cpp just said that it writes, which is not 0; nothing has happened
        // to the context since, and nothing can, as it is borrowed. The binding itself names no bound.
        let written =
            unsafe { context.state_seq_get_data_ext(bytes.as_mut_ptr(), sequence.id(), flags) };
        (written == size).then_some(State(bytes))
    }

    /// It is not needed any more.
    pub(super) fn give_back(&mut self, state: State) {
        self.spare = Some(state);
    }

    /// So many bytes. Never a large spare for a small chat: it would be counted for as long as that rests.
    fn buffer(&mut self, size: usize) -> Vec<u8> {
        let fits = |spare: &mut State| (size..=2 * size).contains(&spare.bytes());
        match self.spare.take_if(fits) {
            Some(State(mut bytes)) => {
                bytes.resize(size, 0);
                bytes
            }
            None => vec![0; size],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_given_back_is_used_for_what_takes_at_least_half_of_it() {
        let mut states = States::new(100);
        let spare = Vec::with_capacity(40);
        let place = spare.as_ptr();
        states.give_back(State(spare));
        for size in [41, 19] {
            assert_eq!(states.buffer(size).len(), size);
            assert!(states.spare.is_some(), "for {size} bytes");
        }
        let buffer = states.buffer(20);
        assert_eq!((buffer.as_ptr(), buffer.len(), buffer.capacity()), (place, 20, 40));
        assert!(states.spare.is_none(), "it is in use");
    }
}
