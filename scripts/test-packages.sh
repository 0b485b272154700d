#!/usr/bin/env bash
# Makes every package of a finished binary, installs each in a clean folder, and asks the installed program one question. Prints the
# seconds from the installation to the answer and the size of each package, and fails above the aims.
# With MADANG_QUICK_PACKAGES=1 the packages are compressed less, which saves most of the time with a debug program.
#
# usage: scripts/test-packages.sh BINARY [TEST..]     tests as unittest names them, such as test_wheel
#
# It needs what `scripts/setup.sh packages` brings. With MADANG_PORTABLE=1 the binary is that of
# scripts/portable.sh: it must also run on a processor without AVX.
set -eu
binary=$(realpath "$1")
shift
cd "$(dirname "$0")/.."

folder=$(scripts/packages-folder.sh)
[ -e "$folder/complete" ] || {
    echo "scripts/test-packages.sh: there is no small Debian in the cache: run scripts/setup.sh packages" >&2
    exit 1
}
export MADANG_BIN=$binary MADANG_PACKAGES=$folder PYTHONDONTWRITEBYTECODE=1
cd packaging/tests
if [ $# -eq 0 ]; then exec python3 -m unittest discover; fi
exec python3 -m unittest "$@"
