"""Files of libsvm, value by value as a plain reader has them."""

import gzip
import random
from pathlib import Path

import numpy as np
import pytest

import tesson
from tesson import ConfigError, DataError


def plain(text: str, n: int, base: int) -> tuple[list[float], list[list[float]]]:
    """Labels and dense features, line by line."""
    labels, features = [], []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words:
            labels.append(float(words[0]))
            row = [0.0] * n
            for index, value in (word.split(":") for word in words[1:] if not word.startswith("qid:")):
                row[int(index) - base] = float(value)
            features.append(row)
    return labels, features


def written(draw: random.Random, n: int, base: int, whole: bool) -> str:
    """Random lines, of which the first has all columns."""
    lines = []
    for row in range(draw.randrange(1, 200)):
        columns = range(n) if row == 0 else sorted(draw.sample(range(n), draw.randrange(n)))
        values = [draw.choice([draw.gauss(0, 1e3), draw.random() * 1e-300, 0.1, 7, -1e22]) for _ in columns]
        pairs = "".join(f"{draw.choice([' ', '  ', chr(9)])}{base + c}:{value!r}" for c, value in zip(columns, values, strict=True))
        label = draw.choice(["1", "-1", "+1", "0"]) if whole else repr(draw.gauss(0, 1))
        lines.append(label + pairs + draw.choice(["", " ", " # note 9:9", "\r"]) + draw.choice(["\n", "\n\n", "\n# 1:2\n"]))
    return "".join(lines)


@pytest.mark.parametrize("seed", range(12))
def test_values_are_those_of_a_plain_reader(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    n, base, whole = draw.randrange(1, 30), seed % 2, seed % 3 > 0
    text = written(draw, n, base, whole)
    packed = seed % 4 == 3
    path = tmp_path / ("a.svm.gz" if packed else "a.svm")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    labels, features = plain(text, n, base)
    data = tesson.read_libsvm(path)
    assert data.schema["labels"].dtype == (np.int64 if whole else np.float64)
    assert (data.schema["features"].shape, data.schema["features"].dtype) == ((n,), np.float64)
    for shuffle in (False, True):
        with data.loader(batch_size=draw.randrange(1, 50), shuffle=shuffle, seed=seed) as loader:
            found = [(k, y, x) for b in loader for k, y, x in zip(b.keys, b["labels"].tolist(), b["features"].to_dense().tolist(), strict=True)]
        found.sort()
        assert [y for _, y, _ in found] == labels
        assert [x for _, _, x in found] == features


def test_queries_several_labels_and_single_floats(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1,3 qid:7 1:0.1 4:2\nqid:5 2:1\n2 qid:9\n")
    float32 = {"features": tesson.column(dtype=np.float32), "labels": tesson.column(), "qid": tesson.column()}
    data = tesson.read_libsvm(tmp_path / "a.svm", streams=float32, num_features=6, zero_based=False)
    batch = data.head()
    assert [part.tolist() for part in batch["labels"]] == [[1, 3], [], [2]]
    assert batch["qid"].tolist() == [7, 5, 9]
    assert (batch["features"].values.dtype, batch["features"].shape) == (np.float32, (3, 6))
    assert batch["features"].values.tolist() == [np.float32(0.1), 2, 1]
    keyed = tesson.read_libsvm(tmp_path / "a.svm", key_column="qid")
    assert keyed.head().keys == [7, 5, 9]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 3:x", r"a\.svm:2 .*`features`.* found `3:x`, expected a pair `index:value`"),
        ("1 3", r"found `3`, expected a pair"),
        ("1 0:1", r"found the index 0, expected one from 1 to 4"),
        ("1 9:1", r"found the index 9, expected one from 1 to 4"),
        ("1 3:1 3:2", r"the index 3 follows 3, expected each once and ascending"),
        ("one 3:1", r"column `labels`: found `one`, expected int64"),
        ("1,2 3:1", r"column `labels`: found `1,2`, expected int64"),
        ("3:1", r"column `labels`: found ``, expected int64"),
    ],
)
def test_a_faulty_line_is_told_and_may_be_left_out(tmp_path: Path, line: str, message: str) -> None:
    labels = {"labels": tesson.column(dtype=np.int64), "features": tesson.column()}
    if "," in line or line.startswith("3"):
        # Types come from the first lines.
        rows = "1 1:1\n" * 10_000
        (tmp_path / "a.svm").write_text(rows + line + "\n")
        message = message.replace(":2 ", ":10001 ")
    else:
        rows = "1 1:1\n"
        (tmp_path / "a.svm").write_text(rows + line + "\n")
    data = tesson.read_libsvm(tmp_path / "a.svm", num_features=4, zero_based=False, streams=labels)
    with pytest.raises(DataError, match=message):
        sum(len(batch) for batch in data.loader(batch_size=1000))
    assert sum(len(batch) for batch in data.loader(batch_size=1000, max_errors=1)) == rows.count("\n")


def test_columns_are_those_of_the_first_file(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 0:1 2:1\n")
    (tmp_path / "b.svm").write_text("0 1:5\n1 3:1\n")
    data = tesson.read_libsvm([tmp_path / "a.svm", tmp_path / "b.svm"])
    with pytest.raises(DataError, match=r"b\.svm:2 .*index 3, expected one from 0 to 2; .*num_features"):
        data.head()
    whole = tesson.read_libsvm([tmp_path / "a.svm", tmp_path / "b.svm"], num_features=4)
    assert whole.head()["features"].to_dense().tolist() == [[1, 0, 1, 0], [0, 5, 0, 0], [0, 0, 0, 1]]


def test_a_type_that_features_cannot_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n")
    with pytest.raises((ConfigError, DataError), match="features"):
        _ = tesson.read_libsvm(tmp_path / "a.svm", streams={"features": tesson.column(dtype=np.int8)}).schema
    with pytest.raises(ConfigError, match="num_features"):
        _ = tesson.read_libsvm(tmp_path / "a.svm", num_features=0).schema
    (tmp_path / "empty.svm").write_text("# nothing\n")
    with pytest.raises(DataError, match="no row"):
        _ = tesson.read_libsvm(tmp_path / "empty.svm").schema
