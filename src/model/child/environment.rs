//! Selects the environment variables that a program passes on to the process of its model.

use std::ffi::{OsStr, OsString};

/// Variables that a model's process needs: to find libraries, files and the user's language, and to
/// log.
const NAMES: [&str; 27] = [
    "APPDATA",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LLVM_PROFILE_FILE",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "NVIDIA_VISIBLE_DEVICES",
    "PATH",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_MIN_STACK",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USERPROFILE",
    "WINDIR",
    "XDG_CACHE_HOME",
];

/// What the names of variables begin with by which llama.cpp, its threads and the drivers of cards
/// are set.
const BEGINNINGS: [&str; 14] = [
    "CUDA_", "GGML_", "GOMP_", "HIP_", "HSA_", "KMP_", "LC_", "MTL_", "OMP_", "ONEAPI_", "ROCR_",
    "SYCL_", "VK_", "ZE_",
];

/// Words in the names of secrets. A variable with one of them stays here, however its name begins.
const SECRETS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// Returns the variables that a model's process needs. A model file may be hostile, so the process
/// that reads it must not have the keys of providers or databases.
pub(super) fn passed_on(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    variables.filter(|(name, _)| is_passed_on(name))
}

fn is_passed_on(name: &OsStr) -> bool {
    // Windows ignores the case of these names.
    let Some(name) = name.to_str().map(str::to_ascii_uppercase) else { return false };
    let is_wanted =
        NAMES.contains(&&*name) || BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    is_wanted && !SECRETS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_needs_is_passed_on_and_no_secret_is() {
        for name in
            ["PATH", "HOME", "LC_ALL", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "SystemRoot"]
        {
            assert!(is_passed_on(OsStr::new(name)), "{name}");
        }
        for name in [
            "OPENAI_API_KEY",
            "HF_TOKEN",
            "MADANG_REMOTE_KEY",
            "MADANG_SEAL_KEYS",
            "DATABASE_URL",
            "SSH_AUTH_SOCK",
            "LD_PRELOAD",
            "CUDA_API_KEY",
            "",
        ] {
            assert!(!is_passed_on(OsStr::new(name)), "{name}");
        }
    }
}
