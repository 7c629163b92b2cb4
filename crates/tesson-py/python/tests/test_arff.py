"""Files of ARFF, value by value as they were written."""

import gzip
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tesson

NAMES = ["a", "b c", "it's", 'say "x"', "ä,%", "{d}", "?", "tab\there", "back\\slash"]


def quoted(text: str, draw: random.Random) -> str:
    """A text as Weka writes it."""
    if re.fullmatch(r"[a-zäé]+", text) and draw.random() < 0.7:
        return text
    for plain, escaped in [("\\", "\\\\"), ("'", "\\'"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"), ('"', '\\"')]:
        text = text.replace(plain, escaped)
    return f"'{text}'" if draw.random() < 0.5 else f'"{text}"'


def of(kind: str, draw: random.Random) -> tuple[Any, str]:
    """A value, and how it is written."""
    if kind == "integer":
        value: Any = draw.randrange(-(2**63), 2**63)
        return value, str(value)
    if kind == "numeric":
        value = draw.choice([draw.gauss(0, 1e9), draw.random() * 1e-300, 0.1, -1e22, 5.0])
        return value, repr(value)
    if kind == "string":
        value = "".join(draw.choices("aé漢😀 ,;\"'\n\t|%{}\\?", k=draw.randrange(8)))
        return value, quoted(value, draw)
    if kind == "date":
        time = datetime(1900, 1, 1, tzinfo=UTC) + timedelta(seconds=draw.randrange(200 * 365 * 86400))
        return int(time.timestamp()) * 1000, f'"{time:%Y-%m-%dT%H:%M:%S}"'
    value = draw.randrange(len(NAMES))
    return value, quoted(NAMES[value], draw)


@pytest.mark.parametrize("seed", range(16))
def test_random_rows_are_read_as_they_were_written(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    kinds = draw.choices(["integer", "numeric", "string", "date", "nominal"], k=draw.randrange(1, 7))
    names = ", ".join(quoted(name, draw) for name in NAMES)
    types = {"nominal": f"{{{names}}}"}
    header = "".join(f"@{draw.choice(['attribute', 'ATTRIBUTE'])} 'x {i}' {types.get(kind, kind)}\n" for i, kind in enumerate(kinds))
    rows, lines, weights = [], [], []
    for _ in range(draw.randrange(1, 300)):
        pairs = [of(kind, draw) for kind in kinds]
        weight = draw.choice([None, 0.25, 3.0])
        if draw.random() < 0.3:
            given = [draw.random() < 0.5 for _ in kinds]
            row = [value if here else "" if kind == "string" else 0 for (value, _), kind, here in zip(pairs, kinds, given, strict=True)]
            line = "{" + ", ".join(f"{i} {text}" for i, (_, text) in enumerate(pairs) if given[i]) + "}"
        else:
            row, line = [value for value, _ in pairs], draw.choice([",", ", ", "\t"]).join(text for _, text in pairs)
        rows.append(row)
        weights.append(1.0 if weight is None else weight)
        lines.append(line + ("" if weight is None else f", {{{weight}}}") + draw.choice(["\n", "\r\n", " % note\n", "\n\n", "\n% 1,2\n"]))
    text = f"% a file\n@relation r\n\n{header}@data\n{''.join(lines)}"
    path = tmp_path / ("a.arff.gz" if seed % 4 == 3 else "a.arff")
    path.write_bytes(gzip.compress(text.encode()) if seed % 4 == 3 else text.encode())
    data = tesson.read_arff(path)
    assert list(data.schema)[: len(kinds)] == [f"x {i}" for i in range(len(kinds))]
    for i, kind in enumerate(kinds):
        field = data.schema[f"x {i}"]
        assert field.dtype == {"numeric": np.float64, "string": np.dtype(object)}.get(kind, np.int64) or kind == "string"
        assert field.classes == (tuple(NAMES) if kind == "nominal" else ())
        assert field.unit == ("timestamp[ms]" if kind == "date" else None)
    expected = [[*row, weight] for row, weight in zip(rows, weights, strict=True)]
    if "weight" not in data.schema:
        assert set(weights) == {1.0}
        expected = rows
    with data.loader(batch_size=draw.randrange(1, 50), shuffle=seed % 2 == 1, seed=seed) as loader:
        found = [(key, list(row)) for b in loader for key, *row in zip(b.keys, *(b[name].tolist() for name in data.schema), strict=True)]
    assert [row for _, row in sorted(found, key=lambda pair: pair[0])] == expected


def test_numbers_and_classes_are_those_of_scipy(tmp_path: Path) -> None:
    arff = pytest.importorskip("scipy.io.arff")
    draw = random.Random(5)
    rows = [(repr(draw.gauss(0, 1e3)), str(draw.randrange(100)), draw.choice(["yes", "no", "perhaps"]), f"20{draw.randrange(10, 70)}-0{draw.randrange(1, 9)}-11") for _ in range(500)]
    path = tmp_path / "a.arff"
    header = "@relation r\n@attribute x real\n@attribute n integer\n@attribute c {yes,no,perhaps}\n@attribute d date 'yyyy-MM-dd'\n@data\n"
    path.write_text(header + "".join(",".join(row) + "\n" for row in rows))
    theirs, _ = arff.loadarff(path)
    ours = tesson.read_arff(path).head(500)
    assert ours["x"].tolist() == theirs["x"].tolist() and ours["n"].tolist() == theirs["n"].tolist()
    names = tesson.read_arff(path).schema["c"].classes
    assert [names[i] for i in ours["c"]] == [name.decode() for name in theirs["c"]]
    assert ours["d"].tolist() == theirs["d"].astype("datetime64[ms]").astype(np.int64).tolist()


def test_missing_values_are_what_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_text("@relation r\n@attribute x real\n@attribute c {a,b}\n@data\n1,?\n?,b\n3,a\n")
    with pytest.raises(tesson.DataError, match=r"a\.arff:5 .*`c`.* has no value"):
        tesson.read_arff(path).head()
    assert tesson.read_arff(path, nulls="skip").head()["x"].tolist() == [3]
    assert tesson.read_arff(path, nulls=-1).head()["c"].tolist() == [-1, 1, 0]
    x = tesson.read_arff(path, nulls="nan", columns=["x"]).head()["x"]
    assert x[::2].tolist() == [1, 3] and np.isnan(x[1])
    keyed = tesson.read_arff(path, nulls=0, key_column="c", columns=["x"]).head()
    assert keyed.keys == [0, 1, 0]
