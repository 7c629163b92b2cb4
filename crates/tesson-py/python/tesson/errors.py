"""Errors, grouped by who can fix them.

Every error is a :class:`TessonError` and also the built-in error that fits, so ``except ValueError`` and
``except OSError`` work as ever. All of them pickle.
"""

from __future__ import annotations

from functools import partial

__all__ = ["ConfigError", "DataError", "ResumeError", "StoreError", "TessonError", "UsageError"]


class TessonError(Exception):
    """The base of all errors of Tesson.

    Attributes
    ----------
    code : str
        The stable code of the error, such as ``ctf.bad-number``; the manual lists all of them. Empty if there is none.
    remedy : str
        What helps, as one sentence; empty if nothing is known.

    Examples
    --------
    >>> import tesson
    >>> try:
    ...     source.next_minibatch(0)
    ... except tesson.TessonError as e:
    ...     print(type(e).__name__, isinstance(e, ValueError))
    UsageError True
    """

    code: str = ""
    remedy: str = ""


class ConfigError(TessonError, ValueError):
    """A configuration that means nothing, or nothing that can be opened.

    Attributes
    ----------
    path : str
        The option's path, such as ``deserializers[0].input.x.dim``; empty where it is the whole.
    file, line, column : str, int and int, or None
        Where it is written, if that is in a text; lines and columns count from 1.

    Examples
    --------
    >>> import tesson
    >>> tesson.MinibatchSource.from_config({"deserializers": [{"type": "CTFDeserialiser"}]})
    Traceback (most recent call last):
        ...
    tesson.errors.ConfigError: deserializers[0].type: unknown type `CTFDeserialiser`, ...
    """

    path: str
    file: str | None
    line: int | None
    column: int | None

    def __init__(
        self,
        message: str,
        *,
        path: str = "",
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.path, self.file, self.line, self.column = path, file, line, column


class DataError(TessonError, ValueError):
    """Data that violates its format.

    Attributes
    ----------
    file : str
        The file, as the configuration names it.
    offset : int
        Bytes from the start of the file, from 0.
    line : int or None
        The physical line, from 1; None in binary formats and where it is not known.
    chunk : int or None
        The chunk, if nothing more is known about the location: in user-defined deserializers, with their name in `file`.
    stream : str or None
        The stream, if the fault lies in one.
    key : int or str or None
        The key of the sequence, if the fault lies in one.

    Examples
    --------
    >>> from tesson import CTFDeserializer, DataError, MinibatchSource, StreamDef, StreamDefs
    >>> narrow = StreamDefs(x=StreamDef(shape=2))
    >>> try:
    ...     MinibatchSource(CTFDeserializer("train.ctf", narrow), randomize=False).next_minibatch(1)
    ... except DataError as e:
    ...     print(e.code, e.file, e.line, e.stream, e.key)
    ctf.too-many-values train.ctf 1 x 0
    """

    file: str
    offset: int
    line: int | None
    chunk: int | None
    stream: str | None
    key: int | str | None

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        offset: int = 0,
        line: int | None = None,
        chunk: int | None = None,
        stream: str | None = None,
        key: int | str | None = None,
    ) -> None:
        super().__init__(message)
        self.file, self.offset, self.line = file, offset, line
        self.chunk, self.stream, self.key = chunk, stream, key


class ResumeError(TessonError, ValueError):
    """A saved state that does not belong to the source, or is not a state.

    Attributes
    ----------
    what : str
        The property that differs, such as ``the randomization seed``.
    state, source : str
        Its value in the state and in the source, or the expected value.

    Examples
    --------
    >>> from tesson import CTFDeserializer, MinibatchSource, ResumeError, StreamDef, StreamDefs
    >>> streams = StreamDefs(x=StreamDef(shape=4))
    >>> one, other = (MinibatchSource(CTFDeserializer("train.ctf", streams), randomization_seed=n) for n in (1, 2))
    >>> try:
    ...     other.restore_from_checkpoint(one.get_checkpoint_state())
    ... except ResumeError as e:
    ...     print(e.what, e.state, e.source)
    the randomization seed 1 2
    """

    what: str
    state: str
    source: str
    code: str

    def __init__(
        self,
        message: str,
        *,
        what: str = "",
        state: str = "",
        source: str = "",
        code: str = "resume.other-source",
    ) -> None:
        super().__init__(message)
        self.what, self.state, self.source, self.code = what, state, source, code


class StoreError(TessonError, OSError):
    """A file, or another place where bytes are kept, cannot be read.

    ``errno`` is the system's number where there is one, else None.

    Attributes
    ----------
    file : str
        The file, as the configuration names it.
    offset : int or None
        Where reading failed, if it got that far.

    Examples
    --------
    >>> from tesson import CTFDeserializer, MinibatchSource, StoreError, StreamDef, StreamDefs
    >>> try:
    ...     MinibatchSource(CTFDeserializer("trian.ctf", StreamDefs(x=StreamDef(shape=4))))
    ... except StoreError as e:
    ...     print(str(e).partition("; ")[2])
    did you mean `train.ctf`?
    """

    def __init__(
        self, message: str, *, file: str = "", offset: int | None = None, errno: int | None = None
    ) -> None:
        super().__init__(message)
        self.file = file
        self.offset = offset
        self.errno = errno

    def __reduce__(self) -> tuple[object, ...]:
        # OSError keeps errno outside of the instance's dictionary, where pickle would not find it.
        return partial(StoreError, errno=self.errno), self.args, vars(self)


class UsageError(TessonError, ValueError):
    """A call that can never be right, such as a minibatch of 0 samples. The source is as it was before the call.

    Examples
    --------
    >>> source.next_minibatch(0)
    Traceback (most recent call last):
        ...
    tesson.errors.UsageError: the minibatch size is 0 samples, ...
    """
