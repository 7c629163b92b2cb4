"""Tables: files and tables in memory, value by value as the libraries that write them read them."""

from __future__ import annotations

import datetime
import decimal
import json
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tesson

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

#: Types of columns, with a function that makes a value of each.
KINDS: dict[str, tuple[Any, Callable[[random.Random], Any]]] = {
    "bool": (pa.bool_(), lambda draw: draw.random() < 0.5),
    **{f"int{bits}": (getattr(pa, f"int{bits}")(), lambda draw, b=bits: draw.randrange(-(1 << b - 1), 1 << b - 1)) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (getattr(pa, f"uint{bits}")(), lambda draw, b=bits: draw.randrange(1 << b)) for bits in (8, 16, 32, 64)},
    "float16": (pa.float16(), lambda draw: np.float16(draw.gauss(0, 9))),
    "float32": (pa.float32(), lambda draw: float(np.float32(draw.gauss(0, 9)))),
    "float64": (pa.float64(), lambda draw: draw.choice([draw.gauss(0, 1e9), float("nan"), float("inf"), -0.0])),
    "text": (pa.string(), lambda draw: "".join(draw.choices("aé漢😀", k=draw.randrange(6)))),
    "large text": (pa.large_string(), lambda draw: "x" * draw.randrange(40)),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), lambda draw: draw.choice(["red", "green", "blue"])),
    "binary": (pa.binary(), lambda draw: draw.randbytes(draw.randrange(9))),
    "fixed binary": (pa.binary(5), lambda draw: draw.randbytes(5)),
    "date": (pa.date32(), lambda draw: datetime.date(2000, 1, 1) + datetime.timedelta(draw.randrange(9999))),
    "time": (pa.timestamp("us"), lambda draw: datetime.datetime(2020, 1, 1) + datetime.timedelta(microseconds=draw.randrange(10**12))),
    "decimal": (pa.decimal128(12, 2), lambda draw: decimal.Decimal(draw.randrange(-(10**9), 10**9)) / 100),
    "list": (pa.list_(pa.int16()), lambda draw: [draw.randrange(-999, 999) for _ in range(draw.randrange(5))]),
    "large list": (pa.large_list(pa.float32()), lambda draw: [float(i) for i in range(draw.randrange(9))]),
    "fixed list": (pa.list_(pa.uint8(), 3), lambda draw: list(draw.randbytes(3))),
    "list of vectors": (pa.list_(pa.list_(pa.float32(), 2)), lambda draw: [[draw.random(), 1.0] for _ in range(draw.randrange(4))]),
    "texts": (pa.list_(pa.string()), lambda draw: ["w" * draw.randrange(3) for _ in range(draw.randrange(4))]),
}


def random_table(draw: random.Random) -> Any:
    n = draw.randrange(1, 200)
    kinds = draw.sample(sorted(KINDS), draw.randrange(1, 8))
    columns = {kind: pa.array([KINDS[kind][1](draw) for _ in range(n)], KINDS[kind][0]) for kind in kinds}
    if draw.random() < 0.3:
        inner = pa.StructArray.from_arrays([pa.array(range(n), pa.int64()), pa.array([[i, i] for i in range(n)], pa.list_(pa.int8(), 2))] if n < 120 else [pa.array(range(n), pa.int64())], names=["a", "b"][: 2 if n < 120 else 1])
        columns["nested"] = inner
    return pa.table(columns)


def plain(value: Any) -> Any:
    """A value of pyarrow's as tesson delivers it."""
    if isinstance(value, datetime.datetime):
        return (value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    if isinstance(value, decimal.Decimal):
        return int(value.scaleb(2))
    return [plain(item) for item in value] if isinstance(value, list) else value


def expected(table: Any) -> dict[str, list[Any]]:
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_struct(column.type):
            for field in column.type:
                columns[f"{name}.{field.name}"] = [plain(row[field.name]) for row in column.to_pylist()]
        else:
            columns[name] = [plain(value) for value in column.to_pylist()]
    return columns


def delivered(data: tesson.Dataset, n: int = 7, **options: Any) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in data.schema}
    with data.loader(batch_size=n, world=None, **options) as loader:
        for batch in loader:
            for name, rows in columns.items():
                value = batch[name]
                rows.extend([np.asarray(x).tolist() for x in value.to_list()] if isinstance(value, tesson.Ragged) else np.asarray(value).tolist())
    return columns


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other or (one != one and other != other)


def write_parquet(table: Any, path: Path, draw: random.Random) -> None:
    parquet.write_table(
        table, path, row_group_size=draw.choice([7, 50, 1000]), compression=draw.choice(["none", "snappy", "zstd", "gzip", "brotli", "lz4"]),
        write_page_index=draw.random() < 0.5, data_page_size=draw.choice([64, 1 << 20]), use_dictionary=draw.random() < 0.5,
        data_page_version=draw.choice(["1.0", "2.0"]), store_schema=draw.random() < 0.7,
    )


def write_arrow(table: Any, path: Path, draw: random.Random) -> None:
    kind = draw.choice(["file", "stream", "feather"])
    if kind == "feather":
        feather.write_feather(table, path, compression=draw.choice(["lz4", "zstd", "uncompressed"]), chunksize=draw.choice([10, 64000]))
        return
    writer = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}[kind](path, table.schema)
    with writer:
        writer.write_table(table.unify_dictionaries(), max_chunksize=draw.choice([9, 1000]))


def test_times_and_decimals_have_their_unit_in_the_schema(tmp_path: Path) -> None:
    moment = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    table = pa.table({
        "when": pa.array([moment], pa.timestamp("us", "UTC")), "day": pa.array([moment.date()], pa.date32()), "price": pa.array([decimal.Decimal("1.25")], pa.decimal128(10, 2)),
        "took": pa.array([3], pa.duration("ms")), "times": pa.array([[1, 2]], pa.list_(pa.time64("ns"))), "n": pa.array([7]),
    })
    types = ["int64 [] timestamp[us, UTC]", "int32 [] date[day]", "int64 [] decimal(10, 2)", "int64 [] duration[ms]", "ragged int64 [] time[ns]", "int64 []"]
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, tmp_path / "a.feather")
    for data in (tesson.read_parquet(tmp_path / "a.parquet"), tesson.read_arrow(tmp_path / "a.feather"), tesson.from_table(table)):
        assert [field.type for field in data.schema.values()] == types
        assert (data.schema["price"].unit, data.head(1)["price"].tolist(), data.schema["n"].unit) == ("decimal(10, 2)", [125], None)
    # One column never mixes two units.
    parquet.write_table(table.set_column(0, "when", pa.array([moment], pa.timestamp("ms", "UTC"))), tmp_path / "b.parquet")
    with pytest.raises(tesson.DataError, match=r"`when` int64 timestamp\[ms, UTC\].*`when` int64 timestamp\[us, UTC\]"):
        list(tesson.read_parquet(tmp_path / "*.parquet").loader(batch_size=2))


def test_tables_in_memory_have_decimals_and_lists_of_lists_of_one_length() -> None:
    prices = [decimal.Decimal(cents).scaleb(-2) for cents in (-(10**17), 0, 125, 10**17)]
    boxes = [[[1, 2], [3, 4]], [], [[5, 6]], [[7, 8]]]
    table = pa.table({
        "price": pa.array(prices, pa.decimal128(18, 2)), "wide": pa.array(prices, pa.decimal256(18, 2)),
        "boxes": pa.array(boxes, pa.list_(pa.list_(pa.int16(), 2))),
    })
    data = tesson.from_table(table.slice(1))
    assert [field.type for field in data.schema.values()] == ["int64 [] decimal(18, 2)", "int64 [] decimal(18, 2)", "ragged int16 [2]"]
    batch = data.head(3)
    assert batch["price"].tolist() == batch["wide"].tolist() == [0, 125, 10**17]
    assert [box.tolist() for box in batch["boxes"].to_list()] == boxes[1:]
    assert data.select("price").rename(price="cents").schema["cents"].unit == "decimal(18, 2)"
    with pytest.raises(tesson.ConfigError, match=r"'n' has the type decimal128\(19, 0\), which cannot be a stream"):
        tesson.from_table(pa.table({"n": pa.array([decimal.Decimal(10**18)], pa.decimal128(19, 0))}))
    with pytest.raises(tesson.ConfigError, match="column 'l' has no value in row 1"):
        tesson.from_table(pa.table({"l": pa.array([[[1, 2], None]], pa.list_(pa.list_(pa.int16(), 2)))}))


def test_times_in_arrays_are_whole_numbers_of_their_unit() -> None:
    whens = np.array(["2020-01-01T00:00:01", "1969-12-31T23:59:59"], "datetime64[ms]")
    data = tesson.from_arrays(when=whens, day=whens.astype("datetime64[D]"), took=(whens - whens[0]).astype(">m8[us]"))
    assert [field.type for field in data.schema.values()] == ["int64 [] timestamp[ms]", "int64 [] date[day]", "int64 [] duration[us]"]
    batch = data.head(2)
    assert batch["when"].tolist() == [1577836801000, -1000]
    assert batch["day"].tolist() == [18262, -1]
    assert batch["took"].tolist() == [0, -1577836802000000]
    assert tesson.from_arrays(t=np.array([3], "m8[5s]")).schema["t"].unit == "duration[5s]"
    with pytest.raises(tesson.ConfigError, match="found NaT in example 1"):
        tesson.from_arrays(t=np.array(["2020", "NaT"], "datetime64[s]"))


def test_times_in_files_of_arrays_have_their_unit_too(tmp_path: Path) -> None:
    times = np.array(["2020-01-01", "NaT", "1969-12-31"], ">M8[s]")
    np.save(tmp_path / "t.npy", times)
    data = tesson.read_numpy(tmp_path / "t.npy")
    assert data.schema["data"].type == "int64 [] timestamp[s]"
    with pytest.raises(tesson.DataError, match=r"row 1 has no time \(`NaT`\)"):
        list(data.loader(batch_size=3))
    (batch,) = data.loader(batch_size=3, max_errors=1)
    assert (batch.keys, batch["data"].tolist()) == ([0, 2], [1577836800, -86400])
    np.savez(tmp_path / "t.npz", took=np.zeros((2, 3), "m8[ms]"), x=np.arange(2))
    assert [field.type for field in tesson.read_numpy(tmp_path / "t.npz").schema.values()] == ["int64 [3] duration[ms]", "int64 []"]


@pytest.mark.parametrize("seed", range(40))
def test_random_tables_have_the_values_that_pyarrow_reads(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    table = random_table(draw)
    path = tmp_path / "table"
    (write_parquet if seed % 2 else write_arrow)(table, path, draw)
    data = (tesson.read_parquet if seed % 2 else tesson.read_arrow)(path)
    wanted = expected((parquet.read_table(path) if seed % 2 else table))
    found = delivered(data)
    assert list(found) == list(wanted)
    for name in wanted:
        assert is_same(found[name], wanted[name]), name
    # Any order has the same rows.
    shuffled = delivered(data, shuffle=True, seed=seed)
    order = delivered(data.select(next(iter(wanted))), shuffle=True, seed=seed)
    assert is_same(order[next(iter(wanted))], shuffled[next(iter(wanted))])
    assert sorted(map(repr, zip(*shuffled.values(), strict=True))) == sorted(map(repr, zip(*found.values(), strict=True)))


def test_the_schema_has_types_and_shapes_of_columns(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array([2**63], pa.uint64()), "m": pa.array([[1.5, 2.0]], pa.list_(pa.float32(), 2)), "t": [[1, 2]], "s": ["é"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    data = tesson.read_parquet(tmp_path / "a.parquet")
    assert str(data.schema) == "Schema(id: uint64 [], m: float32 [2], t: ragged int64 [], s: str [])"
    assert pickle.loads(pickle.dumps(data)).head(1)["id"].tolist() == [2**63]


def test_columns_are_chosen_renamed_and_reshaped(tmp_path: Path) -> None:
    table = pa.table({"pixels": [[i, i + 1, i + 2, i + 3] for i in range(5)], "label": pa.array(range(5), pa.int64()), "other": ["x"] * 5})
    parquet.write_table(table, tmp_path / "a.parquet")
    data = tesson.read_parquet(
        tmp_path / "a.parquet", columns=["label"], streams={"x": tesson.column("pixels", shape=(2, 2), dtype=np.float32)},
    )
    assert str(data.schema) == "Schema(label: int64 [], x: float32 [2, 2])"
    assert data.head(2)["x"].tolist() == [[[0, 1], [2, 3]], [[1, 2], [3, 4]]]
    with pytest.raises(tesson.DataError, match="no column `lable` among `pixels`, `label`, `other`, did you mean `label`"):
        tesson.read_parquet(tmp_path / "a.parquet", columns=["lable"]).head()


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_missing_values_are_refused_skipped_or_replaced(tmp_path: Path, form: str) -> None:
    table = pa.table({"x": pa.array([1.5, None, 2.5], pa.float32()), "n": pa.array([1, 2, None]), "t": [[1], [2, None], None]})
    path = tmp_path / "a"
    parquet.write_table(table, path) if form == "parquet" else feather.write_feather(table, path)
    read = tesson.read_parquet if form == "parquet" else tesson.read_arrow
    with pytest.raises(tesson.DataError, match="column `x` has no value in row 1"):
        delivered(read(path))
    assert delivered(read(path, nulls="skip")) == {"x": [1.5], "n": [1], "t": [[1]]}
    assert delivered(read(path, nulls=0)) == {"x": [1.5, 0.0, 2.5], "n": [1, 2, 0], "t": [[1], [2, 0], []]}
    assert np.isnan(delivered(read(path, columns=["x"], nulls="nan"))["x"][1])
    with pytest.raises(tesson.DataError, match="column `n` has no value in row 2"):
        delivered(read(path, columns=["n"], nulls="nan"))


def test_a_loader_of_a_table_resumes_in_another_process_and_on_other_ranks(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"id": range(100)}), tmp_path / "a.parquet", row_group_size=13)
    data = tesson.read_parquet(tmp_path / "a.parquet")
    loader = data.loader(batch_size=10, shuffle=True, seed=3, world=None)
    epoch = iter(loader)
    first = [next(epoch)["id"].tolist() for _ in range(4)]
    state = loader.state_dict()
    rest = [batch["id"].tolist() for batch in epoch]
    assert sorted(sum(first + rest, [])) == list(range(100))
    shares = []
    for rank in range(2):
        other = pickle.loads(pickle.dumps(data)).loader(batch_size=10, shuffle=True, seed=3, rank=rank, world_size=2)
        other.load_state_dict(state)
        shares.append([batch["id"].tolist() for batch in other])
    assert [sorted(one + two) for one, two in zip(*shares, strict=True)] == [sorted(batch) for batch in rest]


def test_damaged_files_are_errors_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": np.arange(1000)}), path, compression="snappy", write_page_checksum=True)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(tesson.DataError, match=r"a\.parquet \(byte \d+\): the header of the parquet file is invalid: the file does not end with `PAR1`"):
        tesson.read_parquet(path).head()
    path.write_bytes(whole[:100] + bytes(100) + whole[200:])
    with pytest.raises(tesson.DataError, match=r"a\.parquet .*column `x` of row group 0 cannot be decoded"):
        tesson.read_parquet(path).head()


@pytest.mark.parametrize("seed", range(10))
def test_arrays_have_the_values_that_numpy_reads(tmp_path: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    shape = tuple(draw.integers(1, 6, draw.integers(1, 4)))
    kind = draw.choice(["<f4", ">f8", "<i8", ">i2", "|u1", "?", "<f2", ">u4"])
    values = (draw.normal(size=shape) * 9).astype(kind)
    np.save(tmp_path / "x.npy", values)
    found = tesson.read_numpy(tmp_path / "x.npy").head(len(values))["data"]
    assert found.dtype == values.dtype.newbyteorder("=") and np.array_equal(found, np.load(tmp_path / "x.npy"))


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_tables_in_memory_are_datasets(library: str) -> None:
    columns = {"id": [2**60 + 1, 2, 3], "x": [0.5, 1.5, 2.5], "s": ["a", "", "é"]}
    table = pa.table(columns) if library == "pyarrow" else pytest.importorskip(library).DataFrame(columns)
    data = tesson.from_table(table)
    assert str(data.schema) == "Schema(id: int64 [], x: float64 [], s: str [])"
    assert delivered(data) == columns
    lists = tesson.from_table(pa.table({"t": [[1, 2], [], [3]], "v": pa.array([[1, 2]] * 3, pa.list_(pa.int8(), 2))}))
    assert delivered(lists) == {"t": [[1, 2], [], [3]], "v": [[1, 2]] * 3}
    with pytest.raises(tesson.ConfigError, match="column 'x' has no value in row 1; fill the column in"):
        tesson.from_table(pa.table({"x": [1, None]}))
    with pytest.raises(tesson.ConfigError, match="found list, expected a table of pyarrow, pandas or polars"):
        tesson.from_table([1, 2])


def test_archives_and_folders_of_arrays_are_datasets(tmp_path: Path) -> None:
    arrays = {"x": np.arange(12, dtype=np.float32).reshape(4, 3), "y": np.array([5, 2**60, 7, 8])}
    np.savez(tmp_path / "plain.npz", **arrays)
    np.savez_compressed(tmp_path / "deflated.npz", **arrays)
    for name in ("plain.npz", "deflated.npz"):
        data = tesson.read_numpy(tmp_path / name)
        assert str(data.schema) == "Schema(x: float32 [3], y: int64 [])"
        shuffled = delivered(data, n=3, shuffle=True)
        assert sorted(shuffled["y"]) == sorted(arrays["y"].tolist())
        assert all(arrays["x"][arrays["y"].tolist().index(y)].tolist() == x for x, y in zip(shuffled["x"], shuffled["y"], strict=True))
    with pytest.raises(tesson.ConfigError, match="found no array 'z', there are x, y"):
        tesson.read_numpy(tmp_path / "plain.npz", columns=["z"])
    folder = tmp_path / "clips"
    folder.mkdir()
    clips = [np.full((n, 2), n, np.int16) for n in (3, 1, 4)]
    for number, clip in enumerate(clips):
        np.save(folder / f"{number}.npy", clip)
    assert delivered(tesson.read_numpy(folder, each_file="sequence")) == {"data": [clip.tolist() for clip in clips]}
    assert len(delivered(tesson.read_numpy(folder))["data"]) == 8
    for number in range(3):
        np.save(folder / f"{number}.npy", np.full((2, 2), number))
    assert delivered(tesson.read_numpy(folder, each_file="example"))["data"] == [[[n, n], [n, n]] for n in range(3)]


@pytest.mark.parametrize("seed", range(6))
def test_windows_of_tokens_are_slices_of_the_file(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    kind = np.dtype(draw.choice(["uint16", "uint32", "int32"]))
    tokens = np.array([draw.randrange(50000) for _ in range(draw.randrange(20, 300))], kind)
    length, stride = draw.randrange(1, 12), draw.choice([None, 1, 5, 20])
    if seed % 2:
        tokens.tofile(tmp_path / "a.bin")
        data = tesson.read_tokens(tmp_path / "a.bin", length=length, stride=stride, token_type=kind)
    else:
        np.save(tmp_path / "a.npy", tokens)
        data = tesson.read_tokens(tmp_path / "a.npy", length=length, stride=stride)
    starts = range(0, len(tokens) - length, stride or length)
    assert str(data.schema) == f"Schema(tokens: {kind} [{length}], labels: {kind} [{length}])"
    assert delivered(data) == {
        "tokens": [tokens[i : i + length].tolist() for i in starts], "labels": [tokens[i + 1 : i + length + 1].tolist() for i in starts],
    }


def write_megatron(path: Path, documents: list[list[int]], kind: str) -> None:
    """As Megatron-LM's IndexedDatasetBuilder writes it."""
    code = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}[kind]
    np.array(sum(documents, []), kind).tofile(path.with_suffix(".bin"))
    lengths = np.array([len(document) for document in documents], np.int32)
    starts = (np.cumsum([0, *lengths[:-1]]) * np.dtype(kind).itemsize).astype(np.int64)
    header = b"MMIDIDX\0\0" + np.uint64(1).tobytes() + bytes([code]) + np.uint64(len(lengths)).tobytes() + np.uint64(len(lengths) + 1).tobytes()
    path.with_suffix(".idx").write_bytes(header + lengths.tobytes() + starts.tobytes() + np.arange(len(lengths) + 1, dtype=np.int64).tobytes())


@pytest.mark.parametrize("kind", ["uint16", "int32"])
def test_documents_end_where_the_index_or_a_token_says(tmp_path: Path, kind: str) -> None:
    draw = random.Random(7)
    documents = [[draw.randrange(1, 30000) for _ in range(draw.randrange(9))] + [0] for _ in range(50)]
    write_megatron(tmp_path / "a", documents, kind)
    assert delivered(tesson.read_tokens(tmp_path / "a.bin")) == {"tokens": documents}
    assert delivered(tesson.read_tokens(tmp_path / "a.bin", end_of_text=0, token_type=kind)) == {"tokens": documents}
    shuffled = delivered(tesson.read_tokens(tmp_path / "a.bin"), shuffle=True)["tokens"]
    assert shuffled != documents and sorted(shuffled) == sorted(documents)
    assert len(delivered(tesson.read_tokens(tmp_path / "a.bin", length=8))["labels"]) == (sum(map(len, documents)) - 1) // 8
    (tmp_path / "a.idx").unlink()
    with pytest.raises(tesson.DataError, match="nothing tells where documents end; set `length` or `end_of_text`"):
        tesson.read_tokens(tmp_path / "a.bin", token_type=kind).head()


def test_folders_of_hugging_face_have_classes_and_images(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    ppm = [b"P6 2 1 255\n" + bytes([value] * 6) for value in (10, 20, 30)]
    features = {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}, "image": {"_type": "Image"}}
    image = pa.StructArray.from_arrays([pa.array(ppm, pa.binary()), pa.array([None] * 3, pa.string())], names=["bytes", "path"])
    table = pa.table({"label": pa.array([0, 1, 1]), "image": image}).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    for number, part in enumerate((table[:2], table[2:])):
        with pa.ipc.new_stream(folder / f"data-{number}.arrow", table.schema) as writer:
            writer.write_table(part)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": f"data-{n}.arrow"} for n in (1, 0)]}))
    data = tesson.read_arrow(folder, columns=["label"], streams={"image": tesson.image_column("image.bytes")})
    assert data.schema["label"].classes == ("cat", "dog")
    batch = data.head(3)
    assert batch["label"].tolist() == [1, 0, 1]
    assert batch["image"].dtype == np.uint8 and batch["image"][:, 0, 0, 0].tolist() == [30, 10, 20]
    (folder / "state.json").rename(tmp_path / "other.json")
    assert tesson.read_arrow(folder, columns=["label"]).head(3)["label"].tolist() == [0, 1, 1]


@pytest.mark.parametrize("write_page_index", [False, True])
def test_row_groups_larger_than_memory_are_read_by_pages(tmp_path: Path, write_page_index: bool) -> None:
    draw = random.Random(5)
    files = [draw.randbytes(1 << 20) for _ in range(40)]
    table = pa.table({"file": pa.array(files, pa.binary()), "id": range(40)})
    # A page for each file.
    options = {"use_dictionary": False, "compression": "none", "write_batch_size": 1}
    parquet.write_table(table, tmp_path / "a.parquet", write_page_index=write_page_index, **options)
    data = tesson.read_parquet(tmp_path / "a.parquet")
    for shuffle in (False, True):
        with data.loader(batch_size=1, shuffle=shuffle, memory_limit=64 << 20, world=None) as loader:
            batches = [(batch["id"].tolist(), batch["file"].tolist()) for batch in loader]
        assert sorted(ids[0] for ids, _ in batches) == list(range(40))
        assert all(file == [files[ids[0]]] for ids, file in batches)


def test_the_command_line_knows_tables_by_their_content(tmp_path: Path) -> None:
    table = pa.table({"id": [2**60, 7], "t": [[1], [2, 3]]})
    folder = tmp_path / "saved"
    folder.mkdir()
    parquet.write_table(table, tmp_path / "a")
    feather.write_feather(table, tmp_path / "b")
    feather.write_feather(table, folder / "data.arrow")
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    (folder / "dataset_info.json").write_text("{}")
    for path, function in [(tmp_path / "a", "read_parquet"), (tmp_path / "b", "read_arrow"), (folder, "read_arrow")]:
        run = subprocess.run([sys.executable, "-m", "tesson", "info", str(path)], capture_output=True, text=True)
        assert run.returncode == 0 and function in run.stdout and "int64" in run.stdout, run.stdout + run.stderr
