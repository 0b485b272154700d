//! Writes GGUF files for models of tests and benches.

mod tiny_model;

pub use tiny_model::{CHATML, CONTROLS, TinyModel};

/// A GGUF file of version 3 in memory.
#[derive(Debug, Default)]
pub struct GgufFile {
    pairs: Vec<u8>,
    pair_count: u64,
    tensors: Vec<u8>,
    tensor_count: u64,
    data: Vec<u8>,
}

impl GgufFile {
    fn key(&mut self, key: &str, kind: u32) {
        push_text(&mut self.pairs, key);
        self.pairs.extend(kind.to_le_bytes());
        self.pair_count += 1;
    }

    /// Adds a text.
    pub fn text(&mut self, key: &str, text: &str) {
        self.key(key, 8);
        push_text(&mut self.pairs, text);
    }

    /// Adds a whole number.
    pub fn number(&mut self, key: &str, number: u32) {
        self.key(key, 4);
        self.pairs.extend(number.to_le_bytes());
    }

    /// Adds a number with a fraction.
    pub fn float(&mut self, key: &str, number: f32) {
        self.key(key, 6);
        self.pairs.extend(number.to_le_bytes());
    }

    /// Adds a list of texts.
    pub fn texts(&mut self, key: &str, texts: &[String]) {
        self.key(key, 9);
        self.pairs.extend(8_u32.to_le_bytes());
        self.pairs.extend((texts.len() as u64).to_le_bytes());
        for text in texts {
            push_text(&mut self.pairs, text);
        }
    }

    /// Adds a list of whole numbers.
    pub fn integers(&mut self, key: &str, numbers: &[i32]) {
        self.key(key, 9);
        self.pairs.extend(5_u32.to_le_bytes());
        self.pairs.extend((numbers.len() as u64).to_le_bytes());
        self.pairs.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }

    /// Adds a tensor of numbers.
    pub fn tensor(&mut self, name: &str, dimensions: &[usize], numbers: Vec<f32>) {
        let bytes = numbers.into_iter().flat_map(f32::to_le_bytes);
        self.quantised(name, dimensions, 0, bytes);
    }

    /// Adds a tensor whose bytes have this type of ggml.
    pub fn quantised(
        &mut self,
        name: &str,
        dimensions: &[usize],
        kind: u32,
        bytes: impl IntoIterator<Item = u8>,
    ) {
        push_text(&mut self.tensors, name);
        self.tensors.extend(wide(dimensions.len()).to_le_bytes());
        for dimension in dimensions {
            self.tensors.extend((*dimension as u64).to_le_bytes());
        }
        self.tensors.extend(kind.to_le_bytes());
        self.data.resize(self.data.len().next_multiple_of(32), 0);
        self.tensors.extend((self.data.len() as u64).to_le_bytes());
        self.data.extend(bytes);
        self.tensor_count += 1;
    }

    /// Returns the bytes of the file.
    pub fn finish(self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend(self.tensor_count.to_le_bytes());
        file.extend(self.pair_count.to_le_bytes());
        file.extend(self.pairs);
        file.extend(self.tensors);
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend(self.data);
        file
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn wide(number: usize) -> u32 {
    u32::try_from(number).expect("no tensor has so many dimensions")
}
