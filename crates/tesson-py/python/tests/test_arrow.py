"""Minibatches as Arrow's columns."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tesson import UsageError, _tesson
from tesson.io import MinibatchSource
from tesson.arrow import columns

WORDS = [np.arange(4 * n, dtype=np.float32).reshape(n, 2, 2) for n in (2, 1, 3)]
TAGS = [csr_matrix(np.eye(5, dtype=np.float32)[rows]) for rows in ([4, 0], [1], [2, 2, 3])]


def minibatch() -> Any:
    source = MinibatchSource.from_data(words=WORDS, tags=TAGS, last=np.arange(3, dtype=np.float32), max_sweeps=1)
    return source.next_minibatch(100)


def test_rows_are_sequences_and_columns_share_memory() -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    data = minibatch()
    batch = pyarrow.record_batch(data)
    batch.validate(full=True)
    assert batch.column_names == ["key", "words", "tags", "last"]
    assert batch["key"].to_pylist() == [0, 1, 2]
    assert batch["last"].to_pylist() == [[[0.0]], [[1.0]], [[2.0]]]
    assert [len(words) for words in batch["words"].to_pylist()] == [2, 1, 3]
    tensors = batch["words"].values
    assert tensors.type.shape == [2, 2]
    assert np.array_equal(tensors.to_numpy_ndarray(), np.concatenate(WORDS))
    assert batch["tags"].to_pylist()[2] == [[{"index": n, "value": 1.0}] for n in (2, 2, 3)]
    values = batch["words"].values.storage.values.buffers()[1]
    assert values.address == data["words"].samples.__array_interface__["data"][0]
    # The columns outlive what they are made of.
    expected = np.concatenate(WORDS)
    del data
    gc.collect()
    assert np.array_equal(tensors.to_numpy_ndarray(), expected)


def test_a_table_takes_the_stream_once() -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    data = minibatch()
    table = pyarrow.RecordBatchReader.from_stream(data).read_all()
    assert table.num_rows == 3 and table.equals(pyarrow.table(data))
    for _ in range(3):
        # Nothing takes these: they are released with their capsules, of a stream read in part, too.
        data.__arrow_c_array__()
        data.__arrow_c_stream__()
        assert pyarrow.RecordBatchReader.from_stream(data).schema.names == table.schema.names
    # A column may be taken out of what is released.
    column = pyarrow.record_batch(data).column("tags")
    gc.collect()
    assert column.to_pylist()[1] == [[{"index": 1, "value": 1.0}]]


def test_an_error_that_is_pending_stays_when_columns_are_released() -> None:
    def failing() -> Any:
        capsules = minibatch().__arrow_c_array__()
        yield capsules
        raise ValueError("the consumer has failed")

    with pytest.raises(ValueError, match="the consumer has failed"):
        list(failing())


def test_keys_that_are_texts() -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    level = columns(minibatch())
    from tesson.arrow import _keys

    texts = ("+s", "", None, 2, [], [_keys(["é", "long key"])])
    schema, array = _tesson.arrow_array(texts)
    batch = pyarrow.RecordBatch._import_from_c_capsule(schema, array)
    assert batch["key"].to_pylist() == ["é", "long key"] and level[3] == 3


def test_ragged_streams_and_broken_levels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = minibatch()
    monkeypatch.setattr("tesson.MinibatchData.is_ragged", True)
    with pytest.raises(UsageError, match="stream `words` is ragged"):
        data.__arrow_c_array__()
    with pytest.raises(ValueError, match="contiguous"):
        _tesson.arrow_array(("f", "x", None, 2, [np.ones(4, np.float32)[::2]], []))
    with pytest.raises(ValueError, match="nul"):
        _tesson.arrow_array(("f\0", "x", None, 0, [], []))
