"""The examples of the repository run, and do what they say."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[4] / "examples"
USES = sorted((EXAMPLES / "cntk").glob("*.py"))
USERS = sorted((EXAMPLES / "user").glob("*.py"))
IMAGES = [EXAMPLES / "images_and_masks.py"]
PREPARED = [EXAMPLES / "tfds" / "determinism.py"]
START = sorted((EXAMPLES / "start").glob("*.py"))
TRAIN = EXAMPLES / "train_softmax.py"
TRAIN_IMAGES = EXAMPLES / "train_images.py"
TRAIN_FRAMES = EXAMPLES / "train_frames.py"


def output(script, *arguments):
    """The output of a script, run by itself from a folder that is not its own."""
    command = [sys.executable, str(script), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=EXAMPLES.parent, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("script", USES + USERS + IMAGES + PREPARED + START, ids=lambda path: path.stem)
def test_an_example_prints_what_its_docstring_says(script):
    for framework in ("torch", "jax"):
        if script.stem.endswith(framework):
            pytest.importorskip(framework)
    if "pyarrow" in script.read_text():
        pytest.importorskip("pyarrow")
    promised = ast.get_docstring(ast.parse(script.read_text())).split("Prints:\n\n")[1]
    assert output(script).strip() == promised.strip()


def test_every_use_of_the_format_is_in_the_list():
    listed = re.findall(r"\((\w+)\.py\)", (EXAMPLES / "cntk" / "README.md").read_text())
    assert sorted(listed) == [path.stem for path in USES]
    assert len(USES) >= 6


@pytest.mark.parametrize("script", START, ids=lambda path: path.stem)
def test_an_example_for_the_start_is_short(script):
    assert len(script.read_text().splitlines()) <= 40


def test_training_on_digits_beats_training_on_shuffled_labels():
    printed = output(TRAIN, "--sweeps", 5)
    learned, by_chance = map(float, re.findall(r"([\d.]+)%", printed.splitlines()[0]))
    assert learned >= by_chance + 10
    assert learned > 90
    assert "identical" in printed


def weights_of(path):
    with np.load(path) as saved:
        return saved["weights"]


@pytest.mark.parametrize("minibatches", [1, 23, 100])
def test_a_run_that_is_stopped_and_goes_on_in_another_process_ends_in_the_same_weights(tmp_path, minibatches):
    straight, stopped = tmp_path / "straight.npz", tmp_path / "stopped.npz"
    output(TRAIN, "--sweeps", 5, "--weights", straight)
    output(TRAIN, "--sweeps", 5, "--weights", stopped, "--stop-after", minibatches)
    assert (weights_of(stopped) != weights_of(straight)).any()
    output(TRAIN, "--sweeps", 5, "--weights", stopped, "--resume")
    assert weights_of(stopped).tobytes() == weights_of(straight).tobytes()


def test_training_on_images_learns_and_goes_on_with_other_workers():
    printed = output(TRAIN_IMAGES)
    learned, by_chance = map(float, re.findall(r"([\d.]+)%", printed.splitlines()[0]))
    assert learned > 90 > 2 * by_chance
    assert "identical" in printed


# 25 does not divide the 60 pictures of a sweep: minibatches hold pictures of two.
@pytest.mark.parametrize(("size", "minibatches", "workers"), [(20, 1, 2), (20, 31, 3), (25, 4, 3)])
def test_a_run_on_images_that_other_workers_take_over_ends_in_the_same_weights(tmp_path, size, minibatches, workers):
    straight, stopped = tmp_path / "straight.npz", tmp_path / "stopped.npz"
    options = ["--sweeps", 12, "--minibatch-size", size, "--weights"]
    output(TRAIN_IMAGES, *options, straight)
    output(TRAIN_IMAGES, *options, stopped, "--stop-after", minibatches, "--threads", 2)
    assert (weights_of(stopped) != weights_of(straight)).any()
    output(TRAIN_IMAGES, *options, stopped, "--resume", "--workers", workers, "--threads", 3)
    assert weights_of(stopped).tobytes() == weights_of(straight).tobytes()


def test_training_on_frames_of_speech_learns_and_goes_on_with_other_workers():
    printed = output(TRAIN_FRAMES)
    learned, commonest = map(float, re.findall(r"([\d.]+)%", printed.splitlines()[0]))
    assert learned > 75 > 2 * commonest
    assert "identical" in printed


# 100 does not divide the 3,923 frames of a sweep.
@pytest.mark.parametrize(("minibatches", "workers"), [(1, 2), (40, 3)])
def test_a_run_on_frames_that_other_workers_take_over_ends_in_the_same_weights(tmp_path, minibatches, workers):
    straight, stopped = tmp_path / "straight.npz", tmp_path / "stopped.npz"
    options = ["--sweeps", 3, "--weights"]
    output(TRAIN_FRAMES, *options, straight)
    output(TRAIN_FRAMES, *options, stopped, "--stop-after", minibatches, "--threads", 2)
    assert (weights_of(stopped) != weights_of(straight)).any()
    output(TRAIN_FRAMES, *options, stopped, "--resume", "--workers", workers, "--threads", 3)
    assert weights_of(stopped).tobytes() == weights_of(straight).tobytes()
