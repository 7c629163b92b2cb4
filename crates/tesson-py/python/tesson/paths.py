"""Names of files and folders, in any accepted form."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias

#: The name of a file or a folder. Bytes are decoded as the system does (``os.fsdecode``).
AnyPath: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def text_of(path: AnyPath) -> str:
    """A path as text. Every argument that is a path goes through here, so that all accept the same."""
    return os.fsdecode(path)


def optional_text_of(path: AnyPath | None) -> str | None:
    """An optional path as text."""
    return None if path is None else os.fsdecode(path)


def files_of(given: AnyPath | Sequence[AnyPath]) -> str | list[str]:
    """One file, or a list of them."""
    if isinstance(given, (str, bytes, os.PathLike)):
        return text_of(given)
    return [text_of(path) for path in given]
