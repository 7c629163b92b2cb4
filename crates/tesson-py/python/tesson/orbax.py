"""Orbax checkpoints that hold where the data stand, beside the weights.

::

    manager.save(step, args=ocp.args.Composite(
        params=ocp.args.StandardSave(params), data=tesson.orbax.DataSave(batches)))
    ...
    manager.restore(step, args=ocp.args.Composite(
        params=ocp.args.StandardRestore(params), data=tesson.orbax.DataRestore(batches)))

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


class DataHandler(_CheckpointHandler):
    """Saves and restores the states of data; Orbax makes one of :class:`DataSave` and :class:`DataRestore`."""

    def save(self, directory: os.PathLike[str], args: DataSave) -> None:
        """Write this process' state to a file of its own."""
        name = f"rank-{jax.process_index()}-of-{jax.process_count()}.json"
        (Path(directory) / name).write_text(json.dumps(args.data.state_dict()), encoding="utf-8")

    def restore(self, directory: os.PathLike[str], args: DataRestore) -> Resumable:
        """Put the data back to where they stood, and return them.

        Raises
        ------
        ResumeError
            States are missing, or they are those of other data.
        """
        files = sorted(Path(directory).glob("rank-*-of-*.json"))
        processes = {int(file.stem.rpartition("-")[2]) for file in files}
        if processes != {len(files)}:
            found = ", ".join(file.name for file in files) or "none"
            what = f"found the states {found} in {os.fspath(directory)}, expected one of each process"
            raise ResumeError(what, code="resume.unreadable")
        states = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        own = Path(directory) / f"rank-{jax.process_index()}-of-{jax.process_count()}.json"
        if all(state == states[0] for state in states):
            state = states[0]
        else:
            state = json.loads(own.read_text(encoding="utf-8")) if own in files else merge_states(states)
        args.data.load_state_dict(state)
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
