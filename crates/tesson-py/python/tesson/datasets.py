"""Datasets that other tools have prepared: those of TensorFlow Datasets, and CNTK's binary format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from .dataset import Dataset
from .deserializers import CBFDeserializer, TFDSDeserializer
from .errors import ConfigError
from .images import Size, decoding
from .keywords import suggests_arguments
from .paths import AnyPath, files_of, text_of
from .streams import StreamDef
from .transforms import AnyTransform

__all__ = ["read_cbf", "read_tfds"]


@suggests_arguments
def read_tfds(
    directory: AnyPath,
    /,
    *,
    split: str,
    features: Sequence[str] | None = None,
    size: Size | None = None,
    transforms: AnyTransform | Sequence[AnyTransform] = (),
    dtype: Literal["uint8", "float32"] | None = None,
) -> Dataset:
    """A split of a dataset that TensorFlow Datasets has prepared, in its order: each feature is a stream of its type and shape, and texts are byte strings.

    The files that describe the dataset are read at once, its data later.

    Parameters
    ----------
    directory : str or os.PathLike
        The version's folder, such as ``"mnist/3.0.1"``.
    split : str
        The examples: ``"train"``, ``"train[:80%]+test"``, ``"all"``.
    features : sequence of str, optional
        The paths of features, such as ``"objects/id"``. By default all that a stream can be made of; the others are logged.
    size : int or (int, int), optional
        Height and width to which images are resized whose shape the dataset leaves open.
    transforms, dtype
        For these images, as for :func:`read_images`.
    """
    from . import tfds

    described = tfds.builder_from_directory(directory).info.features
    leaves = {"/".join(keys): leaf for keys, *leaf in described._leaves()}
    images = {path for path, (shape, *_) in leaves.items() if _is_image(described, path) and None in shape and size is not None}
    if features is None:
        listed = [path for path, leaf in leaves.items() if _can_be_stream(*leaf) or path in images]
        others = [path for path in leaves if path not in listed]
        if others:
            import logging

            logging.getLogger("tesson").warning(
                "%s: the features %s are no streams, as they are complex, nested, or of open shape, and are left out; `features` lists those "
                "to read, and `size` gives images one", text_of(directory), ", ".join(others),
            )
    else:
        listed = list(features)
    if not listed:
        raise ConfigError(f"features: found none that can be a stream, the dataset has {', '.join(leaves)}", path="features")
    streams = {}
    for path in listed:
        image = decoding(size, transforms, dtype, False, False) if path in images else None
        streams[path] = StreamDef(path, transforms=image.transforms, dtype=image.dtype) if image else StreamDef(path)
    part = TFDSDeserializer(directory, streams, split=split, keep_types=True, order="tfds")
    ragged = frozenset(path for path in listed if path in leaves and leaves[path][0][:1] == (None,) and path not in images)
    classes = {"/".join(keys): tuple(names) for keys, names in described._classes()}
    return Dataset((part,), f"{text_of(directory)} {split}", ragged, {path: names for path, names in classes.items() if path in listed})


def _is_image(features: Any, path: str) -> bool:
    """True if the feature of a path is an image."""
    from .tfds.features import Image

    for key in path.split("/"):
        features = features.get(key) if hasattr(features, "get") else None
    return isinstance(features, Image)


def _can_be_stream(shape: tuple[int | None, ...], dtype: Any, rank: int, level: int, *_: object) -> bool:
    """True if a feature of this shape and type is a stream without further options."""
    known = shape[1:] if shape[:1] == (None,) else shape
    return str(dtype) not in ("complex64", "complex128") and None not in known and rank < 2 and level == 0


@suggests_arguments
def read_cbf(path: AnyPath | Sequence[AnyPath], /, *, ragged: Iterable[str] = ()) -> Dataset:
    """CNTK's binary format. The file declares its streams, which are float32.

    Parameters
    ----------
    path : str, os.PathLike or a sequence of them
        The file, a pattern such as ``"part-*.cbf"``, or several that are one dataset.
    ragged : iterable of str
        The streams that have any number of samples in each example.

    Examples
    --------
    >>> data = tesson.read_cbf("train.cbf", ragged=["words"])             # doctest: +SKIP
    """
    several = [ragged] if isinstance(ragged, str) else list(ragged)
    listed = files_of(path)
    shown = listed if isinstance(listed, str) else ", ".join(listed)
    return Dataset((CBFDeserializer(path),), shown, frozenset(several))
