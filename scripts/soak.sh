#!/usr/bin/env bash
# Proves the promise for as long as one likes, or tests the tests: what `make soak` runs.
#
# usage: scripts/soak.sh [--kills N] [--trials N] [--seconds N] [--seed N]
#        scripts/soak.sh --mutants FOLDER [SHARD/SHARDS]
set -eu
cd "$(dirname "$0")/.."

if [ "${1:-}" = --mutants ]; then
    shift
    exec scripts/mutants.sh "$@"
fi
# Cases that nobody chose, many times as many as in `make test`. The seed is said, so that they can be tried again.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-$RANDOM$RANDOM} PROPTEST_CASES=${PROPTEST_CASES:-2000}
echo "PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED PROPTEST_CASES=$PROPTEST_CASES"
cargo test --locked -p madang -p madang-proof --test proofs stores
exec cargo run --locked --release -p madang-proof --bin proof -- all "$@"
