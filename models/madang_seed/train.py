"""Training: an endless stream of dialogues, a warm-up, a constant rate and a decay at the end."""

from __future__ import annotations

import argparse
import copy
import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import torch

from . import restore, vocabulary
from .chat import END_OF_TEXT, SPECIAL_TOKENS
from .dialogue import LIFE, Dialogue
from .envelopes import compact
from .lexicon import noun
from .life.results import invented_row, search_envelope
from .mixture import Mixture, dialogue
from .model import Network, Shape, weighted_loss
from .notes import words
from .notes.ids import Ids
from .notes.writing import listed
from .optimizer import Optimizer
from .packing import LENGTHS, TOKENS_PER_BATCH, Encoded, Packer

WARM_UP_STEPS = 80
BATCHES_PER_STEP = 4
DECAY_SHARE = 0.6
AVERAGE = 0.985
# A run that starts from a trained model has copying behind it, and a full rate would undo much of it.
WARM_PROGRESS = 0.3
WARM_RATE = 0.75


def mixture(progress: float) -> Mixture:
    """Short dialogues with much to copy come first, whole conversations later."""
    if progress < 0.3:
        return Mixture(short=0.88, novelty=0.5, more_turns=0.2)
    if progress < 0.55:
        return Mixture(short=0.7, novelty=0.4, more_turns=0.2, long=0.05)
    return Mixture(short=0.58, novelty=0.25, more_turns=0.25, long=0.13)


def drill_share(progress: float) -> float:
    """The share of drills among the dialogues: many until copying has set in, then a few."""
    return 0.25 if progress < 0.4 else 0.06


def drill(rng: random.Random, encoder: vocabulary.Encoder) -> Encoded:
    """Words or random tokens said several times: the purest lesson in copying, with nothing else to learn from it."""
    roll = rng.random()
    if roll < 0.25:
        return id_drill(rng, encoder)
    if roll < 0.5:
        return place_drill(rng, encoder)
    if roll < 0.65:
        return list_drill(rng, encoder)
    if roll < 0.8:
        language = rng.choice(("ko", "en"))
        said = encoder.text(" ".join(noun(rng, language, 0.6) for _ in range(rng.randint(2, 6))))
    else:
        ordinary = range(len(SPECIAL_TOKENS), len(encoder.vocabulary))
        said = [rng.choice(ordinary) for _ in range(rng.randint(4, 20))]
    mark = encoder.special[END_OF_TEXT]
    repeated = rng.randint(1, 3)
    return [mark, *said] * (1 + repeated), [0.0] * (len(said) + 1) + [0.0, *([0.7] * len(said))] * repeated


def id_drill(rng: random.Random, encoder: vocabulary.Encoder) -> Encoded:
    """Names with their ids, then some of the names again: the id of each is to be told."""
    language, given = rng.choice(("ko", "en")), Ids(rng)
    rows = [(noun(rng, language, 0.6), given.next()) for _ in range(rng.randint(1, 6))]
    ids, weights = [encoder.special[END_OF_TEXT]], [0.0]
    for name, own in rows:
        said = encoder.text(compact({"id": own, "title": name}))
        ids += said
        weights += [0.0] * len(said)
    for name, own in rng.sample(rows, min(len(rows), 3)):
        asked, told = encoder.text(f"{name}="), encoder.text(own)
        ids += [*asked, *told]
        weights += [0.0] * len(asked) + [0.7] * len(told)
    return ids, weights


def list_drill(rng: random.Random, encoder: vocabulary.Encoder) -> Encoded:
    """Lines in a row as people name them, then each of them as an argument: the last one is not to be forgotten."""
    d = Dialogue(rng, rng.choice(("ko", "en")), "en", 0.5)
    lines = [words.item(rng, d.language, d.novelty) for _ in range(rng.choice((2, 3, 3, 4, 4, 5, 6)))]
    asked = encoder.text(f"{listed(d, lines)}=")
    told = encoder.text(compact([{"content": line} for line in lines]))
    return [encoder.special[END_OF_TEXT], *asked, *told], [0.0] * (1 + len(asked)) + [0.7] * len(told)


def place_drill(rng: random.Random, encoder: vocabulary.Encoder) -> Encoded:
    """A list as a tool writes it, then some of its places: the id and the title of the row that stands there."""
    language, given = rng.choice(("ko", "en")), Ids(rng)
    rows = [invented_row(rng, language) for _ in range(rng.choice((2, 2, 3, 3, 4, 5, 6)))]
    if rng.random() < 0.5:
        rows = [replace(row, id=given.next()) for row in rows]
    ids = [encoder.special[END_OF_TEXT], *encoder.text(search_envelope(rows, len(rows)))]
    weights = [0.0] * len(ids)
    places = [place for place in LIFE[language].ORDINALS if 0 < place <= len(rows)]
    for place in rng.sample(places, min(len(places), 3)):
        row = rows[place - 1]
        asked = encoder.text(f"{rng.choice(LIFE[language].ORDINALS[place])}=")
        told = encoder.text(compact({"id": row.id, "title": row.title}))
        ids += [*asked, *told]
        weights += [0.0] * len(asked) + [0.7] * len(told)
    return ids, weights


def rate(progress: float, steps: int) -> float:
    """The share of the peak rate: warm-up, constant, then linear to zero."""
    return min(1.0, steps / WARM_UP_STEPS, max(0.0, (1 - progress) / DECAY_SHARE) + 0.01)


class Run:
    """A training run, which can be stopped and resumed at any time."""

    def __init__(
        self,
        folder: Path,
        minutes: float,
        tokens: float,
        seed: int,
        threads: int,
        compiled: bool = True,
        origin: Path | None = None,
    ) -> None:
        self.folder, self.minutes, self.token_goal = folder, minutes, tokens
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "vocabulary.json"
        if not path.exists():
            vocabulary.build().save(path)
        self.encoder = vocabulary.Encoder(vocabulary.load(path))
        torch.manual_seed(seed)
        model = restore.open_file(origin) if origin else None
        known = self.encoder.vocabulary
        shape = Shape(vocabulary=len(known))
        self.network = restore.graft(model, known, shape) if model else Network(shape)
        self.warm = model is not None
        self.optimizer = Optimizer(self.network)
        # Each row length is compiled once; that takes a minute or two and makes a step a quarter faster.
        self.forward = torch.compile(self.network, dynamic=False) if compiled else self.network
        self.average = copy.deepcopy(self.network).requires_grad_(False)
        self.parameters = list(self.network.parameters())
        for parameter in self.parameters:
            parameter.grad = torch.zeros_like(parameter)
        # Whole batches side by side, one thread each: threads that share every operation would wait for each other
        # whenever something else uses a core.
        self.workers = ThreadPoolExecutor(threads, initializer=lambda: torch.set_num_threads(1))
        self.lock = threading.Lock()
        self.stopped = False
        self.elapsed, self.tokens = 0.0, 0
        self.rng = random.Random(seed)
        self.packer = Packer(self.example)

    @property
    def progress(self) -> float:
        """The share of the run that is done."""
        by_time = self.elapsed / (60 * self.minutes) if self.minutes else 0.0
        by_tokens = self.tokens / self.token_goal if self.token_goal else 0.0
        return min(1.0, max(by_time, by_tokens))

    @property
    def lesson(self) -> float:
        """The place in the curriculum, which a warm start enters late."""
        return WARM_PROGRESS + (1 - WARM_PROGRESS) * self.progress if self.warm else self.progress

    @property
    def rate(self) -> float:
        """The share of the peak rate of the next step."""
        return rate(self.progress, self.optimizer.steps + 1) * (WARM_RATE if self.warm else 1.0)

    def example(self) -> Encoded:
        """The next dialogue or drill."""
        if self.rng.random() < drill_share(self.lesson):
            return drill(self.rng, self.encoder)
        return self.encoder.dialogue(dialogue(self.rng, mixture(self.lesson)))

    @property
    def checkpoint(self) -> Path:
        """Where the state of the run is kept."""
        return self.folder / "checkpoint.pt"

    def save(self) -> None:
        """Writes the state, whole or not at all."""
        state = {
            "shape": asdict(self.network.shape),
            "network": self.network.state_dict(),
            "average": self.average.state_dict(),
            "optimizer": self.optimizer.state,
            "steps": self.optimizer.steps,
            "elapsed": self.elapsed,
            "tokens": self.tokens,
            "warm": self.warm,
        }
        part = self.checkpoint.with_suffix(".part")
        torch.save(state, part)
        os.replace(part, self.checkpoint)

    def resume(self) -> None:
        """Goes on from the last checkpoint, with fresh dialogues."""
        state = torch.load(self.checkpoint, weights_only=True)
        self.network.load_state_dict(state["network"])
        self.average.load_state_dict(state["average"])
        self.optimizer.state, self.optimizer.steps = state["optimizer"], state["steps"]
        self.elapsed, self.tokens, self.warm = state["elapsed"], state["tokens"], state["warm"]
        self.rng.seed(self.tokens)

    def step(self) -> float:
        """One step over a few batches; returns the mean loss."""
        losses, counts = zip(*self.workers.map(self._differentiate, range(BATCHES_PER_STEP)), strict=True)
        self.optimizer.step(self.rate, self.workers.map)
        with torch.no_grad():
            share = 1 - min(AVERAGE, self.optimizer.steps / (self.optimizer.steps + 10))
            for kept, current in zip(self.average.parameters(), self.network.parameters(), strict=True):
                kept.lerp_(current, share)
        return sum(losses) / max(sum(counts), 1.0)

    def _differentiate(self, _number: int) -> tuple[float, float]:
        """Adds the gradients of the next batch; returns the sums of losses and weights."""
        with self.lock:
            batch = self.packer.next()
            self.tokens += int((batch.documents > 0).sum())
        ids, weights, documents = (torch.from_numpy(part) for part in (batch.ids, batch.weights, batch.documents))
        loss, counted = weighted_loss(self.forward, self.network, ids, weights, documents)
        # Neither optimizer minds the scale of a gradient, so a constant stands for the exact mean.
        gradients = torch.autograd.grad(loss / 1000, self.parameters)
        with self.lock:
            for parameter, gradient in zip(self.parameters, gradients, strict=True):
                assert parameter.grad is not None
                parameter.grad += gradient
        return loss.item(), counted.item()

    def stop(self, *_signal: object) -> None:
        """Ends the training after this step; the state is saved."""
        self.stopped = True

    def warm_up(self) -> None:
        """Compiles the network for each row length before several threads use it."""
        for length in LENGTHS:
            rows = max(1, TOKENS_PER_BATCH // length)
            ids = torch.zeros(rows, length, dtype=torch.int64)
            weighted_loss(self.forward, self.network, ids, torch.ones(rows, length), ids)[0].backward()
        self.network.zero_grad(set_to_none=False)

    def train(self, save_every: float = 120.0, report_every: float = 20.0) -> None:
        """Runs to the end."""
        last = saved = reported = time.monotonic()
        losses: list[float] = []
        tokens = self.tokens
        while self.progress < 1 and not self.stopped:
            losses.append(self.step())
            now = time.monotonic()
            self.elapsed += now - last
            last = now
            if now - reported >= report_every:
                speed = (self.tokens - tokens) / (now - reported)
                mean = sum(losses) / len(losses)
                print(
                    f"{self.elapsed / 60:6.1f} min  {self.tokens / 1e6:7.3f} M tokens  step {self.optimizer.steps:6}  "
                    f"loss {mean:.4f}  {speed:6.0f} tokens/s  progress {self.progress:.3f}",
                    flush=True,
                )
                losses, tokens, reported = [], self.tokens, now
            if now - saved >= save_every:
                self.save()
                saved = now
        self.save()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train the bundled model.")
    parser.add_argument("--out", type=Path, required=True, help="folder of vocabulary and checkpoint")
    parser.add_argument("--minutes", type=float, default=0.0, help="how long to train, all resumed parts together")
    parser.add_argument(
        "--tokens", type=float, default=0.0, help="how many tokens to train on; the earlier of both bounds counts"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on from the checkpoint in the folder")
    start.add_argument("--from", dest="origin", type=Path, help="start from the weights of a GGUF")
    parser.add_argument("--eager", action="store_true", help="do not compile the network (needs no C++ compiler)")
    arguments = parser.parse_args()
    if not arguments.minutes and not arguments.tokens:
        parser.error("say how long: --minutes or --tokens")
    torch.set_num_threads(1)
    run = Run(
        arguments.out,
        arguments.minutes,
        arguments.tokens,
        arguments.seed,
        arguments.threads,
        not arguments.eager,
        arguments.origin,
    )
    if arguments.resume:
        run.resume()
    run.warm_up()
    signal.signal(signal.SIGTERM, run.stop)
    run.train()


if __name__ == "__main__":
    main()
