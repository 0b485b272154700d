//! Copies a chat's part of the context to bytes if it moves to memory, and back if it returns.

use llama_cpp_2::{LlamaStateSeqFlags, context::LlamaContext};

use super::sequence::Sequence;

/// The keys and values of a chat, as the context wrote them. Only this file makes one.
#[derive(Debug)]
pub(super) struct State(Vec<u8>);

impl State {
    /// Returns its size in memory.
    pub(super) const fn bytes(&self) -> usize {
        self.0.capacity()
    }

    /// Makes a sequence hold this state again, in any context of its engine. Returns false if that
    /// failed, for example because there is no room. The caller must then empty the sequence.
    pub(super) fn restore(&self, context: &mut LlamaContext<'_>, sequence: Sequence) -> bool {
        #[expect(unsafe_code, reason = "the binding's safe way takes only what it allocated")]
        // SAFETY: llama.cpp wrote these bytes, and they are unchanged. They stay inside of one
        // engine, whose contexts have the same weights and the same `Shape` but for cells and
        // threads, which no state contains.
        unsafe {
            context.state_seq_set_data_ext(&self.0, sequence.id(), LlamaStateSeqFlags::empty())
        }
    }
}

/// Copies states out of a context, into memory that another chat gave back if it fits. To allocate
/// 48 MiB takes 29 ms, in which no chat generates. To fill them takes 5 ms.
#[derive(Debug)]
pub(super) struct States {
    /// The memory that was returned last. One is enough, because each new chat replaces one when
    /// memory is full.
    spare: Option<State>,
    /// The largest size.
    max_bytes: usize,
}

impl States {
    pub(super) const fn new(max_bytes: usize) -> Self {
        Self { spare: None, max_bytes }
    }

    /// Returns the content of a sequence, or `None` if it is too large, or llama.cpp failed.
    pub(super) fn get(&mut self, context: &LlamaContext<'_>, sequence: Sequence) -> Option<State> {
        let flags = LlamaStateSeqFlags::empty();
        let size = context.state_seq_get_size_ext(sequence.id(), flags);
        // llama.cpp returns 0 after a failure.
        if size == 0 || size > self.max_bytes {
            return None;
        }
        let mut bytes = self.buffer(size);
        #[expect(unsafe_code, reason = "the binding's safe way allocates for each chat")]
        // SAFETY: the buffer has the size that llama.cpp just returned, which is not 0. The context
        // is borrowed, so it has not changed since. The binding itself names no bound.
        let written =
            unsafe { context.state_seq_get_data_ext(bytes.as_mut_ptr(), sequence.id(), flags) };
        (written == size).then_some(State(bytes))
    }

    /// Takes memory that is no longer needed.
    pub(super) fn give_back(&mut self, state: State) {
        self.spare = Some(state);
    }

    /// Returns a buffer. A large spare one is not used for a small chat, because all of it would
    /// count while the chat rests.
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
        let address = spare.as_ptr();
        states.give_back(State(spare));
        for size in [41, 19] {
            assert_eq!(states.buffer(size).len(), size);
            assert!(states.spare.is_some(), "for {size} bytes");
        }
        let buffer = states.buffer(20);
        assert_eq!((buffer.as_ptr(), buffer.len(), buffer.capacity()), (address, 20, 40));
        assert!(states.spare.is_none(), "it is in use");
    }
}
