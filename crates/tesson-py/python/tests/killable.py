"""Runs a training example so that a test can kill it: `killable.py EXAMPLE ARGUMENTS…`, under a launcher or not.

The example's `Run` also keeps which samples each step had, over all processes together. Every process prints its number, and then
a line when a step begins (`step`), when a checkpoint is about to be written (`saving`), and when it has been (`saved`).
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def load(example: Path) -> Any:
    """The example as a module; what it imports from beside itself is found."""
    sys.path.insert(0, str(example.parent))
    spec = importlib.util.spec_from_file_location(example.stem, example)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def checksums(features: Any) -> list[int]:
    """A checksum of each sample, which tells it from others."""
    return [zlib.crc32(row.tobytes()) for row in np.asarray(features)]


def watched_torch(run: type[Any], report: Callable[[str], object]) -> type[Any]:
    """The `Run` of an example with PyTorch that keeps the samples of each step in its state, as `seen`."""
    import torch.distributed as dist

    class Watched(run):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[list[int]] = []

        def step(self, batch: dict[str, Any]) -> None:
            report("step")
            super().step(batch)
            shares: list[Any] = [checksums(batch["features"])]
            if dist.is_initialized():
                shares = [None] * dist.get_world_size()
                dist.all_gather_object(shares, checksums(batch["features"]))
            self.seen.append(sorted(sum(shares, [])))

        def state_dict(self) -> dict[str, Any]:
            return {**super().state_dict(), "seen": self.seen}

        def load_state_dict(self, state: dict[str, Any]) -> None:
            super().load_state_dict(state)
            self.seen = state["seen"]

        def save(self, path: Path | None) -> None:
            report("saving")
            super().save(path)
            report("saved")

    return Watched


def watched_jax(run: type[Any], report: Callable[[str], object]) -> type[Any]:
    """A watched class like :func:`watched_torch`, for an example with JAX."""
    from jax.experimental.multihost_utils import process_allgather

    class Watched(run):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[list[int]] = []

        def step(self, batch: dict[str, Any]) -> None:
            report("step")
            super().step(batch)
            self.seen.append(sorted(checksums(process_allgather(batch["features"], tiled=True))))

        def state(self) -> dict[str, Any]:
            return {**super().state(), "seen": np.array(json.dumps(self.seen))}

        def set_state(self, state: dict[str, Any]) -> None:
            super().set_state(state)
            self.seen = json.loads(str(state["seen"]))

        def save(self, path: Path | None) -> None:
            report("saving")
            super().save(path)
            report("saved")

    return Watched


def report(text: str) -> None:
    """A line that launchers pass on whole, whatever other processes print."""
    os.write(1, f"{text}\n".encode())


def main() -> None:
    example = Path(sys.argv.pop(1))
    sys.argv[0] = str(example)
    report(f"process {os.getpid()}")
    module = load(example)
    name, watched = ("DistributedRun", watched_torch) if hasattr(module, "DistributedRun") else ("Run", watched_jax)
    setattr(module, name, watched(getattr(module, name), report))
    module.main()


if __name__ == "__main__":
    main()
