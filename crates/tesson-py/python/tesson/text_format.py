"""Writing CNTK's text format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["sequence_to_cntk_text_format"]


def sequence_to_cntk_text_format(seq_idx: int, alias_tensor_map: Mapping[str, Any]) -> str:
    """The rows of a sequence in CNTK's text format, without the line feed after the last.

    Parameters
    ----------
    seq_idx : int
        The id of the sequence.
    alias_tensor_map : mapping
        For each input the samples. Dense: an array ``[samples, …]``, or a list of arrays or numbers. Sparse: a matrix
        ``[samples, columns]``, a list of matrices of one row, or a list of dictionaries from column to value. Inputs may
        have different numbers of samples.

    Raises
    ------
    ValueError
        An input is none of these; the message names it.

    Examples
    --------
    >>> print(sequence_to_cntk_text_format(7, {"a": np.array([[1, 2], [3, 4.5]]), "b": [{3: 1, 1: 2.5}]}))
    7	|a 1.0 2.0 |b 1:2.5 3:1
    7	|a 3.0 4.5
    """
    inputs = [(alias, _samples(alias, samples)) for alias, samples in sorted(alias_tensor_map.items())]
    rows = []
    for number in range(max((count for _, (count, _) in inputs), default=0)):
        present = [(alias, sample(number)) for alias, (count, sample) in inputs if number < count]
        rows.append(f"{seq_idx}\t" + " ".join(f"|{alias} {values}" for alias, values in present))
    return "\n".join(rows)


def _samples(alias: str, samples: Any) -> tuple[int, Callable[[int], str]]:
    """The number of samples, and a function that writes one of them."""
    if hasattr(samples, "tocsr"):
        matrix = samples.tocsr()
        return int(matrix.shape[0]), lambda number: _row(alias, matrix[number])
    if isinstance(samples, np.ndarray) and samples.ndim > 0:
        return len(samples), lambda number: _sample(alias, samples[number])
    if not isinstance(samples, Sequence) or isinstance(samples, (str, bytes)):
        raise _wrong(alias, samples)
    return len(samples), lambda number: _sample(alias, samples[number])


def _sample(alias: str, sample: Any) -> str:
    """A sample as values, or as pairs where it is sparse."""
    if isinstance(sample, Mapping):
        columns = [_column(alias, column) for column in sample]
        pairs = sorted(zip(columns, sample.values()))
        return " ".join(f"{column}:{_number(alias, value)}" for column, value in pairs)
    if hasattr(sample, "tocsr"):
        return _row(alias, sample.tocsr())
    return " ".join(_number(alias, value) for value in np.ravel(sample))


def _row(alias: str, row: Any) -> str:
    pairs = zip(row.indices.tolist(), row.data.tolist())
    return " ".join(f"{column}:{_number(alias, value)}" for column, value in sorted(pairs))


def _column(alias: str, found: Any) -> int:
    if isinstance(found, bool) or not isinstance(found, (int, np.integer)) or found < 0:
        raise ValueError(f"input `{alias}`: found the column {found!r} in a dictionary, expected a whole number from 0")
    return int(found)


def _number(alias: str, value: Any) -> str:
    kind = np.asarray(value).dtype.kind
    if kind not in "biuf":
        raise _wrong(alias, value)
    return str(int(value)) if kind == "b" else str(value)


def _wrong(alias: str, found: Any) -> ValueError:
    return ValueError(
        f"input `{alias}`: found {type(found).__name__}, expected arrays of numbers, sparse matrices, "
        "or dictionaries from column to value, one for each sample"
    )
