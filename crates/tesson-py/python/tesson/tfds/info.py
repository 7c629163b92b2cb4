"""What a dataset says of itself."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .splits import to_json


@dataclass(frozen=True)
class FileInstruction:
    """What is read of a file."""

    filename: str
    skip: int
    take: int
    examples_in_shard: int
    position: int | None = dataclasses.field(default=None, repr=False, compare=False)
    """The file's place in the plan, which stays with it when a sort function moves it; without it the name tells."""

    def replace(self, **changes: Any) -> FileInstruction:
        """The same but for some fields."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True)
class SplitInfo:
    """A split, or a part of one."""

    name: str
    shard_lengths: list[int] = dataclasses.field(repr=False)
    """Examples of each file that is read."""
    filepaths: list[str] = dataclasses.field(repr=False)
    """Where the files are."""
    _instructions: Callable[[], list[FileInstruction]] = dataclasses.field(repr=False, compare=False)

    @property
    def num_shards(self) -> int:
        """Number of files that are read."""
        return len(self.shard_lengths)

    @property
    def num_examples(self) -> int:
        """Number of examples."""
        return sum(self.shard_lengths)

    @property
    def file_instructions(self) -> list[FileInstruction]:
        """What is read of which file."""
        return self._instructions()


class Splits(Mapping[str, SplitInfo]):
    """The splits by name; parts of them by the strings or objects that stand for them."""

    def __init__(self, splits: list[dict[str, Any]], instructions: Callable[[Any], list[FileInstruction]]) -> None:
        self._instructions = instructions
        self._splits = {split["name"]: self._whole(**split) for split in splits}

    def _whole(self, name: str, shard_lengths: list[int], filepaths: list[str]) -> SplitInfo:
        return SplitInfo(name, shard_lengths, filepaths, lambda: self._instructions(name))

    def __getitem__(self, split: Any) -> SplitInfo:
        if isinstance(split, str):
            if split in self._splits:
                return self._splits[split]
            if split != "all" and re.fullmatch(r"[\w-]+", split):
                raise KeyError(split)
        files = self._instructions(to_json(split))
        paths = [file.filename for file in files]
        return SplitInfo(str(split), [file.take for file in files], paths, lambda: files)

    def __iter__(self) -> Iterator[str]:
        return iter(self._splits)

    def __len__(self) -> int:
        return len(self._splits)

    def __repr__(self) -> str:
        return repr({name: self[name] for name in self})


@dataclass(frozen=True)
class FeatureInfo:
    """A feature: its shape (``None`` for dimensions that differ from example to example) and the type of its values."""

    shape: tuple[int | None, ...]
    dtype: str
    sequence_rank: int = 0
    dataset_level: int = 0
    optional: bool = False


@dataclass(frozen=True)
class ClassLabel(FeatureInfo):
    """A feature whose values are classes."""

    names: list[str] = dataclasses.field(default_factory=list, repr=False)

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return len(self.names)

    def int2str(self, n: int) -> str:
        """The name of a class."""
        return self.names[n]

    def str2int(self, name: str) -> int:
        """The number of a class."""
        return self.names.index(name)


def features(tree: dict[str, Any], labels: dict[str, list[str]], path: str = "") -> Any:
    """The tree of features: dictionaries, with a :class:`FeatureInfo` at each leaf."""
    if "fields" in tree:
        join = f"{path}/" if path else ""
        return {name: features(of, labels, join + name) for name, of in tree["fields"].items()}
    fields = {**tree, "shape": tuple(tree["shape"])}
    return ClassLabel(**fields, names=labels[path]) if path in labels else FeatureInfo(**fields)


@dataclass(frozen=True)
class DatasetInfo:
    """What dataset_info.json and features.json say."""

    name: str
    version: str
    config_name: str | None
    file_format: str
    disable_shuffling: bool
    supervised_keys: Any
    features: Any
    splits: Splits = dataclasses.field(repr=False)

    @property
    def full_name(self) -> str:
        """Name, config and version."""
        config = f"{self.config_name}/" if self.config_name else ""
        return f"{self.name}/{config}{self.version}"
