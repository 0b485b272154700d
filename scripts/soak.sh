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
exec cargo run --locked --release -p madang-proof --bin proof -- all "$@"
