"""Finding and opening prepared datasets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from .. import _tesson
from . import seeds
from .dataset import Dataset, DataSource
from .decode import selection
from .examples import Examples, Prepared, Request
from .info import DatasetInfo, FileInstruction, Splits, features
from .read_config import ReadConfig
from .splits import to_json


class Builder:
    """A prepared dataset, to be read."""

    def __init__(self, directories: list[str], file_format: str | None = None) -> None:
        self._prepared = Prepared(directories, file_format)
        described = self._prepared.native.describe()
        self.info = DatasetInfo(
            name=described["name"],
            version=described["version"],
            config_name=described["config"],
            file_format=described["file_format"],
            disable_shuffling=described["disable_shuffling"],
            supervised_keys=described["supervised_keys"],
            features=features(described["features"], described["labels"]),
            splits=Splits(described["splits"], self._instructions),
        )
        """What the dataset says of itself."""

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
    def version(self) -> str:
        """Its version."""
        return self.info.version

    def _instructions(self, split: Any) -> list[FileInstruction]:
        files = self._prepared.native.file_instructions(split)
        return [FileInstruction(*file, position=place) for place, file in enumerate(files)]

    def as_dataset(
        self,
        split: Any = None,
        *,
        batch_size: int | None = None,
        shuffle_files: bool = False,
        read_config: ReadConfig | None = None,
        decoders: Any = None,
        as_supervised: bool = False,
        features: Iterable[str] | None = None,
        raw: Iterable[str] = (),
        on_damage: str = "fail",
        absent: str = "fill",
        threads: int | None = None,
        memory_limit: int | str | None = None,
    ) -> Any:
        """Examples of a split in TFDS' order.

        Parameters
        ----------
        split : str, ReadInstruction, … or a list or dict of them, optional
            What is read: ``"train"``, ``"train[67%:84%]"``, ``"train+test"``. A list or dict of splits gives the same of
            datasets; without a split it is a dict of all.
        batch_size : int, optional
            So many examples at a time, as :meth:`Dataset.padded_batch`; -1: no dataset but all its examples in one dictionary of
            arrays.
        shuffle_files : bool
            Whether the files come in another order in each pass.
        read_config : ReadConfig, optional
            How files are read.
        decoders : mapping or PartialDecoding, optional
            As in TFDS: :class:`SkipDecoding` by feature, or only some features; and :class:`ReducedScale` for JPEG pictures.
        as_supervised : bool
            Whether examples are the tuple that the dataset names for training.
        features, raw : iterable of str, optional
            Paths of the features that are read (others are not even parsed), and of those that are not decoded.
        on_damage : {"fail", "skip", "stop_shard"}
            What becomes of records that cannot be read.
        absent : {"fill", "none"}
            What stands for optional features that an example has not: the value that TFDS puts there, its type's smallest,
            or ``None``. In batches, arrays of optional features are then :class:`numpy.ma.MaskedArray`, masked where absent.
        threads : int, optional
            Threads that read and decode ahead; one for each core without it. What is read does not depend on them.
        memory_limit : int or str, optional
            Bytes, or a text such as ``"2GiB"``, for what an iterator reads ahead.

        Returns
        -------
        Dataset
            Or a list or dict of them.
        """
        given = {
            "shuffle_files": shuffle_files,
            "read_config": read_config,
            "decoders": decoders,
            "as_supervised": as_supervised,
            "features": features,
            "raw": raw,
            "on_damage": on_damage,
            "absent": absent,
            "threads": threads,
            "memory_limit": memory_limit,
        }
        if split is None:
            split = {name: name for name in self.info.splits}
        if isinstance(split, dict):
            return {name: self.as_dataset(of, batch_size=batch_size, **given) for name, of in split.items()}
        if isinstance(split, (list, tuple)):
            return type(split)(self.as_dataset(of, batch_size=batch_size, **given) for of in split)
        examples = Examples(self._opened(read_config), self._request(split, **given))
        # What cannot be is said at once.
        _ = examples.order
        dataset: Dataset[Any] = Dataset(examples)
        match batch_size:
            case None:
                return dataset
            case -1:
                return dataset._everything()
            case _:
                return dataset.padded_batch(batch_size)

    def as_data_source(
        self,
        split: Any = None,
        *,
        decoders: Any = None,
        features: Iterable[str] | None = None,
        raw: Iterable[str] = (),
        absent: str = "fill",
    ) -> Any:
        """Examples of a split by their places: ``source[i]``, ``len(source)``."""
        given = {"decoders": decoders, "features": features, "raw": raw, "absent": absent}
        if split is None:
            split = {name: name for name in self.info.splits}
        if isinstance(split, dict):
            return {name: self.as_data_source(of, **given) for name, of in split.items()}
        if isinstance(split, (list, tuple)):
            return type(split)(self.as_data_source(of, **given) for of in split)
        return DataSource(self._prepared, self._request(split, **given))

    def _opened(self, read_config: ReadConfig | None) -> Prepared:
        """The dataset in the format that is asked for."""
        if read_config is None or read_config.file_format is None:
            return self._prepared
        return Prepared(self._prepared.directories, read_config.file_format)

    def _request(
        self,
        split: Any,
        *,
        shuffle_files: bool = False,
        read_config: ReadConfig | None = None,
        decoders: Any = None,
        as_supervised: bool = False,
        features: Iterable[str] | None = None,
        raw: Iterable[str] = (),
        on_damage: str = "fail",
        absent: str = "fill",
        threads: int | None = None,
        memory_limit: int | str | None = None,
    ) -> Request:
        config = ReadConfig() if read_config is None else read_config
        split = to_json(split)
        fields = config.to_json(lambda: self._instructions(split))
        given = seeds.narrow(fields["shuffle_seed"])
        fields["shuffle_seed"] = seeds.draw() if shuffle_files and given is None else given
        if as_supervised and self.info.supervised_keys is None:
            raise ValueError(f"{self.info.name} names no features for `as_supervised`")
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
        return f"<Builder {self.info.full_name} in {self.data_path!r}>"


def builder_from_directory(builder_dir: str | os.PathLike[str]) -> Builder:
    """The dataset of a version directory."""
    return Builder([os.fspath(builder_dir)])


def builder_from_directories(builder_dirs: Iterable[str | os.PathLike[str]]) -> Builder:
    """The dataset of several version directories, whose splits of the same name are joined."""
    return Builder([os.fspath(folder) for folder in builder_dirs])


def builder(name: str, *, data_dir: str | os.PathLike[str] | None = None) -> Builder:
    """A dataset by its name.

    Parameters
    ----------
    name : str
        ``"mnist"``, ``"mnist:3.*.*"``, ``"ds/config:1.0.0"``.
    data_dir : path, optional
        Where it is looked for; by default ``TFDS_DATA_DIR``, or ``~/tensorflow_datasets``.
    """
    dirs = None if data_dir is None else [os.fspath(data_dir)]
    return Builder([os.fspath(_tesson.find_dataset(name, dirs))])


def load(
    name: str,
    *,
    split: Any = None,
    data_dir: str | os.PathLike[str] | None = None,
    with_info: bool = False,
    **options: Any,
) -> Any:
    """The examples of a dataset by its name; ``options`` are those of :meth:`Builder.as_dataset`."""
    opened = builder(name, data_dir=data_dir)
    dataset = opened.as_dataset(split, **options)
    return (dataset, opened.info) if with_info else dataset
