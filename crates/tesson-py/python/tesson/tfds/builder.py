"""Finding and opening prepared datasets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack, overload

from .. import _tesson
from ..paths import AnyPath, text_of
from . import seeds
from .dataset import Dataset, DataSource
from .decode import PartialDecoding, selection
from .examples import Examples, Prepared, Request
from .features import from_description
from .info import DatasetInfo, FileInstruction, Splits, Version
from .read_config import ReadConfig
from .splits import SplitLike, to_json

Decoders: TypeAlias = Mapping[str, Any] | PartialDecoding


if TYPE_CHECKING:
    _FileFormat: TypeAlias = Literal["tfrecord", "array_record", "parquet", "riegeli"]
    _OnDamage: TypeAlias = Literal["fail", "skip", "stop_shard"]
    _Absent: TypeAlias = Literal["fill", "none"]


class _ReadOptions(TypedDict, total=False):
    """The options of reading that no result's type depends on."""

    shuffle_files: bool
    read_config: ReadConfig | None
    decoders: Decoders | None
    as_supervised: bool
    features: Iterable[str] | None
    raw: Iterable[str]
    on_damage: _OnDamage
    absent: _Absent
    threads: int | None
    memory_limit: int | str | None


class _SourceOptions(TypedDict, total=False):
    """The options of access by place that no result's type depends on."""

    decoders: Decoders | None
    features: Iterable[str] | None
    raw: Iterable[str]
    absent: _Absent
    shuffle_files: bool
    deserialize_method: Any
    file_format: _FileFormat | None


class _FindOptions(TypedDict, total=False):
    """The options of finding a dataset by its name, and of preparing it, which is never done."""

    data_dir: AnyPath | None
    download: bool
    try_gcs: bool
    builder_kwargs: Mapping[str, Any] | None
    download_and_prepare_kwargs: Mapping[str, Any] | None


class _LoadSourceOptions(_FindOptions, _SourceOptions, total=False):
    """The options of :func:`data_source` that no result's type depends on."""

    as_data_source_kwargs: Mapping[str, Any] | None


class _LoadOptions(_FindOptions, _ReadOptions, total=False):
    """The options of :func:`load` that no result's type depends on."""

    as_dataset_kwargs: Mapping[str, Any] | None


class Builder:
    """A prepared dataset, to be read."""

    def __init__(self, directories: list[str], file_format: str | None = None) -> None:
        self._prepared = Prepared(directories, file_format)
        described = self._prepared.native.describe()
        self.info: DatasetInfo = DatasetInfo(
            name=described["name"],
            version=Version(described["version"]),
            config_name=described["config"],
            file_format=described["file_format"],
            disable_shuffling=described["disable_shuffling"],
            supervised_keys=described["supervised_keys"],
            features=from_description(described["features"], described["labels"]),
            splits=Splits(described["splits"], self._instructions),
            data_dir=self._prepared.directories[0],
            **described["about"],
        )
        """The description of the dataset."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Builder, (self._prepared.directories, self._prepared.file_format)

    @property
    def data_path(self) -> str:
        """The version directory; of several the first."""
        return self._prepared.directories[0]

    @property
    def name(self) -> str:
        """The dataset's name."""
        return self.info.name

    @property
    def version(self) -> Version:
        """Its version."""
        return self.info.version

    @property
    def data_dir(self) -> str:
        """The version directory, as :attr:`data_path`."""
        return self.data_path

    @property
    def builder_config(self) -> str | None:
        """The name of its configuration."""
        return self.info.config_name

    def is_prepared(self) -> bool:
        """Always true: only prepared datasets are opened."""
        return True

    def download_and_prepare(self, **_: Any) -> None:
        """Does nothing: only prepared datasets are opened. Arguments are accepted and ignored."""

    def _instructions(self, split: Any) -> list[FileInstruction]:
        files = self._prepared.native.file_instructions(split)
        return [FileInstruction(*file, position=place) for place, file in enumerate(files)]

    @overload
    def as_dataset(
        self, split: SplitLike, *, batch_size: Literal[-1], **options: Unpack[_ReadOptions]
    ) -> Any: ...
    @overload
    def as_dataset(
        self, split: SplitLike, *, batch_size: int | None = None, **options: Unpack[_ReadOptions]
    ) -> Dataset[Any]: ...
    @overload
    def as_dataset(
        self, split: list[str] | list[SplitLike], *, batch_size: None = None, **options: Unpack[_ReadOptions]
    ) -> list[Dataset[Any]]: ...
    @overload
    def as_dataset(
        self, split: tuple[SplitLike, ...], *, batch_size: None = None, **options: Unpack[_ReadOptions]
    ) -> tuple[Dataset[Any], ...]: ...
    @overload
    def as_dataset(
        self,
        split: Mapping[str, SplitLike] | None = None,
        *,
        batch_size: None = None,
        **options: Unpack[_ReadOptions],
    ) -> dict[str, Dataset[Any]]: ...
    @overload
    def as_dataset(self, split: Any = None, *, batch_size: int | None = None, **options: Unpack[_ReadOptions]) -> Any: ...
    def as_dataset(self, split: Any = None, *, batch_size: int | None = None, **options: Any) -> Any:
        """Examples of a split in TFDS' order.

        Parameters
        ----------
        split : str, ReadInstruction, … or a list or dict of them, optional
            The split: ``"train"``, ``"train[67%:84%]"``, ``"train+test"``. A list or dict of splits returns a list or
            dict of datasets; without a split the result is a dict of all.
        batch_size : int, optional
            Examples in a batch, as :meth:`Dataset.padded_batch`; -1: no dataset but all its examples in one dictionary of
            arrays.
        shuffle_files : bool
            True if the files come in another order in each pass.
        read_config : ReadConfig, optional
            The options for reading files.
        decoders : mapping or PartialDecoding, optional
            Decoders as in TFDS: :class:`SkipDecoding` by feature, or only some features; and :class:`ReducedScale`
            for JPEG images.
        as_supervised : bool
            True if examples are the tuple that the dataset names for training.
        features, raw : iterable of str, optional
            Paths of the features that are read (others are not even parsed), and of those that are not decoded.
        on_damage : {"fail", "skip", "stop_shard"}
            The handling of records that cannot be read.
        absent : {"fill", "none"}
            The value of optional features that an example lacks: that of TFDS, which is the type's smallest, or
            ``None``. In batches, arrays of optional features are then :class:`numpy.ma.MaskedArray`, masked where
            absent.
        threads : int, optional
            Threads that read and decode ahead; by default one for each core. They never change the examples.
        memory_limit : int or str, optional
            The memory for reading ahead in an iterator, in bytes or as a text such as ``"2GiB"``.

        Returns
        -------
        Dataset
            Or a list or dict of them.
        """
        _known(options, _ReadOptions, "as_dataset", "batch_size")
        if split is None:
            split = {name: name for name in self.info.splits}
        if isinstance(split, Mapping):
            return {name: self.as_dataset(of, batch_size=batch_size, **options) for name, of in split.items()}
        if isinstance(split, (list, tuple)):
            datasets = [self.as_dataset(of, batch_size=batch_size, **options) for of in split]
            return datasets if isinstance(split, list) else tuple(datasets)
        examples = Examples(self._opened(options.get("read_config")), self._request(split, **options))
        # Invalid requests are refused at once.
        _ = examples.order
        dataset: Dataset[Any] = Dataset(examples)
        match batch_size:
            case None:
                return dataset
            case -1:
                return dataset._everything()
            case _:
                return dataset.padded_batch(batch_size)

    @overload
    def as_data_source(self, split: SplitLike, **options: Unpack[_SourceOptions]) -> DataSource: ...
    @overload
    def as_data_source(
        self, split: list[str] | list[SplitLike], **options: Unpack[_SourceOptions]
    ) -> list[DataSource]: ...
    @overload
    def as_data_source(
        self, split: tuple[SplitLike, ...], **options: Unpack[_SourceOptions]
    ) -> tuple[DataSource, ...]: ...
    @overload
    def as_data_source(
        self, split: Mapping[str, SplitLike] | None = None, **options: Unpack[_SourceOptions]
    ) -> dict[str, DataSource]: ...
    def as_data_source(self, split: Any = None, **options: Any) -> Any:
        """Examples of a split by their places: ``source[i]``, ``len(source)``.

        ``shuffle_files`` and ``deserialize_method`` are arguments that TFDS has: places have no order that could be shuffled,
        and examples are always decoded unless ``decoders`` say otherwise, so other values than the defaults are refused.
        """
        _known(options, _SourceOptions, "as_data_source")
        if split is None:
            split = {name: name for name in self.info.splits}
        if isinstance(split, Mapping):
            return {name: self.as_data_source(of, **options) for name, of in split.items()}
        if isinstance(split, (list, tuple)):
            sources = [self.as_data_source(of, **options) for of in split]
            return sources if isinstance(split, list) else tuple(sources)
        if options.pop("shuffle_files", False):
            what = "places have a fixed order; choose them in random order, or shuffle `as_dataset`"
            raise ValueError(f"found shuffle_files=True, expected False: {what}")
        method = options.pop("deserialize_method", None)
        if getattr(method, "value", method) not in (None, "deserialize_and_decode"):
            what = "use `decoders=`, or `raw=` for what is to stay as it is stored"
            raise ValueError(f"found deserialize_method={method!r}, expected none: {what}")
        file_format = options.pop("file_format", None)
        opened = self._prepared if file_format is None else Prepared(self._prepared.directories, file_format)
        return DataSource(opened, self._request(split, **options))

    def _opened(self, read_config: ReadConfig | None) -> Prepared:
        """The dataset in the requested format."""
        file_format = _checked(read_config).file_format
        if file_format is None:
            return self._prepared
        return Prepared(self._prepared.directories, file_format)

    def _request(
        self,
        split: Any,
        *,
        shuffle_files: bool = False,
        read_config: ReadConfig | None = None,
        decoders: Decoders | None = None,
        as_supervised: bool = False,
        features: Iterable[str] | None = None,
        raw: Iterable[str] = (),
        on_damage: _OnDamage = "fail",
        absent: _Absent = "fill",
        threads: int | None = None,
        memory_limit: int | str | None = None,
    ) -> Request:
        config = _checked(read_config)
        split = to_json(split)
        fields = config.to_json(lambda: self._instructions(split))
        given = seeds.narrow(fields["shuffle_seed"])
        fields["shuffle_seed"] = seeds.draw() if shuffle_files and given is None else given
        if as_supervised and self.info.supervised_keys is None:
            raise ValueError(
                f"as_supervised: found no `supervisedKeys` in the description of {self.info.name}, expected two features; leave "
                "`as_supervised` out, and take what is meant with `map`"
            )
        if threads is not None and threads < 1:
            raise ValueError(f"found threads={threads}, expected at least one")
        if absent not in ("fill", "none"):
            raise ValueError(f"found absent={absent!r}, expected 'fill' or 'none'")
        chosen = selection(decoders)
        return Request(
            split=split,
            shuffle_files=shuffle_files,
            read_config=fields,
            global_seed=seeds.global_seed(),
            features=chosen.features if features is None else list(features),
            raw=[*chosen.raw, *raw],
            scales=chosen.scales,
            on_damage=on_damage,
            supervised=self.info.supervised_keys if as_supervised else None,
            marks_absent=absent == "none",
            threads=threads or 0,
            memory_limit=memory_limit,
        )

    def __repr__(self) -> str:
        splits = ", ".join(f"{name}: {split.num_examples}" for name, split in self.info.splits.items())
        return f"<Builder {self.info.full_name} in {self.data_path!r}, examples: {{{splits}}}>"


def _checked(read_config: ReadConfig | None) -> ReadConfig:
    """A read configuration, by default one without anything set."""
    if read_config is None:
        return ReadConfig()
    if not isinstance(read_config, ReadConfig):
        raise TypeError(f"read_config: found {read_config!r}, expected tfds.ReadConfig(…)")
    return read_config


def builder_from_directory(builder_dir: AnyPath, file_format: _FileFormat | None = None) -> Builder:
    """The dataset of a version directory."""
    return Builder([text_of(builder_dir)], file_format)


def builder_from_directories(builder_dirs: Iterable[AnyPath], *, filetype_suffix: str | None = None) -> Builder:
    """The dataset of several version directories; their splits of the same name are joined."""
    return Builder([text_of(folder) for folder in builder_dirs], filetype_suffix)


def builder(
    name: str,
    *,
    data_dir: AnyPath | None = None,
    config: Any = None,
    version: str | None = None,
    file_format: _FileFormat | None = None,
    try_gcs: bool = False,
    **builder_kwargs: Any,
) -> Builder:
    """A dataset by its name.

    Parameters
    ----------
    name : str
        ``"mnist"``, ``"mnist:3.*.*"``, ``"ds/config:1.0.0"``.
    data_dir : path, optional
        The directory in which it is searched; by default ``TFDS_DATA_DIR``, or ``~/tensorflow_datasets``.
    config, version : str, optional
        Config and version, if the name has none.
    file_format : str, optional
        The format to read, if the dataset exists in several.
    try_gcs : bool
        Accepted and ignored: a dataset is searched only in ``data_dir``.
    """
    if builder_kwargs:
        known = "data_dir, config, version, file_format, try_gcs"
        what = f"expected {known}: a prepared dataset is read by its files, without the code that takes other arguments"
        raise TypeError(f"found the builder's argument `{min(builder_kwargs)}`, {what}")
    dirs = None if data_dir is None else [text_of(data_dir)]
    found = _tesson.find_dataset(_full_name(name, config, version), dirs)
    return Builder([os.fspath(found)], file_format)


def _full_name(name: str, config: Any, version: Any) -> str:
    """A name with config and version, from the name or from separate arguments."""
    base, _, of_name = name.partition(":")
    dataset, _, config_of_name = base.partition("/")
    # TFDS takes the object that describes a configuration as well as its name.
    config = getattr(config, "name", config)
    for word, in_name, given in (("config", config_of_name, config), ("version", of_name, version)):
        if in_name and given is not None and str(given) != in_name:
            raise ValueError(f"found {word}={str(given)!r} and `{in_name}` in the name {name!r}, expected it once")
    config, version = config_of_name or config, of_name or version
    return dataset + (f"/{config}" if config else "") + (f":{version}" if version else "")


def list_builders(
    *, with_community_datasets: bool = False, data_dir: AnyPath | None = None
) -> list[str]:
    """Names of the datasets that are prepared in a data directory, by default ``TFDS_DATA_DIR``, or ``~/tensorflow_datasets``.

    TFDS lists those that it could prepare; Tesson prepares none by name. ``with_community_datasets`` is accepted and ignored.
    """
    return _tesson.list_datasets(None if data_dir is None else [text_of(data_dir)])


@overload
def load(
    name: str, *, split: SplitLike, batch_size: Literal[-1], with_info: Literal[True], **options: Unpack[_LoadOptions]
) -> tuple[Any, DatasetInfo]: ...
@overload
def load(
    name: str, *, split: SplitLike, batch_size: Literal[-1], with_info: Literal[False] = False, **options: Unpack[_LoadOptions]
) -> Any: ...
@overload
def load(
    name: str,
    *,
    split: SplitLike,
    batch_size: int | None = None,
    with_info: Literal[False] = False,
    **options: Unpack[_LoadOptions],
) -> Dataset[Any]: ...
@overload
def load(
    name: str,
    *,
    split: SplitLike,
    batch_size: int | None = None,
    with_info: Literal[True],
    **options: Unpack[_LoadOptions],
) -> tuple[Dataset[Any], DatasetInfo]: ...
@overload
def load(
    name: str,
    *,
    split: list[str] | list[SplitLike],
    batch_size: None = None,
    with_info: Literal[False] = False,
    **options: Unpack[_LoadOptions],
) -> list[Dataset[Any]]: ...
@overload
def load(
    name: str,
    *,
    split: list[str] | list[SplitLike],
    batch_size: None = None,
    with_info: Literal[True],
    **options: Unpack[_LoadOptions],
) -> tuple[list[Dataset[Any]], DatasetInfo]: ...
@overload
def load(
    name: str,
    *,
    split: Mapping[str, SplitLike] | None = None,
    batch_size: None = None,
    with_info: Literal[False] = False,
    **options: Unpack[_LoadOptions],
) -> dict[str, Dataset[Any]]: ...
@overload
def load(
    name: str,
    *,
    split: Mapping[str, SplitLike] | None = None,
    batch_size: None = None,
    with_info: Literal[True],
    **options: Unpack[_LoadOptions],
) -> tuple[dict[str, Dataset[Any]], DatasetInfo]: ...
@overload
def load(
    name: str,
    *,
    split: Any = None,
    batch_size: int | None = None,
    with_info: bool = False,
    **options: Unpack[_LoadOptions],
) -> Any: ...
def load(
    name: str, *, split: Any = None, batch_size: int | None = None, with_info: bool = False, **options: Any
) -> Any:
    """The examples of a dataset by its name.

    Parameters
    ----------
    name, data_dir
        Arguments of :func:`builder`, which also takes ``builder_kwargs``.
    split, batch_size, options
        Arguments of :meth:`Builder.as_dataset`, which also takes ``as_dataset_kwargs``.
    with_info : bool
        True if the :class:`DatasetInfo` is returned with the examples.
    download, try_gcs, download_and_prepare_kwargs
        Accepted and ignored: Tesson reads prepared datasets, and downloads nothing.
    """
    _known(options, _LoadOptions, "load", "split", "batch_size", "with_info")
    opened = _opened(name, options)
    more = dict(options.pop("as_dataset_kwargs", None) or {})
    named = {"split": split, "batch_size": batch_size}
    given = {**options, **{name: value for name, value in named.items() if value is not None}}
    if twice := more.keys() & given.keys():
        raise ValueError(f"found `{min(twice)}` twice, also in `as_dataset_kwargs`; expected it once")
    dataset = opened.as_dataset(**given, **more)
    return (dataset, opened.info) if with_info else dataset


@overload
def data_source(name: str, *, split: SplitLike, **options: Unpack[_LoadSourceOptions]) -> DataSource: ...
@overload
def data_source(
    name: str, *, split: list[str] | list[SplitLike], **options: Unpack[_LoadSourceOptions]
) -> list[DataSource]: ...
@overload
def data_source(
    name: str, *, split: Mapping[str, SplitLike] | None = None, **options: Unpack[_LoadSourceOptions]
) -> dict[str, DataSource]: ...
def data_source(name: str, *, split: Any = None, **options: Any) -> Any:
    """The examples of a dataset by their places, by its name.

    Parameters
    ----------
    name, data_dir, download, try_gcs, builder_kwargs, download_and_prepare_kwargs
        Arguments of :func:`load`.
    split, options
        Arguments of :meth:`Builder.as_data_source`, which also takes ``as_data_source_kwargs``.
    """
    _known(options, _LoadSourceOptions, "data_source", "split")
    opened = _opened(name, options)
    more = options.pop("as_data_source_kwargs", None) or {}
    return opened.as_data_source(split, **{**options, **more})


def _opened(name: str, options: dict[str, Any]) -> Builder:
    """The dataset of a name; of ``options`` those that concern finding and preparing it are taken out."""
    given = dict(options.pop("builder_kwargs", None) or {})
    for ignored in ("download", "try_gcs", "download_and_prepare_kwargs"):
        options.pop(ignored, None)
    data_dir = options.pop("data_dir", None)
    if data_dir is not None and given.get("data_dir") is not None:
        raise ValueError("found `data_dir` twice, also in `builder_kwargs`; expected it once")
    return builder(name, **{**given, **({} if data_dir is None else {"data_dir": data_dir})})


def _known(given: Mapping[str, Any], options: Any, function: str, *more: str) -> None:
    """Refuses arguments that a function does not have."""
    names = [*more, *options.__annotations__]
    for name in given:
        if name not in names:
            near = _tesson.nearest_name(name, names)
            hint = f", did you mean `{near}`?" if near else f", expected some of {', '.join(names)}"
            raise TypeError(f"{function}() has no argument `{name}`{hint}")
