"""Tables of text, value by value as Python's own readers have them."""

import csv
import gzip
import io
import json
import pickle
import random
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tesson
from tesson import ConfigError, DataError

VALUES: dict[str, Any] = {
    "bool": lambda draw: draw.random() < 0.5,
    "int64": lambda draw: draw.randrange(-(2**63), 2**63),
    "float64": lambda draw: draw.choice([draw.gauss(0, 1e9), draw.random() * 1e-300, 0.1, -1e22]),
    "str": lambda draw: "x" + "".join(draw.choices('aé漢😀 ,;"\n\t|', k=draw.randrange(8))),
}


def of_all(data: tesson.Dataset, **options: Any) -> dict[str, list[Any]]:
    """All values by stream, in the order of the data."""
    columns: dict[str, list[Any]] = {name: [] for name in data.schema}
    keys: list[Any] = []
    with data.loader(**{"batch_size": 7, **options}) as loader:
        for batch in loader:
            keys += batch.keys
            for name, values in columns.items():
                part = batch[name]
                values += [one.tolist() for one in part.to_list()] if isinstance(part, tesson.Ragged) else part.tolist()
    order = np.argsort(keys, kind="stable")
    return {name: [values[i] for i in order] for name, values in columns.items()}


@pytest.mark.parametrize("seed", range(8))
def test_random_csv_is_read_as_python_reads_it(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    kinds = {f"{kind} {i}": kind for i, kind in enumerate(draw.choices(sorted(VALUES), k=draw.randrange(1, 6)))}
    n = draw.randrange(1, 400)
    rows = [[VALUES[kind](draw) for kind in kinds.values()] for _ in range(n)]
    file = io.StringIO()
    options = {"delimiter": draw.choice(",;\t|"), "lineterminator": draw.choice(["\n", "\r\n"])}
    csv.writer(file, quoting=draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_NONNUMERIC]), **options).writerows([list(kinds), *rows])
    path = tmp_path / "table.csv"
    path.write_bytes(file.getvalue().encode())
    data = tesson.read_csv(path, delimiter=options["delimiter"])
    assert {name: field.dtype.name for name, field in data.schema.items()} == kinds
    found = of_all(data, shuffle=draw.random() < 0.5)
    assert found == {name: [row[i] for row in rows] for i, name in enumerate(kinds)}


@pytest.mark.parametrize("seed", range(8))
def test_random_json_lines_are_read_as_python_reads_them(seed: int, tmp_path: Path) -> None:
    draw = random.Random(100 + seed)
    kinds = {f"{kind}.{i}": kind for i, kind in enumerate(draw.choices(sorted(VALUES), k=draw.randrange(1, 6)))}
    n = draw.randrange(1, 300)
    rows = [{name: VALUES[kind](draw) for name, kind in kinds.items()} for _ in range(n)]
    for i, row in enumerate(rows):
        row["list"] = [draw.randrange(-9, 9) for _ in range(draw.randrange(5) if i else 3)]
        row["matrix"] = [[draw.random(), 1.5] for _ in range(3)]
    items = [json.dumps(row, ensure_ascii=draw.random() < 0.5) for row in rows]
    path = tmp_path / "table.jsonl"
    path.write_text("\n".join(items) + draw.choice(["", "\n", "\n\n"]), encoding="utf-8")
    data = tesson.read_json(path)
    assert data.schema["list"].type == "ragged int64 []" and data.schema["matrix"].type == "float64 [3, 2]"
    found = of_all(data, shuffle=draw.random() < 0.5)
    assert found == {name: [row[name] for row in rows] for name in rows[0]}


def test_datasets_of_text_pickle_and_resume(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,name\n" + "".join(f"{i},n{i}\n" for i in range(50)))
    data = pickle.loads(pickle.dumps(tesson.read_csv(path)))
    loader = data.loader(batch_size=4, shuffle=True, seed=2)
    batches = [batch["name"].tolist() for batch in loader]
    again = data.loader(batch_size=4, shuffle=True, seed=2)
    for _, batch in zip(range(5), again, strict=False):
        assert batch["name"].tolist() in batches
    other = data.loader(batch_size=4, shuffle=True, seed=2)
    other.load_state_dict(again.state_dict())
    assert [batch["name"].tolist() for batch in other] == batches[5:]


def test_missing_values_are_what_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,a\n,b\n3,\n")
    with pytest.raises(DataError, match=r"a\.csv:3.*column `x` has no value"):
        of_all(tesson.read_csv(path))
    assert of_all(tesson.read_csv(path, nulls="skip")) == {"x": [1, 3], "y": ["a", ""]}
    assert of_all(tesson.read_csv(path, nulls=-1)) == {"x": [1, -1, 3], "y": ["a", "b", ""]}
    filled = of_all(tesson.read_csv(path, nulls="nan"))["x"]
    assert filled[::2] == [1.0, 3.0] and np.isnan(filled[1])
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"x": 1, "t": [1]}\n{"x": null}\n')
    assert of_all(tesson.read_json(lines, nulls=0)) == {"x": [1, 0], "t": [[1], []]}


def test_rows_with_faults_are_left_out_within_the_budget(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"x": 1}\n{"x": }\n{"x": 3}\n')
    data = tesson.read_json(path)
    with pytest.raises(DataError, match=r"a\.jsonl:2.*column 7"):
        of_all(data)
    assert of_all(data, max_errors=1) == {"x": [1, 3]}


def test_what_is_no_list_of_names_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"names: found the text 'x', expected a list of names, such as \['x'\]"):
        tesson.read_csv("a.csv", names="x")


def mds_shard(columns: dict[str, tuple[str, int | None]], samples: list[list[bytes]]) -> bytes:
    """A shard as Mosaic's writer lays it out."""
    header = {
        "column_encodings": [encoding for encoding, _ in columns.values()],
        "column_names": list(columns),
        "column_sizes": [size for _, size in columns.values()],
        "compression": None, "format": "mds", "hashes": [], "size_limit": 1 << 26, "version": 2,
    }
    config = json.dumps(header, sort_keys=True).encode()
    open_columns = [i for i, (_, size) in enumerate(columns.values()) if size is None]
    laid = [np.array([len(row[i]) for i in open_columns], "<u4").tobytes() + b"".join(row) for row in samples]
    first = 4 + 4 * (len(samples) + 1) + len(config)
    offsets = first + np.cumsum([0, *map(len, laid)])
    return np.uint32(len(samples)).tobytes() + offsets.astype("<u4").tobytes() + config + b"".join(laid)


def test_mds_shards_are_read_in_any_order(tmp_path: Path) -> None:
    columns = {"image": ("png", None), "label": ("int", 8), "text": ("str", None), "vector": ("ndarray:float32:2,3", 24)}
    rows = [[bytes([i]) * (i % 5), np.int64(2**60 + i).tobytes(), ("ä" * (i % 3)).encode(), np.full(6, i, "<f4").tobytes()] for i in range(60)]
    names = []
    for number, part in enumerate((rows[:25], rows[25:])):
        names.append(f"shard.{number:05}.mds")
        (tmp_path / names[-1]).write_bytes(mds_shard(columns, part))
    shards = [{"format": "mds", "raw_data": {"basename": name}, "zip_data": None} for name in names]
    (tmp_path / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))
    data = tesson.read_mds(tmp_path)
    assert [str(field) for field in data.schema.values()] == ["image: bytes []", "label: int64 []", "text: str []", "vector: float32 [2, 3]"]
    for shuffle in (False, True):
        found = of_all(data, shuffle=shuffle)
        assert found["image"] == [row[0] for row in rows] and found["label"] == [2**60 + i for i in range(60)]
        assert found["text"] == [row[2].decode() for row in rows] and found["vector"][7] == [[7.0] * 3] * 2
    damaged = bytearray(mds_shard({"n": ("int", 8)}, [[b"12345678"], [b"1234567"]]))
    (tmp_path / "bad.mds").write_bytes(damaged)
    with pytest.raises(DataError, match=r"bad\.mds.*sample 1 has 7 bytes, which its columns do not add up to"):
        of_all(tesson.read_mds(tmp_path / "bad.mds"))
    with pytest.raises(DataError, match=r"the shard is compressed by Snappy, expected Zstandard"):
        (tmp_path / "x.mds.snappy").write_bytes(b"\xff\x06\x00\x00sNaPpY")
        of_all(tesson.read_mds(tmp_path / "x.mds.snappy"))


@pytest.mark.parametrize("keep_raw", [False, True])
def test_compressed_mds_shards_are_read_in_any_order(keep_raw: bool, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    columns = {"label": ("int", 8), "text": ("str", None)}
    rows = [[np.int64(i).tobytes(), ("ä" * (i % 7)).encode()] for i in range(5000)]
    shards = []
    for number in range(4):
        raw, packed = f"shard.{number:05}.mds", f"shard.{number:05}.mds.zstd"
        content = mds_shard(columns, rows[1250 * number : 1250 * (number + 1)])
        (tmp_path / packed).write_bytes(pyarrow.compress(content, codec="zstd", asbytes=True))
        if keep_raw and number % 2:
            (tmp_path / raw).write_bytes(content)
        names = {"raw_data": {"basename": raw}, "zip_data": {"basename": packed}}
        shards.append({"format": "mds", "compression": "zstd:7", "version": 2, **names})
    (tmp_path / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))
    for shuffle in (False, True):
        found = of_all(tesson.read_mds(tmp_path), shuffle=shuffle, batch_size=100)
        assert found["label"] == list(range(5000)) and found["text"] == [row[1].decode() for row in rows]
    cut = (tmp_path / "shard.00000.mds.zstd").read_bytes()[:-9]
    (tmp_path / "cut.mds.zstd").write_bytes(cut)
    with pytest.raises(DataError, match=r"cut\.mds\.zstd.*compressed by Zstandard and cannot be unpacked: the file ends within"):
        of_all(tesson.read_mds(tmp_path / "cut.mds.zstd"))


def test_compressed_text_is_read_as_what_it_unpacks_to(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = "id,name\n" + "".join(f"{i},n{i}\n" for i in range(3000))
    lines = "".join(json.dumps({"id": i, "list": [i] * (i % 3)}) + "\n" for i in range(3000))
    for name, text, read in (("a.csv", table, tesson.read_csv), ("a.jsonl", lines, tesson.read_json)):
        (tmp_path / name).write_text(text)
        expected = of_all(read(tmp_path / name))
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        (tmp_path / f"{name}.zst").write_bytes(pyarrow.compress(text.encode(), codec="zstd", asbytes=True))
        for end in ("gz", "zst"):
            data = read(tmp_path / f"{name}.{end}")
            assert data.schema == read(tmp_path / name).schema
            assert of_all(data) == expected and of_all(data, shuffle=True, batch_size=64) == expected


def test_tables_with_columns_of_one_name_are_joined_after_a_selection(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,x,note\n3,1,a\n4,2,b\n5,3,c\n")
    (tmp_path / "b.csv").write_text("id,y,note\n5,7,d\n3,9,e\n")
    a = tesson.read_csv(tmp_path / "a.csv", key_column="id")
    b = tesson.read_csv(tmp_path / "b.csv", key_column="id").select("y", "note").transform(y=np.negative).rename(note="remark")
    joined = a.join(b)
    batch = joined.head()
    assert list(joined.schema) == ["id", "x", "note", "y", "remark"]
    assert {name: batch[name].tolist() for name in batch} == {
        "id": [3, 5], "x": [1, 3], "note": ["a", "c"], "y": [-9, -7], "remark": ["e", "d"],
    }
    loader = pickle.loads(pickle.dumps(joined)).loader(batch_size=1)
    assert [batch["remark"].tolist() for batch in loader] == [["e"], ["d"]]


def test_a_selection_of_a_table_reads_no_other_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,x\n1,2\noops,3\n")
    data = tesson.read_csv(tmp_path / "a.csv", streams={"number": tesson.column("id", dtype=np.int64), "x": tesson.column()})
    with pytest.raises(DataError, match="oops"):
        data.head()
    assert data.select("x").head()["x"].tolist() == [2, 3]
    assert data.rename(x="z").select("z").head()["z"].tolist() == [2, 3]


@pytest.mark.parametrize(("name", "text"), [("a.csv", "a,b\n1,2\nx,y\n5,6\n"), ("a.jsonl", '{"a": 1, "b": 2}\n{"a": "x", "b": "y"}\n{"a": 5, "b": 6}\n')])
def test_a_row_with_two_faulty_fields_is_one_fault(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    numbers = {stream: tesson.column(dtype=np.int64) for stream in "ba"}
    read = tesson.read_csv if name.endswith("csv") else tesson.read_json
    loader = read(tmp_path / name, streams=numbers).loader(batch_size=2, max_errors=1)
    assert [batch["a"].tolist() for batch in loader] == [[1], [5]]
    assert loader.epoch_report().left_out == 1


@pytest.mark.parametrize(
    ("read", "name", "text", "options"),
    [
        (tesson.read_csv, "a.csv", "name,x\nann,1\nbob,2\n\ncy,3\n", {"key_column": "name"}),
        (tesson.read_json, "a.jsonl", '{"x": [1, 2]}\n{"x": [3]}\n', {}),
        (tesson.read_arff, "a.arff", "\ufeff@relation r\n@attribute x {a,b}\n@attribute t date yyyy\n@data\nb,2000\n{},{2}\n% none\n{1 2001}\n", {}),
        (tesson.read_vw, "a.vw", "1 |a x\n\n-1 2 |b y:3 z\n", {"columns": ["label", "features"]}),
        (tesson.read_libsvm, "a.svm", "1 1:2\n# none\n0 3:1\n", {"num_features": 3, "zero_based": False}),
    ],
)
def test_an_index_that_is_kept_is_read_in_place_of_the_rows(tmp_path: Path, read: Any, name: str, text: str, options: dict[str, Any]) -> None:
    (tmp_path / name).write_text(text)
    data = read(tmp_path / name, cache_index=True, **options)

    def found() -> tuple[bool, list[list[Any]]]:
        with data.loader(batch_size=2, shuffle=True) as loader:
            batches = [batch.keys for batch in loader]
            return loader.stats()["bytes_indexed"] > 0, batches

    first = found()
    assert first[0] and (tmp_path / f"{name}.tesson-index").exists()
    assert found() == (False, first[1])
    (tmp_path / name).write_text(text + text.splitlines()[-1])
    again = found()
    assert again[0] and sum(map(len, again[1])) == sum(map(len, first[1])) + 1


def test_a_field_in_another_encoding_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("name,x\nann,1\n".encode() + "böb,2\n".encode("latin-1"))
    with pytest.raises(DataError, match="a.csv:3 .*column `name`: found `b\ufffdb`, which is no UTF-8; write the file in UTF-8"):
        tesson.read_csv(tmp_path / "a.csv", key_column="name").head()
    as_bytes = tesson.read_csv(tmp_path / "a.csv", streams={"name": tesson.column(dtype=bytes)})
    assert as_bytes.head()["name"].tolist() == [b"ann", b"b\xf6b"]


def test_keys_may_be_texts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,x\nann,1\nböb,2\ncy,3\n")
    (tmp_path / "b.jsonl").write_text('{"who": "cy", "y": [5]}\n{"who": "ann", "y": [6, 7]}\n')
    a = tesson.read_csv(tmp_path / "a.csv", key_column="name")
    joined = a.join(tesson.read_json(tmp_path / "b.jsonl", key_column="who"))
    assert list(a.schema) == ["name", "x"] and a.head().keys == ["ann", "böb", "cy"]
    batch = joined.head()
    assert (batch.keys, batch["x"].tolist(), [part.tolist() for part in batch["y"]]) == (["ann", "cy"], [1, 3], [[6, 7], [5]])
    loader = joined.loader(batch_size=1, shuffle=True, seed=1)
    first = next(iter(loader)).keys
    resumed = joined.loader(batch_size=1, shuffle=True, seed=1)
    resumed.load_state_dict(loader.state_dict())
    assert [key for batch in resumed for key in batch.keys] == [key for key in ["ann", "cy"] if key not in first]
    (tmp_path / "c.csv").write_text("id,z\n1,2\n")
    with pytest.raises(DataError, match="keys in column `id` are numbers"):
        a.join(tesson.read_csv(tmp_path / "c.csv", key_column="id")).head()


@pytest.mark.parametrize("seed", range(6))
def test_arff_and_vw_are_joined_with_other_tables_by_key(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)

    def some() -> list[str]:
        return draw.sample([f"row-{i}" for i in range(200)], draw.randrange(100, 200))

    arff = {key: (draw.randrange(3), draw.gauss(0, 1)) for key in some()}
    vw = {key: (draw.choice([-1, 1]), [draw.gauss(0, 1) for _ in range(draw.randrange(4))]) for key in some()}
    names = some()
    header = "@relation r\n@attribute id string\n@attribute c {a,b,c}\n@attribute x real\n@data\n"
    (tmp_path / "a.arff").write_text(header + "".join(f"'{key}',{'abc'[c]},{x!r}\n" for key, (c, x) in arff.items()))
    (tmp_path / "a.vw").write_text("".join(f"{label} '{key} |a {' '.join(f'f{i}:{x!r}' for i, x in enumerate(xs))}\n" for key, (label, xs) in vw.items()))
    (tmp_path / "a.csv").write_text("name,y\n" + "".join(f"{key},{len(key)}\n" for key in names))
    arffs = tesson.read_arff(tmp_path / "a.arff", key_column="id")
    vws = tesson.read_vw(tmp_path / "a.vw", key_column="tag", columns=["label", "values"])
    joined = arffs.join(vws).join(tesson.read_csv(tmp_path / "a.csv", key_column="name", columns=["y"]))
    expected = [(key, *row, *vw[key], len(key)) for key, row in arff.items() if key in vw and key in names]
    assert list(joined.schema) == ["id", "c", "x", "label", "values", "y"]
    for shuffle in (False, True):
        with joined.loader(batch_size=draw.randrange(1, 40), shuffle=shuffle, seed=seed) as loader:
            found = [
                (key, *row, values.tolist(), y)
                for b in loader
                for key, *row, values, y in zip(b.keys, *(b[name].tolist() for name in ("c", "x", "label")), b["values"].to_list(), b["y"].tolist(), strict=True)
            ]
        assert (sorted(found) if shuffle else found) == (sorted(expected) if shuffle else expected)


def test_arff_and_vw_are_joined_with_other_tables_by_position(tmp_path: Path) -> None:
    n = 500
    (tmp_path / "a.arff").write_text("@relation r\n@attribute x integer\n@data\n" + "".join(f"{i}\n" if i % 3 else f"{{0 {i}}}\n" for i in range(n)))
    (tmp_path / "a.vw").write_text("".join(f"{i % 7} |a x:{i + 1}\n" for i in range(n)))
    np.save(tmp_path / "a.npy", np.arange(n) * 2)
    data = tesson.read_arff(tmp_path / "a.arff").join(tesson.read_vw(tmp_path / "a.vw", columns=["label", "features"]))
    data = data.join(tesson.read_numpy(y=tmp_path / "a.npy"))
    rows = [row for b in data.loader(batch_size=33, shuffle=True) for row in zip(b["x"].tolist(), b["label"].tolist(), b["features"].values.tolist(), b["y"].tolist(), strict=True)]
    assert sorted(rows) == [(i, i % 7, i + 1, 2 * i) for i in range(n)]


def test_archives_are_joined_by_the_names_of_their_members(tmp_path: Path) -> None:
    def archive(name: str, members: dict[str, bytes]) -> Path:
        with tarfile.open(tmp_path / name, "w") as file:
            for member, data in members.items():
                header = tarfile.TarInfo(member)
                header.size = len(data)
                file.addfile(header, io.BytesIO(data))
        return tmp_path / name

    texts = tesson.read_webdataset(archive("a.tar", {"s/1.txt": b"one", "s/2.txt": b"two"}))
    sizes = tesson.read_webdataset(archive("b.tar", {"s/2.cls": b"22", "s/1.cls": b"11"}))
    batch = texts.join(sizes).head()
    assert (batch.keys, batch["txt"].tolist(), batch["cls"].tolist()) == (["s/1", "s/2"], ["one", "two"], [11, 22])
