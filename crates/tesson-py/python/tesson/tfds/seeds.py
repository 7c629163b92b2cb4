"""The global seed, from which shuffles without their own seed draw one, as with ``tf.random.set_seed``."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from .. import _tesson


@dataclass
class _Global:
    seed: int | None = None
    draws: _tesson.GlobalSeeds | None = None


_GLOBAL = _Global()


def set_random_seed(seed: int | None) -> None:
    """Set the global seed, or remove it with ``None``.

    Shuffles that are made afterwards without their own seed draw one from it, in the order in which they are made, as
    after ``tf.random.set_seed``.
    """
    _GLOBAL.seed = seed
    _GLOBAL.draws = None if seed is None else _tesson.GlobalSeeds(seed)


def global_seed() -> int | None:
    """The global seed, if one is set."""
    return narrow(_GLOBAL.seed)


def narrow(seed: int | None) -> int | None:
    """A seed narrowed by :func:`narrow_given`; None stays None."""
    return None if seed is None else narrow_given(seed)


def narrow_given(seed: int) -> int:
    """A seed of any size as one of 64 bits with the same order: TensorFlow keeps only this remainder of it."""
    return seed if -(2**63) <= seed < 2**63 else seed % (2**31 - 1)


class Random(int):
    """A seed drawn at random: another process draws another one."""


def draw() -> int:
    """A seed for a shuffle without one: from the global seed, or a random one."""
    if _GLOBAL.draws is not None:
        return _GLOBAL.draws.draw()
    return Random(secrets.randbelow(2**31 - 1))
