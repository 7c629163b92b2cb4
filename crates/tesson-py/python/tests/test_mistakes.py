"""Mistakes that users make: each error says what was found, what was expected, and what to do."""

from __future__ import annotations

import copy
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tesson
from tesson import elsewhere, ConfigError, DataError, ResumeError, UsageError, UserDeserializer
from tesson.io import (
    CBFDeserializer,
    CTFDeserializer,
    MinibatchSource,
    StreamConfiguration,
    StreamDef,
    StreamDefs,
    StreamInformation,
    merge_states,
    sequence_to_cntk_text_format,
)

Write = Callable[[str], str]


def opened(file: Any = "train.ctf", streams: Any = None, options: Any = None, **arguments: Any) -> MinibatchSource:
    streams = streams or StreamDefs(x=StreamDef("x", 4), y=StreamDef("y", 3, is_sparse=True))
    return MinibatchSource(CTFDeserializer(file, streams, **(options or {})), **arguments)


@pytest.mark.parametrize(
    ("arguments", "options", "path"),
    [
        ({"memory_limit": "much"}, {}, "memory_limit"),
        ({"memory_limit": 10}, {}, "memory_limit"),
        ({"dtype": "int32"}, {}, "dtype"),
        ({"dtype": "flot32"}, {}, "dtype"),
        ({"max_error_share": 2}, {}, "max_error_share"),
        (
            {"randomization_window_in_chunks": 3, "randomization_window_in_samples": 5},
            {},
            "randomization_window_in_samples",
        ),
        ({"minibatch_size_in_sequences": 0}, {}, "minibatch_size_in_sequences"),
        ({}, {"chunk_size_in_bytes": "a"}, "deserializers[0].chunk_size_in_bytes"),
        ({}, {"empty_inputs": "z"}, "deserializers[0].empty_inputs"),
        ({"transforms": {"x": 3}}, {}, "transforms.x"),
        ({"transforms": {"max.errors": abs}}, {}, "transforms.max.errors"),
    ],
)
def test_a_value_is_blamed_where_it_was_given(arguments: dict[str, Any], options: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        opened(options=options, **arguments)
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("stream", "path"),
    [
        (StreamDef("y", is_sparse=True), "deserializers[0].streams.maxErrors.shape"),
        (StreamDef("x", 2**40, is_sparse=True), "deserializers[0].streams.maxErrors.shape"),
    ],
)
def test_the_names_of_streams_stay_what_they_are(stream: StreamDef, path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        opened(streams=StreamDefs(maxErrors=stream))
    assert caught.value.path == path


@pytest.mark.parametrize("kind", ["", "CNTKTextFormatDeserializer", "ImageDeserializer", "HTKFeatureDeserializer", "TFDSDeserializer"])
def test_the_keyword_of_an_option_is_one(kind: str) -> None:
    modules = [getattr(tesson, name) for name in ("deserializers", "image_deserializers", "transforms")]
    makers = [MinibatchSource, StreamDef, *(getattr(module, name) for module in modules for name in module.__all__)]
    keywords = {name for maker in makers for name in inspect.signature(maker).parameters}
    named = {row["name"]: tesson._tesson.keyword_of(row["name"]) for row in tesson._tesson.option_table(kind)}
    assert named
    assert {option for option, keyword in named.items() if keyword not in keywords | {option}} == set()


def test_options_in_a_message_are_keywords_too() -> None:
    with pytest.raises(ConfigError, match="^max_samples: found 5 beside `max_sweeps` 5"):
        opened(max_samples=5, max_sweeps=5)
    with pytest.raises(ConfigError, match="expected `True`, `False` or `global`"):
        opened(randomize="globl")
    with pytest.raises(ConfigError) as caught:
        opened(bucketing=4, randomize=False)
    assert (caught.value.code, caught.value.path) == ("config.buckets-as-stored", "bucketing")
    assert caught.value.remedy == "Set `randomize`, or leave it out."
    tree = opened().config
    with pytest.raises(ConfigError, match="^maxSamples: found 5 beside `maxSweeps` 5"):
        MinibatchSource.from_config(tree | {"maxSamples": 5, "maxSweeps": 5})


@pytest.mark.parametrize(
    ("text", "stream", "remedy"),
    [
        ("|x 1:1\n", StreamDef("x", 2), "values of a sparse stream, `is_sparse=True`"),
        ("|x 1 2\n", StreamDef("x", 2, is_sparse=True), "those of a dense stream, `is_sparse=False`"),
        ("|x nan 1\n", StreamDef("x", 2), '`numbers="extended"` accepts it'),
    ],
)
def test_data_of_another_form_say_which_definition_fits(text: str, stream: StreamDef, remedy: str, ctf: Write) -> None:
    with pytest.raises(DataError, match="input.ctf:1 .*; .*") as caught:
        opened(ctf(text), StreamDefs(x=stream)).next_minibatch(1)
    assert remedy in str(caught.value)
    assert remedy.replace("True", "False") not in str(caught.value) or "True" not in remedy


@pytest.mark.parametrize("junk", [{}, {"a": 1}, {"minibatchSourcePosition": "x"}, {"minibatchSourcePosition": -1}])
def test_what_is_no_state_is_refused_with_what_is_one(junk: dict[str, Any]) -> None:
    with pytest.raises(ResumeError, match=r"a state is what get_checkpoint_state\(\) returned"):
        opened().restore_from_checkpoint(junk)


@pytest.mark.parametrize("junk", [None, 5, "x", b"x", []])
def test_what_is_no_mapping_is_no_state(junk: Any) -> None:
    with pytest.raises(ResumeError, match="which is no state; a state is what"):
        opened().restore_from_checkpoint(junk)


def test_a_state_of_another_source_says_what_to_do() -> None:
    state = opened().get_checkpoint_state()
    for other in (opened(randomization_seed=3), opened(randomize=False), MinibatchSource.from_data(x=np.eye(3))):
        with pytest.raises(ResumeError, match="restore it into a source of the same data and options"):
            other.restore_from_checkpoint(state)
    with pytest.raises(ResumeError):
        merge_states([{}])


@pytest.mark.parametrize(
    ("module", "path"), [("no_such_module", "deserializers[0].module"), ("json", "deserializers[0].type")]
)
def test_a_misspelt_type_beside_a_module_gets_its_hint(module: str, path: str) -> None:
    part = {"type": "CNTKTextFormatDeserialiser", "module": module, "file": "train.ctf"}
    with pytest.raises(ConfigError, match=r"; did you mean `CNTKTextFormatDeserializer`\?$") as caught:
        MinibatchSource.from_config({"deserializers": [part]})
    assert caught.value.path == path


def test_the_names_of_classes_are_types_too() -> None:
    part = {"type": "CTFDeserializer", "file": "train.ctf", "input": {"x": {"dim": 4, "format": "dense"}}}
    with MinibatchSource.from_config({"deserializers": [part]}) as source:
        assert source.next_minibatch(2)["x"].num_samples == 2


class OneChunk(UserDeserializer):
    def stream_infos(self) -> list[StreamInformation]:
        return [StreamInformation("x", 0, "dense", np.float32, (1,))]

    def num_chunks(self) -> int:
        return 1

    def get_chunk(self, chunk_id: int) -> dict[str, Any]:
        return {"x": np.ones((2, 1))}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "found NoneType None, expected a deserializer such as CTFDeserializer"),
        ("train.ctf", "found str 'train.ctf', expected a deserializer such as CTFDeserializer"),
        ([5], "found int 5, expected a deserializer"),
        (OneChunk, r"found the class OneChunk, expected a deserializer: OneChunk\(…\)"),
    ],
)
def test_what_is_no_deserializer_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        MinibatchSource(wrong)


def test_several_deserializers_are_a_list() -> None:
    one: Any = CTFDeserializer("train.ctf", StreamDefs(x=StreamDef("x", 4)))
    with pytest.raises(TypeError, match=r"found CTFDeserializer as max_samples, .*MinibatchSource\(\[first, second\]\)"):
        MinibatchSource(one, one)


@pytest.mark.parametrize("wrong", [None, 5, [5], {"a": 1}])
def test_what_is_no_file_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="filename: found .*, expected a file name or a list of them"):
        CTFDeserializer(wrong)


def test_files_may_be_named_in_bytes() -> None:
    assert opened(b"train.ctf").next_minibatch(2)["x"].num_samples == 2


@pytest.mark.parametrize("wrong", [3, ["x"], {"x": 3}])
def test_what_are_no_streams_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="expected .*such as StreamDef"):
        CTFDeserializer("train.ctf", wrong)


@pytest.mark.parametrize("shape", ["2", -2, 0, 2.0, (3, None)])
def test_what_is_no_shape_is_refused(shape: Any) -> None:
    with pytest.raises(ConfigError, match="found the shape .*, expected"):
        StreamDef("x", shape)


@pytest.mark.parametrize("size", ["a", [], [(1, 2, 3)], [1.5], [-1], None])
def test_what_is_no_schedule_is_refused(size: Any) -> None:
    source = opened(max_sweeps=1)
    if size is None:
        assert len(list(source.minibatches())) == 1
        return
    with pytest.raises((ConfigError, UsageError), match="^minibatch_size_in_samples: .*found|no minibatch size given"):
        next(source.minibatches(size))


def test_sizes_and_sweeps_are_whole_numbers() -> None:
    source = opened()
    with pytest.raises(TypeError, match="found minibatch size '4', expected a whole number"):
        source.next_minibatch("4")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="sweeps: found -1, expected a whole number from 0"):
        next(source.minibatches(4, sweeps=-1))


def test_a_misspelt_option_of_data_in_memory_is_no_stream() -> None:
    with pytest.raises(ConfigError, match="max_sweep: found 1, expected data; did you mean the option `max_sweeps`?"):
        MinibatchSource.from_data(x=np.eye(3), max_sweep=1)


@pytest.mark.parametrize("column", ["x", -1, True, 1.5])
def test_a_column_of_a_sparse_sample_is_a_whole_number(column: Any) -> None:
    with pytest.raises(ValueError, match="input `a`: found the column .* in a dictionary, expected a whole number from 0"):
        sequence_to_cntk_text_format(0, {"a": [{column: 1}]})
    assert sequence_to_cntk_text_format(0, {"a": [{np.int64(3): 1, 1: 2.5}]}) == "0\t|a 1:2.5 3:1"


@pytest.mark.parametrize("wrong", [3, 2.5, None, ["x"]])
def test_what_is_no_configuration_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="found .*, expected a configuration: a dictionary, the name of a file, or a text"):
        MinibatchSource.from_config(wrong)


def test_data_of_unequal_length_say_what_is_expected() -> None:
    with pytest.raises(ConfigError, match="stream `y`: found 2 sequences, expected 3 as in stream `x`; give all streams"):
        MinibatchSource.from_data(x=np.eye(3), y=np.eye(2))


def test_an_error_without_a_remedy_of_its_own_ends_with_that_of_its_kind() -> None:
    with pytest.raises(UsageError, match="the rank is 2, expected one below .*, 2; number the workers from 0$"):
        opened().next_minibatch(2, num_data_partitions=2, partition_index=2)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"sweep": -1}, "resume.unreadable"),
        ({"order": "zigzag"}, "resume.unreadable"),
        ({"orderVersion": 77}, "resume.other-version"),
        ({"randomizationSeed": 9}, "resume.other-source"),
    ],
)
def test_states_that_cannot_be_restored_say_why_by_their_code(change: dict[str, Any], code: str) -> None:
    source = opened()
    with pytest.raises(ResumeError) as caught:
        source.restore_from_checkpoint(source.get_checkpoint_state() | change)
    assert caught.value.code == code


def test_states_that_cannot_be_merged_have_a_code() -> None:
    source = opened()
    source.next_minibatch(2, num_data_partitions=2, partition_index=0)
    with pytest.raises(ResumeError, match="merge the states of all ranks of one run, each once") as caught:
        merge_states([source.get_checkpoint_state()])
    assert caught.value.code == "resume.not-all-ranks"


@pytest.mark.parametrize("module", ["../evil", ".evil", "a/b", "a..b", "C:\\evil", "a b"])
def test_a_module_is_a_name_and_no_path(module: str) -> None:
    with pytest.raises(ConfigError, match="expected the name of a Python module, such as `package.module`") as error:
        MinibatchSource.from_config({"deserializers": [{"type": "Evil", "module": module}]})
    assert error.value.path == "deserializers[0].module"


@pytest.mark.parametrize(("kind", "meant"), [("CTFDeserializr", "CTFDeserializer"), ("TFDSDeserializr", "TFDSDeserializer")])
def test_the_nearest_of_all_names_of_a_type_is_meant(kind: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown type `{kind}`, did you mean `{meant}`"):
        MinibatchSource.from_config({"deserializers": [{"type": kind, "file": "train.ctf"}]})


@pytest.mark.parametrize(("option", "value"), [("max_samples_end", "inside"), ("max_errors", 3), ("strict_keys", True), ("quarantine", None)])
def test_an_option_that_data_in_memory_lack_is_no_stream(option: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"{option}: .* that is an option of MinibatchSource, .*MemoryDeserializer") as error:
        MinibatchSource.from_data(x=np.arange(3), **{option: value})
    assert error.value.path == option


def test_a_table_is_given_by_its_columns() -> None:
    class Table:
        columns = ("a", "b")

    wrong: Any = Table()
    with pytest.raises(ConfigError, match=r"data: found Table, expected a mapping .*from_data\({name: table\[name\]"):
        MinibatchSource.from_data(wrong)
    wrong = np.eye(3)
    with pytest.raises(ConfigError, match=r"data: found ndarray, .*from_data\(x=data\)"):
        MinibatchSource.from_data(wrong)


def test_a_shape_that_is_none_names_what_it_is_of() -> None:
    with pytest.raises(ConfigError, match="found the shape 0 of `x`, expected numbers from 1"):
        StreamDef("x", 0)
    # Without a field a stream is called what it is given as.
    with pytest.raises(ConfigError, match="found the shape 0 of `features`, expected numbers from 1"):
        StreamDefs(features=StreamDef(shape=0))
    with pytest.raises(ConfigError, match="found the shape 'a' of `features`, expected a whole number"):
        CTFDeserializer("train.ctf", {"features": StreamDef(shape="a")})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="found the shape -1 of `features`"):
        CTFDeserializer("train.ctf").map_input("features", -1)
    with pytest.raises(ConfigError, match="found the shape 0 of `y`"):
        StreamInformation("y", 0, "dense", np.float32, 0)
    with pytest.raises(ConfigError, match="found the shape 0 of `z`"):
        CTFDeserializer("train.ctf", [StreamConfiguration("z", 0)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: opened(transforms=[abs]), r"^transforms: found \[.*abs.*\], expected the transforms of each stream by its name"),
        (lambda: opened(exclude_keys=3), "^exclude_keys: found 3, expected keys in a list, or the name of a file"),
        (lambda: opened(partition_index=1), "^partition_index: found 1 without num_data_partitions"),
        (lambda: opened(world=3), "^world: found 3, expected 'auto', the name of a launcher, a pair"),
        (lambda: MinibatchSource.from_config({3: 4}), "found 3 as the name of an option, expected a text"),
        (lambda: StreamDef("x", 3, context=3), r"found 3, expected the numbers of frames before and after each, such as \(5, 5\)"),
        (lambda: StreamDef("x", 3, context=(-1, 2)), r"found \(-1, 2\), expected the numbers of frames"),
    ],
)
def test_an_argument_of_another_kind_is_named_with_what_is_expected(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize("wrong", [None, {"minibatchSourcePosition": 0}, "x", 3])
def test_states_are_merged_from_a_list(wrong: Any) -> None:
    with pytest.raises(TypeError, match="expected the states of all workers in a list"):
        merge_states(wrong)


def test_a_shape_may_be_an_array_of_whole_numbers() -> None:
    shape: Any = np.array([2, 3])
    assert StreamDef("x", shape).shape == (2, 3)


def test_a_name_is_as_long_as_it_may_be_in_every_door(ctf: Write) -> None:
    long = "n" * 70_000
    file = ctf(f"|{long} 1 |x 1\n")
    stream = r"the name of stream `n{20}…` has 70000 bytes, expected 1024 at most"
    for make in (
        lambda: MinibatchSource.from_data({long: np.eye(2)}),
        lambda: opened(file, StreamDefs({long: StreamDef("x", 1)})),
        lambda: opened(file, StreamDefs(x=StreamDef(long, 1))),
        lambda: MinibatchSource(CBFDeserializer("x.cbf", StreamDefs(x=StreamDef(long)))),
        lambda: MinibatchSource.from_config({
            "deserializers": [{"type": "CTFDeserializer", "file": file, "input": {long: {"alias": "x", "dim": 1, "format": "dense"}}}]
        }),
    ):
        with pytest.raises(ConfigError, match=stream) as caught:
            make()
        assert len(str(caught.value)) < 300
    # A stream of the file that is not declared is passed over, whatever its name.
    with opened(file, StreamDefs(x=StreamDef("x", 1))) as source:
        assert source.next_minibatch(1)["x"].num_samples == 1


def test_what_is_found_is_shown_shortened_where_it_is_too_long_to_read() -> None:
    for wrong in ({"n" * 70_000: 1}, {"sharing": "n" * 70_000}):
        with pytest.raises(ConfigError, match=r"n{60,}… \(70\d\d\d bytes\) …n{10,}`") as caught:
            MinibatchSource.from_config({"deserializers": [], **wrong})
        assert len(str(caught.value)) < 400


def test_a_file_of_data_is_no_configuration_and_is_not_shown() -> None:
    with pytest.raises(ConfigError, match="found no section `reader`, and no configuration at all; if this is a file of data") as error:
        MinibatchSource.from_config("train.ctf")
    assert "|x" not in str(error.value) and len(str(error.value)) < 250


def test_states_of_no_rank_are_merged_as_they_are() -> None:
    def made(**options: Any) -> MinibatchSource:
        return MinibatchSource.from_data(x=np.arange(200.0), randomize=True, max_sweeps=1, **options)

    alone, at_start = made(), [made(num_data_partitions=2, partition_index=rank) for rank in range(2)]
    by_position = [made(world=(rank, 2)) for rank in range(2)]
    for source in (alone, *by_position):
        source.next_minibatch(10)
    for sources in ([alone], at_start, by_position):
        states = [source.get_checkpoint_state() for source in sources]
        assert merge_states(states) == states[0]
    later = made()
    later.next_minibatch(20)
    with pytest.raises(ResumeError, match="cannot be merged"):
        merge_states([alone.get_checkpoint_state(), later.get_checkpoint_state()])


def test_an_option_of_a_deserializer_is_set_as_an_item() -> None:
    deserializer = tesson.ImageDeserializer("map.txt", StreamDefs(features=StreamDef("image")))
    deserializer["grayscale"] = True
    deserializer["maxPixels"] = 100
    deserializer["on_corrupt_image"] = "skip"
    assert (deserializer["Grayscale"], deserializer["max_pixels"], deserializer["root"]) == (True, 100, None)
    expected = {"grayscale": True, "maxPixels": 100, "onCorruptImage": "skip"}
    assert expected.items() <= deserializer.config.items()
    for option, message in (("greyscale", "did you mean `grayscale`?"), ("input", "streams are given when it is made")):
        with pytest.raises(ConfigError, match=message.replace("?", r"\?")) as error:
            deserializer[option] = 1
        assert error.value.path == option
    text = CTFDeserializer("train.ctf", StreamDefs(x=StreamDef("x", 4)))
    text["maxErrors"] = 3
    assert text.config["maxErrors"] == 3


def test_a_misspelt_name_of_the_package_is_told() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'read_cvs', did you mean 'read_csv'\?"):
        tesson.read_cvs  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'zzz'$"):
        tesson.zzz  # noqa: B018


def first_batch(**options: Any) -> tesson.Batch:
    data = tesson.from_arrays(x=np.arange(4), words=[[1], [2, 3], [], [4]])
    return next(iter(data.loader(batch_size=4, **options)))


@pytest.mark.parametrize(
    ("use", "kind", "message"),
    [
        (lambda: tesson.DataLoader, AttributeError, "; `data.loader(batch_size=32)` makes one"),  # type: ignore[attr-defined]
        (lambda: tesson.from_pandas, AttributeError, "'from_pandas'; `tesson.from_table(table)`"),  # type: ignore[attr-defined]
        (lambda: numbers().shuffle(100), AttributeError, "'shuffle'; `data.loader(batch_size=32, shuffle=True)` shuffles the whole"),
        (lambda: numbers().map(abs), AttributeError, "'map'; `data.transform(x=function)` changes a stream"),
        (lambda: numbers().selekt("x"), AttributeError, "'selekt', did you mean 'select'?"),
        (lambda: numbers()["x"], TypeError, "`data.select(name)` keeps a stream"),
        (lambda: numbers().loader(4), TypeError, "loader(batch_size=4)"),  # type: ignore[arg-type]
        (lambda: numbers().loader(batch_size=4, num_workers=2), TypeError, "`num_workers`; batches are made by threads without Python"),
        (lambda: numbers().loader(batch=4), TypeError, "`batch`, did you mean `batch_size`?"),
        (lambda: numbers().loader(batch_size=4, num_epochs=2), TypeError, "`num_epochs`, did you mean `epochs`?"),
        (lambda: numbers().loader(batch_size=4).set_epoch(1), AttributeError, "'set_epoch'; each `for` is the next epoch"),
        (lambda: numbers().loader(batch_size=4)[0], TypeError, "in place of PyTorch's DataLoader, iterate over `loader.torch()`"),
        (lambda: numbers().loader(batch_size=4).state_dikt(), AttributeError, "did you mean 'state_dict'?"),
        (lambda: numbers().rename(number="x"), ConfigError, "give rename(x='number'), the present name first"),
        (lambda: first_batch().x, AttributeError, "streams are items of a batch: batch['x']"),
        (lambda: first_batch().items(), AttributeError, "'items'; `batch.as_dict()`"),
        (lambda: dict(first_batch()), UsageError, "write `batch.as_dict()` for a dictionary of the streams"),
        (lambda: {**first_batch()}, UsageError, "write `batch.as_dict()` for a dictionary of the streams"),
        (lambda: first_batch().keys(), UsageError, "`list(batch)` for their names"),
        (lambda: first_batch()["words"].to_padded_tensor(0), AttributeError, "; `x.pad()` gives an array and a mask"),
    ],
)
def test_a_name_of_another_library_is_answered_with_the_one_here(use: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as error:
        use()
    assert message in str(error.value)


def numbers() -> Any:
    return tesson.from_arrays(x=np.arange(10))


def test_attributes_that_are_asked_for_by_protocols_are_missing_as_ever() -> None:
    for made in (numbers(), numbers().loader(batch_size=4), first_batch(), first_batch()["words"]):
        assert not hasattr(made, "__dataframe__")
        assert bool(made)
    assert copy.copy(first_batch()["words"]).lengths.tolist() == [1, 2, 0, 1]


def names_there(owner: str) -> set[str]:
    """The names that the manual's interface has of what a remedy calls so."""
    examples = {"data": numbers(), "loader": numbers().loader(batch_size=4), "batch": first_batch(), "x": first_batch()["words"], "tesson": tesson}
    return set(dir(examples[owner]))


def test_what_is_proposed_for_names_of_other_libraries_exists() -> None:
    tables = [table for name, table in vars(elsewhere).items() if name.startswith("OF_")]
    proposed = {match for table in tables for remedy in table.values() for match in re.findall(r"`(\w+)\.(\w+)", remedy)}
    sparse = {("x", name) for name in ("to_dense", "to_scipy", "values")}
    assert len(proposed) > 25
    assert {(owner, name) for owner, name in proposed - sparse if name not in names_there(owner)} == set()
    assert all(hasattr(tesson.Sparse, name) for _, name in sparse)


def test_streams_are_selected_by_a_list_of_names_too() -> None:
    data = tesson.from_arrays(x=np.arange(4), y=np.arange(4))
    assert list(data.select(["y", "x"]).schema) == list(data.select("y", "x").schema) == ["y", "x"]


def test_without_numpy_the_extension_is_an_import_error_with_the_remedy() -> None:
    program = "import sys; sys.modules['numpy'] = None; import tesson; tesson.__version__"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: tesson needs NumPy, which cannot be imported: ") and last.endswith("install it, as by `pip install numpy`"), ended.stderr
