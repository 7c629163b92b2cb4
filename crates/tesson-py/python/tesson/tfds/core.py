"""The names that scripts take from ``tfds.core``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .builder import Builder
from .info import DatasetInfo, FileInstruction, SplitDict, SplitInfo, Version
from .missing import refused
from .splits import ReadInstruction

__all__ = [
    "DatasetBuilder",
    "DatasetInfo",
    "FileInstruction",
    "ReadInstruction",
    "SplitDict",
    "SplitInfo",
    "Version",
]

DatasetBuilder = Builder


if not TYPE_CHECKING:

    def __getattr__(name: str) -> None:
        raise refused("tesson.tfds.core", name)
