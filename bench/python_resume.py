"""Counts what loaders lose and repeat when a run is killed at random steps and resumes, also on another number of ranks.

A dataset of numbered examples is read in one shuffled epoch, by 1, 2 or 4 ranks that go step by step, with 64 examples a step over all ranks. After each
step the state of every rank is saved as bytes. A kill drops everything but these bytes; new loaders, of the same or another number of ranks, restore them
and read the rest of the epoch. Each example should come once: examples that never come are lost, all further times are repeats.

Where a loader documents no way to change the number of ranks, a new rank restores the state of the rank of its own number, modulo the old number.

    python bench/python_resume.py                       # each loader that is installed, 1,000 kills
    python bench/python_resume.py tesson grain --kills 100
"""

import argparse
import functools
import io
import itertools
import json
import pickle
import random
import statistics
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

EXAMPLES = 4000
BATCH = 64
RANKS = (1, 2, 4)

#: Batches of numbers of a rank, and a function that gives its state after the batch that came last.
Opened = tuple[Iterator[list[int]], Callable[[], bytes]]


def tesson_loader(folder: Path, rank: int, world: int, states: list[bytes] | None) -> Opened:
    import tesson

    loader = tesson.read_parquet(folder / "*.parquet").loader(batch_size=BATCH, shuffle=True, seed=1, rank=rank, world_size=world)
    if states:
        loader.load_state_dict(json.loads(states[0]))
    return (batch["number"].tolist() for batch in loader), lambda: json.dumps(loader.state_dict()).encode() if rank == 0 else b""


def grain_dataset(folder: Path, rank: int, world: int, states: list[bytes] | None) -> Opened:
    import grain

    dataset = grain.MapDataset.source(range(EXAMPLES)).shuffle(seed=1)[rank::world].batch(BATCH // world)
    iterator = iter(dataset.to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=2)))
    if states:
        iterator.set_state(json.loads(states[rank % len(states)]))
    return (batch.tolist() for batch in iterator), lambda: json.dumps(iterator.get_state()).encode()


def grain_loader(folder: Path, rank: int, world: int, states: list[bytes] | None) -> Opened:
    import grain

    sampler = grain.samplers.IndexSampler(EXAMPLES, shard_options=grain.sharding.ShardOptions(rank, world), shuffle=True, seed=1, num_epochs=1)
    loader = grain.DataLoader(data_source=range(EXAMPLES), sampler=sampler, operations=[grain.transforms.Batch(BATCH // world)])
    iterator = iter(loader)
    if states:
        iterator.set_state(states[rank % len(states)])
    return (batch.tolist() for batch in iterator), iterator.get_state


def torch_loader(folder: Path, rank: int, world: int, states: list[bytes] | None) -> Opened:
    from torchdata.stateful_dataloader import StatefulDataLoader
    from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler

    sampler = StatefulDistributedSampler(range(EXAMPLES), world, rank, shuffle=True, seed=1)
    loader = StatefulDataLoader(range(EXAMPLES), BATCH // world, sampler=sampler)
    if states:
        loader.load_state_dict(pickle.loads(states[rank % len(states)]))
    return (batch.tolist() for batch in loader), lambda: pickle.dumps(loader.state_dict())


def huggingface_iterable(folder: Path, rank: int, world: int, states: list[bytes] | None) -> Opened:
    from datasets.distributed import split_dataset_by_node

    dataset = split_dataset_by_node(huggingface_files(folder).shuffle(seed=1, buffer_size=500), rank, world)
    if states:
        dataset.load_state_dict(pickle.loads(states[rank % len(states)]))
    numbers = (example["number"] for example in dataset)
    return batched(numbers, BATCH // world), lambda: pickle.dumps(dataset.state_dict())


@functools.cache
def huggingface_files(folder: Path) -> Any:
    """The dataset before it is shuffled; finding its files takes a second."""
    import datasets

    files = sorted(str(path) for path in folder.glob("*.parquet"))
    return datasets.load_dataset("parquet", data_files=files, split="train", streaming=True, cache_dir=str(folder / "cache"))


def webdataset_shards(folder: Path, rank: int, world: int, states: list[bytes] | None) -> Opened:
    import webdataset

    # It saves no state: the epoch begins once more.
    def of_this_rank(shards: Iterator[Any]) -> Iterator[Any]:
        return itertools.islice(shards, rank, None, world)

    files = sorted(str(path) for path in folder.glob("*.tar"))
    samples = webdataset.WebDataset(files, nodesplitter=of_this_rank, shardshuffle=16, detshuffle=True, seed=1).shuffle(500)
    numbers = (int(sample["txt"]) for sample in samples)
    return batched(numbers, BATCH // world), lambda: b""


def mosaic_plan(folder: Path, rank: int, world: int, states: list[bytes] | None) -> Opened:
    """The numbers that each rank would read, by the function that its datasets ask: ranks of a node share memory and wait for each other, so that they
    cannot be opened in turns in one process."""
    from streaming.base.batching import generate_work
    from streaming.base.world import World

    dataset = mosaic_dataset(folder, BATCH // world)
    start = json.loads(states[0])["sample_in_epoch"] if states else 0
    work = generate_work("random", dataset, World(1, world, 1, rank), 0, start)[0, rank, 0]
    done = 0

    def batches() -> Iterator[list[int]]:
        nonlocal done
        for batch in work:
            done += BATCH
            yield [number for number in batch.tolist() if number >= 0]

    # The function of its state, for a run of one node that began at the start.
    state = {"epoch": 0, "num_canonical_nodes": dataset.num_canonical_nodes, "shuffle_seed": dataset.shuffle_seed, "initial_physical_nodes": 1}
    return batches(), lambda: json.dumps({**state, "sample_in_epoch": start + done}).encode() if rank == 0 else b""


@functools.cache
def mosaic_dataset(folder: Path, batch_size: int) -> Any:
    import streaming

    shards = folder / "mds"
    if not shards.exists():
        with streaming.MDSWriter(out=str(shards), columns={"number": "int64"}, size_limit=2000) as writer:
            for number in range(EXAMPLES):
                writer.write({"number": number})
    # The block size is the one that iterating would choose.
    options = {"shuffle_seed": 1, "shuffle_block_size": 4_000_000, "num_canonical_nodes": 1}
    return streaming.StreamingDataset(local=str(shards), shuffle=True, batch_size=batch_size, **options)


def batched(numbers: Iterator[int], size: int) -> Iterator[list[int]]:
    while batch := list(itertools.islice(numbers, size)):
        yield batch


#: By name: the loader, the package whose version is shown, and words for the table.
LOADERS = {
    "tesson": (tesson_loader, "tesson", "Tesson, Parquet files, the whole shuffled"),
    "grain": (grain_dataset, "grain", "Grain `MapDataset`, a slice for each rank"),
    "grain-loader": (grain_loader, "grain", "Grain `DataLoader`, `IndexSampler`"),
    "torch": (torch_loader, "torchdata", "torchdata `StatefulDataLoader`, `StatefulDistributedSampler`"),
    "huggingface": (huggingface_iterable, "datasets", "datasets `IterableDataset`, buffer of 500"),
    "mosaic": (mosaic_plan, "mosaicml-streaming", "Mosaic `StreamingDataset`, one canonical node, planned and not read"),
    "webdataset": (webdataset_shards, "webdataset", "WebDataset, buffer of 500"),
}


def write(folder: Path) -> None:
    """The numbered examples, in 16 Parquet files and in 16 archives."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for part in range(16):
        numbers = range(part * EXAMPLES // 16, (part + 1) * EXAMPLES // 16)
        pq.write_table(pa.table({"number": list(numbers)}), folder / f"{part:02}.parquet")
        with tarfile.open(folder / f"{part:02}.tar", "w") as archive:
            for number in numbers:
                member = tarfile.TarInfo(f"{number:06}.txt")
                member.size = len(text := str(number).encode())
                archive.addfile(member, io.BytesIO(text))


def steps(ranks: list[Opened]) -> Iterator[list[int]]:
    """The numbers of each step of all ranks, until the last of them ends."""
    for batches in itertools.zip_longest(*(batches for batches, _ in ranks), fillvalue=()):
        yield [number for batch in batches for number in batch]


def whole_run(open_one: Callable[..., Opened], folder: Path, world: int) -> list[tuple[list[int], list[bytes]]]:
    """The numbers of each step, and the states of all ranks after it."""
    ranks = [open_one(folder, rank, world, None) for rank in range(world)]
    return [(numbers, [state() for _, state in ranks]) for numbers in steps(ranks)]


def measure(name: str, folder: Path, kills: int, minutes: float) -> dict[str, Any]:
    open_one, package, words = LOADERS[name]
    started = time.perf_counter()
    runs = {world: whole_run(open_one, folder, world) for world in RANKS}
    unharmed = {world: Counter(number for numbers, _ in run for number in numbers) for world, run in runs.items()}
    draw = random.Random(1)
    outcomes: dict[str, list[tuple[int, int]]] = {"same": [], "other": []}
    refused, seconds = Counter[str](), []
    made = 0
    for kill in range(kills):
        if time.perf_counter() - started > 60 * minutes:
            break
        made += 1
        before, after = draw.choice(RANKS), draw.choice(RANKS)
        if kill % 2 == 0:
            after = before
        elif after == before:
            after = RANKS[(RANKS.index(before) + 1) % len(RANKS)]
        kind = "same" if after == before else "other"
        step = draw.randrange(1, len(runs[before]))
        seen = Counter(number for numbers, _ in runs[before][:step] for number in numbers)
        try:
            at = time.perf_counter()
            resumed = steps([open_one(folder, rank, after, runs[before][step - 1][1]) for rank in range(after)])
            seen.update(next(resumed, []))
            seconds.append(time.perf_counter() - at)
            seen.update(number for numbers in resumed for number in numbers)
        except Exception as error:  # whatever a loader refuses with
            refused[f"{kind}: {type(error).__name__}: {str(error).splitlines()[0][:120]}"] += 1
            continue
        lost = EXAMPLES - len(seen)
        outcomes[kind].append((lost, seen.total() - len(seen)))
    sizes = [sum(len(state) for state in states) for _, states in runs[4]]
    return {
        "loader": words,
        "version": version(package) if name != "tesson" else __import__("tesson").__version__,
        "kills": made,
        "unharmed": {world: {"lost": EXAMPLES - len(seen), "repeated": seen.total() - len(seen)} for world, seen in unharmed.items()},
        "same number of ranks": summary(outcomes["same"]),
        "another number of ranks": summary(outcomes["other"]),
        "refused": dict(refused),
        "bytes of state, 4 ranks": {"median": statistics.median(sizes), "largest": max(sizes)},
        "seconds to the first step": {"median": statistics.median(seconds), "largest": max(seconds)} if seconds else None,
        "seconds of the whole measurement": round(time.perf_counter() - started, 1),
    }


def summary(outcomes: list[tuple[int, int]]) -> dict[str, Any]:
    """How many resumed runs were exact, and what the others lost and repeated."""
    if not outcomes:
        return {"resumed": 0}
    lost, repeated = zip(*outcomes, strict=True)
    return {
        "resumed": len(outcomes),
        "exact": sum(outcome == (0, 0) for outcome in outcomes),
        "lost": {"median": statistics.median(lost), "largest": max(lost), "sum": sum(lost)},
        "repeated": {"median": statistics.median(repeated), "largest": max(repeated), "sum": sum(repeated)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loaders", nargs="*", default=list(LOADERS), help=", ".join(LOADERS))
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=60.0, help="the longest time for a loader, which then has fewer kills")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        for name in options.loaders:
            try:
                print(json.dumps(measure(name, Path(folder), options.kills, options.minutes)), flush=True)
            except ImportError as error:
                print(json.dumps({"loader": name, "skipped": str(error)}), flush=True)


if __name__ == "__main__":
    main()
