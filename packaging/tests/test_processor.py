"""The program of a package runs on older processors, which qemu imitates."""

import subprocess
import threading
import unittest

from support import BINARY, IS_PORTABLE, PATIENCE, QUESTION, PackageTest, unpacked


class Processor(PackageTest):
    """The archive for x86-64."""

    def setUp(self) -> None:
        """Unpacks the program."""
        super().setUp()
        folder = unpacked(self.folder)
        if "x86_64" not in folder.name:
            self.skipTest("another processor, which has no such variants")
        self.program = folder / ("lib/madang/madang" if IS_PORTABLE else "bin/madang")

    def computes_on(self, processor: str) -> None:
        """Asks one question on this processor until the model has called its tool, and the portable program until the answer.

        With qemu, a program without optimization takes too long to answer in the suite `packages`.

        The model runs in the process of the program, because a second process would run on the machine's processor.
        """
        words = [
            "qemu-x86_64",
            "-cpu",
            processor,
            self.program,
            "chat",
            "--json",
            "--locale",
            "ko",
            "--engine",
            "process",
        ]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        chat = subprocess.Popen(words, cwd=self.folder, env=self.env, text=True, **pipes)
        self.addCleanup(chat.wait, PATIENCE)
        self.addCleanup(chat.kill)
        timer = threading.Timer(PATIENCE, chat.kill)
        timer.start()
        self.addCleanup(timer.cancel)
        chat.stdin.write(QUESTION)
        chat.stdin.close()
        with chat.stdout as lines:
            said = []
            has_called = False
            for line in lines:
                said.append(line)
                has_called |= '"type":"tool_call_ended"' in line and '"name":"search_catalog"' in line
                if has_called and not IS_PORTABLE:
                    return
                if has_called and '"type":"turn_ended"' in line and '"ending":"answered"' in line:
                    return
        self.fail("".join(said))

    def test_it_computes_on_a_processor_with_avx2(self) -> None:
        """A Haswell of 2013 has what llama.cpp uses without other settings."""
        self.computes_on("Haswell")

    @unittest.skipUnless(IS_PORTABLE, f"without MADANG_PORTABLE=1, {BINARY.name} may need AVX2")
    def test_it_computes_on_a_processor_without_avx(self) -> None:
        """A Nehalem of 2008 has SSE 4.2 and nothing newer."""
        self.computes_on("Nehalem")
