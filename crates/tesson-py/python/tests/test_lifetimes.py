"""Arrays: whose memory they stand on, and for how long."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np

from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

Make = Callable[..., MinibatchSource]


def test_arrays_stay_valid_after_minibatch_and_source_are_gone(sources: tuple[Make, Make]) -> None:
    source = sources[1](randomize=False)
    minibatch = source.next_minibatch(5)
    tags, words = minibatch["tags"], minibatch["words"]
    views = [tags.samples, tags.as_sequences()[1], words.indptr, words.indices, words.values, tags.asarray()]
    copies = [view.copy() for view in views]
    # Memory that went back would be overwritten by these.
    for _ in range(50):
        source.next_minibatch(5)["tags"].samples.fill(9)
    source.close()
    del source, minibatch, tags, words
    gc.collect()
    for view, copy in zip(views, copies, strict=True):
        assert np.array_equal(view, copy)


def test_arrays_are_writable_views_made_once(sources: tuple[Make, Make]) -> None:
    minibatch = sources[1](randomize=False).next_minibatch(5)
    tags, words = minibatch["tags"], minibatch["words"]
    for data, name in ((tags, "samples"), (words, "indptr"), (words, "indices"), (words, "values")):
        array = getattr(data, name)
        assert array.flags.writeable and array.flags.c_contiguous and array.flags.aligned
        assert not array.flags.owndata
        assert getattr(data, name) is array
    tags.samples[0, 0] = 5
    assert minibatch["tags"].as_sequences()[0][0, 0] == 5
    assert tags.asarray()[0, 0, 0] == 5


def test_minibatches_do_not_share_memory(sources: tuple[Make, Make]) -> None:
    source = sources[0](randomize=False)
    arrays = [source.next_minibatch(2)["features"].samples for _ in range(10)]
    for i, a in enumerate(arrays):
        assert not any(np.shares_memory(a, b) for b in arrays[:i])


def test_memory_is_used_again_when_the_last_view_dies(ctf: Callable[[str], str]) -> None:
    file = ctf("".join(f"|x {' '.join(str(i) for _ in range(1000))}\n" for i in range(50)))
    source = MinibatchSource(CTFDeserializer(file, StreamDefs(x=StreamDef(shape=1000))), randomize=False, threads=1)
    addresses = set()
    for _ in range(3000):
        samples = source.next_minibatch(10)["x"].samples
        addresses.add(samples.ctypes.data)
        del samples
    # Some hold prefetched minibatches, some wait in the pool; none is lost.
    assert len(addresses) < 300


def test_a_view_keeps_its_memory_and_nothing_else(sources: tuple[Make, Make]) -> None:
    minibatch = sources[1](randomize=False).next_minibatch(5)
    samples = minibatch["tags"].samples
    gone = weakref.ref(samples)
    part = samples[1:]
    del samples, minibatch
    gc.collect()
    assert part.sum() == 4
    # NumPy lets a view refer to the owner of the memory; the array in between may go.
    assert gone() is None or part.base is gone()
