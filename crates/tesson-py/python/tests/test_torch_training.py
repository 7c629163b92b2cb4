"""Training with PyTorch: the example, and runs that are killed at any step."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import tesson.torch  # noqa: E402
from tesson.io import MinibatchSource

EXAMPLE = Path(__file__).parents[4] / "examples" / "torch" / "train.py"


def output(*arguments: Any) -> str:
    command = [sys.executable, str(EXAMPLE), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_example_learns_and_resumes_to_the_same_weights() -> None:
    printed = output("--epochs", 5)
    assert float(re.findall(r"([\d.]+)%", printed)[0]) > 90
    assert "identical" in printed


def test_the_example_goes_on_in_another_process(tmp_path: Path) -> None:
    straight, stopped = tmp_path / "straight.pt", tmp_path / "stopped.pt"
    output("--epochs", 3, "--checkpoint", straight)
    output("--epochs", 3, "--checkpoint", stopped, "--stop-after", 30)
    assert weights(stopped) != weights(straight)
    output("--epochs", 3, "--checkpoint", stopped)
    assert weights(stopped) == weights(straight)


@pytest.mark.parametrize("processes", [1, 2])
def test_the_example_with_accelerate_resumes_to_the_same_weights(tmp_path: Path, processes: int) -> None:
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    launcher = ["-m", "accelerate.commands.launch", "--cpu", "--num_processes", str(processes), "--num_machines", "1"]
    load_file = pytest.importorskip("safetensors.torch", reason="safetensors is not installed").load_file

    def trained(name: str, *arguments: Any) -> dict[str, Any]:
        example = [str(EXAMPLE.with_name("accelerate_loop.py")), "--epochs", "2", "--checkpoint", name]
        launch = [*launcher, "--mixed_precision", "no", "--dynamo_backend", "no"] if processes > 1 else []
        command = [sys.executable, *launch, *example]
        run = subprocess.run([*command, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stderr
        return {name: value.tolist() for name, value in load_file(tmp_path / name / "model.safetensors").items()}

    straight = trained("straight")
    # Inside the first epoch, and behind its last minibatch.
    for steps in (10, 23):
        assert trained(f"stopped-{steps}", "--stop-after", steps) != straight
        assert trained(f"stopped-{steps}") == straight


def test_the_example_with_lightning_resumes_to_the_same_weights(tmp_path: Path) -> None:
    pytest.importorskip("lightning", reason="lightning is not installed")

    def trained(name: str, *arguments: Any) -> dict[str, Any]:
        command = [sys.executable, str(EXAMPLE.with_name("lightning_module.py")), "--epochs", "2", "--checkpoint", name]
        run = subprocess.run([*command, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert run.returncode == 0, run.stderr
        state = torch.load(tmp_path / name, weights_only=False)["state_dict"]
        return {name: value.tolist() for name, value in state.items()}

    straight = trained("straight")
    for steps in (10, 23):
        assert trained(f"stopped-{steps}", "--stop-after", steps) != straight
        assert trained(f"stopped-{steps}") == straight


def fitted(path: Path, stop_after: int | None, workers: int) -> list[list[float]]:
    """The minibatches that Lightning's trainer takes in three epochs of five: up to a step, where it saves, or from what was saved."""
    lightning = pytest.importorskip("lightning", reason="lightning is not installed")
    torchdata = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    seen = []

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def train_dataloader(self) -> Any:
            made = lambda: MinibatchSource.from_data(x=np.arange(20.0), randomize="global", randomization_seed=5)  # noqa: E731
            return torchdata.StatefulDataLoader(tesson.torch.IterableDataset(made, SIZE), batch_size=None, num_workers=workers)

        def training_step(self, batch: Any, _: int) -> Any:
            seen.append(batch["x"].flatten().tolist())
            return self.layer(batch["x"].reshape(-1, 1)).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=1e-5)

    class Saving(lightning.Callback):  # type: ignore[misc, name-defined, unused-ignore]
        def on_train_batch_end(self, trainer: Any, *arguments: Any) -> None:
            if trainer.global_step == stop_after:
                trainer.save_checkpoint(path)
                trainer.should_stop = True

    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", devices=1, callbacks=[Saving()], **quiet)
    trainer.fit(Module(), ckpt_path=path if path.exists() else None)
    return seen


@pytest.mark.parametrize("workers", [0, 2])
def test_lightning_resumes_in_the_middle_of_an_epoch_without_a_loss(tmp_path: Path, workers: int) -> None:
    straight = fitted(tmp_path / "none", None, 0)
    assert len(straight) == 15
    # Behind the last minibatch of an epoch Lightning itself counts an epoch too many, whatever the loader.
    for step in (1, 2, 3, 4, 6, 8, 14) if workers == 0 else (3, 8):
        path = tmp_path / str(step)
        assert fitted(path, step, workers) + fitted(path, None, workers) == straight, step


def weights(path: Path) -> list[Any]:
    return [value.tolist() for value in torch.load(path, weights_only=True)["model"].values()]


ITEMS, SIZE, EPOCHS, KILLS = 22, 4, 30, 50


def endless() -> MinibatchSource:
    return MinibatchSource.from_data(x=np.arange(float(ITEMS)), randomize="global", randomization_seed=5, threads=1)


def train(path: Path, workers: int, step_taken: Callable[[], object]) -> None:
    """Trains to the end, or goes on with what was saved; saves weights, samples seen and the loader's state in every step."""
    torchdata = sys.modules["torchdata.stateful_dataloader"]
    # A pool of threads does not outlive a fork.
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    loader = torchdata.StatefulDataLoader(
        tesson.torch.IterableDataset(endless, SIZE), batch_size=None, num_workers=workers, persistent_workers=workers > 0
    )
    epoch, seen = 0, []
    if path.exists():
        saved = torch.load(path, weights_only=True)
        epoch, seen = saved["epoch"], saved["seen"]
        for part, state in zip((model, optimizer, loader), saved["parts"], strict=True):
            part.load_state_dict(state)
    while epoch < EPOCHS:
        for batch in loader:
            x = batch["x"].reshape(-1, 1)
            optimizer.zero_grad()
            (model(x) - 2 * x).square().mean().backward()
            optimizer.step()
            seen += x.flatten().tolist()
            parts = [part.state_dict() for part in (model, optimizer, loader)]
            new = path.with_suffix(".new")
            torch.save({"epoch": epoch, "seen": seen, "parts": parts, "model": model.state_dict()}, new)
            os.replace(new, path)
            step_taken()
        epoch += 1


def forked(path: Path, workers: int, kill_after: int | None) -> bool:
    """Trains in a child that is killed when it has taken so many steps; says whether it was."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        # The child leaves by os._exit only: it must never run the rest of the tests.
        try:
            os.close(receive)
            train(path, workers, lambda: os.write(send, b"."))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(send)
    with os.fdopen(receive, "rb", buffering=0) as steps:
        taken = 0
        while kill_after is None or taken < kill_after:
            # What the child's workers hold open, too, ends with them.
            if not steps.read(1):
                break
            taken += 1
        if kill_after is not None and taken == kill_after:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_that_is_killed_again_and_again_ends_in_the_same_weights(tmp_path: Path, workers: int) -> None:
    pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
    # What an optimizer imports, once for all children.
    torch.optim.SGD([torch.zeros(1)])
    straight, killed = tmp_path / "straight.pt", tmp_path / "killed.pt"
    assert not forked(straight, workers, None)
    draws = random.Random(workers)
    kills = sum(forked(killed, workers, draws.randint(0, 3)) for _ in range(KILLS))
    assert kills == KILLS
    assert not forked(killed, workers, None)
    assert weights(killed) == weights(straight)
    seen = [torch.load(path, weights_only=True)["seen"] for path in (killed, straight)]
    assert seen[0] == seen[1]
    assert len(seen[0]) >= ITEMS * EPOCHS
