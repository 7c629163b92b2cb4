"""Orbax checkpoints that hold where the data stand, beside the weights.

::

    manager.save(step, args=ocp.args.Composite(
        params=ocp.args.StandardSave(params), data=tesson.orbax.DataSave(batches)))
    ...
    manager.restore(step, args=ocp.args.Composite(
        params=ocp.args.StandardRestore(params), data=tesson.orbax.DataRestore(batches)))

With Orbax' ``v1`` functions the minibatches of :mod:`tesson.jax` need nothing around them: ``save_checkpointables(path, {"data":
batches})`` and ``load_checkpointables(path, {"data": batches})``.

What is saved is anything with ``state_dict`` and ``load_state_dict``: the minibatches of :mod:`tesson.jax`, a source, an iterator
over a prepared dataset. Every process writes its own state, and any number of processes can restore: where sharing is by position
all states are the same, and where it is by chunk they are merged (:func:`tesson.merge_states`).
"""

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
    """What says where it stands, in a dictionary that `json` can write, and goes there again."""

    def state_dict(self) -> dict[str, Any]:
        """The place."""

    def load_state_dict(self, state_dict: Mapping[str, Any], /) -> None:
        """Go there."""


if TYPE_CHECKING:
    # Orbax does not declare that it has types (PEP 561), so a class based on one of its own would have none either.
    _CheckpointHandler = object
else:
    _CheckpointHandler = ocp.CheckpointHandler


def write_state(directory: Path, state: Mapping[str, Any]) -> None:
    """Writes this process' state to a file of its own."""
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
        """Write this process' state to a file of its own."""
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
    """Saves where the data stand.

    Parameters
    ----------
    data : Resumable
        The minibatches of :func:`tesson.jax.minibatches`, a source, or an iterator over a prepared dataset.
    """

    data: Resumable


@ocp.args.register_with_handler(DataHandler, for_restore=True)  # type: ignore[misc, unused-ignore]
@dataclass
class DataRestore(ocp.args.CheckpointArgs):
    """Puts data back to where they stood.

    Parameters
    ----------
    data : Resumable
        What reads the same data, opened anew; it is returned.
    """

    data: Resumable
