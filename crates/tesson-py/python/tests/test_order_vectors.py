"""The orders, computed in plain Python from docs/order.md alone, against the file of test vectors and against sources.

Nothing of Tesson is used but in the last test: this is the program that the page promises can be written from it.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[4] / "docs"
VECTORS = json.loads((DOCS / "order-vectors.json").read_text())

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mt(seed: int) -> Iterator[int]:
    """The outputs of MT19937-64."""
    x = [seed & MASK]
    for i in range(1, 312):
        x.append((6364136223846793005 * (x[-1] ^ (x[-1] >> 62)) + i) & MASK)
    while True:
        for i in range(312):
            y = (x[i] & (MASK << 31)) | (x[(i + 1) % 312] & 0x7FFFFFFF)
            x[i] = x[(i + 156) % 312] ^ (y >> 1) ^ (0xB5026F5AA96619E9 if y & 1 else 0)
        for y in list(x):
            y ^= (y >> 29) & 0x5555555555555555
            y ^= (y << 17) & 0x71D67FFFEDA60000
            y ^= (y << 37) & 0xFFF7EEE000000000
            yield (y ^ (y >> 43)) & MASK


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def keys(seed: int, sweep: int) -> Iterator[int]:
    state = mix(mix((seed + GOLDEN) & MASK) ^ sweep)
    while True:
        state = (state + GOLDEN) & MASK
        yield mix(state)


def words(s: int, t: int) -> Callable[[int], int]:
    """Word i of Philox4x32-10."""
    low = 2**32 - 1

    def word(i: int) -> int:
        block = i // 4
        k, c = [s & low, s >> 32], [block & low, block >> 32, t & low, t >> 32]
        for _ in range(10):
            a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
            c = [(b >> 32) ^ c[1] ^ k[0], b & low, (a >> 32) ^ c[3] ^ k[1], a & low]
            k = [(k[0] + 0x9E3779B9) & low, (k[1] + 0xBB67AE85) & low]
        return c[i % 4]

    return word


Sequence = tuple[int, int]


def stored(chunks: list[list[int]]) -> list[Sequence]:
    return [(chunk, i) for chunk, lengths in enumerate(chunks) for i in range(len(lengths))]


def chunks_of_sweep(n: int, seed: int) -> list[int]:
    order, draws = list(range(n)), mt(seed)
    for i in range(n):
        j = next(draws) % n
        order[i], order[j] = order[j], order[i]
    return order


def windows(places: list[int], chunks: list[list[int]], window: dict[str, int]) -> list[tuple[int, int]]:
    n, found = len(places), []
    if "chunks" in window:
        size = window["chunks"]
        for p in range(n):
            begin = max(0, p - size // 2)
            found.append((begin, begin + size) if begin + size <= n else (max(0, n - size), n))
        return found
    half, begin, end, before = window["samples"] // 2, 0, 1, [0]
    for chunk in places:
        before.append(before[-1] + sum(chunks[chunk]))
    for p in range(n):
        while before[p] - before[begin] > half:
            begin += 1
        end = max(end, p + 1)
        while end < n and before[end + 1] - before[p] < half:
            end += 1
        found.append((begin, end))
    return found


def chunk_window(chunks: list[list[int]], seed: int, window: dict[str, int]) -> list[Sequence]:
    """One sweep, whose number has been added to the seed."""
    places = chunks_of_sweep(len(chunks), seed)
    first, home, sequences = [0], [], []
    for place, chunk in enumerate(places):
        sequences += [(chunk, i) for i in range(len(chunks[chunk]))]
        home += [place] * len(chunks[chunk])
        first.append(len(sequences))
    of_place = windows(places, chunks, window)
    order, draws = list(range(len(sequences))), mt(seed)
    for t in range(len(order)):
        begin, end = of_place[home[t]]
        a, b = first[begin], first[end]
        while True:
            j = a + next(draws) % (b - a)
            reach = of_place[home[j]]
            if begin <= home[order[j]] < end and reach[0] <= home[order[t]] < reach[1]:
                break
        order[t], order[j] = order[j], order[t]
    return [sequences[position] for position in order]


def permutation(n: int, seed: int, sweep: int) -> Callable[[int], int]:
    key = keys(seed, sweep)
    if n <= 1024:
        table = list(range(n))
        for i in range(n - 1, 0, -1):
            j = (next(key) * (i + 1)) >> 64
            table[i], table[j] = table[j], table[i]
        return table.__getitem__
    bits = (n - 1).bit_length()
    short, long = bits // 2, bits - bits // 2
    k = [next(key) for _ in range(9)]

    def f(half: int, key: int) -> int:
        x = ((half ^ key) * 0xD6E8FEB86659FD93) & MASK
        return ((x ^ (x >> 32)) * GOLDEN) & MASK

    def once(x: int) -> int:
        left, right = x >> long, x & ((1 << long) - 1)
        for one, other in zip(k[0:8:2], k[1:8:2], strict=True):
            left ^= f(right, one) >> (64 - short)
            right ^= f(left, other) >> (64 - long)
        return left << long | right

    def get(i: int) -> int:
        x = once(i ^ (k[8] >> 63) if i < 2 else i)
        while x >= n:
            x = once(x)
        return x

    return get


def pools(vector: dict[str, Any], sweep: int) -> list[int]:
    """Where pools begin, and where the last one ends."""
    chunks, window = vector["chunks"], vector["window"]
    n = sum(map(len, chunks))
    if window is None:
        return [0, n]
    begins, size, position = [], 0, 0
    (unit, most), = window.items()
    for chunk in chunks_of_sweep(len(chunks), (vector["seed"] + sweep) & MASK):
        more = 1 if unit == "chunks" else sum(chunks[chunk])
        if not begins or size + more > most:
            begins.append(position)
            size = 0
        size += more
        position += len(chunks[chunk])
    return [*begins, n]


def bucketed(vector: dict[str, Any], sweep: int, order: list[Sequence]) -> list[Sequence]:
    most, most_sequences = vector["bucketing"]["samples"], vector["bucketing"]["sequences"] or MASK
    begins, found = pools(vector, sweep), []
    for f, end in zip(begins, begins[1:], strict=False):
        buckets: list[list[Sequence]] = [[]]
        taken = 0
        for chunk, i in sorted(order[f:end], key=lambda s: vector["chunks"][s[0]][s[1]]):
            length = vector["chunks"][chunk][i]
            if buckets[-1] and (taken + length > most or len(buckets[-1]) >= most_sequences):
                buckets.append([])
                taken = 0
            buckets[-1].append((chunk, i))
            taken += length
        draws = mt(mix((vector["seed"] + sweep) & MASK) ^ mix((f + GOLDEN) & MASK))
        for i in range(len(buckets) - 1, 0, -1):
            j = next(draws) % (i + 1)
            buckets[i], buckets[j] = buckets[j], buckets[i]
        found += [sequence for bucket in buckets for sequence in bucket]
    return found


def sweep_of(vector: dict[str, Any], sweep: int) -> list[Sequence]:
    chunks, seed = vector["chunks"], vector["seed"]
    if vector["order"] == "as_stored":
        return stored(chunks)
    if vector["order"] == "chunk_window":
        order = chunk_window(chunks, (seed + sweep) & MASK, vector["window"])
    else:
        sequences = stored(chunks)
        get = permutation(len(sequences), seed, sweep)
        order = [sequences[get(i)] for i in range(len(sequences))]
    return order if vector["bucketing"] is None else bucketed(vector, sweep, order)


def name(vector: dict[str, Any]) -> str:
    parts = [vector[key] for key in ("order", "seed", "window", "bucketing", "sharing", "workers", "equalSteps", "rightSplice") if vector.get(key)]
    return " ".join(map(str, parts))


@pytest.mark.parametrize("vector", VECTORS["sweeps"], ids=name)
def test_sweeps_are_those_of_the_page(vector: dict[str, Any]) -> None:
    if n := vector.get("sequencesInOneChunk"):
        for sweep, first in enumerate(vector["sweepsBeginWith"]):
            get = permutation(n, vector["seed"], sweep)
            assert [[0, get(i)] for i in range(len(first))] == first
        return
    for sweep, expected in enumerate(vector["sweeps"]):
        assert sweep_of(vector, sweep) == [tuple(sequence) for sequence in expected]


def owner(vector: dict[str, Any], sweep: int, i: int, sequence: Sequence) -> int:
    """The rank of position i of a sweep, sharing by chunk."""
    chunks = vector["chunks"]
    if vector["order"] == "as_stored":
        number = sweep * sum(map(len, chunks)) + i
    elif vector["order"] == "global":
        number = sequence[0]
    else:
        number = chunks_of_sweep(len(chunks), (vector["seed"] + sweep) & MASK).index(sequence[0])
    return number % vector["workers"]


def cut(vector: dict[str, Any], workers: int, rank: int) -> list[list[list[int]]]:
    """The minibatches of a rank that cuts its own sequences."""
    sweeps = [sweep_of(vector, sweep) for sweep in range(vector["maxSweeps"])]
    samples, is_stored = vector["samples"], vector["order"] == "as_stored"
    room = max(1, samples // workers + (rank < samples % workers))
    cursor, found = (0, 0), []
    while cursor[0] < len(sweeps):
        batch: list[list[int]] = []
        taken, forced = 0, True
        while cursor[0] < len(sweeps) and not (taken >= room and is_stored):
            sweep, i = cursor
            chunk, number = sweeps[sweep][i]
            if workers == 1 or owner(vector, sweep, i, (chunk, number)) == rank:
                length = vector["chunks"][chunk][number]
                if taken + length > room and not (forced and not batch):
                    break
                batch.append([sweep, chunk, number])
                taken += length
            cursor = (sweep, i + 1)
            if i + 1 == len(sweeps[sweep]):
                cursor = (sweep + 1, 0)
                if not vector["crossSweepEnds"] or taken >= room:
                    break
                forced = is_stored
        found.append(batch)
    return found


def equal(vector: dict[str, Any], ranks: list[list[list[list[int]]]]) -> list[list[list[list[int]]]]:
    """Equally many minibatches of each sweep, for ranks that cut their own."""
    found: list[list[list[list[int]]]] = [[] for _ in ranks]
    for sweep in range(vector["maxSweeps"]):
        own = [[batch for batch in batches if batch and batch[0][0] == sweep] for batches in ranks]
        steps = (min if vector["equalSteps"] == "drop" else max)(map(len, own))
        for rank, batches in enumerate(own):
            again = batches if vector["equalSteps"] == "repeat" else [[]]
            found[rank] += (batches + [batch for _ in range(steps) for batch in again])[:steps]
    return found


def dealt(vector: dict[str, Any], batch: list[list[int]], rank: int) -> list[list[int]]:
    """A rank's share of a minibatch, sharing by position."""
    if vector["equalSteps"] == "repeat" and 0 < len(batch) < vector["workers"]:
        rank %= len(batch)
    return batch[rank :: vector["workers"]]


@pytest.mark.parametrize("vector", VECTORS["minibatches"], ids=name)
def test_minibatches_are_those_of_the_page(vector: dict[str, Any]) -> None:
    workers = vector["workers"]
    if vector["sharing"] == "position":
        of_all = [batch for batch in cut(vector, 1, 0) if vector["equalSteps"] != "drop" or len(batch) >= workers]
        ranks = [[dealt(vector, batch, rank) for batch in of_all] for rank in range(workers)]
    else:
        ranks = [cut(vector, workers, rank) for rank in range(workers)]
        ranks = equal(vector, ranks) if vector["equalSteps"] else ranks
    assert ranks == vector["ranks"]


def pieces(vector: dict[str, Any], rank: int) -> list[list[list[int]]]:
    """The truncated minibatches of a rank."""
    n, by_chunk = vector["samples"] // vector["truncationLength"], vector["sharing"] == "chunk"
    workers = vector["workers"] if by_chunk else 1
    own = n // workers + (rank < n % workers) if by_chunk else n
    sequences = [
        [sweep, *sequence]
        for sweep in range(vector["maxSweeps"])
        for i, sequence in enumerate(sweep_of(vector, sweep))
        if workers == 1 or owner(vector, sweep, i, sequence) == rank
    ]
    # Of each slot the samples to come, each with its sequence.
    slots: list[list[list[int]]] = [[] for _ in range(own)]
    length, found = vector["truncationLength"], []
    while True:
        while sequences and (slot := next((slot for slot in slots if len(slot) <= length), None)) is not None:
            sequence = sequences.pop(0)
            slot += [[*sequence, sample] for sample in range(vector["chunks"][sequence[1]][sequence[2]])]
        if not any(slots):
            return found
        batch = []
        for number, slot in enumerate(slots):
            given = slot[:length]
            of_one = len(given) == length and len({tuple(sample[:3]) for sample in given}) == 1
            del slot[: len(given) - (vector["rightSplice"] if of_one else 0)]
            for sequence, group in itertools.groupby(given, key=lambda sample: sample[:3]):
                samples = [sample[3] for sample in group]
                batch.append([number, *sequence, samples[0], samples[-1] + 1])
        if not by_chunk:
            batch = [[piece[0] // vector["workers"], *piece[1:]] for piece in batch if piece[0] % vector["workers"] == rank]
        found.append(batch)


@pytest.mark.parametrize("vector", VECTORS["truncated"], ids=name)
def test_truncated_minibatches_are_those_of_the_page(vector: dict[str, Any]) -> None:
    assert [pieces(vector, rank) for rank in range(vector["workers"])] == vector["ranks"]


def local_plain(vector: dict[str, Any], rank: int) -> list[list[int]]:
    own = stored(vector["chunks"])[rank :: vector["workers"]]
    return [[sweep, *sequence] for sweep in range(3) for sequence in own]


def tumbling(vector: dict[str, Any], rank: int) -> list[list[int]]:
    chunks, seed, (unit, size) = vector["chunks"], vector["seed"], next(iter(vector["window"].items()))
    place, v, own_sweep, found = 0, 0, 0, []

    def shuffled(entries: list[Sequence], seed: int) -> list[list[int]]:
        draws, m = mt(seed & MASK), len(entries)
        for i in range(m):
            j = i + next(draws) % (m - i)
            entries[i], entries[j] = entries[j], entries[i]
        return [[own_sweep, *sequence] for sequence in entries]

    while own_sweep < 3:
        base, left, entries = place, size, []
        while left > 0:
            if place % vector["workers"] == rank:
                chunk = chunks_of_sweep(len(chunks), (seed + v) & MASK)[place]
                entries += [(chunk, i) for i in range(len(chunks[chunk]))]
                left = max(0, left - (1 if unit == "chunks" else sum(chunks[chunk])))
            place += 1
            if place == len(chunks):
                found += shuffled(entries, base + v + seed)
                own_sweep += 1
                base, place, v, entries = 0, 0, v + 1, []
        found += shuffled(entries, base + v + seed)
    return [entry for entry in found if entry[0] < 3]


@pytest.mark.parametrize("vector", VECTORS["local"], ids=name)
def test_local_timelines_are_those_of_the_page(vector: dict[str, Any]) -> None:
    of_rank = local_plain if vector["order"] == "local_plain" else tumbling
    assert [of_rank(vector, rank) for rank in range(vector["workers"])] == vector["ranks"]


def shuffle(items: Iterator[int], size: int, seeds: tuple[int, int], number: int) -> Iterator[int]:
    """A pass of tf.data's shuffle, reshuffled."""
    of_passes = words(*seeds)
    word = words(of_passes(2 * number), of_passes(2 * number + 1))
    queue: list[int] = []
    drawn = 0
    while True:
        while len(queue) < size and (item := next(items, None)) is not None:
            queue.append(item)
        if not queue:
            return
        at = word(drawn) % len(queue)
        drawn += 1
        yield queue[at]
        queue[at] = queue[0]
        queue.pop(0)


def interleave(files: Iterator[range], cycle: int, block: int) -> Iterator[int]:
    slots: list[Iterator[int] | None] = [None] * cycle
    while True:
        given_or_opened = False
        for i in range(cycle):
            if slots[i] is None and (file := next(files, None)) is not None:
                slots[i] = iter(file)
            if (slot := slots[i]) is None:
                continue
            given_or_opened = True
            for _ in range(block):
                if (record := next(slot, None)) is None:
                    slots[i] = None
                    break
                yield record
        if not given_or_opened:
            return


Begin = Callable[[], Iterator[int]]


class Shuffle:
    """A shuffle of what lies below it, which counts its passes."""

    def __init__(self, below: Begin, size: int, seeds: tuple[int, int]) -> None:
        self.below, self.size, self.seeds, self.passes = below, size, seeds, 0

    def __call__(self) -> Iterator[int]:
        self.passes += 1
        # A generator begins what lies below when its first record is asked for.
        return shuffle((record for begun in (self.below,) for record in begun()), self.size, self.seeds, self.passes - 1)


def repeated(below: Begin, count: int) -> Begin:
    def begin() -> Iterator[int]:
        def records(begun: Iterator[int]) -> Iterator[int]:
            for more in range(count - 1, -1, -1):
                yield from begun
                if more or not isinstance(below, Shuffle):
                    begun = below()

        return records(below())

    return begin


def operated(below: Begin, operation: dict[str, Any]) -> Begin:
    ((kind, of),) = operation.items()
    match kind:
        case "shuffle":
            return Shuffle(below, of["buffer"], tuple(of["seeds"]))
        case "repeat":
            return repeated(below, of)
        case "skip":
            return lambda: itertools.islice(below(), of, None)
        case "take":
            return lambda: itertools.islice(below(), of)
    return lambda: itertools.islice(below(), of["index"], None, of["num_shards"])


@pytest.mark.parametrize("vector", VECTORS["streams"], ids=str)
def test_streams_are_those_of_the_page(vector: dict[str, Any]) -> None:
    ends = [sum(vector["files"][: i + 1]) for i in range(len(vector["files"]))]
    spans = [range(end - n, end) for end, n in zip(ends, vector["files"], strict=True)]
    files: Begin = lambda: iter(range(len(spans)))  # noqa: E731
    if (seed := vector["fileSeed"]) is not None:
        files = Shuffle(files, len(spans), (87654321, seed))

    def records() -> Iterator[int]:
        order = files()
        return interleave((spans[i] for i in order), vector["cycle"], vector["block"])

    begin: Begin = records
    for operation in vector["operations"]:
        begin = operated(begin, operation)
    assert [list(begin()) for _ in vector["traversals"]] == vector["traversals"]


def test_a_source_delivers_what_the_page_says(tmp_path: Path) -> None:
    from tesson import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

    path = tmp_path / "data.ctf"
    path.write_text("".join(f"{key} |x {key}\n" for key in range(2000)))
    definition = StreamDefs(x=StreamDef(field="x", shape=1))
    with MinibatchSource(CTFDeserializer(str(path), definition), randomize="global", randomization_seed=5, max_sweeps=2) as source:
        found = [key for minibatch in source.minibatches(100) for key in minibatch["x"].keys]
        assert source.which(15, 100).keys == found[1500:1600]
    orders = [permutation(2000, 5, sweep) for sweep in range(2)]
    assert found == [get(i) for get in orders for i in range(2000)]
