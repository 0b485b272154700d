#!/usr/bin/env bash
# Changes the code in one small way at a time, and looks whether a test notices: mutation testing by cargo-mutants.
#
# usage: scripts/mutants.sh FOLDER [SHARD/SHARDS]
#
# FOLDER is one of `actors/src`, such as dispatcher, session or llm; or of the library: sqlite (`src/store/sqlite`), remote
# (`src/model/remote`), child (`src/model/child`) or runtime (`src/runtime`). Without a shard, all mutants of the folder
# run, which takes hours; `0/8` to `7/8` run an eighth each. What the tests beside the code of `actors` miss is tried again
# with those of `madang`. A mutant that no test notices must stand in tests/mutants/accepted.txt with its reason, or the script
# ends with 1. Files lie in target/mutants.
set -eu -o pipefail
cd "$(dirname "$0")/.."

folder=${1:-}
shard=${2:-0/1}
accepted=tests/mutants/accepted.txt
found=${CARGO_TARGET_DIR:-target}/mutants/$folder-${shard//\//-of-}

# Without llama.cpp, which would be compiled once more.
of_madang() {
    first=(--no-default-features --features "madang/sqlite$2" --cargo-test-arg=--lib --cargo-test-arg=--test=it)
    chosen=(--package madang --file "$1")
    second=()
}
case $folder in
sqlite) of_madang 'src/store/sqlite/**' "" ;;
remote) of_madang 'src/model/remote/**' ,madang/remote ;;
child) of_madang 'src/model/child/**' ,madang/child ;;
runtime) of_madang 'src/runtime/**' "" ;;
*)
    if [ -z "$folder" ] || [ ! -d "actors/src/$folder" ]; then
        sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
        exit 2
    fi
    of_madang "" ""
    second=(--test-package madang,madang-toolkits "${first[@]}")
    first=(--cargo-test-arg=--lib)
    chosen=(--package madang-actors --file "actors/src/$folder/**")
    ;;
esac

if ! cargo mutants --version >/dev/null 2>&1; then
    echo "installing cargo-mutants, which compiles for some minutes" >&2
    cargo install --locked --quiet cargo-mutants
fi

# What hangs for five times as long as all tests take counts as noticed.
try() {
    local status=0
    cargo mutants "${chosen[@]}" --exclude '**/tests/**' --exclude '**/tests.rs' --exclude-re 'fmt::(Debug|Display)' \
        --no-times --colors never --output "$found" "$@" || status=$?
    case $status in
    # 2: a mutant survived, 3: one ran into its timeout.
    0 | 2 | 3) ;;
    *)
        echo "cargo-mutants failed: $status" >&2
        exit 1
        ;;
    esac
}

mkdir -p "$found"
of() { cat "$found/mutants.out/$1.txt"; }
count() { of "$1" | wc -l; }
try --shard "$shard" "${first[@]}"
printf '%s %s: %s noticed, %s by their timeout, %s survived, %s did not compile\n' \
    "$folder" "$shard" "$(count caught)" "$(count timeout)" "$(count missed)" "$(count unviable)"
left=$(of missed)
if [ ${#second[@]} -gt 0 ] && [ -n "$left" ]; then
    # By name: `--iterate` would divide the remaining mutants into shards anew.
    mapfile -t names < <(sed 's/[][\\.*^$+?(){}|]/\\&/g; s/.*/--re=^&$/' <<<"$left")
    try "${names[@]}" "${second[@]}"
    # Leaves out those that cargo-mutants tries in any case: it deletes fields by no name.
    left=$(of missed | grep -xF "$left" || true)
    printf '%s %s: %s of these survived the tests of madang, too\n' "$folder" "$shard" "$(grep -c . <<<"$left" || true)"
fi

# A survivor is known by file and change, not by its line, which moves.
survivors=$(sed -E 's/^([^:]+):[0-9]+:[0-9]+: /\1: /' <<<"$left" | sort -u)
reasons=$(sed -n 's/  # .*//p' "$accepted" | sort -u)
unexplained=$(comm -23 <(printf '%s\n' "$survivors") <(printf '%s\n' "$reasons") | sed '/^$/d')
if [ -n "$unexplained" ]; then
    printf 'no test notices these, and %s gives no reason:\n%s\n' "$accepted" "$unexplained"
    exit 1
fi
