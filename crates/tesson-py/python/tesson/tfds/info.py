"""The description of a dataset."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ConfigError
from .features import ClassLabel, FeatureInfo, FeaturesDict
from .splits import SplitLike, to_json

__all__ = [
    "ClassLabel",
    "DatasetInfo",
    "FeatureInfo",
    "FileInstruction",
    "SplitDict",
    "SplitInfo",
    "Splits",
    "UnknownSplitError",
    "Version",
]

T = TypeVar("T")


class Version(str):
    """A version: three numbers, compared as numbers.

    >>> Version("10.0.0") > Version("2.1.0"), Version("1.2.3").minor
    (True, 2)
    """

    __slots__ = ()

    def __new__(cls, version: str) -> Version:
        if not re.fullmatch(r"\d+\.\d+\.\d+", str(version)):
            raise ValueError(f"found version {str(version)!r}, expected three numbers such as '1.0.0'")
        return super().__new__(cls, version)

    @property
    def tuple(self) -> tuple[int, int, int]:
        """The three numbers."""
        major, minor, patch = self.split(".")
        return int(major), int(minor), int(patch)

    @property
    def major(self) -> int:
        """The first number."""
        return self.tuple[0]

    @property
    def minor(self) -> int:
        """The second number."""
        return self.tuple[1]

    @property
    def patch(self) -> int:
        """The third number."""
        return self.tuple[2]

    def __lt__(self, other: str) -> bool:
        return self.tuple < Version(other).tuple

    def __le__(self, other: str) -> bool:
        return self.tuple <= Version(other).tuple

    def __gt__(self, other: str) -> bool:
        return self.tuple > Version(other).tuple

    def __ge__(self, other: str) -> bool:
        return self.tuple >= Version(other).tuple

    def __repr__(self) -> str:
        return f"Version({str(self)!r})"


class UnknownSplitError(ConfigError, KeyError):
    """A split that the dataset does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class FileInstruction:
    """The range of examples that is read of a file."""

    filename: str
    skip: int
    take: int
    examples_in_shard: int
    position: int | None = field(default=None, repr=False, compare=False)
    """The number of the file in the plan, which it keeps when a sort function moves it; without it the name
    identifies the file."""

    @property
    def num_examples(self) -> int:
        """Number of examples that are read: ``take``."""
        return self.take

    def replace(self, **changes: Any) -> FileInstruction:
        """A copy with some fields replaced."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True)
class SplitInfo:
    """A split, or a part of one."""

    name: str
    shard_lengths: list[int] = field(repr=False)
    """Examples of each file that is read."""
    filepaths: list[str] = field(repr=False)
    """Where the files are."""
    _instructions: Callable[[], list[FileInstruction]] = field(repr=False, compare=False)
    _num_bytes: int | None = field(default=None, repr=False, compare=False)

    @property
    def num_shards(self) -> int:
        """Number of files that are read."""
        return len(self.shard_lengths)

    @property
    def num_examples(self) -> int:
        """Number of examples."""
        return sum(self.shard_lengths)

    @property
    def num_bytes(self) -> int:
        """Bytes of the examples, as dataset_info.json declares; for whole splits only."""
        if self._num_bytes is None:
            raise ValueError(f"found {self.name!r}, a part of a split, expected a whole one: the sizes of parts are not recorded")
        return self._num_bytes

    @property
    def filenames(self) -> list[str]:
        """The names of the files, each once."""
        return sorted({Path(path).name for path in self.filepaths})

    @property
    def file_instructions(self) -> list[FileInstruction]:
        """The ranges that are read of each file."""
        return self._instructions()

    def __repr__(self) -> str:
        return f"<SplitInfo {self.name!r}: num_examples={self.num_examples}, num_shards={self.num_shards}>"


class Splits(Mapping[str, SplitInfo]):
    """The splits by name; parts of them by strings or objects."""

    def __init__(self, splits: list[dict[str, Any]], instructions: Callable[[Any], list[FileInstruction]]) -> None:
        self._instructions = instructions
        self._splits = {split["name"]: self._whole(**split) for split in splits}

    def _whole(self, name: str, shard_lengths: list[int], filepaths: list[str], num_bytes: int) -> SplitInfo:
        return SplitInfo(name, shard_lengths, filepaths, lambda: self._instructions(name), num_bytes)

    def __getitem__(self, split: SplitLike) -> SplitInfo:
        if isinstance(split, str) and split in self._splits:
            return self._splits[split]
        try:
            files = self._instructions(to_json(split))
        except ConfigError as error:
            if not isinstance(split, str) or not re.fullmatch(r"[\w-]+", split):
                raise
            raise UnknownSplitError(str(error), path=error.path) from None
        paths = [file.filename for file in files]
        return SplitInfo(str(split), [file.take for file in files], paths, lambda: files)

    def get(self, split: Any, default: Any = None) -> Any:
        """The split of a name; the default where there is none."""
        return self._splits.get(split, default)

    def __contains__(self, split: object) -> bool:
        return split in self._splits

    def __iter__(self) -> Iterator[str]:
        return iter(self._splits)

    def __len__(self) -> int:
        return len(self._splits)

    @property
    def total_num_examples(self) -> int:
        """Examples of all splits."""
        return sum(split.num_examples for split in self._splits.values())

    def __repr__(self) -> str:
        return repr(self._splits)


SplitDict = Splits


@dataclass(frozen=True)
class DatasetInfo:
    """The contents of dataset_info.json and features.json."""

    name: str
    version: Version
    config_name: str | None
    file_format: str
    disable_shuffling: bool
    supervised_keys: Any
    features: FeaturesDict
    splits: Splits
    data_dir: str = field(default="", compare=False)
    """The version directory."""
    description: str = ""
    """A description of the dataset."""
    citation: str = ""
    """How to cite it."""
    homepage: str = ""
    """The address of its home page; empty if the dataset has none."""
    license: str = ""
    """The licence of its data."""
    config_description: str = ""
    """A description of the configuration."""
    module_name: str = ""
    """The module of the code that prepared it."""
    release_notes: dict[str, str] = field(default_factory=dict)
    """The release notes, by version."""
    download_size: int = 0
    """Bytes that were downloaded to prepare it."""

    @property
    def full_name(self) -> str:
        """Name, config and version."""
        config = f"{self.config_name}/" if self.config_name else ""
        return f"{self.name}/{config}{self.version}"

    @property
    def dataset_size(self) -> int:
        """Bytes of the examples of all splits."""
        return sum(split.num_bytes for split in self.splits.values())

    @property
    def redistribution_info(self) -> dict[str, str]:
        """The licence of its data, as TFDS has it."""
        return {"license": self.license}

    @property
    def initialized(self) -> bool:
        """Always true: only prepared datasets are opened."""
        return True

    @property
    def as_json(self) -> str:
        """The text of dataset_info.json."""
        return (Path(self.data_dir) / "dataset_info.json").read_text(encoding="utf-8")

    @property
    def metadata(self) -> Any:
        """The content of the dataset's metadata.json; ``None`` without one."""
        file = Path(self.data_dir) / "metadata.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

    def __repr__(self) -> str:
        fields: dict[str, Any] = {
            "name": self.name,
            "full_name": self.full_name,
            "description": _shortened(self.description),
            "homepage": self.homepage,
            "data_dir": self.data_dir,
            "file_format": self.file_format,
            "dataset_size": self.dataset_size,
            "features": self.features,
            "supervised_keys": self.supervised_keys,
            "disable_shuffling": self.disable_shuffling,
            "splits": self.splits,
            "citation": _shortened(self.citation),
            "license": self.license,
        }
        lines = (f"    {name}={_indented(value)},\n" for name, value in fields.items() if value != "")
        return f"DatasetInfo(\n{''.join(lines)})"


def _shortened(text: str, most: int = 300) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _indented(value: Any) -> str:
    if isinstance(value, Splits):
        value = "{\n" + "".join(f"    {name!r}: {split!r},\n" for name, split in value.items()) + "}"
        return str(value).replace("\n", "\n    ")
    return repr(value).replace("\n", "\n    ")
