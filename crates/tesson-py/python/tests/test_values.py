"""Descriptions that are values, and what opening a dataset imports."""

import copy
import pickle
import subprocess
import sys

import pytest
import tesson
from tesson.io import StreamConfiguration, StreamDef, StreamInformation
from tesson.schema import Field

VALUES = [
    StreamDef("x", 3, transforms=[abs]),
    StreamConfiguration("x", 3, stream_alias="f"),
    StreamInformation("x", 1, "sparse", "float64", (2, 3), classes=["a", "b"]),
    tesson.Window(chunks=2),
    tesson.sparse(4, field="f"),
    Field("x", 0, "float32", (3,), is_ragged=True),
    tesson.column("c"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_are_equal_by_their_fields_and_never_change(value):
    copies = [copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))]
    assert all(other == value and other is not value and type(other) is type(value) for other in copies)
    assert value != "x"
    name = value._fields[0]
    before = getattr(value, name)
    with pytest.raises(AttributeError, match=f"cannot assign to field '{name}'"):
        setattr(value, name, before)
    with pytest.raises(AttributeError, match=f"cannot delete field '{name}'"):
        delattr(value, name)


def test_values_that_differ_in_one_field_are_different():
    assert StreamDef("x", 3) != StreamDef("x", 3, ragged=True)
    assert StreamInformation("x", shape=3) != StreamInformation("x", 1, shape=3)
    assert len({StreamDef("x", 3), StreamDef("x", 3), StreamDef("y", 3)}) == 2
    assert {tesson.Window(samples=5): 1}[tesson.Window(samples=5)] == 1


def test_repr_leaves_out_what_is_rarely_given():
    assert repr(StreamDef("x", 3, dtype="float64")) == "StreamDef(field='x', shape=(3,), is_sparse=False, defines_mb_size=False)"
    assert repr(tesson.Window(chunks=2)) == "Window(chunks=2, samples=None)"


def test_a_class_of_values_may_be_extended():
    class Named(StreamDef):
        remark: str

    named = Named("x", 3)
    assert named.field == "x" and named != StreamDef("x", 3)


def test_opening_imports_no_format_but_its_own_and_nothing_that_takes_long(tmp_path):
    (tmp_path / "x.ctf").write_text("|x 1 2\n")
    program = """
import sys
import numpy
before = set(sys.modules)
from tesson.io import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs
with MinibatchSource(CTFDeserializer(sys.argv[1], StreamDefs(x=StreamDef(shape=2)))) as source:
    assert source.next_minibatch(1)["x"].samples.shape == (1, 2)
print(*sorted(set(sys.modules) - before))
"""
    ran = subprocess.run([sys.executable, "-c", program, str(tmp_path / "x.ctf")], capture_output=True, text=True, check=True)
    imported = ran.stdout.split()
    assert "tesson.source" in imported
    formats = {name for name in imported if name.startswith("tesson.") and name.endswith("_deserializers")}
    assert not formats
    assert not {"dataclasses", "logging", "json", "asyncio", "tesson.torch", "tesson.tables"} & set(imported)
