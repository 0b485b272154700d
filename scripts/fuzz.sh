#!/usr/bin/env bash
# Builds the fuzz targets with libFuzzer and coverage, and hunts from the corpora in the repository.
#
# cargo-fuzz does the same with a nightly toolchain and the address sanitizer: `cargo +nightly fuzz run parser`. Coverage alone
# needs no nightly, and the code that is fuzzed has no unsafe blocks for the sanitizer to watch.
#
# usage: SECONDS_EACH=60 scripts/fuzz.sh [TARGET..]
set -eu -o pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/fuzz
seconds=${SECONDS_EACH:-60}
chosen=("$@")
if [ $# -eq 0 ]; then chosen=(dispatch parser envelope); fi

coverage=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares)
# With a target named, build scripts and macros are left without coverage.
RUSTFLAGS="${coverage[*]} --cfg fuzzing -Cdebug-assertions" CARGO_TARGET_DIR=$target \
    cargo build --release --locked --target "$host" --manifest-path fuzz/Cargo.toml

for name in "${chosen[@]}"; do
    found=$target/corpus/$name
    mkdir -p "$found" "fuzz/artifacts/$name"
    # What is new goes into the first folder; the corpus in the repository grows by hand.
    "$target/$host/release/$name" "$found" "fuzz/corpus/$name" -artifact_prefix="fuzz/artifacts/$name/" \
        -max_total_time="$seconds" -max_len=8192 -timeout=20 -print_final_stats=1
done
