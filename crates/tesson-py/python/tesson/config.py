"""Resolving configurations, and the reader in them as a dictionary."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from . import _tesson
from .errors import ConfigError
from .paths import AnyPath, text_of

#: Levels that a configuration may be nested, as those of states.
MOST_NESTED = 127

__all__ = ["copied", "load_reader", "resolve_config", "spelt"]


def resolve_config(
    config: AnyPath,
    arguments: Iterable[str] = (),
    *,
    extended_variables: bool = False,
) -> dict[str, Any]:
    """Resolve a configuration without opening anything.

    Parameters
    ----------
    config : str or os.PathLike
        The path of a BrainScript file, or the text of one. Files and texts in JSON and TOML work, too.
    arguments : iterable of str, optional
        The arguments after the file on CNTK's command line: ``"DataDir=data"``, ``"Train=[reader=[randomize=false]]"``.
    extended_variables : bool
        True if ``$env:NAME$`` and ``$name|value$`` are variables.

    Returns
    -------
    dict
        ``{"tree": …, "readers": {path: …}}``: the configuration with its variables replaced, and each reader in it with
        all options typed and all defaults filled in. ``ignored`` lists the unused options.

    Raises
    ------
    ConfigError
        The text is not a configuration, or a reader in it is invalid; ``.file``, ``.line`` and ``.path`` are its location.

    Examples
    --------
    >>> resolved = resolve_config('''
    ... Train = [ reader = [ file = "$Dir$/train.ctf" ; input = [ x = [ dim = 4 ; format = "dense" ] ] ] ]''',
    ...     arguments=["Dir=data"])
    >>> resolved["readers"]["Train/reader"]["deserializers"][0]["file"]
    'data/train.ctf'
    """
    text = _tesson.resolve_config(text_of(config), list(arguments), extended_variables)
    import json

    resolved: dict[str, Any] = json.loads(text)
    return resolved


def load_reader(
    config: Mapping[str, Any] | AnyPath,
    section: str | None,
    overrides: Mapping[str, Any] | None,
    arguments: Iterable[str] = (),
    extended_variables: bool = False,
) -> tuple[dict[str, Any], str | None]:
    """The reader's part of a configuration as a separate tree, and the folder of its relative file names.

    The parameters are those of :meth:`MinibatchSource.from_config`.
    """
    if isinstance(config, Mapping):
        if others := [name for name in config if not isinstance(name, str)]:
            raise ConfigError(f"found {others[0]!r} as the name of an option, expected a text")
        whole: dict[str, Any] = copied(config)
        reader = _reader_section(whole, section, overrides)
        if not _is_of_older_type(reader):
            return reader, None
        import json

        return _loaded(json.dumps(whole, default=_plain), section, None, (), False)[0], None
    if not isinstance(config, (str, bytes, os.PathLike)):
        raise TypeError(f"found {config!r}, expected a configuration: a dictionary, the name of a file, or a text")
    return _loaded(text_of(config), section, overrides, arguments, extended_variables)


def _loaded(
    config: str,
    section: str | None,
    overrides: Mapping[str, Any] | None,
    arguments: Iterable[str],
    extended_variables: bool,
) -> tuple[dict[str, Any], str | None]:
    """Load the configuration at a path or in a text, which the native half parses."""
    text, base_dir, complaints = _tesson.load_reader(config, section, overrides, list(arguments), extended_variables)
    for complaint in complaints:
        # Only here: its import takes a tenth of the package's.
        import logging

        logging.getLogger("tesson").warning(complaint)
    import json

    tree: dict[str, Any] = json.loads(text)
    for name, parts in tree.items():
        if name.lower() == "deserializers":
            tree[name] = [spelt(part) for part in parts]
    return tree, base_dir


def spelt(part: Any) -> Any:
    """A section for a module, with texts converted to the numbers and truth values that they spell.

    In BrainScript every value is text; built-in deserializers know the types of their options.
    """
    if not isinstance(part, dict) or not any(name.lower() == "module" for name in part):
        return part
    return {name: _value(value) if isinstance(value, str) else value for name, value in part.items()}


def _value(text: str) -> str | int | float | bool:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def _is_of_older_type(reader: Mapping[str, Any]) -> bool:
    """True if it names a reader of CNTK instead of deserializers."""
    names = [name.lower() for name in reader]
    return "readertype" in names and "deserializers" not in names


def _plain(value: Any) -> Any:
    """A path or a NumPy number as the JSON value for it."""
    return value.item() if hasattr(value, "item") else text_of(value)


def _reader_section(
    tree: dict[str, Any], section: str | None, overrides: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The reader's part of a tree, changed at the paths of the overrides."""
    for name in (section or "").split("/"):
        if name:
            tree = _inside(tree, name, section or "")
    if section is None and "deserializers" not in tree and isinstance(tree.get("source"), dict):
        tree = tree["source"]
    for path, value in (overrides or {}).items():
        _put(tree, path, value)
    return tree


def copied(tree: Any, levels: int = MOST_NESTED) -> Any:
    """A copy of a tree's sections and lists. Values are shared: a custom deserializer may be large."""
    if levels == 0:
        raise ConfigError(f"found values nested more than {MOST_NESTED} deep, expected at most that", path="")
    if isinstance(tree, Mapping):
        return {name: copied(value, levels - 1) for name, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [copied(value, levels - 1) for value in tree]
    return tree


def _inside(tree: Mapping[str, Any], name: str, section: str) -> dict[str, Any]:
    inner = tree.get(name)
    if not isinstance(inner, dict):
        there = ", ".join(k for k, v in tree.items() if isinstance(v, dict))
        remedy = f" (sections here: {there})" if there else ", the reader's options are not in a section; leave the section out"
        raise ConfigError(f"section `{section}`: there is no section `{name}`{remedy}")
    return inner


def _put(tree: dict[str, Any], path: str, value: Any) -> None:
    """Puts a value at a path such as ``deserializers[0].file``; sections that are missing are made."""
    steps = _steps(path)
    place: Any = tree
    # What leads to the place, as errors name it.
    name = ""
    for step, following in pairwise(steps):
        _check(place, step, name, path)
        if isinstance(step, int):
            place, name = place[step], f"{name}[{step}]"
        else:
            if isinstance(following, int) and step not in place:
                raise _no_list(place, step, path)
            place, name = place.setdefault(step, {}), step
    _check(place, steps[-1], name, path)
    place[steps[-1]] = value


def _steps(path: str) -> list[str | int]:
    """The names of a path, and the numbers that follow them in brackets."""
    steps: list[str | int] = []
    for part in path.split("."):
        match = re.fullmatch(r"([^\[\]]+)((?:\[\d+\])*)", part)
        if match is None:
            raise ConfigError(f"found the path `{path}`, expected names and numbers such as `list[0].name`", path=path)
        steps += [match[1], *map(int, re.findall(r"\d+", match[2]))]
    return steps


def _check(place: Any, step: str | int, name: str, path: str) -> None:
    """Refuses a step that does not lead on from the place of a name."""
    if isinstance(step, str):
        if isinstance(place, list):
            raise ConfigError(f"`{name}` is a list, expected a section, or one of its entries: `{name}[0]` is the first", path=path)
        if not isinstance(place, dict):
            raise ConfigError(f"`{name}` is `{place}`, expected a section", path=path)
    elif not isinstance(place, list):
        raise ConfigError(f"`{name}` is {'a section' if isinstance(place, dict) else f'`{place}`'}, expected a list", path=path)
    elif not place:
        raise ConfigError(f"found place {step}, but `{name}` has no entries", path=path)
    elif step >= len(place):
        raise ConfigError(f"found place {step}, expected one from 0 to {len(place) - 1}, those of `{name}`", path=path)


def _no_list(place: dict[str, Any], name: str, path: str) -> ConfigError:
    """The error for a path into a list that does not exist."""
    near = _tesson.nearest_name(name, [there for there, value in place.items() if isinstance(value, list)])
    return ConfigError(f"there is no list `{name}`" + (f", did you mean `{near}`?" if near else ""), path=path)
