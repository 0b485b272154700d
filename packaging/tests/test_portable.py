"""The program that `scripts/portable.sh` builds loads its libraries from its own folder, and from nowhere else."""

import ctypes
import shutil
import subprocess
import unittest

from support import IS_PORTABLE, QUESTION, PackageTest, unpacked

# Writes a file as soon as it is loaded.
TRAP = """
#include <stdio.h>
__attribute__((constructor)) static void tell(void) { fclose(fopen(TOLD, "w")); }
"""


@unittest.skipUnless(IS_PORTABLE, "without MADANG_PORTABLE=1, the program has no libraries")
class Portable(PackageTest):
    """The archive for x86-64, started in a folder of somebody else."""

    def setUp(self) -> None:
        """Unpacks the program."""
        super().setUp()
        folder = unpacked(self.folder)
        self.program = folder / "bin/madang"
        self.libraries = folder / "lib/madang"
        self.elsewhere = self.folder / "elsewhere"
        self.elsewhere.mkdir()

    def ask(self, engine: str) -> subprocess.CompletedProcess[str]:
        """Asks one question in the folder of somebody else."""
        words = ["chat", "--json", "--locale", "ko", "--engine", engine]
        return self.run_words(self.program, *words, cwd=self.elsewhere, input=QUESTION)

    def assert_answered(self, ended: subprocess.CompletedProcess[str]) -> None:
        """Checks that the model has answered."""
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn('"ending":"answered"', ended.stdout)

    def assert_refused(self, ended: subprocess.CompletedProcess[str], sentence: str) -> None:
        """Checks that the program has said this and nothing else."""
        self.assertNotEqual(ended.returncode, 0, ended.stdout)
        self.assertRegex(ended.stderr, rf"\A[^\n]*{sentence}[^\n]*\n\Z")

    def test_the_model_answers_in_this_process_and_in_one_of_its_own(self) -> None:
        """Both find the libraries beside the program, whatever the working directory is."""
        for engine in ("process", "child"):
            self.assert_answered(self.ask(engine))

    def test_it_can_be_started_by_a_link(self) -> None:
        """As pipx and people make them."""
        (self.elsewhere / "madang").symlink_to(self.program)
        self.program = self.elsewhere / "madang"
        self.assert_answered(self.ask("child"))

    def test_no_library_of_another_folder_is_loaded(self) -> None:
        """Not from the working directory, and not by a variable of the environment."""
        told = self.folder / "told"
        source = self.folder / "trap.c"
        source.write_text(TRAP)
        trap = self.folder / "trap.so"
        self.done("cc", "-shared", "-fPIC", f'-DTOLD="{told}"', "-o", trap, source)
        kinds = ("blas", "cpu", "cuda", "metal", "rpc", "vulkan")
        for name in [library.name for library in self.libraries.iterdir()] + [f"libggml-{kind}.so" for kind in kinds]:
            shutil.copy(trap, self.elsewhere / name)
        self.env |= {"GGML_BACKEND_PATH": str(trap), "LD_LIBRARY_PATH": str(self.elsewhere)}
        for engine in ("process", "child"):
            self.assert_answered(self.ask(engine))
        self.assertFalse(told.exists())
        # The trap works.
        ctypes.CDLL(str(trap))
        self.assertTrue(told.exists())

    def test_a_folder_without_the_variants_is_said(self) -> None:
        """Although the working directory has them, and a variable names the one for every processor."""
        for variant in self.libraries.glob("libggml-cpu-*.so"):
            variant.rename(self.elsewhere / variant.name)
        self.env["GGML_BACKEND_PATH"] = str(self.elsewhere / "libggml-cpu-x64.so")
        folder = str(self.libraries)
        for engine in ("process", "child"):
            self.assert_refused(self.ask(engine), f"{folder} has no library of llama.cpp for this processor; install")

    def test_a_missing_folder_is_said(self) -> None:
        """As after the file `madang` alone was copied."""
        self.libraries.rename(self.elsewhere / "madang")
        program = self.libraries / "madang"
        self.assert_refused(self.ask("child"), f"madang: there is no program {program}: install madang again")

    def test_it_needs_no_more_than_the_package_has(self) -> None:
        """And looks for it beside itself only."""
        for file in self.libraries.iterdir():
            said = self.done("readelf", "--dynamic", "--wide", file)
            self.assertIn("(RPATH)              Library rpath: [$ORIGIN]", said, file)
            self.assertNotIn("(RUNPATH)", said, file)
