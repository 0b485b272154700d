//! Loads the part of llama.cpp that computes, in the variant for this processor, for programs with
//! the feature `portable`.
//!
//! Such a program lies in one folder with the libraries of llama.cpp (`scripts/portable.sh`). No
//! other folder is searched: ggml's own search would also load a file of the working directory, or
//! one that an environment variable names.

use std::{ffi::CString, path::Path};

/// The variants, first those that use more of a processor. Without `sapphirerapids`: virtual
/// machines report its matrix unit, and its instructions are illegal there.
const VARIANTS: [&str; 13] = [
    "zen4",
    "cooperlake",
    "icelake",
    "cascadelake",
    "cannonlake",
    "skylakex",
    "alderlake",
    "haswell",
    "piledriver",
    "ivybridge",
    "sandybridge",
    "sse42",
    "x64",
];

/// Loads the best variant that this processor can run. Must be called before anything else of
/// llama.cpp, which otherwise searches by itself.
///
/// # Errors
/// Returns the folder in which there is none.
#[cfg(feature = "portable")]
pub(super) fn load_variant() -> Result<(), std::path::PathBuf> {
    let program = std::env::current_exe().unwrap_or_default();
    let folder = program.parent().unwrap_or(Path::new(""));
    // A program that has been replaced while it ran would load the libraries of another version.
    if program.is_file() && first_loaded(folder, load) { Ok(()) } else { Err(folder.into()) }
}

/// Loads files from the folder until one has been loaded, and returns whether one has.
fn first_loaded(folder: &Path, mut load: impl FnMut(&Path) -> bool) -> bool {
    // What a relative path means depends on the working directory.
    folder.is_absolute()
        && VARIANTS.iter().any(|variant| load(&folder.join(format!("libggml-cpu-{variant}.so"))))
}

/// Loads a variant. Returns false if the file is missing, or needs another processor.
fn load(path: &Path) -> bool {
    let Ok(text) = CString::new(path.as_os_str().as_encoded_bytes()) else { return false };
    if !path.is_file() {
        return false;
    }
    #[expect(unsafe_code, reason = "the binding's way also loads what a variable names")]
    // SAFETY: the text ends with a zero byte and outlives the call. The library is the program's
    // own. Only `backend` comes here, once, so no other thread loads or computes.
    let loaded = unsafe { llama_cpp_sys_2::ggml_backend_load(text.as_ptr()) };
    !loaded.is_null()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{VARIANTS, first_loaded, load};

    /// Returns the files that are tried in this folder if only those are good that end so.
    fn tried(folder: &str, good: &str) -> Vec<PathBuf> {
        let mut tried = Vec::new();
        first_loaded(Path::new(folder), |path| {
            tried.push(path.to_path_buf());
            path.to_string_lossy().ends_with(good)
        });
        tried
    }

    #[test]
    fn only_files_of_the_folder_are_tried_until_one_is_good() {
        let haswell = tried("/opt/madang", "-haswell.so");
        assert_eq!(haswell.first(), Some(&PathBuf::from("/opt/madang/libggml-cpu-zen4.so")));
        assert_eq!(haswell.last(), Some(&PathBuf::from("/opt/madang/libggml-cpu-haswell.so")));
        let all = tried("/opt/madang", "none");
        assert_eq!(all.len(), VARIANTS.len());
        assert!(all.iter().all(|path| path.parent() == Some(Path::new("/opt/madang"))));
    }

    #[test]
    fn nothing_is_searched_in_the_working_directory() {
        for folder in ["", ".", "lib/madang"] {
            assert_eq!(tried(folder, ".so"), Vec::<PathBuf>::new());
        }
    }

    #[test]
    fn a_folder_without_libraries_loads_none() {
        let folder = tempfile::TempDir::new().unwrap();
        assert!(!first_loaded(folder.path(), load));
    }
}
