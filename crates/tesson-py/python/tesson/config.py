"""Configurations in the dict form: finding the reader's section, and changing single options."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import ConfigError, StoreError

__all__ = ["copied", "reader_section"]


def reader_section(
    config: Mapping[str, Any] | str | os.PathLike[str],
    section: str | None,
    overrides: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The reader's part of a configuration, as a tree of its own.

    Parameters
    ----------
    config : mapping, str or os.PathLike
        The tree, its JSON text, or the path of a ``.json`` file.
    section : str, optional
        Path of the reader's section, such as ``"train/reader"``. By default the whole, or its section ``source``.
    overrides : mapping, optional
        Values to put in place of those at their paths within the section, such as ``{"randomize": False}`` or
        ``{"deserializers[0].file": "other.ctf"}``.
    """
    tree = copied(dict(config)) if isinstance(config, Mapping) else _parse(config)
    for name in (section or "").split("/"):
        if name:
            tree = _inside(tree, name, section or "")
    if section is None and "deserializers" not in tree and isinstance(tree.get("source"), dict):
        tree = tree["source"]
    for path, value in (overrides or {}).items():
        _put(tree, path, value)
    return tree


def copied(tree: Any) -> Any:
    """A copy of a tree's sections and lists. Values are shared: a deserializer of the user's own may be large."""
    if isinstance(tree, Mapping):
        return {name: copied(value) for name, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [copied(value) for value in tree]
    return tree


def _parse(config: str | os.PathLike[str]) -> dict[str, Any]:
    """The tree of a JSON text or file."""
    text, name = os.fspath(config), ""
    if not text.lstrip().startswith("{"):
        name = text
        if Path(name).suffix.lower() != ".json":
            raise ConfigError(f"{name}: expected a mapping, JSON text, or the path of a `.json` file")
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as e:
            raise StoreError(f"{name}: {e.strerror}", file=name, errno=e.errno) from e
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as e:
        raise ConfigError(f"{name or 'configuration'}:{e.lineno}:{e.colno}: {e.msg}") from e
    if not isinstance(tree, dict):
        raise ConfigError(f"{name or 'configuration'}: expected a JSON object")
    return tree


def _inside(tree: Mapping[str, Any], name: str, section: str) -> dict[str, Any]:
    inner = tree.get(name)
    if not isinstance(inner, dict):
        there = ", ".join(k for k, v in tree.items() if isinstance(v, dict)) or "none"
        raise ConfigError(f"section `{section}`: there is no section `{name}` (sections here: {there})")
    return inner


def _put(tree: dict[str, Any], path: str, value: Any) -> None:
    """Puts a value at a path such as ``deserializers[0].file``; sections that are missing are made."""
    *way, last = _steps(path)
    place: Any = tree
    for step in way:
        _check(place, step, path)
        place = place[step] if isinstance(step, int) else place.setdefault(step, {})
    _check(place, last, path)
    place[last] = value


def _steps(path: str) -> list[str | int]:
    """The names of a path, and the numbers that follow them in brackets."""
    steps: list[str | int] = []
    for part in path.split("."):
        match = re.fullmatch(r"([^\[\]]+)((?:\[\d+\])*)", part)
        if match is None:
            raise ConfigError(f"found the path `{path}`, expected names and numbers such as `list[0].name`", path=path)
        steps += [match[1], *map(int, re.findall(r"\d+", match[2]))]
    return steps


def _check(place: Any, step: str | int, path: str) -> None:
    """Refuses a step that does not lead on from a place."""
    if isinstance(step, int):
        if not isinstance(place, list) or step >= len(place):
            found = f"a list of {len(place)}" if isinstance(place, list) else "no list"
            raise ConfigError(f"found {found}, expected one with an entry [{step}]", path=path)
    elif not isinstance(place, dict):
        raise ConfigError(f"found a value or a list where the section of `{step}` is expected", path=path)
