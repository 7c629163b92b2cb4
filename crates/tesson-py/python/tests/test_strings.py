"""Streams of texts and of byte strings."""

import json
import pickle
from typing import Any

import numpy as np
import pytest
import tesson
from tesson import ConfigError, Ragged, UsageError, _tesson
from tesson.io import MinibatchSource
from tesson.streams import StreamInformation
from tesson.user import UserDeserializer

NAMES = ["ann", "böb", "", "x" * 300, "\0", "日本"]
BYTES = [b"1", b"", b"\xff\x00\xfe", b"abc", b"\0", b"z" * 1000]
LINES = [["a", "bc"], [], ["d"], ["", "é", "f"], [], ["g"]]


def strings() -> tesson.Dataset:
    return tesson.from_arrays(name=NAMES, data=BYTES, lines=LINES, number=np.arange(6))


@pytest.mark.parametrize("shuffle", [False, True, tesson.Window(chunks=2)])
def test_strings_come_back_as_they_are(shuffle: Any) -> None:
    seen = 0
    for batch in strings().loader(batch_size=4, shuffle=shuffle):
        number = batch["number"].tolist()
        assert batch["name"].tolist() == [NAMES[i] for i in number]
        assert batch["data"].tolist() == [BYTES[i] for i in number]
        assert isinstance(batch["lines"], Ragged)
        assert [part.tolist() for part in batch["lines"]] == [LINES[i] for i in number]
        assert batch["name"].dtype == batch["lines"].dtype == object
        seen += len(batch)
    assert seen == 6


@pytest.mark.parametrize(
    ("given", "expected", "shown"),
    [
        (np.array(["a", "bcd"]), ["a", "bcd"], "str []"),
        (np.array([b"a", b"bcd"]), [b"a", b"bcd"], "bytes []"),
        (np.array(["a", "bcd"], object), ["a", "bcd"], "str []"),
        (np.array([["a", "b"], ["c", ""]]), [["a", "b"], ["c", ""]], "str [2]"),
        (("a", "b"), ["a", "b"], "str []"),
    ],
)
def test_arrays_of_strings_are_one_string_each(given: Any, expected: list[Any], shown: str) -> None:
    data = tesson.from_arrays(x=given)
    assert repr(data) == f"<Dataset in memory: x {shown}>"
    assert data.head()["x"].tolist() == expected


def test_ragged_samples_may_have_a_shape() -> None:
    parts = [np.array([["a", "b"]]), np.empty((0, 2), "U1"), np.array([["c", "d"], ["e", "f"]])]
    batch = tesson.from_arrays(x=parts).head()
    assert [part.tolist() for part in batch["x"]] == [part.tolist() for part in parts]


def test_padding_is_empty_strings() -> None:
    lines = strings().head(4)["lines"]
    values, mask = lines.pad()
    assert values.tolist() == [["a", "bc", ""], ["", "", ""], ["d", "", ""], ["", "é", "f"]]
    assert mask.sum(axis=1).tolist() == [2, 0, 1, 3]
    assert lines.pad("-").values.tolist()[2] == ["d", "-", "-"]
    assert tesson.from_arrays(x=[[b"a"], []]).head()["x"].pad().values.tolist() == [[b"a"], [b""]]


@pytest.mark.parametrize("ranks", [(1, 3), (2, 1), (3, 2)])
def test_loaders_of_strings_resume_on_any_number_of_ranks(ranks: tuple[int, int]) -> None:
    def loader(rank: int, size: int) -> tesson.Loader:
        return strings().loader(batch_size=3, shuffle=True, seed=4, world=(rank, size))

    whole = [batch["name"].tolist() for batch in loader(0, 1)]
    state: Any = None
    steps: list[list[str]] = []
    for step, size in enumerate(ranks):
        parts = []
        for rank in range(size):
            reader = loader(rank, size)
            if state is not None:
                reader.load_state_dict(state)
            parts.append(next(iter(reader))["name"].tolist())
            after = reader.state_dict()
        state = json.loads(json.dumps(after))
        steps.append(sorted(name for part in parts for name in part))
        assert steps[-1] == sorted(whole[step])


def test_strings_are_joined_by_key() -> None:
    names = tesson.from_arrays(name=NAMES, lines=LINES)
    joined = names.join(tesson.from_arrays(data=BYTES))
    for batch in joined.loader(batch_size=4, shuffle=True):
        places = [NAMES.index(name) for name in batch["name"]]
        assert batch["data"].tolist() == [BYTES[i] for i in places]
        assert [part.tolist() for part in batch["lines"]] == [LINES[i] for i in places]


def test_minibatches_pickle() -> None:
    data = pickle.loads(pickle.dumps(strings())).head(6)
    parts = pickle.loads(pickle.dumps(data._batch.parts()))
    again = _tesson.Batch.of_parts(*parts)
    for number, expected in enumerate((NAMES, BYTES)):
        stream = _tesson.StreamData(again, number)
        assert stream.samples.tolist() == expected


def test_arrow_has_texts_and_byte_strings() -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    data = tesson.from_arrays(name=NAMES, data=BYTES, lines=LINES, pairs=np.array([["a", "b"]] * 6), x=np.ones((6, 2, 3)), bit=np.arange(6) > 2)
    batch = data.head(6).as_arrow()
    batch.validate(full=True)
    assert batch["name"].type == pyarrow.large_string() and batch["name"].to_pylist() == NAMES
    assert batch["data"].type == pyarrow.large_binary() and batch["data"].to_pylist() == BYTES
    assert batch["lines"].to_pylist() == LINES
    assert batch["pairs"].to_pylist() == [["a", "b"]] * 6
    assert batch["x"].type.shape == [2, 3]
    assert batch["bit"].to_pylist() == [False] * 3 + [True] * 3


class Lines(UserDeserializer):
    """A custom format of texts."""

    keeps_types = True
    dtype: Any = str
    chunk: Any = [["a"], ["b", "c"]]

    def stream_infos(self) -> list[StreamInformation]:
        return [StreamInformation("line", 0, "dense", self.dtype)]

    def num_chunks(self) -> int:
        return 2

    def get_chunk(self, chunk_id: int) -> dict[str, Any]:
        return {"line": self.chunk}


def lines_of(**attributes: Any) -> MinibatchSource:
    return MinibatchSource(type("Lines", (Lines,), attributes)(), randomize=False, max_sweeps=1)


def test_custom_formats_may_have_strings() -> None:
    data = lines_of().next_minibatch(6)["line"]
    assert data.samples.tolist() == ["a", "b", "c", "a", "b", "c"]
    assert data.asarray().tolist() == [["a", ""], ["b", "c"], ["a", ""], ["b", "c"]]
    assert [part.tolist() for part in data.as_sequences()] == [["a"], ["b", "c"], ["a"], ["b", "c"]]
    assert data.dtype == np.dtype(str)
    assert lines_of(dtype=bytes, chunk=[b"x", b""]).next_minibatch(4)["line"].samples.tolist() == [b"x", b"", b"x", b""]
    with pytest.raises(tesson.DataError, match="stream `line`.*found bytes, expected str; convert them, or declare their type"):
        lines_of(chunk=[b"x"]).next_minibatch(1)
    with pytest.raises(tesson.DataError, match=r"found int at 1, expected str"):
        lines_of(chunk=["x", 1]).next_minibatch(1)
    with pytest.raises(ConfigError, match="stream `line` is str, which takes `keeps_types = True`"):
        lines_of(keeps_types=False)


def test_truncated_strings_lie_in_rows() -> None:
    source = MinibatchSource(Lines(), randomize=False, truncation_length=1, max_sweeps=1)
    seen = [string for minibatch in source.minibatches(2) for string in minibatch["line"].samples]
    assert sorted(seen) == ["a", "a", "b", "b", "c", "c"]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (["a", 1], "stream `x`: found int at 1, expected str as in the first one; convert or replace it"),
        (["a", None], "stream `x`: found None at 1, expected str"),
        ([b"a", "b"], "stream `x`: found str at 1, expected bytes"),
        ([["a"], "b"], "stream `x`: found str at 1, expected a list of strings as in the others"),
        (["\ud800"], "stream `x`: .*surrogates not allowed"),
    ],
)
def test_what_is_no_string_is_refused(given: Any, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        tesson.from_arrays(x=given)


def test_transforms_of_strings_are_refused() -> None:
    with pytest.raises(ConfigError, match="this stream has str values"):
        strings().transform(name=lambda array: array).head()


def test_jax_refuses_strings() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    import tesson.jax

    with pytest.raises(UsageError, match="stream `line` has strings, which JAX has no arrays for; read the data without it"):
        tesson.jax.minibatches(lines_of(), 2)


def test_torch_has_lists_of_strings() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    batch = next(iter(strings().loader(batch_size=3).torch()))
    assert batch["name"] == NAMES[:3] and batch["data"] == BYTES[:3] and batch["lines"] == LINES[:3]
    with pytest.raises(ConfigError, match=r"layouts\.name: found 'padded' for strings, which are a list; leave it out"):
        strings().loader(batch_size=3).torch(layouts={"name": "padded"})
