#!/usr/bin/env bash
# Prints what tells Cargo, by its option --config, to take the bindings of llama.cpp from the newest build of this target
# directory; fails if there is none. This is by Cargo's own means: a build script can be overridden by its `links` key. With
# other features, or outside of the workspace, llama.cpp would otherwise be compiled a second time.
set -eu
cd "$(dirname "$0")/.."

newest=$(ls -t "${CARGO_TARGET_DIR:-target}"/debug/build/llama-cpp-sys-2-*/out/bindings.rs 2>/dev/null | head -n 1)
[ -n "$newest" ] || {
    echo "scripts/llama-bindings.sh: llama.cpp was not built here" >&2
    exit 1
}
echo "target.$(rustc -vV | sed -n 's/^host: //p').llama.rustc-env.OUT_DIR='$(cd "$(dirname "$newest")" && pwd)'"
