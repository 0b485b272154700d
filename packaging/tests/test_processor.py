"""The program of a package runs on older processors, which qemu imitates."""

import os
import tarfile
import unittest

from support import BINARY, PackageTest, made


class Processor(PackageTest):
    """The archive for x86-64."""

    def setUp(self) -> None:
        """Unpacks the program."""
        super().setUp()
        archive, _ = made("archive")
        if "x86_64" not in archive.name:
            self.skipTest("another processor, which has no such variants")
        with tarfile.open(archive) as files:
            files.extractall(self.folder, filter="data")
        [self.program] = self.folder.glob("madang-*/madang")

    def answers_on(self, processor: str) -> None:
        """Asks one question on this processor, in one process: a second one would run on that of the machine."""
        self.answers("qemu-x86_64", "-cpu", processor, self.program, engine="process")

    def test_it_answers_on_a_processor_with_avx2(self) -> None:
        """A Haswell of 2013 has what llama.cpp uses without other settings."""
        self.answers_on("Haswell")

    @unittest.skipUnless(os.environ.get("MADANG_PORTABLE"), f"without MADANG_PORTABLE=1, {BINARY.name} may need AVX2")
    def test_it_answers_on_a_processor_without_avx(self) -> None:
        """A Nehalem of 2008 has SSE 4.2 and nothing newer."""
        self.answers_on("Nehalem")
