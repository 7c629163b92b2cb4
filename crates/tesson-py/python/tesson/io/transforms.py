"""The names of ``cntk.io.transforms``."""

from __future__ import annotations

from tesson.transforms import color, crop, mean, scale

__all__ = ["color", "crop", "mean", "scale"]
