#!/bin/sh
# Starts the program, which lies with its libraries in the folder `lib/madang` beside the folder of this file.
program=$(readlink -f "$0") || exit
program=${program%/*/*}/lib/madang/madang
if [ ! -x "$program" ]; then
    printf 'madang: there is no program %s: install madang again, or keep its folders bin and lib together\n' "$program" >&2
    exit 1
fi
exec "$program" "$@"
