"""Loaders that feed a GPU: checks that batches there are those of the CPU, and the rate of a training step.

    cargo xtask gpu                                  # on the first GPU; skipped by name where there is none
    python bench/python_gpu.py [--device cuda] [--steps N]

Checked: batches of ``loader.torch(device=...)`` with and without pinned memory, batches of ``loader.jax()``, DLPack to PyTorch, JAX
and CuPy, and resuming in the middle of an epoch. Prints a line of JSON for each check, and one for each corpus (dense floats,
tokens, JPEGs) with the examples a second of a training loop over the loader, over the same batches that are on the device already, and the share
of the one in the other. What is not installed is named.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import tesson
import torch

IMAGES = Path(__file__).parents[1] / "examples" / "pictures" / "train_map.txt"
#: Examples of a batch that is measured, and of one that is compared.
BATCH, COMPARED = 256, 16


def dense(n: int = 40_000) -> tesson.Dataset:
    random = np.random.default_rng(1)
    return tesson.from_arrays(x=random.normal(size=(n, 784)).astype(np.float32), y=random.integers(0, 10, n))


def tokens(n: int = 20_000) -> tesson.Dataset:
    random = np.random.default_rng(2)
    return tesson.from_arrays(x=random.integers(0, 50_000, (n, 256), dtype=np.int32), y=random.integers(0, 10, n))


def images() -> tesson.Dataset:
    return tesson.read_images(IMAGES, size=(224, 224)).rename(image="x", label="y")


CORPORA: dict[str, Callable[[], tesson.Dataset]] = {"dense floats": dense, "tokens": tokens, "JPEGs": images}


def say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def equal(tensors: Any, batch: tesson.Batch) -> bool:
    return all(np.array_equal(tensors[name].cpu().numpy(), batch[name]) for name in ("x", "y"))


def few(corpus: str) -> tesson.Dataset:
    """A corpus of some batches, to be compared."""
    return {"dense floats": lambda: dense(200), "tokens": lambda: tokens(200), "JPEGs": images}[corpus]()


def check_batches(data: tesson.Dataset, device: str, pin: bool) -> bool:
    options: dict[str, Any] = {"batch_size": COMPARED, "shuffle": True, "seed": 1}
    on_device = data.loader(**options).torch(device=device, pin_memory=pin)
    return all(equal(found, batch) for found, batch in zip(on_device, data.loader(**options), strict=True))


def check_resume(data: tesson.Dataset, device: str) -> bool:
    options: dict[str, Any] = {"batch_size": COMPARED, "shuffle": True, "seed": 1}
    first = data.loader(**options).torch(device=device, pin_memory=True)
    batches = iter(first)
    for _ in range(2):
        next(batches)
    state = first.state_dict()
    expected = [batch["y"].cpu().tolist() for batch in batches]
    resumed = data.loader(**options).torch(device=device, pin_memory=True)
    resumed.load_state_dict(state)
    return len(expected) > 1 and [batch["y"].cpu().tolist() for batch in resumed] == expected


def check_jax(data: tesson.Dataset) -> bool:
    options: dict[str, Any] = {"batch_size": COMPARED, "shuffle": True, "seed": 1}
    arrays = data.select("x").loader(**options).jax()
    return all(np.array_equal(np.asarray(found["x"]), batch["x"]) for found, batch in zip(arrays, data.loader(**options), strict=True))


def check_dlpack(data: tesson.Dataset, package: str) -> bool:
    batch = data.head(5)["x"]
    taken = {
        "torch": lambda torch: torch.from_dlpack(batch).numpy(),
        "jax": lambda jax: np.asarray(jax.dlpack.from_dlpack(batch)),
        "cupy": lambda cupy: cupy.asnumpy(cupy.asarray(batch)),
    }[package]
    return np.array_equal(taken(importlib.import_module(package)), batch)


def network(name: str, device: str) -> torch.nn.Module:
    layers: dict[str, list[torch.nn.Module]] = {
        "dense floats": [torch.nn.Linear(784, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)],
        "tokens": [torch.nn.EmbeddingBag(50_000, 256), torch.nn.Linear(256, 10)],
        "JPEGs": [torch.nn.Conv2d(3, 32, 7, 4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(512, 10)],
    }
    return torch.nn.Sequential(*layers[name]).to(device)


def rate(name: str, batches: Callable[[], Iterable[Any]], device: str, steps: int) -> float:
    """Examples a second of a training loop, without its first steps."""
    model = network(name, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    seen, begin, step = 0, 0.0, 0
    while step < steps:
        for batch in batches():
            if step == min(5, steps - 1):
                seen, begin = 0, now(device)
            x = batch["x"].permute(0, 3, 1, 2).float() / 255 if name == "JPEGs" else batch["x"]
            loss = torch.nn.functional.cross_entropy(model(x), batch["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen, step = seen + len(batch["y"]), step + 1
            if step == steps:
                break
    return seen / (now(device) - begin)


def now(device: str) -> float:
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description="Check loaders that feed a GPU, and measure them.")
    parser.add_argument("--device", default="cuda", help="the device that batches are copied to (default: cuda)")
    parser.add_argument("--steps", type=int, default=200, help="training steps of each measurement (default: 200)")
    arguments = parser.parse_args()
    device = arguments.device
    if device.startswith("cuda") and not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU (torch.cuda.is_available() is false)")
        return
    name = torch.cuda.get_device_name() if device.startswith("cuda") else device
    say(device=name, torch=torch.__version__)
    failed = []

    def check(what: str, holds: bool) -> None:
        say(check=what, passed=holds)
        failed.extend([] if holds else [what])

    for corpus in CORPORA:
        for pin in (False, True):
            check(f"{corpus}: batches equal the CPU's, {'pinned' if pin else 'pageable'} memory", check_batches(few(corpus), device, pin))
        check(f"{corpus}: resumed batches equal", check_resume(few(corpus), device))
    for package in ("torch", "jax", "cupy"):
        if importlib.util.find_spec(package) is None:
            say(check=f"DLPack to {package}", skipped=f"{package} is not installed")
        else:
            check(f"DLPack to {package}", check_dlpack(dense(100), package))
    if importlib.util.find_spec("jax") is None:
        say(check="JAX arrays equal", skipped="jax is not installed")
    else:
        check("JAX arrays equal", check_jax(dense(1000)))
    for corpus, make in CORPORA.items():
        loader = make().loader(batch_size=BATCH, shuffle=True, seed=1)
        kept = list(loader.torch(device=device))
        fed = rate(corpus, lambda: loader.torch(device=device, pin_memory=True), device, arguments.steps)  # noqa: B023
        held = rate(corpus, lambda: kept, device, arguments.steps)  # noqa: B023
        say(corpus=corpus, fed_per_s=round(fed), held_per_s=round(held), share=round(fed / held, 3))
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
