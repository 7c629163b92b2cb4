"""Files of Vowpal Wabbit, value by value as a plain reader has them."""

import gzip
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tesson
from tesson import ConfigError, DataError

WORD = 0xFFFFFFFF


def murmur3(data: bytes, seed: int) -> int:
    """MurmurHash3 of 32 bits, over Python's whole numbers."""
    def mixed(k: int) -> int:
        k = k * 0xCC9E2D51 & WORD
        return ((k << 15 | k >> 17) & WORD) * 0x1B873593 & WORD

    h, whole = seed & WORD, len(data) // 4 * 4
    for at in range(0, whole, 4):
        h ^= mixed(int.from_bytes(data[at : at + 4], "little"))
        h = ((h << 13 | h >> 19) & WORD) * 5 + 0xE6546B64 & WORD
    h ^= mixed(int.from_bytes(data[whole:], "little")) ^ len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & WORD
    h = (h ^ h >> 13) * 0xC2B2AE35 & WORD
    return h ^ h >> 16


def hashed(name: str, seed: int, mode: str) -> int:
    return int(name) + seed if mode == "strings" and name.isascii() and name.isdigit() else murmur3(name.encode(), seed)


@pytest.mark.parametrize("seed", range(12))
def test_values_are_those_of_a_plain_reader(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    bits, mode = draw.choice([3, 18, 30]), draw.choice(["strings", "all"])
    expected: list[tuple[Any, ...]] = []
    lines = []
    for _ in range(draw.randrange(1, 200)):
        label, importance, base, tag = draw.gauss(0, 9), draw.choice([1, 2.5]), draw.choice([0, 0.25]), draw.choice(["", "t1", "ä"])
        line = " ".join([repr(label), *([str(importance)] if importance != 1 or base else []), *([str(base)] if base else []), *([f"'{tag}"] if tag else []), ""])
        names, values, columns = [], [], {}
        for _ in range(draw.randrange(4)):
            space, weight = draw.choice(["", "a", "user", "7", "é"]), draw.choice([1, 0.5])
            line += f"|{space}" + (f":{weight}" if space and weight != 1 else "")
            weight = weight if space else 1
            touches = False
            unnamed, first = 0, hashed(space, 0, mode) if space else 0
            for _ in range(draw.randrange(5)):
                name, value, text = draw.choice(["x", "long name"[:4], "42", "007", "漢", ""]), draw.choice([None, 0.0, -1.5, 3e10]), draw.choice([None, None, "red", "über"])
                if name == "":
                    value, text = value or 2.0, None
                line += draw.choice([" ", "  ", "\t"]) + name + (f":{text}" if text else "" if value is None else f":{value!r}")
                touches = text is not None
                value = 1 if text else weight * (1 if value is None else value)
                column = first + unnamed if name == "" else hashed(name, first, mode)
                column = hashed(text, column, mode) if text else column
                unnamed += name == ""
                names.append((f"{space}^" if space else "") + name + (f"^{text}" if text else ""))
                values.append(value)
                if value:
                    columns[column % 2**bits] = columns.get(column % 2**bits, 0) + value
            # A text that touches the next bar is a fault.
            line += draw.choice(["", " "]) if not touches else " "
        expected.append((label, importance, base, tag, names, values, dict(sorted(columns.items()))))
        lines.append(line + draw.choice(["\n", "\r\n", "\n\n"]))
    path = tmp_path / ("a.vw.gz" if seed % 4 == 3 else "a.vw")
    path.write_bytes(gzip.compress("".join(lines).encode()) if seed % 4 == 3 else "".join(lines).encode())
    data = tesson.read_vw(path, bits=bits, hash=mode)
    assert data.schema["features"].shape == (2**bits,)
    found = []
    with data.loader(batch_size=draw.randrange(1, 50), shuffle=seed % 2 == 1, seed=seed) as loader:
        for b in loader:
            x = b["features"]
            rows = [dict(zip(x.indices[s:e].tolist(), x.values[s:e].tolist(), strict=True)) for s, e in zip(x.indptr[:-1], x.indptr[1:], strict=True)]
            parts = [b[name].tolist() for name in ("label", "importance", "base", "tag")] + [[v.tolist() for v in b[name].to_list()] for name in ("names", "values")]
            found += zip(b.keys, *parts, rows, strict=True)
    assert [row[1:] for row in sorted(found, key=lambda row: row[0])] == expected


def test_columns_are_those_of_vowpal_wabbit(tmp_path: Path) -> None:
    # As version 9.11 prints them with `--audit --noconstant`.
    (tmp_path / "a.vw").write_text("1 2 0.5 'tag|a:2 x:3 y 7 :4 |x y:0.5 z |b x:str 12 012 é\n-1 |a x x:0 x\n")
    strings = [{55432: 6, 42847: 2, 92601: 2, 92594: 8, 3317: 0.5, 182338: 1, 40796: 1, 163343: 2, 224290: 1}, {55432: 2}]
    hashed_all = [{55432: 6, 42847: 2, 31062: 2, 92594: 8, 3317: 0.5, 182338: 1, 40796: 1, 181763: 1, 196992: 1, 224290: 1}, {55432: 2}]
    for mode, expected in (("strings", strings), ("all", hashed_all)):
        batch = tesson.read_vw(tmp_path / "a.vw", hash=mode).head()
        x = batch["features"]
        assert [dict(zip(x.indices[s:e].tolist(), x.values[s:e].tolist(), strict=True)) for s, e in zip(x.indptr[:-1], x.indptr[1:], strict=True)] == [dict(sorted(e.items())) for e in expected]
        assert (batch["importance"].tolist(), batch["base"].tolist(), batch["tag"].tolist()) == ([2, 1], [0.5, 0], ["tag", ""])


def test_lines_without_a_label_are_what_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text("1 |a x\n|a y\n")
    with pytest.raises(DataError, match=r"a\.vw:2 .*column `label` has no value"):
        tesson.read_vw(tmp_path / "a.vw").head()
    assert tesson.read_vw(tmp_path / "a.vw", nulls="skip").head()["label"].tolist() == [1]
    assert np.isnan(tesson.read_vw(tmp_path / "a.vw", nulls="nan").head()["label"][1])
    unlabelled = tesson.read_vw(tmp_path / "a.vw", columns=["features"]).head()
    assert len(unlabelled) == 2


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("1:0.5 2:1", "the cost of a class or of an action"),
        ("1:0.5:0.25", "the action, cost and probability of a contextual bandit"),
        ("shared", "a part of an example of several lines"),
        ("1,4", "several classes"),
        ("1 2 3 4", "more than three words"),
    ],
)
def test_labels_of_another_kind_are_told_and_may_be_texts(tmp_path: Path, label: str, kind: str) -> None:
    (tmp_path / "a.vw").write_text(f"{label} |a x\n")
    with pytest.raises(DataError, match=rf"a\.vw:1 .*found the label `{label}`, {kind}, expected a number.*`str`"):
        _ = tesson.read_vw(tmp_path / "a.vw").schema
    (tmp_path / "b.vw").write_text(f"1 |a x\n{label} |a x\n")
    with pytest.raises(DataError, match=rf"b\.vw:2 .*{kind}"):
        tesson.read_vw(tmp_path / "b.vw").head()
    texts = tesson.read_vw(tmp_path / "a.vw", streams={"label": tesson.column(dtype=str), "features": tesson.column(dtype=np.float32)}).head()
    assert texts["label"].tolist() == [label] and texts["features"].values.dtype == np.float32


def test_a_faulty_line_is_told_and_may_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text("1 |a x:1\n1 |a x:1y\n-1 |a x\n")
    data = tesson.read_vw(tmp_path / "a.vw", key_column=None)
    with pytest.raises(DataError, match=r"a\.vw:2 \(byte 9\).*found `x:1y`, expected a feature"):
        data.head()
    assert sum(len(batch) for batch in data.loader(batch_size=2, max_errors=1)) == 2
    with pytest.raises(ConfigError, match="bits"):
        _ = tesson.read_vw(tmp_path / "a.vw", bits=31).schema
    with pytest.raises(ConfigError, match="hash"):
        _ = tesson.read_vw(tmp_path / "a.vw", hash="none").schema  # type: ignore[arg-type]


def test_products_and_sums_that_no_float_holds_are_faults(tmp_path: Path) -> None:
    lines = ["1 |a x:1", "1 |a:1e10 x:1 y:1e300", "1 |a x:1e308 y:2 x:1e308", "-1 |a x:-1e308 x:1e308 x:1e308"]
    path = tmp_path / "a.vw"
    path.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(DataError, match=r"a\.vw:2 \(byte 9\): stream `features`.*found `y:1e300` in a namespace of weight 1e10, expected a product that float64 holds"):
        tesson.read_vw(path, columns=["features"]).head()
    path.write_text("".join(f"{line}\n" for line in lines[::2]))
    with pytest.raises(DataError, match=r"a\.vw:2 \(byte 9\): stream `features`.*column \d+ add up to 1e308 and 1e308, expected a sum that float64 holds; set `bits` higher"):
        tesson.read_vw(path, columns=["features"]).head()
    # Each of the values is one, and so is a sum in the order of the line.
    assert tesson.read_vw(path, columns=["values"]).head()["values"].to_list()[1].tolist() == [1e308, 2, 1e308]
    path.write_text("".join(f"{line}\n" for line in lines))
    batches = tesson.read_vw(path, columns=["label", "features"]).loader(batch_size=4, max_errors=2)
    assert [batch["features"].values.tolist() for batch in batches] == [[1, 1e308]]
