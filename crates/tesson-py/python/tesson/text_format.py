"""Writing CNTK's text format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["sequence_to_cntk_text_format"]


def sequence_to_cntk_text_format(seq_idx: int, alias_tensor_map: Mapping[str, Any]) -> str:
    """The rows of a sequence in CNTK's text format, without the line feed behind the last.

    Parameters
    ----------
    seq_idx : int
        The id of the sequence.
    alias_tensor_map : mapping
        For each input the samples: an array ``[samples, …]``, a list of arrays, a sparse matrix ``[samples, columns]``, or
        a list of sparse matrices of one row. Inputs may have different numbers of samples.

    Examples
    --------
    >>> print(sequence_to_cntk_text_format(7, {"a": np.array([[1, 2], [3, 4.5]]), "b": [np.array([0, 1])]}))
    7	|a 1.0 2.0 |b 0 1
    7	|a 3.0 4.5
    """
    inputs = sorted(alias_tensor_map.items())
    rows = []
    for number in range(max((_count(samples) for _, samples in inputs), default=0)):
        present = [(alias, samples[number]) for alias, samples in inputs if number < _count(samples)]
        rows.append(f"{seq_idx}\t" + " ".join(f"|{alias} {_values(sample)}" for alias, sample in present))
    return "\n".join(rows)


def _count(samples: Any) -> int:
    # A sparse matrix has no length.
    return int(samples.shape[0]) if hasattr(samples, "shape") else len(samples)


def _values(sample: Any) -> str:
    """A sample as values, or as pairs where it is sparse."""
    if hasattr(sample, "tocsr"):
        row = sample.tocsr()
        pairs = zip(row.indices.tolist(), row.data.tolist())
        return " ".join(f"{column}:{value}" for column, value in sorted(pairs))
    return " ".join(str(value) for value in np.ravel(sample))
