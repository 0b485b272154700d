#!/usr/bin/env bash
# Proves the promise for as long as one likes, or tests the tests: what `make soak` runs.
#
# usage: scripts/soak.sh [--kills N] [--keys N] [--clients N] [--trials N] [--seeds N]
#                        [--turns N] [--runs N] [--sessions N] [--seed N]
#        scripts/soak.sh --mutants FOLDER [SHARD/SHARDS]
#        scripts/soak.sh --lines [TEXT]
set -eu
cd "$(dirname "$0")/.."

if [ "${1:-}" = --mutants ]; then
    shift
    exec scripts/mutants.sh "$@"
fi
if [ "${1:-}" = --lines ]; then
    shift
    exec scripts/lines.sh "$@"
fi
# Random cases, many times as many as in `make test`. The seed is printed, so that they can be tried again.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-$RANDOM$RANDOM} PROPTEST_CASES=${PROPTEST_CASES:-2000}
echo "PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED PROPTEST_CASES=$PROPTEST_CASES"
cargo test --locked --workspace --exclude madang-proof --lib
cargo test --locked --workspace --test proofs stores
cargo test --locked -p madang-toolkits --test it entries
# Worlds of mishaps, long texts before every pre-tokenizer, model files that lie: more of each than in `make test`.
MADANG_WORLDS=400 cargo test --locked -p madang-actors --lib -- session::tests::heard session::tests::interleavings
MADANG_LONG_TEXTS=1 cargo test --locked -p madang-llama --lib pre_tokenizers
MADANG_LONG_TEXTS=1 cargo test --locked -p madang-cli --test it child::long_texts
MADANG_MODEL_FILES=2000 cargo test --locked -p madang-cli --test it child::hostile_files
# Ten thousand readers come back at once to a server that ends meanwhile, where a process may have so many files open.
MADANG_READERS=10000 cargo test --locked -p madang-cli --test it serve::misuse::readers
scripts/fuzz.sh 30
# The programs of the pages as an application has them. It asks the registry which versions go together.
scripts/outside.sh
# Every step that can go wrong does, in `make test` as well; here beside nothing else.
scripts/test.sh failpoints
exec cargo run --locked --release -p madang-proof --bin proof -- all "$@"
