"""Custom transforms: a function from sample to sample, applied on worker threads."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np

from .errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["UserTransform"]

#: The types that a function may make.
_NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
)


class UserTransform:
    """A custom transform of each sample of a stream.

    A plain function suffices if the shape does not change and nothing is random.

    Parameters
    ----------
    function : callable
        Makes an array of a sample, an array of the stream's shape and type. With `random` its second argument is a
        :class:`numpy.random.Generator`, whose numbers depend on the source's seed, the sweep, the sequence and `seed`
        alone: not on threads, workers, minibatches or the position from which a run was resumed. One generator serves
        all samples of a sequence.
    shape : int or tuple of int, optional
        The shape of the result, by default that of the input.
    dtype : dtype, optional
        The type of the result, by default that of the input; of images whose stream has no type of its own, floats. Whole numbers
        may become floats; a result that the type cannot hold is an error.
    random : bool
        True if the function draws random numbers.
    seed : int
        A number that lets two equal transforms draw different numbers.
    name : str, optional
        The name in errors and states, by default the function's name. A state is refused if names, shapes or seeds of
        transforms differ, so change the name when the function changes.
    sparse : {"csr", "dense"}, optional
        The form in which the function gets a sparse stream, which is refused by default. ``"csr"``: a
        :class:`scipy.sparse.csr_matrix` of one row; it returns a sparse matrix of one row, and the stream stays sparse.
        ``"dense"``: an array, and the stream is dense from there on.

    Examples
    --------
    >>> halves = UserTransform(lambda sample: sample[::2], shape=2)
    >>> noise = UserTransform(lambda sample, rng: sample + rng.normal(size=2), random=True)
    >>> streams = StreamDefs(x=StreamDef("x", 4, transforms=[halves, np.negative]))
    >>> source = MinibatchSource(CTFDeserializer("train.ctf", streams), randomize=False)
    >>> source.next_minibatch(2)["x"].samples.tolist()
    [[-0.0, -2.0], [-1.0, -3.0]]
    """

    def __init__(
        self,
        function: Callable[..., Any],
        shape: SupportsIndex | Sequence[SupportsIndex] | None = None,
        *,
        dtype: DTypeLike | None = None,
        random: bool = False,
        seed: int = 0,
        name: str | None = None,
        sparse: Literal["csr", "dense"] | None = None,
    ) -> None:
        if sparse not in (None, "csr", "dense"):
            raise ValueError(f"sparse is {sparse!r}, expected 'csr' or 'dense'")
        self.function = function
        self.shape = shape
        #: NumPy's name of the result's type; None: that of the input.
        self.dtype = None if dtype is None else _dtype_name(dtype)
        self.random = random
        self.seed = seed
        self.name: str = name or _name(function)
        self.sparse = sparse
        #: The shape of the input, if it differs from the stored one.
        self.input_shape: tuple[int, ...] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """The function's answer."""
        return self.function(*arguments)

    def taking(self, input_shape: tuple[int, ...]) -> UserTransform:
        """Return the transform for samples that are stored with another shape than the function takes."""
        other = copy.copy(self)
        other.input_shape = input_shape
        return other

    def __repr__(self) -> str:
        return f"<UserTransform `{self.name}`>"


def as_transform(function: Callable[..., Any]) -> UserTransform:
    """A function as a transform; a transform as it is."""
    return function if isinstance(function, UserTransform) else UserTransform(function)


def _dtype_name(dtype: DTypeLike) -> str:
    name = np.dtype(dtype).newbyteorder("=").name
    if name not in _NUMBERS:
        raise ConfigError(f"dtype: found {name!r}, expected one of {', '.join(_NUMBERS)}", path="dtype")
    return name


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def described(function: Any) -> dict[str, Any]:
    """Describe a transform to the native half."""
    given = as_transform(function)
    shape = given.shape
    if shape is not None:
        shape = [operator.index(d) for d in shape] if isinstance(shape, Sequence) else [operator.index(shape)]
    return {
        "name": given.name,
        "identity": ("" if shape is None else str(shape))
        + (f" sparse={given.sparse}" if given.sparse else "")
        + (f" dtype={given.dtype}" if given.dtype else ""),
        "input_shape": given.input_shape,
        "shape": shape,
        "dtype": given.dtype,
        "random": bool(given.random),
        "seed": operator.index(given.seed) % 2**64,
        "sparse": given.sparse,
    }


def _generator(words: Sequence[int] | None) -> tuple[np.random.Generator, ...]:
    """A further argument for functions that draw random numbers, of four numbers of 32 bits."""
    if words is None:
        return ()
    return (np.random.Generator(np.random.Philox(key=[words[0] | words[1] << 32, words[2] | words[3] << 32])),)


def transformed(
    function: Callable[..., Any],
    values: NDArray[Any],
    types: tuple[str, str],
    input_shape: Sequence[int],
    shape: Sequence[int],
    words: Sequence[int] | None,
) -> NDArray[Any]:
    """The samples of a sequence, each transformed; `words` are four random numbers of 32 bits where it draws some.

    `values` and the result are flat, and unsigned numbers stand for the bits of other types than floats. `types` are those of the
    stored samples and of the result.
    """
    stored, made = (np.dtype(name) for name in types)
    # Images become floats before a function that makes floats sees them.
    given = made if stored == np.uint8 and made.kind == "f" and not _has_dtype(function) else stored
    extra = _generator(words)
    size = int(np.prod(input_shape, dtype=np.int64))
    flat = values if values.dtype == stored else values.view(stored)
    samples = flat.astype(given, copy=False).reshape(len(values) // size, *input_shape)
    out = np.empty((len(samples), *shape), made)
    for number, sample in enumerate(samples):
        result = np.asarray(function(sample, *extra))
        if result.shape != tuple(shape):
            raise ValueError(f"returned an array of shape {result.shape}, expected {tuple(shape)}")
        _check_type(result, made)
        out[number] = result
    return out.reshape(-1) if made.kind == "f" and made.itemsize > 2 else out.reshape(-1).view(f"u{made.itemsize}")


def _has_dtype(function: Callable[..., Any]) -> bool:
    return isinstance(function, UserTransform) and function.dtype is not None


def _check_type(result: NDArray[Any], made: np.dtype[Any]) -> None:
    """Refuse results that the type cannot hold."""
    if made.kind == "f" and result.dtype.kind in "fiub" or result.dtype == made:
        return
    if result.dtype.kind in "iub":
        cast = result.astype(made)
        if (cast == result).all() and (cast.astype(result.dtype) == result).all():
            return
        found = "values that it cannot hold"
    else:
        found = f"values of type {result.dtype}"
    raise ValueError(f"returned {found}, expected {made}; say what it makes, as in UserTransform(function, dtype='float32')")


def transformed_rows(
    function: Callable[..., Any],
    sequence: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    dim: int,
    dim_out: int,
    words: Sequence[int] | None,
) -> tuple[NDArray[Any], NDArray[np.int32], list[int]]:
    """The sparse samples of a sequence, each transformed: values, columns, and the number of entries of each."""
    from scipy import sparse  # type: ignore[import-untyped, unused-ignore]

    bounds, columns, values = sequence
    bounds = bounds - bounds[0]
    extra = _generator(words)
    rows = []
    for begin, end in zip(bounds[:-1], bounds[1:], strict=True):
        row = sparse.csr_matrix((values[begin:end], columns[begin:end], [0, end - begin]), shape=(1, dim))
        result = function(row, *extra)
        if not sparse.issparse(result) or result.shape != (1, dim_out):
            found = f"a {type(result).__name__} of shape {np.shape(result)}"
            raise ValueError(f"returned {found}, expected a sparse matrix of shape {(1, dim_out)}")
        result = result.tocsr()
        if not result.has_canonical_format:
            # It may be a matrix that the function keeps.
            result = result.copy()
            result.sum_duplicates()
        rows.append(result)
    out = [np.concatenate([getattr(row, part) for row in rows] or [[]]) for part in ("data", "indices")]
    return out[0].astype(values.dtype), out[1].astype(np.int32), [row.nnz for row in rows]
