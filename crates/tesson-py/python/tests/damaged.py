"""States that differ in one value from one that was saved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from tesson import ResumeError


def damaged(state: Any) -> Iterator[Any]:
    """A state with each of its values, at any depth, replaced or missing; texts of JSON are damaged inside, too."""
    yield from (None, -1, 2**70, "x", [], {}, {"x": 1})
    if isinstance(state, str) and state.startswith("{"):
        yield from map(json.dumps, damaged(json.loads(state)))
    elif isinstance(state, dict):
        for name, value in state.items():
            yield {other: state[other] for other in state if other != name}
            yield from ({**state, name: other} for other in damaged(value))


def is_refused(load: Callable[[Any], None], state: Any) -> bool:
    """True if loading a state is an error of resuming; any other error is one of the test."""
    try:
        load(state)
    except ResumeError:
        return True
    return False
