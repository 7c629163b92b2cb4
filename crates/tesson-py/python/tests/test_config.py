"""Configurations in the dict form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tesson import ConfigError, StoreError
from tesson.io import MinibatchSource

CONFIG: dict[str, Any] = {
    "deserializers": [
        {
            "type": "CNTKTextFormatDeserializer",
            "file": "train.ctf",
            "input": {"features": {"alias": "x", "dim": 4, "format": "dense"}},
        }
    ],
    "randomize": False,
    "maxSweeps": 1,
}


def keys(source: MinibatchSource) -> list[int]:
    return [key for minibatch in source.minibatches(2) for key in minibatch["features"].keys]


def test_a_dict_its_json_text_and_a_json_file_mean_the_same(files: Path) -> None:
    text = json.dumps(CONFIG)
    (files / "reader.json").write_text(text)
    for form in (CONFIG, text, "reader.json", files / "reader.json"):
        assert keys(MinibatchSource.from_config(form)) == [0, 1, 2, 3, 4, 5]


def test_a_section_is_found_by_its_path() -> None:
    tree = {"train": {"reader": CONFIG}, "source": CONFIG}
    assert keys(MinibatchSource.from_config(tree, section="train/reader")) == [0, 1, 2, 3, 4, 5]
    assert keys(MinibatchSource.from_config(tree)) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ConfigError, match=r"`test/reader`: there is no section `test` \(sections here: train, source\)"):
        MinibatchSource.from_config(tree, section="test/reader")
    with pytest.raises(ConfigError, match="no section `test`, the reader's options are not in a section; leave the section out"):
        MinibatchSource.from_config({"randomize": False}, section="test/reader")


def test_overrides_change_single_values_and_leave_the_given_tree_alone() -> None:
    source = MinibatchSource.from_config(CONFIG, overrides={"maxSweeps": 2, "deserializers[0].input.features.dim": 4})
    assert keys(source) == [0, 1, 2, 3, 4, 5] * 2
    assert CONFIG["maxSweeps"] == 1
    assert source.config == {**CONFIG, "maxSweeps": 2}


@pytest.mark.parametrize("path", ["deserializers[1].file", "deserializers.x", "randomize.x", "randomize[0]", "a[x]", ""])
def test_an_override_without_a_place_is_refused(path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        MinibatchSource.from_config(CONFIG, overrides={path: 1})
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("desrializers[0].file", "there is no list `desrializers`, did you mean `deserializers`?"),
        ("deserializers[1].file", "found place 1, expected one from 0 to 0, those of `deserializers`"),
        ("deserializers.file", "`deserializers` is a list, expected a section, or one of its entries: `deserializers[0]` is the first"),
        ("maxSweeps[0]", "`maxSweeps` is `1`, expected a list"),
        ("maxSweeps.x", "`maxSweeps` is `1`, expected a section"),
    ],
)
def test_an_override_that_leads_nowhere_says_where_it_ends(path: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        MinibatchSource.from_config(CONFIG, overrides={path: 1})
    assert message in str(caught.value)


def test_file_names_are_relative_to_the_base_directory(files: Path) -> None:
    (files / "inner").mkdir()
    (files / "train.ctf").rename(files / "inner" / "train.ctf")
    assert keys(MinibatchSource.from_config(CONFIG, base_dir=files / "inner")) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(StoreError) as caught:
        MinibatchSource.from_config(CONFIG)
    assert caught.value.errno == 2
    assert caught.value.file == "train.ctf"


def test_a_missing_configuration_file_is_an_error_of_storage() -> None:
    with pytest.raises(StoreError) as caught:
        MinibatchSource.from_config("none.json")
    assert (caught.value.file, caught.value.errno) == ("none.json", 2)


def test_text_that_is_no_json_is_refused_with_its_place() -> None:
    with pytest.raises(ConfigError, match="configuration: line 2, column 3"):
        MinibatchSource.from_config('{"randomize": false,\n  oops}')


def test_an_unknown_option_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match="`randomise`, did you mean `randomize`"):
        MinibatchSource.from_config({**CONFIG, "randomise": True})
    with pytest.raises(ConfigError, match="did you mean `maxErrors`") as caught:
        MinibatchSource.from_config(CONFIG, overrides={"deserializers[0].maxErors": 1})
    assert caught.value.path == "deserializers[0]"


def test_an_option_that_is_none_counts_as_not_given() -> None:
    assert keys(MinibatchSource.from_config({**CONFIG, "memoryLimit": None})) == [0, 1, 2, 3, 4, 5]


def test_a_value_of_a_strange_type_is_refused() -> None:
    with pytest.raises(TypeError, match="found object in a configuration"):
        MinibatchSource.from_config({**CONFIG, "maxSweeps": object()})


def test_what_a_source_shows_rebuilds_it() -> None:
    source = MinibatchSource.from_config(CONFIG, base_dir=".")
    again = eval(repr(source), {"MinibatchSource": MinibatchSource})
    assert keys(again) == keys(source)
