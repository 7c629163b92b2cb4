"""Streams that arguments of adapters name."""

from __future__ import annotations

from collections.abc import Collection

from .errors import UsageError
from .source_base import Source

__all__ = ["check_storage", "named_streams"]


def named_streams(argument: str, given: Collection[str], source: Source) -> frozenset[str]:
    """Streams of a source that an argument names.

    Raises
    ------
    UsageError
        The source has no such stream.
    """
    names = {given} if isinstance(given, str) else set(given)
    if unknown := names - set(source.streams):
        raise UsageError(f"{argument}: found {sorted(unknown)}, expected streams of the source: {', '.join(source.streams)}")
    return frozenset(names)


def check_storage(source: Source, classes: Collection[str]) -> None:
    """Refuse sparse streams that are not among `classes`, and dense ones that are.

    Raises
    ------
    UsageError
        There is such a stream.
    """
    for stream in source.streams.values():
        if stream.storage_format == "sparse" and stream.name not in classes:
            raise UsageError(
                f"stream `{stream.name}` is sparse, expected dense streams: read it with is_sparse=False, name it in "
                f"`classes` if its samples are numbers of classes, or leave it out"
            )
        if stream.storage_format != "sparse" and stream.name in classes:
            raise UsageError(f"classes: stream `{stream.name}` is dense, expected sparse streams")
