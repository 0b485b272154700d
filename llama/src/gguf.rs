//! Reads and checks the header of a GGUF file before llama.cpp does. Faults that llama.cpp would
//! only log, or on which it would abort the process, become errors.

use std::{
    collections::HashSet,
    fs::File,
    io::{BufReader, ErrorKind, Read},
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use super::LoadError;

/// The header of a GGUF file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Gguf {
    /// The kind of model, e.g. `llama`.
    pub(super) architecture: String,
    /// Its name, for people.
    pub(super) name: Option<String>,
    /// Its chat template.
    pub(super) chat_template: Option<String>,
    /// A second template that is meant for tools.
    pub(super) tool_template: Option<String>,
    /// The number of tokens in its vocabulary.
    pub(super) vocabulary_len: usize,
}

/// The architectures of llama.cpp that only encode.
const ENCODERS: [&str; 9] = [
    "bert",
    "modern-bert",
    "nomic-bert",
    "nomic-bert-moe",
    "neo-bert",
    "jina-bert-v2",
    "jina-bert-v3",
    "t5encoder",
    "clip",
];

impl Gguf {
    /// Reads the header and checks that the file is as long as it must be.
    pub(super) fn read(path: &Path) -> Result<Self, LoadError> {
        let unreadable = |cause: std::io::Error| {
            if cause.kind() == ErrorKind::NotFound {
                return LoadError::NotFound { path: path.into() };
            }
            LoadError::Read { path: path.into(), cause }
        };
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(unreadable(ErrorKind::IsADirectory.into()));
        }
        let mut header =
            Header { path: path.into(), file: BufReader::new(file), at: 0, len: metadata.len() };
        let gguf = header.read()?;
        if ENCODERS.contains(&gguf.architecture.as_str()) || gguf.vocabulary_len == 0 {
            return Err(LoadError::WritesNoText {
                path: path.into(),
                architecture: gguf.architecture,
            });
        }
        Ok(gguf)
    }
}

struct Header {
    path: PathBuf,
    file: BufReader<File>,
    at: u64,
    len: u64,
}

impl Header {
    fn read(&mut self) -> Result<Gguf, LoadError> {
        if self.len < 4 || self.bytes(4)? != b"GGUF" {
            return Err(LoadError::NotGguf { path: self.path.clone() });
        }
        let version = self.u32()?;
        if !(2..=3).contains(&version) {
            return Err(LoadError::Version { path: self.path.clone(), version });
        }
        let tensors = self.u64()?;
        let pairs = self.u64()?;
        let mut gguf = Gguf::default();
        let mut alignment = 32;
        for _ in 0..pairs {
            let key = self.string()?;
            let kind = self.u32()?;
            match (key.as_str(), kind) {
                ("general.architecture", STRING) => gguf.architecture = self.string()?,
                ("general.name", STRING) => gguf.name = Some(self.string()?),
                ("tokenizer.chat_template", STRING) => gguf.chat_template = Some(self.string()?),
                ("tokenizer.chat_template.tool_use", STRING) => {
                    gguf.tool_template = Some(self.string()?)
                }
                ("general.alignment", U32) => alignment = u64::from(self.u32()?),
                ("tokenizer.ggml.tokens", ARRAY) => gguf.vocabulary_len = self.vocabulary()?,
                (key, U32) if key.ends_with(".block_count") => {
                    let layers = self.u32()?;
                    if !LAYERS.contains(&layers) {
                        return Err(self.damaged(&format!("it has {layers} layers")));
                    }
                }
                (key, U32) if key.ends_with(".context_length") => {
                    let tokens = self.u32()?;
                    if i32::try_from(tokens).is_err() {
                        return Err(self.damaged(&format!("its context has {tokens} tokens")));
                    }
                }
                (key, F32) if key.ends_with("_epsilon") => {
                    let epsilon = f32::from_bits(self.u32()?);
                    if epsilon.is_nan() || epsilon < 0.0 {
                        return Err(self.damaged(&format!("its {key} is {epsilon}")));
                    }
                }
                (_, ARRAY) => self.skip_array()?,
                (_, kind) => self.skip_value(kind)?,
            }
        }
        if gguf.architecture.is_empty() {
            return Err(self.damaged("it names no architecture"));
        }
        if !alignment.is_power_of_two() {
            return Err(self.damaged("its alignment is not a power of two"));
        }
        self.check_tensors(tensors, alignment)?;
        Ok(gguf)
    }

    /// Checks that the data of every tensor lies inside the file.
    fn check_tensors(&mut self, tensors: u64, alignment: u64) -> Result<(), LoadError> {
        let mut end = 0;
        for _ in 0..tensors {
            let name = self.string()?;
            let dimensions = self.u32()?;
            if dimensions > 4 {
                return Err(self.damaged(&format!("tensor {name:?} has {dimensions} dimensions")));
            }
            let mut elements = 1_u64;
            for _ in 0..dimensions {
                let size = self.u64()?;
                elements = elements
                    .checked_mul(size)
                    .ok_or_else(|| self.damaged("a tensor is impossibly large"))?;
            }
            let kind = self.u32()?;
            let offset = self.u64()?;
            let bytes = tensor_bytes(kind, elements);
            let tensor_end = offset
                .checked_add(bytes)
                .ok_or_else(|| self.damaged("a tensor lies impossibly far out"))?;
            end = tensor_end.max(end);
        }
        let data = self.at.next_multiple_of(alignment);
        if data.checked_add(end).is_none_or(|needed| needed > self.len) {
            return Err(self.truncated());
        }
        Ok(())
    }

    /// Reads the tokens only to refuse equal ones, on which llama.cpp aborts.
    fn vocabulary(&mut self) -> Result<usize, LoadError> {
        let kind = self.u32()?;
        let len = self.u64()?;
        if kind != STRING {
            return Err(self.damaged("its tokens are not texts"));
        }
        let mut seen = HashSet::new();
        for _ in 0..len {
            let token_len = self.u64()?;
            let token = self.bytes(token_len)?;
            if !seen.insert(token) {
                return Err(self.damaged("two of its tokens are alike"));
            }
        }
        Ok(seen.len())
    }

    fn skip_array(&mut self) -> Result<(), LoadError> {
        let kind = self.u32()?;
        let len = self.u64()?;
        if kind == STRING {
            for _ in 0..len {
                let bytes = self.u64()?;
                self.skip(bytes)?;
            }
            return Ok(());
        }
        let width = self.width(kind)?;
        let bytes = len.checked_mul(width).ok_or_else(|| self.truncated())?;
        self.skip(bytes)
    }

    fn skip_value(&mut self, kind: u32) -> Result<(), LoadError> {
        let bytes = if kind == STRING { self.u64()? } else { self.width(kind)? };
        self.skip(bytes)
    }

    fn width(&self, kind: u32) -> Result<u64, LoadError> {
        match kind {
            0 | 1 | 7 => Ok(1),
            2 | 3 => Ok(2),
            4..=6 => Ok(4),
            10..=12 => Ok(8),
            _ => Err(self.damaged(&format!("a value has the unknown type {kind}"))),
        }
    }

    fn string(&mut self) -> Result<String, LoadError> {
        let len = self.u64()?;
        let bytes = self.bytes(len)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn u32(&mut self) -> Result<u32, LoadError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, LoadError> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], LoadError> {
        let mut bytes = [0; N];
        self.exactly(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads bytes. Allocates no memory for an impossible length.
    fn bytes(&mut self, len: u64) -> Result<Vec<u8>, LoadError> {
        if len > self.len - self.at {
            return Err(self.truncated());
        }
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| self.truncated())?];
        self.exactly(&mut bytes)?;
        Ok(bytes)
    }

    fn skip(&mut self, len: u64) -> Result<(), LoadError> {
        if len > self.len - self.at {
            return Err(self.truncated());
        }
        let offset = i64::try_from(len).map_err(|_| self.truncated())?;
        self.file
            .seek_relative(offset)
            .map_err(|cause| LoadError::Read { path: self.path.clone(), cause })?;
        self.at += len;
        Ok(())
    }

    fn exactly(&mut self, bytes: &mut [u8]) -> Result<(), LoadError> {
        self.file.read_exact(bytes).map_err(|cause| {
            if cause.kind() == ErrorKind::UnexpectedEof {
                return self.truncated();
            }
            LoadError::Read { path: self.path.clone(), cause }
        })?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn truncated(&self) -> LoadError {
        LoadError::Truncated { path: self.path.clone(), actual: self.len }
    }

    fn damaged(&self, problem: &str) -> LoadError {
        LoadError::Damaged { path: self.path.clone(), problem: problem.into() }
    }
}

/// The numbers of layers that llama.cpp accepts. It aborts on others.
const LAYERS: RangeInclusive<u32> = 1..=512;

const U32: u32 = 4;
const F32: u32 = 6;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// Returns the bytes of a tensor. For an unknown type only the position is checked, because
/// llama.cpp refuses the type or knows it.
fn tensor_bytes(kind: u32, elements: u64) -> u64 {
    let (block, bytes) = match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        24 => (1, 1),
        27 | 28 => (1, 8),
        2 | 20 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        10 => (256, 84),
        11 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        39 => (32, 17),
        _ => return 0,
    };
    (elements / block).saturating_mul(bytes)
}
