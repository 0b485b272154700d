#!/usr/bin/env bash
# Prints the settings with which llama.cpp uses all of this processor, as NAME=VALUE words for `env`.
#
# For binaries that stay on the machine that builds them. Never `target-cpu=native`: on virtual machines that report
# AMX its kernels die of an illegal instruction. AMX is left out here for the same reason.
set -eu

flags=" $(sed -n 's/^flags[[:space:]]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1) "

has() {
    local flag
    for flag in "$@"; do
        case $flags in *" $flag "*) ;; *) return 1 ;; esac
    done
}

if has avx512f avx512cd avx512vl avx512dq avx512bw; then
    words=(GGML_AVX512=ON)
    if has avx512_vnni; then words+=(GGML_AVX512_VNNI=ON); fi
    if has avx512vbmi; then words+=(GGML_AVX512_VBMI=ON); fi
    if has avx512_bf16; then words+=(GGML_AVX512_BF16=ON); fi
    printf '%s\n' "${words[*]}"
fi
