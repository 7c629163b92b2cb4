"""Datasets: descriptions of data that a loader reads."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from .batch import Batch
from .deserializers import CBFDeserializer, CTFDeserializer, Deserializer
from .errors import ConfigError
from .image_deserializers import TarImageDeserializer
from .keywords import keyword_elsewhere, nearest_keyword, no_attribute, parameters_of, suggests_arguments, suggests_in_methods
from .loader import Loader
from .memory import MemoryDeserializer
from .paths import AnyPath
from .schema import Field, Schema
from .source import MinibatchSource
from .streams import StreamDef, StreamDefs, StreamInformation
from .strings import StringColumn
from .transforms import AnyTransform
from .user import UserDeserializer, check_dtype
from .values import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Dataset", "DatasetInfo", "Stream", "dense", "from_arrays", "ragged", "read_ctf", "sparse"]


class Stream(Value):
    """A declaration of what a text file holds under a name: see :func:`dense`, :func:`sparse` and :func:`ragged`."""

    shape: tuple[int, ...]
    field: str | None
    is_sparse: bool
    is_ragged: bool

    def __init__(self, shape: tuple[int, ...], field: str | None = None, is_sparse: bool = False, is_ragged: bool = False) -> None:
        self._become(shape=shape, field=field, is_sparse=is_sparse, is_ragged=is_ragged)


@suggests_arguments
def dense(*shape: int, field: str | None = None) -> Stream:
    """A stream of one sample an example, with values for all cells of this shape; `field` is its name in the file."""
    return Stream(shape, field)


@suggests_arguments
def sparse(columns: int, *, field: str | None = None) -> Stream:
    """A stream of one sample an example, with pairs of column and value; `field` is its name in the file."""
    return Stream((columns,), field, is_sparse=True)


@suggests_arguments
def ragged(stream: Stream | int | tuple[int, ...], *, field: str | None = None) -> Stream:
    """A stream of any number of samples an example, each as `stream` says or of this shape."""
    inner = stream if isinstance(stream, Stream) else _stream(stream)
    return Stream(inner.shape, field or inner.field, inner.is_sparse, is_ragged=True)


def _stream(given: Stream | int | Sequence[int]) -> Stream:
    """A stream as a caller declares it: a number of values, a shape, or in full."""
    if isinstance(given, Stream):
        return given
    return Stream((given,) if isinstance(given, int) else tuple(given))


def read_ctf(path: AnyPath | Sequence[AnyPath], /, **streams: Stream | int | tuple[int, ...]) -> Dataset:
    """Text in CNTK's format, such as ``|features 0.5 1 |labels 3:1``.

    Parameters
    ----------
    path : str, os.PathLike or a sequence of them
        The file, a pattern such as ``"part-*.ctf"``, or several that are one dataset.
    **streams : int, tuple of int, or Stream
        The streams by name: the number of values or the shape of a sample, or :func:`dense`, :func:`sparse` or :func:`ragged`.

    Examples
    --------
    >>> data = tesson.read_ctf("train.ctf", x=4, y=tesson.sparse(3))
    >>> data
    <Dataset train.ctf: x float32 [4], y sparse float32 [3]>
    >>> [batch["y"].indices.tolist() for batch in data.loader(batch_size=4)]
    [[0, 1, 2, 0], [1, 2]]
    """
    for name, stream in streams.items():
        if isinstance(stream, int) and (option := _option(name)):
            what = f"found {stream!r}, which is an option of the loader, as in read_ctf(…).loader({option}={stream!r})"
            raise ConfigError(f"{name}: {what}; a stream of this name is declared by tesson.dense({stream!r})", path=name)
        if isinstance(stream, Mapping):
            expected = "expected a number of values, a shape, or tesson.dense, sparse or ragged"
            remedy = "each stream is a keyword of its own, as in read_ctf(path, features=784, labels=tesson.sparse(10))"
            raise ConfigError(f"{name}: found a mapping, {expected}; {remedy}", path=name)
    declared = {name: _stream(stream) for name, stream in streams.items()}
    if not declared:
        raise ConfigError(
            "no streams, expected at least one by name, such as read_ctf(path, features=64); `tesson info` lists those of a file",
            path="streams",
        )
    defs = StreamDefs(
        **{name: StreamDef(stream.field or name, stream.shape, stream.is_sparse) for name, stream in declared.items()}
    )
    kept = frozenset(name for name, stream in declared.items() if stream.is_ragged)
    return Dataset((CTFDeserializer(path, defs),), str(path), kept)


def from_arrays(data: Mapping[str, Any] | None = None, /, **streams: Any) -> Dataset:
    """Arrays in memory, each a stream. Types are kept, and nothing is copied until it is delivered.

    Parameters
    ----------
    data : mapping, optional
        Streams by names that are no identifiers.
    **streams
        Each is an array ``[examples, *shape]``, a list of ``str`` or ``bytes``, or a :class:`scipy.sparse.csr_matrix`
        ``[examples, columns]``; or, for ragged streams, a list with an array ``[samples, *shape]`` or a list of strings for each example.
        Times (``datetime64``, ``timedelta64``) are whole numbers of their unit, which the schema has.

    Examples
    --------
    >>> data = tesson.from_arrays(id=np.array([2**60, 2**60 + 1]), tokens=[[1, 2], [3]])
    >>> data
    <Dataset in memory: id int64 [], tokens ragged int64 []>
    >>> batch = data.head(2)
    >>> batch["id"].tolist(), batch["tokens"].to_list()
    ([1152921504606846976, 1152921504606846977], [array([1, 2]), array([3])])
    """
    if data is not None and not isinstance(data, Mapping):
        remedy = "give arrays by name, as in from_arrays(x=data)"
        raise ConfigError(f"data: found {type(data).__name__}, expected a mapping from streams to arrays; {remedy}", path="data")
    arrays = {**(data or {}), **streams}
    units: dict[str, str] = {}
    for name, value in arrays.items():
        _check_array(name, value)
        if isinstance(value, np.ndarray) and value.dtype.kind in "mM":
            arrays[name], units[name] = _whole_times(name, value)
    deserializer = ArrayDeserializer(arrays)
    is_ragged = frozenset(name for name in arrays if deserializer.is_ragged(name))
    return Dataset((deserializer,), "in memory", is_ragged)._changed(_units=units)


def _whole_times(name: str, times: NDArray[Any]) -> tuple[NDArray[np.int64], str]:
    """Times as whole numbers, and their unit."""
    unit = times.dtype.name.partition("[")[2].rstrip("]")
    unit = "day" if unit == "D" else unit
    missing = np.isnat(times)
    if missing.any():
        example = int(np.argwhere(missing)[0][0])
        raise ConfigError(f"stream `{name}`: found NaT in example {example}, expected a time; fill it in, or leave the example out", path=name)
    what = "duration" if times.dtype.kind == "m" else "date" if unit == "day" else "timestamp"
    whole = times.astype(times.dtype.newbyteorder("="), copy=False).view(np.int64)
    return whole, f"{what}[{unit}]"


def _option(name: str) -> str | None:
    """The option of loaders that has this name, also in another library's words."""
    options = parameters_of(Loader.__init__)[2:]
    return name if name in options else keyword_elsewhere(name, options)


def _check_array(name: str, value: Any) -> None:
    """Refuse a value that is no data, or whose data are not all of it."""
    if value is None or isinstance(value, (str, bytes, bool, int, float, complex)):
        options = parameters_of(Loader.__init__)[2:]
        option = name if name in options else nearest_keyword(name, options)
        hint = f"; did you mean `{option}` of the loader, as in from_arrays(…).loader({option}={value!r})?" if option else ""
        raise ConfigError(f"{name}: found {value!r}, expected an array or a list with a value for each example{hint}", path=name)
    parts = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        remedy = f"give its values and its mask, as in {name}={name}.filled(0), {name}_mask=~{name}.mask"
        raise ConfigError(f"{name}: found a masked array, whose mask would be lost; {remedy}", path=name)


class ArrayDeserializer(MemoryDeserializer):
    """Arrays in memory whose types are kept."""

    keeps_types = True

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)
        self._streams = [
            StreamInformation(s.name, s.stream_id, "sparse" if s.is_sparse else "dense", _dtype(self._data[s.name], s.name), s.shape)
            for s in self._streams
        ]

    def _with_streams(self, names: Mapping[str, str]) -> ArrayDeserializer:
        return ArrayDeserializer({new: self._data[stored] for new, stored in names.items()})

    def is_ragged(self, name: str) -> bool:
        """True if examples may have any number of samples of a stream."""
        value = self._data[name]
        return value.is_ragged if isinstance(value, StringColumn) else isinstance(value, (list, tuple))


def _dtype(value: Any, name: str) -> np.dtype[Any]:
    """The type that holds all values of a stream."""
    if isinstance(value, StringColumn):
        return value.dtype
    parts = value if isinstance(value, (list, tuple)) else [value]
    # An empty list has no type.
    arrays = [part if hasattr(part, "dtype") else np.asarray(part) for part in parts]
    dtypes = {array.dtype for part, array in zip(parts, arrays, strict=True) if hasattr(part, "dtype") or array.size > 0}
    dtype = np.result_type(*(dtypes or {np.dtype(np.float32)})).newbyteorder("=")
    check_dtype(dtype, name)
    return dtype


class _EpochSource(MinibatchSource):
    """A source whose minibatches end with their sweep."""

    _state_is = "a state is what state_dict() returned"
    _finds_keys = True

    def _open(self, config: dict[str, Any], *others: Any) -> None:
        super()._open({**config, "crossSweepEnds": False}, *others)


def _one_after_the_other(parts: list[Deserializer | UserDeserializer]) -> Deserializer | UserDeserializer:
    """A part that has the data of several."""
    first = parts[0]
    arrays = [part for part in parts if isinstance(part, ArrayDeserializer)]
    if len(arrays) == len(parts):
        return ArrayDeserializer({name: _joined(name, [part._data[name] for part in arrays]) for name in arrays[0]._data})
    files = [part for part in parts if isinstance(part, (CBFDeserializer, CTFDeserializer, TarImageDeserializer)) and type(part) is type(first)]
    described = [{**part.config, "file": None} for part in files]
    if len(files) < len(parts) or any(config != described[0] for config in described):
        what = f"found {', '.join(type(part).__name__ for part in parts)}, which are read in different ways or as one file each"
        raise ConfigError(f"others: {what}; give all files to one read_… as a list or a pattern, where it takes several", path="others")
    whole = copy.copy(files[0])
    named: list[Any] = [part._options["file"] for part in files]
    listed = [name for names in named for name in ([names] if isinstance(names, str) else names)]
    whole._options = {**whole._options, "file": listed}
    return whole


def _joined(name: str, values: list[Any]) -> Any:
    """The values of a stream of several datasets, one after the other."""
    if all(isinstance(value, (list, tuple)) for value in values):
        return [part for value in values for part in value]
    if all(hasattr(value, "tocsr") for value in values):
        from scipy.sparse import vstack  # type: ignore[import-untyped, unused-ignore]

        return vstack(values, format="csr")
    if all(isinstance(value, np.ndarray) for value in values):
        return np.concatenate(values)
    raise ConfigError(f"others: stream `{name}` is made of {', '.join(type(value).__name__ for value in values)}, expected one kind", path="others")


def _free_names(stored: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Names for stored streams that no other has, each its own if it may be."""
    free: dict[str, str] = {}
    for name in stored:
        names = (name, *(f"{name}_{i}" for i in range(2, len(taken) + len(free) + 3)))
        free[next(new for new in names if new not in taken and new not in free)] = name
    return free


class DatasetInfo(Value):
    """The outcome of :meth:`Dataset.info`."""

    #: Where the data are.
    path: str
    #: The kind of each part that is joined.
    formats: tuple[str, ...]
    num_examples: int
    schema: Schema

    def __init__(self, path: str, formats: tuple[str, ...], num_examples: int, schema: Schema) -> None:
        self._become(path=path, formats=formats, num_examples=num_examples, schema=schema)

    def __str__(self) -> str:
        lines = [f"{self.path} ({', '.join(self.formats)})", f"{self.num_examples} examples", *map(str, self.schema.values())]
        return "\n".join(lines)


@suggests_in_methods
class Dataset:
    """A description of data, from which loaders read. Nothing is opened before it has to be, and it pickles.

    Made by :func:`tesson.from_arrays`, :func:`tesson.read_ctf` and the like.
    """

    def __init__(
        self,
        parts: tuple[Deserializer | UserDeserializer, ...],
        shown: str,
        is_ragged: frozenset[str],
        classes: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._parts = parts
        #: The names of classes of streams whose own information has none, by their names in the parts.
        self._classes = dict(classes or {})
        #: The units of streams whose own information has none, likewise.
        self._units: dict[str, str] = {}
        #: What it reads, in a few words.
        self._shown = shown
        #: Streams of any number of samples, by their names in the parts.
        self._is_ragged = is_ragged
        #: The streams that it has, by their names here; None: all, under their own names.
        self._names: dict[str, str] | None = None
        self._transforms: dict[str, list[AnyTransform]] = {}
        self._schema: Schema | None = None

    @property
    def schema(self) -> Schema:
        """The streams with their types and shapes. The data are opened, and not more of them read than these take."""
        if self._schema is None:
            with _EpochSource(list(self._parts), randomize=False, transforms=self._stored_transforms()) as source:
                self._schema = self._schema_of(source)
        return self._schema

    def _schema_of(self, source: MinibatchSource) -> Schema:
        """The schema, from an open source."""
        streams = {stream.name: stream for stream in source.streams.values()}
        names = {name: name for name in streams} if self._names is None else self._names
        fields = {
            name: Field(
                name, streams[stored].stream_id, streams[stored].dtype, streams[stored].shape, streams[stored].is_sparse,
                stored in self._is_ragged or streams[stored].any_length, source._source.is_truncated(),
                streams[stored].classes or self._classes.get(stored, ()), streams[stored].unit or self._units.get(stored),
            )
            for name, stored in names.items()
        }
        return Schema(fields)

    def _stored_transforms(self) -> dict[str, list[AnyTransform]]:
        """The transforms, by the streams' names in the parts."""
        return dict(self._transforms)

    def _changed(self, **attributes: Any) -> Dataset:
        changed = copy.copy(self)
        changed._schema = None
        for name, value in attributes.items():
            setattr(changed, name, value)
        return changed

    def _all_names(self) -> dict[str, str]:
        return {name: name for name in self.schema} if self._names is None else self._names

    def select(self, *streams: str | Sequence[str]) -> Dataset:
        """The dataset with these streams alone, in this order, by names or a list of them. Of tables no other columns are read."""
        names = self._all_names()
        schema = self.schema
        if not streams:
            raise ConfigError(f"no streams, expected at least one of {', '.join(schema)}", path="streams")
        given = [name for one in streams for name in ([one] if isinstance(one, str) else one)]
        selected = {name: names[schema[name].name] for name in given}
        return self._with_stored({stored: stored for stored in selected.values()})._changed(_names=selected)

    def _with_stored(self, names: Mapping[str, str]) -> Dataset:
        """The dataset whose part has these streams alone, stored under these names; the dataset itself, if it has no such part."""
        first, *others = self._parts
        changed = None if others else first._with_streams(names)
        if changed is None:
            return self
        new = {stored: name for name, stored in names.items()}
        return self._changed(
            _parts=(changed,),
            _is_ragged=frozenset(new[stored] for stored in self._is_ragged if stored in new),
            _classes={new[stored]: classes for stored, classes in self._classes.items() if stored in new},
            _units={new[stored]: unit for stored, unit in self._units.items() if stored in new},
            _names={name: new[stored] for name, stored in self._all_names().items() if stored in new},
            _transforms={new[stored]: steps for stored, steps in self._transforms.items() if stored in new},
        )

    def rename(self, names: Mapping[str, str] | None = None, /, **others: str) -> Dataset:
        """The dataset with other names for some streams: ``data.rename(x="features")`` or ``data.rename({"x": "features"})``."""
        new = {**(names or {}), **others}
        schema = self.schema
        if not any(name in schema for name in new) and all(name in schema for name in new.values()):
            turned = ", ".join(f"{name}={old!r}" for old, name in new.items())
            raise ConfigError(f"the names are the wrong way round; give rename({turned}), the present name first", path="names")
        new = {schema[name].name: name_here for name, name_here in new.items()}
        renamed = {new.get(name, name): stored for name, stored in self._all_names().items()}
        if len(renamed) < len(schema):
            raise ConfigError(f"two streams would have one name, found {', '.join(new.values())}; give each its own", path="names")
        return self._changed(_names=renamed)

    def transform(self, transforms: Mapping[str, Any] | None = None, /, **others: Any) -> Dataset:
        """The dataset with some streams transformed: by a function from array to array, a :class:`UserTransform`, or a list of them.

        An example at which a function raises is left out if the loader's `max_errors` allows it. Where several ranks share the batches, this
        holds for images; of other streams it is an error, as the other ranks do not call the function: catch it there, and return a value.
        """
        names, schema = self._all_names(), self.schema
        added = dict(self._transforms)
        for name, steps in {**(transforms or {}), **others}.items():
            stored = names[schema[name].name]
            more = list(steps) if isinstance(steps, (list, tuple)) else [steps]
            added[stored] = [*added.get(stored, []), *more]
        return self._changed(_transforms=added)

    def join(self, other: Dataset) -> Dataset:
        """The examples of both with equal keys as one: the order is that of this dataset; examples that `other` lacks are left out."""
        names = {**self._all_names(), **other._all_names()}
        if len(names) < len(self.schema) + len(other.schema):
            both = sorted(set(self.schema) & set(other.schema))
            raise ConfigError(f"both datasets have a stream {both[0]!r}; rename one of them", path="other")
        taken = set(self._all_names().values())
        if taken & set(other._all_names().values()):
            other = other._with_stored(_free_names(other._all_names().values(), taken))
            names = {**self._all_names(), **other._all_names()}
        shared = taken & set(other._all_names().values())
        if shared:
            name = sorted(shared)[0]
            raise ConfigError(
                f"both datasets were read with a stream {name!r}; name it otherwise where one is read, as `field=` or the keyword say",
                path="other",
            )
        return self._changed(
            _parts=(*self._parts, *other._parts),
            _shown=f"{self._shown} and {other._shown}",
            _is_ragged=self._is_ragged | other._is_ragged,
            _classes={**self._classes, **other._classes},
            _units={**self._units, **other._units},
            _names=names,
            _transforms={**self._transforms, **other._transforms},
        )

    def concat(self, *others: Dataset) -> Dataset:
        """The examples of this dataset and then those of others, which were read or made in the same way.

        Files have to be of one format, read with the same options; arrays are copied, and have to be of one type.

        Examples
        --------
        >>> both = tesson.from_arrays(x=np.arange(2)).concat(tesson.from_arrays(x=np.arange(5, 7)))
        >>> both.head(4)["x"].tolist()
        [0, 1, 5, 6]
        """
        if not others:
            raise ConfigError("no datasets, expected at least one to follow this one", path="others")
        for other in others:
            if not isinstance(other, Dataset):
                raise ConfigError(f"others: found {type(other).__name__}, expected a Dataset", path="others")
            same = (self._names, self._is_ragged, self._transforms) == (other._names, other._is_ragged, other._transforms)
            if not same or str(self.schema) != str(other.schema):
                what = f"found {other.schema!r} after {self.schema!r}" if str(self.schema) != str(other.schema) else "other names or transforms"
                raise ConfigError(f"others: {what}; concatenate datasets of the same streams, then select, rename and transform", path="others")
        several = [self, *others]
        parts = [dataset._parts for dataset in several]
        if any(len(listed) != 1 for listed in parts):
            raise ConfigError("others: found joined datasets; concatenate first, and join the results", path="others")
        part = _one_after_the_other([first for first, in parts])
        return self._changed(_parts=(part,), _shown=", ".join(dict.fromkeys(dataset._shown for dataset in several)))

    def info(self) -> DatasetInfo:
        """The kind of the data, their schema, and how many examples there are, which are counted.

        Examples
        --------
        >>> print(tesson.read_ctf("train.ctf", x=4, y=tesson.sparse(3)).info())
        train.ctf (CNTKTextFormatDeserializer)
        6 examples
        x: float32 [4]
        y: sparse float32 [3]
        """
        with self._open(randomize=False) as source:
            kinds = tuple(getattr(part, "type", type(part).__name__) for part in self._parts)
            return DatasetInfo(self._shown, kinds, source.num_sequences, self._schema_of(source))

    def head(self, n: int = 5) -> Batch:
        """The first `n` examples, in the order of the data."""
        with self.loader(batch_size=n, world=None) as loader:
            for batch in loader:
                return batch
        raise ConfigError("the dataset has no examples")

    def report(self, path: AnyPath | None = "report.html", *, all: bool = False, **options: Any) -> dict[str, Any]:
        """Write one page that shows the data and the order of a run, and return its figures.

        The page needs no other file, no script and no network. `options` are those of the run's :class:`Loader`, by default batches of
        32 examples. Figures are those of a sample, the same one each time, or of every example with ``all=True``; ``path=None`` writes
        no page.

        Examples
        --------
        >>> data = tesson.read_ctf("train.ctf", x=4, y=tesson.sparse(3))
        >>> figures = data.report("train.html", batch_size=2, shuffle=True)
        >>> figures["card"]["examples"]
        6
        """
        if "batch_samples" not in options:
            options.setdefault("batch_size", 32)
        with self.loader(**options) as loader:
            return loader.report(path, all=all)

    def loader(self, *batch_size: Never, **options: Any) -> Loader:
        """A loader of batches; for the options see :class:`Loader`."""
        if batch_size:
            raise TypeError(f"loader() takes its options by name: loader(batch_size={batch_size[0]!r})")
        return Loader(self, **options)

    def _open(self, *, max_errors: int = 0, **options: Any) -> MinibatchSource:
        """The source of a loader."""
        parts = [copy.copy(part) if isinstance(part, CTFDeserializer) else part for part in self._parts]
        for part in parts:
            if max_errors and isinstance(part, CTFDeserializer):
                part._options = {**part._options, "max_errors": max_errors}
        return _EpochSource(parts, max_errors=max_errors, transforms=self._stored_transforms(), **options)

    if not TYPE_CHECKING:
        __getattr__ = no_attribute("OF_DATASET")

        def __getitem__(self, name):
            raise TypeError("a Dataset describes data; `data.head(n)` reads the first examples, and `data.select(name)` keeps a stream")

    def __iter__(self) -> Iterable[Batch]:
        raise TypeError("a Dataset describes data; iterate over its loader, as in `for batch in data.loader(batch_size=32)`")

    def __repr__(self) -> str:
        try:
            streams = ", ".join(f"{field.name} {field.type}" for field in self.schema.values())
        except Exception as e:
            streams = f"cannot be opened ({e})"
        return f"<Dataset {self._shown}: {streams}>"
