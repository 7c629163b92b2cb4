"""Orbax checkpoints that hold the position in the data beside the weights.

::

    manager.save(step, args=ocp.args.Composite(
        params=ocp.args.StandardSave(params), data=tesson.orbax.DataSave(batches)))
    ...
    manager.restore(step, args=ocp.args.Composite(
        params=ocp.args.StandardRestore(params), data=tesson.orbax.DataRestore(batches)))

With Orbax' ``v1`` functions the minibatches of :mod:`tesson.jax` need nothing around them: ``save_checkpointables(path, {"data":
batches})`` and ``load_checkpointables(path, {"data": batches})``.

Any object with ``state_dict`` and ``load_state_dict`` can be saved: the minibatches of :mod:`tesson.jax`, a source,
an iterator over a prepared dataset. Every process writes its own state, and any number of processes can restore:
under sharing by position all states are the same, and under sharing by chunk they are merged
(:func:`tesson.merge_states`). """

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import jax  # type: ignore[import-not-found, unused-ignore]
import orbax.checkpoint as ocp  # type: ignore[import-not-found, unused-ignore]

from .errors import ResumeError
from .source import merge_states

__all__ = ["DataHandler", "DataRestore", "DataSave", "Resumable"]


class Resumable(Protocol):
    """An object that can save its position in a dictionary that `json` can write, and return to it."""

    def state_dict(self) -> dict[str, Any]:
        """The place."""

    def load_state_dict(self, state_dict: Mapping[str, Any], /) -> None:
        """Go there."""


if TYPE_CHECKING:
    # Orbax does not declare that it has types (PEP 561), so a class based on one of its classes would have none either.
    _CheckpointHandler = object
else:
    _CheckpointHandler = ocp.CheckpointHandler


def write_state(directory: Path, state: Mapping[str, Any]) -> None:
    """Write this process's state to a separate file."""
    _own_file(directory).write_text(json.dumps(state), encoding="utf-8")


def read_state(directory: Path) -> dict[str, Any]:
    """The state for this process, of those that any number of processes have written.

    Raises
    ------
    ResumeError
        States are missing.
    """
    files = sorted(directory.glob("rank-*-of-*.json"))
    processes = {int(file.stem.rpartition("-")[2]) for file in files}
    if processes != {len(files)}:
        found = ", ".join(file.name for file in files) or "none"
        what = f"found the states {found} in {directory}, expected one of each process"
        raise ResumeError(what, code="resume.unreadable")
    states = {file: json.loads(file.read_text(encoding="utf-8")) for file in files}
    all_states, own = list(states.values()), states.get(_own_file(directory))
    if own is not None or all(state == all_states[0] for state in all_states):
        return dict(all_states[0] if own is None else own)
    return merge_states(all_states)


def _own_file(directory: Path) -> Path:
    return directory / f"rank-{jax.process_index()}-of-{jax.process_count()}.json"


class DataHandler(_CheckpointHandler):
    """Saves and restores the states of data; Orbax makes one of :class:`DataSave` and :class:`DataRestore`."""

    def save(self, directory: os.PathLike[str], args: DataSave) -> None:
        """Write this process's state to a separate file."""
        write_state(Path(directory), args.data.state_dict())

    def restore(self, directory: os.PathLike[str], args: DataRestore) -> Resumable:
        """Put the data back to where they stood, and return them.

        Raises
        ------
        ResumeError
            States are missing, or they are those of other data.
        """
        args.data.load_state_dict(read_state(Path(directory)))
        return args.data


@ocp.args.register_with_handler(DataHandler, for_save=True)  # type: ignore[misc, unused-ignore]
@dataclass
class DataSave(ocp.args.CheckpointArgs):
    """Saves the position in the data.

    Parameters
    ----------
    data : Resumable
        The minibatches of :func:`tesson.jax.minibatches`, a source, or an iterator over a prepared dataset.
    """

    data: Resumable


@ocp.args.register_with_handler(DataHandler, for_restore=True)  # type: ignore[misc, unused-ignore]
@dataclass
class DataRestore(ocp.args.CheckpointArgs):
    """Restores the position in the data.

    Parameters
    ----------
    data : Resumable
        A newly opened reader of the same data, which is returned.
    """

    data: Resumable
