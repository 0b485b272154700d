#!/usr/bin/env bash
# Takes each line out that docs/internals/where.md names, one at a time, and looks whether the test beside it goes red.
#
# usage: scripts/lines.sh [TEXT]
#
# With TEXT only the rows that have it. What takes a line's place stands in tests/mutants/lines.txt. It works in a copy of the
# tree, target/lines/tree, with the same target directory. A test that stays green ends the script with 1, and so does one
# that is red in the whole tree, or a line without which nothing compiles. A test that hangs counts as red.
set -eu -o pipefail
cd "$(dirname "$0")/.."

wanted=${1:-}
page=docs/internals/where.md
changes=tests/mutants/lines.txt
target=$(realpath "${CARGO_TARGET_DIR:-target}")
tree=$target/lines/tree
log=$target/lines/log
export CARGO_TARGET_DIR=$target

# Only what differs is copied, so that only that is compiled again. A copy is new to cargo, also in place of a line that an earlier
# run had taken out when it ended.
copy() {
    mkdir -p "$tree"
    (cd "$tree" && find . -type f) | while IFS= read -r file; do
        if [ ! -e "$file" ]; then rm "$tree/$file"; fi
    done
    git ls-files -z | while IFS= read -r -d '' file; do
        if [ -e "$file" ] && ! cmp -s "$file" "$tree/$file"; then
            mkdir -p "$tree/$(dirname "$file")"
            cp "$file" "$tree/$file"
        fi
    done
}

# Runs one test: -p MEMBER --lib NAME, or -p MEMBER --test PROGRAM NAME. Without llama.cpp, which no row needs.
try() {
    local member=$2 name=${*: -1} features=(--no-default-features --features madang/sqlite)
    local which=("${@:3:$#-3}")
    case $member in
    madang-actors) features=(--features schema) ;;
    madang-mcp) features=(--features madang/sqlite) ;;
    esac
    (cd "$tree" && timeout -k 10 "${TEST_SECONDS:-1200}" cargo test -q -p "$member" "${features[@]}" "${which[@]}" -- --exact "$name") >"$log" 2>&1
}

# Gives the pairs of a row, as lines that begin with - and +: the block of its file whose first line is this one.
pairs() {
    FILE=$1 LINE=-$2 awk 'BEGIN { RS = ""; FS = "\n" }
        $1 == ENVIRON["FILE"] && $2 == ENVIRON["LINE"] { for (i = 2; i <= NF; i++) print $i }' "$changes"
}

take_out() {
    local file=$tree/$1 text old="" pair
    text=$(cat "$file" && echo .)
    text=${text%.}
    while IFS= read -r pair; do
        case $pair in
        -*) old=${pair#-} ;;
        +*)
            case $text in *"$old"*) ;; *) return 1 ;; esac
            text=${text/"$old"/"${pair#+}"}
            ;;
        esac
    done
    printf '%s' "$text" >"$file"
}

copy
failed=0
rows=()
while IFS= read -r row; do
    case $row in "| "*"$wanted"*) ;; *) continue ;; esac
    # A bar within code is escaped.
    IFS='`' read -r _ file _ line _ test _ <<<"${row//\\|/|}"
    if [ -z "${test:-}" ]; then continue; fi
    rows+=("$test")
    read -ra words <<<"$test"
    found=$(pairs "$file" "$line")
    if [ -z "$found" ] || ! take_out "$file" <<<"$found"; then
        echo "MISSING  $file: $line: $changes does not say what takes its place"
        failed=1
    elif try "${words[@]}"; then
        echo "GREEN    $file: $line: $test"
        failed=1
    elif grep -q '^error: could not compile\|^error\[E' "$log"; then
        echo "BROKEN   $file: $line: does not compile without it"
        grep -m 3 -A 4 '^error' "$log"
        failed=1
    else
        echo "red      $file: $line"
    fi
    cp "$file" "$tree/$file"
done <"$page"

# A test that is red anyway shows nothing.
for test in "${rows[@]}"; do
    read -ra words <<<"$test"
    if ! try "${words[@]}" || ! grep -q '^test result: ok. 1 passed' "$log"; then
        echo "NOT OK   $test: fails, or is not there, in the whole tree"
        failed=1
    fi
done
exit $failed
