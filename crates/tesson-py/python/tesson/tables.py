"""Datasets of tables: files whose rows are examples, and tables in memory."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from .dataset import Dataset, from_arrays
from .deserializers import Deserializer
from .errors import ConfigError
from .images import Size, decoding
from .keywords import camel_case, nearest_keyword, parameters_of, suggests_arguments
from .paths import AnyPath, files_of, text_of
from .transforms import AnyTransform
from .values import Value

__all__ = [
    "Column", "column", "from_table", "image_column", "read_arff", "read_array_records", "read_arrow", "read_csv", "read_json", "read_libsvm", "read_mds", "read_numpy", "read_parquet", "read_tfrecords", "read_tokens", "read_vw",
]

Source = AnyPath | Sequence[AnyPath]
Nulls = Literal["refuse", "skip", "nan"] | float


class Column(Value):
    """A column of a table as a stream: see :func:`column` and :func:`image_column`."""

    #: Its name in the table; None: that of the stream.
    name: str | None
    #: The options of the stream, as configurations spell them.
    options: Mapping[str, Any]

    def __init__(self, name: str | None, options: Mapping[str, Any]) -> None:
        self._become(name=name, options=options)

    def _section(self) -> dict[str, Any]:
        named = {} if self.name is None else {"column": self.name}
        return {**named, **self.options}


@suggests_arguments
def column(
    name: str | None = None,
    /,
    *,
    dtype: DTypeLike | None = None,
    shape: int | Sequence[int] | None = None,
    ragged: bool | None = None,
) -> Column:
    """A column that is to have another name, type or shape as a stream.

    Parameters
    ----------
    name : str, optional
        Its name in the table, by default that of the stream. A field of a struct is ``"box.x"``.
    dtype : dtype, optional
        The type of the values, by default that of the column. A value that is no such number is an error; floats are rounded.
    shape : int or sequence of int, optional
        The shape of a sample. A column of lists of this many values has one sample in each row then.
    ragged : bool, optional
        True if rows have any number of samples, by default for columns of lists without a `shape`.
    """
    options: dict[str, Any] = {}
    if dtype is not None:
        options["dtype"] = "str" if dtype is str else "bytes" if dtype is bytes else np.dtype(dtype).name
    if shape is not None:
        options["shape"] = [shape] if isinstance(shape, int) else list(shape)
    if ragged is not None:
        options["ragged"] = ragged
    return Column(name, options)


@suggests_arguments
def image_column(
    name: str | None = None,
    /,
    *,
    size: Size | None = None,
    transforms: AnyTransform | Sequence[AnyTransform] = (),
    dtype: Literal["uint8", "float32"] | None = None,
    grayscale: bool = False,
    ragged: bool = False,
) -> Column:
    """A column of files of images, decoded as :func:`read_images` does.

    Parameters
    ----------
    name : str, optional
        Its name in the table, by default that of the stream. Tables of Hugging Face have images as ``"image.bytes"``.
    size, transforms, dtype, grayscale, ragged
        As for :func:`read_images`.
    """
    stream = decoding(size, transforms, dtype, grayscale, ragged)
    decoder = {"type": "Decode", "channelOrder": "rgb", "exifOrientation": "apply", "grayscale": grayscale}
    options: dict[str, Any] = {"transforms": [decoder, *stream.transforms]}
    if stream.dtype is not None:
        options["dtype"] = stream.dtype
    if ragged:
        options["ragged"] = True
    return Column(name, options)


class _Table(Deserializer):
    """Files of a table as a part of a configuration."""

    type = "TableDeserializer"

    def __init__(self, files: Source, streams: Mapping[str, Column], options: Mapping[str, Any]) -> None:
        super().__init__({"file": files_of(files), **options})
        self._columns = dict(streams)

    @property
    def config(self) -> dict[str, Any]:
        config = {"type": self.type, **self._options}
        if self._columns:
            config["input"] = {name: stream._section() for name, stream in self._columns.items()}
        return config

    def _with_streams(self, names: Mapping[str, str]) -> Deserializer:
        kept = {new: self._columns.get(stored, Column(stored, {})) for new, stored in names.items()}
        streams = {new: Column(column.name or names[new], column.options) for new, column in kept.items()}
        changed = copy.copy(self)
        changed._options = {name: value for name, value in self._options.items() if name != "columns"}
        changed._columns = streams
        return changed

    def __repr__(self) -> str:
        return f"TableDeserializer({self.config})"


def table_files(path: Source, format: str, columns: Sequence[str] | None, streams: Mapping[str, Column] | None, **options: Any) -> Dataset:
    """Files of a table. Options are those of configurations as keywords, and count unless they are None."""
    word = "features" if format in ("tfrecord", "array_record") else "columns"
    if isinstance(columns, str):
        raise ConfigError(f"{word}: found the text {columns!r}, expected a list of names, such as [{columns!r}]", path=word)
    if isinstance(columns, Mapping):
        # Its values would be lost without a word: TensorFlow's descriptions of features are such mappings.
        raise ConfigError(
            f"{word}: found a mapping, expected a list of names, such as {list(columns)!r}; `streams={{name: tesson.column(…)}}` declares types and shapes", path=word
        )
    named = None if columns is None else list(columns)
    for name, stream in (streams or {}).items():
        if not isinstance(stream, Column):
            raise ConfigError(f"streams: found {stream!r} of {name!r}, expected tesson.column(…) or tesson.image_column(…)", path="streams")
    given = {camel_case(name): value for name, value in options.items() if value is not None}
    if "nulls" in given:
        given["nulls"] = str(given["nulls"])
    if named is not None:
        given["columns"] = named
    files = files_of(path)
    shown = files if isinstance(files, str) else f"{files[0]} and {len(files) - 1} others" if len(files) > 1 else ", ".join(files)
    return Dataset((_Table(path, streams or {}, {"format": format, **given}),), shown, frozenset())


@suggests_arguments
def read_parquet(
    path: Source,
    /,
    *,
    columns: Sequence[str] | None = None,
    streams: Mapping[str, Column] | None = None,
    key_column: str | None = None,
    nulls: Nulls | None = None,
) -> Dataset:
    """Parquet files: each row is an example, each column a stream of its type.

    Lists are ragged streams; a list whose length is the same in all rows has a shape (:func:`column`). Fields of structs are columns such
    as ``"box.x"``. Dates, times and decimals are whole numbers of their unit, which the schema says (:attr:`Field.unit`).

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The file; a pattern such as ``"part-*.parquet"``; or a list of them.
    columns : sequence of str, optional
        The columns to read, by default all, or those of `streams`. Only what is read is fetched and decoded.
    streams : mapping of str to Column, optional
        Streams that differ from their columns, as :func:`column` and :func:`image_column` make them.
    key_column : str, optional
        The column of whole numbers or texts that joins rows with those of other datasets, by default a row's number.
    nulls : {"refuse", "skip", "nan"} or float, optional
        What a missing value is: an error, the default; a reason to leave the row out; or this value, and missing lists are empty.
    """
    return table_files(path, "parquet", columns, streams, key_column=key_column, nulls=nulls)


@suggests_arguments
def read_arrow(
    path: Source,
    /,
    *,
    columns: Sequence[str] | None = None,
    streams: Mapping[str, Column] | None = None,
    key_column: str | None = None,
    nulls: Nulls | None = None,
) -> Dataset:
    """Files and streams of Arrow, and Feather files: each row is an example, each column a stream of its type.

    Folders that Hugging Face's ``save_to_disk`` made are read as well, with the names of their classes in the schema.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The file; a folder of files; a pattern such as ``"data-*.arrow"``; or a list of them.
    columns, streams, key_column, nulls
        As for :func:`read_parquet`.
    """
    return table_files(path, "arrow", columns, streams, key_column=key_column, nulls=nulls)


@suggests_arguments
def read_csv(
    path: Source,
    /,
    *,
    columns: Sequence[str] | None = None,
    streams: Mapping[str, Column] | None = None,
    key_column: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    nulls: Nulls | None = None,
    cache_index: bool | None = None,
) -> Dataset:
    """CSV, TSV and the like: each row is an example, each column a stream of bool, int64, float64 or str.

    Types are those of the first rows, and logged; a field that is no value of its column's type is an error with file, line and column.
    Declare another type with :func:`column`. Fields may be quoted, and quotes may hold line feeds.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The file; a pattern such as ``"part-*.csv"``; or a list of them. Each may be compressed by gzip or Zstandard, as in ``"x.csv.gz"``.
    columns, streams, key_column
        As for :func:`read_parquet`.
    delimiter : str, optional
        The character between fields, by default found in the first rows: comma, tab, semicolon or bar.
    header : bool, optional
        True if the first row has the names of the columns, by default if none of its fields is a number.
    names : sequence of str, optional
        The names of all columns, in place of those in the file; without either they are ``column_1``, ``column_2``, ...
    nulls
        As for :func:`read_parquet`, for empty fields, ``NA`` and ``null`` in columns that are no texts.
    cache_index : bool, optional
        True to keep the index in a file beside the first one, so that the next opening does not look for the rows again. Compressed files have none.

    Examples
    --------
    >>> _ = open("people.csv", "w").write('name,age,id\\nann,31,1152921504606846977\\n"böb, jr",7,2\\n')
    >>> tesson.read_csv("people.csv", streams={"age": tesson.column(dtype=np.uint8)}, columns=["name", "age", "id"])
    <Dataset people.csv: name str [], age uint8 [], id int64 []>
    >>> tesson.read_csv("people.csv").head()["name"].tolist()
    ['ann', 'böb, jr']
    """
    if isinstance(names, str):
        raise ConfigError(f"names: found the text {names!r}, expected a list of names, such as [{names!r}]", path="names")
    listed = None if names is None else list(names)
    given = {"delimiter": delimiter, "header": header, "names": listed}
    return table_files(path, "csv", columns, streams, **given, key_column=key_column, nulls=nulls, cache_index=cache_index)


@suggests_arguments
def read_json(
    path: Source,
    /,
    *,
    columns: Sequence[str] | None = None,
    streams: Mapping[str, Column] | None = None,
    key_column: str | None = None,
    nulls: Nulls | None = None,
    cache_index: bool | None = None,
) -> Dataset:
    """JSON lines: each line is an object and an example, each member a stream of bool, int64, float64 or str.

    Lists are ragged streams, lists of lists of one size have a shape, members of members are columns such as ``"box.x"``. Types are those
    of the first lines, and logged; a value of another type is an error with file and line.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The file; a pattern such as ``"part-*.jsonl"``; or a list of them. Each may be compressed by gzip or Zstandard, as in ``"x.jsonl.zst"``.
    columns, streams, key_column, nulls
        As for :func:`read_parquet`; a member that is missing or null is a missing value.
    cache_index
        As for :func:`read_csv`.

    Examples
    --------
    >>> _ = open("docs.jsonl", "w").write('{"text": "a b", "tokens": [1, 2]}\\n{"text": "c", "tokens": [3]}\\n')
    >>> tesson.read_json("docs.jsonl")
    <Dataset docs.jsonl: text str [], tokens ragged int64 []>
    >>> tesson.read_json("docs.jsonl").head()["tokens"].to_list()
    [array([1, 2]), array([3])]
    """
    return table_files(path, "jsonl", columns, streams, key_column=key_column, nulls=nulls, cache_index=cache_index)


@suggests_arguments
def read_arff(
    path: Source,
    /,
    *,
    columns: Sequence[str] | None = None,
    streams: Mapping[str, Column] | None = None,
    key_column: str | None = None,
    nulls: Nulls | None = None,
    cache_index: bool | None = None,
) -> Dataset:
    """ARFF files, the format of Weka: each row is an example, each attribute a stream of the type that the header declares.

    ``numeric`` and ``real`` are float64, ``integer`` is int64, ``string`` is str. A nominal attribute is the number of its value, and the schema
    has the names (:attr:`Field.classes`); read it as ``tesson.column(dtype=str)`` for the names themselves. Dates are milliseconds since
    1970. If rows have weights, they are the stream ``weight``. Rows may be sparse, as in ``{1 0.5, 3 yes}``: what they leave out is 0, or the
    first name.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The file; a pattern such as ``"part-*.arff"``; or a list of them. Each may be compressed by gzip or Zstandard.
    columns, streams, key_column, nulls
        As for :func:`read_parquet`; a question mark is a missing value.
    cache_index
        As for :func:`read_csv`.

    Examples
    --------
    >>> header = "@relation weather\\n@attribute outlook {sunny, rainy}\\n@attribute degrees real\\n@data\\n"
    >>> _ = open("weather.arff", "w").write(header + "rainy, 17.5\\nsunny, 28\\n")
    >>> tesson.read_arff("weather.arff")
    <Dataset weather.arff: outlook int64 [], degrees float64 []>
    >>> tesson.read_arff("weather.arff").head()["outlook"].tolist(), tesson.read_arff("weather.arff").schema["outlook"].classes
    ([1, 0], ('sunny', 'rainy'))
    """
    return table_files(path, "arff", columns, streams, key_column=key_column, nulls=nulls, cache_index=cache_index)


@suggests_arguments
def read_libsvm(
    path: Source,
    /,
    *,
    num_features: int | None = None,
    zero_based: bool | None = None,
    streams: Mapping[str, Column] | None = None,
    key_column: str | None = None,
    cache_index: bool | None = None,
) -> Dataset:
    """Files of libsvm and svmlight, such as ``1 3:0.5 7:2``: each line is an example with the streams ``labels`` and ``features``.

    ``features`` are sparse and float64, or float32 if :func:`column` says so. ``labels`` are int64 or float64, and ragged where lines have
    several. If lines have a query, it is the stream ``qid``. The indices of a line ascend.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The file; a pattern such as ``"part-*.svm"``; or a list of them. Each may be compressed by gzip or Zstandard.
    num_features : int, optional
        The number of columns of ``features``. By default it is the largest index of the first file, which is read for it once more.
    zero_based : bool, optional
        True if indices count from 0, False if from 1. By default they count from 0 if the first file has an index 0.
    streams, key_column
        As for :func:`read_parquet`.
    cache_index
        As for :func:`read_csv`.

    Examples
    --------
    >>> _ = open("train.svm", "w").write("1 3:0.5 7:2\\n-1 1:1 # a comment\\n")
    >>> tesson.read_libsvm("train.svm")
    <Dataset train.svm: labels int64 [], features sparse float64 [7]>
    >>> tesson.read_libsvm("train.svm").head()["features"].to_dense().tolist()
    [[0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 2.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """
    given = {"num_features": num_features, "zero_based": zero_based}
    return table_files(path, "libsvm", None, streams, **given, key_column=key_column, cache_index=cache_index)


@suggests_arguments
def read_vw(
    path: Source,
    /,
    *,
    columns: Sequence[str] | None = None,
    streams: Mapping[str, Column] | None = None,
    bits: int | None = None,
    hash: Literal["strings", "all"] | None = None,
    key_column: str | None = None,
    nulls: Nulls | None = None,
    cache_index: bool | None = None,
) -> Dataset:
    """Files of Vowpal Wabbit, such as ``1 2 'tag|user age:31 bob``: each line is an example with a simple label.

    The streams are ``label``, ``importance`` (1 by default), ``base`` (0 by default), all float64, and ``tag``; ``features``, sparse and float64, in
    the columns that Vowpal Wabbit hashes names to; and the same features as ragged ``names``, such as ``user^age``, and ``values``. Weights of
    namespaces are multiplied in; features of one column are added up; the constant feature is not added.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The file; a pattern such as ``"part-*.vw"``; or a list of them. Each may be compressed by gzip or Zstandard.
    columns, streams, key_column
        As for :func:`read_parquet`. Labels of another kind, such as costs, are read as they are written by ``label=tesson.column(dtype=str)``.
    bits : int, optional
        ``features`` has two to the power of this many columns, by default 18.
    hash : {"strings", "all"}, optional
        How names become columns: names of digits are numbers ("strings", the default), or are hashed like the others ("all").
    nulls
        As for :func:`read_parquet`, for lines without a label.
    cache_index
        As for :func:`read_csv`.

    Examples
    --------
    >>> _ = open("train.vw", "w").write("1 'a|user age:31 bob |item:2 red\\n-1 2 |user eve\\n")
    >>> tesson.read_vw("train.vw", columns=["label", "importance", "features"])
    <Dataset train.vw: label float64 [], importance float64 [], features sparse float64 [262144]>
    >>> batch = tesson.read_vw("train.vw").head()
    >>> batch["names"].to_list()[0].tolist(), batch["values"].to_list()[0].tolist()
    (['user^age', 'user^bob', 'item^red'], [31.0, 1.0, 2.0])
    """
    given = {"bits": bits, "hash": hash}
    return table_files(path, "vw", columns, streams, **given, key_column=key_column, nulls=nulls, cache_index=cache_index)


@suggests_arguments
def read_mds(
    path: Source,
    /,
    *,
    columns: Sequence[str] | None = None,
    streams: Mapping[str, Column] | None = None,
    key_column: str | None = None,
) -> Dataset:
    """Shards of Mosaic's streaming datasets (MDS), compressed by Zstandard or gzip, or not at all: each sample is an example, each column a stream of its type.

    Images and other bytes are byte strings unless :func:`image_column` decodes them; arrays need a type and a shape in their encoding.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The folder with ``index.json``; or a shard, a pattern such as ``"shard.*.mds"``, or a list of them.
    columns, streams, key_column
        As for :func:`read_parquet`.
    """
    return table_files(_shards(path), "mds", columns, streams, key_column=key_column)


def _shards(path: Source) -> Source:
    """The shards that the index of a folder lists, in its order."""
    files = files_of(path)
    if not isinstance(files, str) or not os.path.isdir(files):
        return files
    index = os.path.join(files, "index.json")
    try:
        with open(index, encoding="utf-8") as file:
            listed = json.load(file)["shards"]
        shards = [[shard[data]["basename"] for data in ("raw_data", "zip_data") if shard.get(data)] for shard in listed]
        names = [next((name for name in found if os.path.exists(os.path.join(files, name))), found[0]) for found in shards]
    except OSError as error:
        raise ConfigError(f"{index}: {error.strerror}; give the folder of a dataset, or its shards", path="path") from error
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ConfigError(f"{index} is no index of shards ({error!r}); give the shards themselves", path="path") from error
    return [os.path.join(files, name) for name in names]


def read_numpy(
    path: Source | None = None,
    /,
    *,
    columns: Sequence[str] | None = None,
    streams: Mapping[str, Column] | None = None,
    key_column: str | None = None,
    each_file: Literal["rows", "example", "sequence"] = "rows",
    **arrays: Source,
) -> Dataset:
    """NumPy's ``.npy`` files, whose first dimension counts the examples, and ``.npz`` archives of them.

    Parameters
    ----------
    path : str, os.PathLike or a list of them, optional
        The file, a folder, a pattern such as ``"part-*.npy"``, or a list of them, which are one array. The stream is ``data``; of an array
        of records each field is a stream. The arrays of an ``.npz`` file are streams of the same examples.
    columns, streams, key_column
        As for :func:`read_parquet`.
    each_file : {"rows", "example", "sequence"}
        The examples of a file: its rows; one, which is the array; or one, of a sample for each item of the first dimension.
    **arrays
        Instead of `path`: files that are streams of the same examples, by name.

    Examples
    --------
    >>> np.save("x.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    >>> np.save("y.npy", np.array([2**60, 2**60 + 1, 7]))
    >>> tesson.read_numpy(x="x.npy", y="y.npy")
    <Dataset x.npy and y.npy: x float32 [2], y int64 []>
    >>> tesson.read_numpy(x="x.npy", y="y.npy").head(2)["y"].tolist()
    [1152921504606846976, 1152921504606846977]
    """
    shown = None
    if isinstance(path, str | bytes | os.PathLike) and text_of(path).endswith(".npz"):
        shown = text_of(path)
        path, arrays = None, {**_members(shown, columns), **arrays}
    if path is not None:
        if arrays:
            name = next(iter(arrays))
            meant = nearest_keyword(name, parameters_of(read_numpy)[1:])
            hint = f"; did you mean `{meant}`?" if meant else ""
            raise ConfigError(f"found a path and {name}=…, expected one of the two{hint}", path=name)
        return table_files(path, "npy", columns, streams, key_column=key_column, each_file=each_file)
    if not arrays:
        raise ConfigError("found no file, expected a path, or files by name as in read_numpy(x=\"x.npy\")", path="path")
    options = {"format": "npy", "eachFile": each_file}
    parts = tuple(_Table(files, {name: Column("data", {})}, options) for name, files in arrays.items())
    return Dataset(parts, shown or " and ".join(str(files) for files in arrays.values()), frozenset())


def _members(path: str, columns: Sequence[str] | None) -> dict[str, Source]:
    """The arrays of an archive, by name."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
    except (OSError, zipfile.BadZipFile) as e:
        raise ConfigError(f"{path}: {e}, expected an archive that numpy.savez made", path="path") from e
    for name in columns or []:
        if name not in names:
            raise ConfigError(f"{path}: found no array {name!r}, there are {', '.join(names)}", path="columns")
    return {name: f"zip://{path}@/{name}.npy" for name in (names if columns is None else columns)}


@suggests_arguments
def read_tfrecords(
    path: Source,
    /,
    *,
    features: Sequence[str] | None = None,
    streams: Mapping[str, Column] | None = None,
    key_column: str | None = None,
    nulls: Nulls | None = None,
) -> Dataset:
    """TFRecord files of ``tf.train.Example``, without a description of them: each record is an example, each feature a stream of int64, float32 or bytes.

    Features are those of the first records. One with a single value in each of them is a stream without a shape, one with as many values in
    each has this shape, any other is ragged; :func:`column` declares another shape, type, or ``ragged=True``. Checksums are verified. Datasets
    with a description are read by :func:`read_tfds`.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The file; a pattern such as ``"train.tfrecord-*"``; or a list of them. Each may be compressed by gzip or zlib, as TensorFlow does.
    features : sequence of str, optional
        The features to read, by default all, or those of `streams`.
    streams, key_column
        As for :func:`read_parquet`; :func:`image_column` decodes images.
    nulls
        As for :func:`read_parquet`, for records without a feature. One of a ragged stream is empty.
    """
    return table_files(path, "tfrecord", features, streams, key_column=key_column, nulls=nulls)


@suggests_arguments
def read_array_records(
    path: Source,
    /,
    *,
    features: Sequence[str] | None = None,
    streams: Mapping[str, Column] | None = None,
    key_column: str | None = None,
    nulls: Nulls | None = None,
) -> Dataset:
    """ArrayRecord files without a description of their records: each record is an example.

    Where the first record is a ``tf.train.Example``, features are streams as in :func:`read_tfrecords`. Records of any other kind are the
    stream ``record`` of byte strings, and so are examples with ``features=["record"]``. Datasets with a description are read by
    :func:`read_tfds`.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The file; a pattern such as ``"train.array_record-*"``; or a list of them.
    features, streams, key_column, nulls
        As for :func:`read_tfrecords`.
    """
    return table_files(path, "array_record", features, streams, key_column=key_column, nulls=nulls)


@suggests_arguments
def read_tokens(
    path: Source,
    /,
    *,
    length: int | None = None,
    stride: int | None = None,
    end_of_text: int | None = None,
    token_type: DTypeLike | None = None,
) -> Dataset:
    """Files of token numbers: flat ``.bin`` files, ``.npy`` files of one dimension, and Megatron's ``.bin`` with their ``.idx``.

    With `length`, examples are windows: ``tokens`` has that many of them, and ``labels`` the ones after each, so that no shift is left to do.
    What is left at the end of a file is too short and not read. Without it examples are documents, and ``tokens`` is ragged.

    Parameters
    ----------
    path : str, os.PathLike or a list of them
        The file, a pattern such as ``"train_*.bin"``, or a list of them. No window reaches from one file into the next.
    length : int, optional
        The number of tokens in a window.
    stride : int, optional
        Tokens from the beginning of a window to that of the next, by default `length`.
    end_of_text : int, optional
        The number that ends a document, and is its last token. Megatron's files do not need it.
    token_type : dtype, optional
        The type of the numbers in a flat file: uint16, the default, uint32, int32 or int64.

    Examples
    --------
    >>> np.arange(10, dtype=np.uint16).tofile("train.bin")
    >>> batch = tesson.read_tokens("train.bin", length=4).head(2)
    >>> batch["tokens"].tolist(), batch["labels"].tolist()
    ([[0, 1, 2, 3], [4, 5, 6, 7]], [[1, 2, 3, 4], [5, 6, 7, 8]])
    """
    token_type = None if token_type is None else np.dtype(token_type).name
    return table_files(path, "tokens", None, None, length=length, stride=stride, end_of_text=end_of_text, token_type=token_type)


def from_table(table: Any, /) -> Dataset:
    """A table in memory: of pyarrow, pandas or polars, or any other that has Arrow's protocol. Each column is a stream of its type.

    Columns of numbers are not copied where the table allows it.

    Parameters
    ----------
    table : pyarrow.Table, pandas.DataFrame, polars.DataFrame
        The table. Missing values are an error; fill them in, or drop their rows.
    """
    if hasattr(table, "__arrow_c_stream__"):
        try:
            import pyarrow
        except ImportError:
            pass
        else:
            return _of_arrow(pyarrow.table(table))
    if hasattr(table, "columns") and hasattr(table, "__getitem__") and hasattr(table, "dtypes"):
        return _shown(from_arrays({str(name): _of_series(table[name], str(name)) for name in table.columns}), table)
    kind = type(table).__name__
    raise ConfigError(f"table: found {kind}, expected a table of pyarrow, pandas or polars; arrays go into from_arrays", path="table")


def _shown(data: Dataset, table: Any) -> Dataset:
    return data._changed(_shown=f"{type(table).__module__.split('.')[0]} table in memory")


def _of_series(series: Any, name: str) -> Any:
    """The values of a column of pandas or polars."""
    array = series.to_numpy()
    if array.dtype != object:
        return array
    values = list(array)
    missing = next((i for i, value in enumerate(values) if value is None or value is np.nan), None)
    if missing is not None:
        raise _missing(name, missing)
    return values


def _missing(name: str, row: int) -> ConfigError:
    return ConfigError(f"table: column {name!r} has no value in row {row}; fill the column in, or drop the row", path=f"table.{name}")


#: Digits of the largest decimal number whose digits are a 64-bit one.
_DECIMAL_DIGITS = 18


def _of_arrow(table: Any) -> Dataset:
    """The columns of a table of pyarrow's."""
    streams: dict[str, Any] = {}
    units: dict[str, str] = {}
    for name in table.column_names:
        _add_column(name, table.column(name).combine_chunks(), streams, units)
    return _shown(from_arrays(streams), table)._changed(_units=units)


def _add_column(name: str, array: Any, streams: dict[str, Any], units: dict[str, str]) -> None:
    """Adds the stream of a column, or those of the fields of a struct, and their units."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_struct(array.type):
        for field, child in zip(array.type, array.flatten(), strict=True):
            _add_column(f"{name}.{field.name}", child, streams, units)
        return
    if array.null_count:
        raise _missing(name, array.is_null().to_pylist().index(True))
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    unit = _unit(array.type)
    if unit is not None:
        units[name] = unit
    if pa.types.is_fixed_size_list(array.type):
        streams[name] = _values(array, name)
    elif pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        values, ends = _values(array.flatten(), name), np.cumsum(array.value_lengths().to_numpy(zero_copy_only=False))
        streams[name] = [values[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    else:
        streams[name] = _values(array, name)


def _unit(arrow_type: Any) -> str | None:
    """The unit of a column's values, in the words of columns that are read from files: ``timestamp[us, UTC]``, ``decimal(10, 2)``."""
    import pyarrow as pa

    while hasattr(arrow_type, "value_type"):
        arrow_type = arrow_type.value_type
    if pa.types.is_temporal(arrow_type) or pa.types.is_decimal(arrow_type):
        return re.sub(r"^(time|date|decimal)\d+", r"\1", str(arrow_type)).replace("tz=", "")
    return None


def _values(array: Any, name: str) -> Any:
    """The values of an array: of numbers and lists of one length as an array of NumPy's, of strings as a list."""
    import pyarrow as pa

    if pa.types.is_fixed_size_list(array.type):
        if array.null_count:
            raise _missing(name, array.is_null().to_pylist().index(True))
        return _numbers(array.flatten(), name).reshape(len(array), array.type.list_size)

    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    if any(is_kind(array.type) for is_kind in kinds) or "view" in str(array.type):
        if array.null_count:
            raise _missing(name, array.is_null().to_pylist().index(True))
        return array.to_pylist()
    return _numbers(array, name)


def _numbers(array: Any, name: str) -> np.ndarray[Any, Any]:
    import pyarrow as pa

    if array.null_count:
        raise _missing(name, array.is_null().to_pylist().index(True))
    # Times are whole numbers of their unit, as when they are read from files.
    if pa.types.is_temporal(array.type):
        array = array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64())
    # Decimals are whole numbers of their last digit.
    if pa.types.is_decimal(array.type) and array.type.precision <= _DECIMAL_DIGITS:
        words = np.frombuffer(array.buffers()[1] or b"", "<i4" if array.type.bit_width == 32 else "<i8")
        # The lowest word of a number of these digits is all of it.
        step = max(array.type.bit_width // 64, 1)
        return words[array.offset * step :: step][: len(array)]
    numbers: np.ndarray[Any, Any] = array.to_numpy(zero_copy_only=False)
    if numbers.dtype == object:
        raise ConfigError(f"table: column {name!r} has the type {array.type}, which cannot be a stream; drop it or convert it", path=f"table.{name}")
    return numbers
