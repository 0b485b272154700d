#!/usr/bin/env bash
# Runs the fuzz targets under libFuzzer for so many seconds each (60), on the stable compiler: cargo-fuzz asks for nightly
# only for its sanitizers, and what is fuzzed here has no unsafe code. New inputs stay beside the build.
set -eu
cd "$(dirname "$0")/../fuzz"

seconds=${1:-60}
target=${CARGO_TARGET_DIR:-target}
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
  -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares" \
  cargo build --locked --release --target "$host" --target-dir "$target"
for name in parser envelope dispatch; do
  mkdir -p "$target/found/$name"
  "$target/$host/release/$name" -max_total_time="$seconds" -artifact_prefix="$target/found/" \
    "$target/found/$name" "corpus/$name" 2>&1 | grep -E '^(Done|==|SUMMARY|artifact|thread)' || exit 1
done
