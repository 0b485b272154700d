#!/usr/bin/env python3
"""Compares the processor time that two builds of the program need for six questions to the bundled model.

usage: scripts/compare-programs.py PROGRAM OTHER [PAIRS]

Prints PROGRAM relative to OTHER: the median, the quartiles and the bounds of interleaved pairs.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile

QUESTIONS = """수면에 좋은 프로토콜 찾아줘
느린 호흡은 어떻게 하는 거야?
내 습관 보여 줘
안녕, 넌 누구야?
2번 습관 며칠째 이어 가고 있어?
고마워
"""


def seconds(program: str) -> float:
    """Returns the seconds of processor time of one run, and ends if a question has no answer."""
    with tempfile.TemporaryDirectory() as folder:
        words = [program, "chat", "--engine", "process", "--json", "--locale", "ko", "--db", f"{folder}/madang.db"]
        env = {**os.environ, "MADANG_SEAL_KEYS": f"{folder}/seal.keys"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ended = subprocess.run(words, input=QUESTIONS, env=env, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.stdout.count('"ending":"answered"') != QUESTIONS.count("\n"):
        sys.exit(f"{program} does not answer each question: {ended.stderr.strip() or ended.stdout[-300:]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Runs the pairs, each in the other order than the one before."""
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.strip())
    program, other = sys.argv[1:3]
    ratios = []
    for pair in range(int(sys.argv[3]) if len(sys.argv) == 4 else 24):
        order = (program, other) if pair % 2 else (other, program)
        spent = {one: seconds(one) for one in order}
        ratios.append(spent[program] / spent[other])
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"{middle:.2f} (half of them {low:.2f} to {high:.2f}, all {min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
