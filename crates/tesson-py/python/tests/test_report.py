"""Reports: from Python, and their pages in a real browser where one is installed."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tesson

SECTIONS = ["card", "streams", "lengths", "gallery", "faults", "order", "ranks", "reading", "certificate"]


def test_a_report_of_a_dataset_is_that_of_its_loader(tmp_path: Path) -> None:
    data = tesson.from_arrays(x=np.arange(100, dtype=np.int32), y=np.arange(100) // 50, name=["ab"] * 100)
    page = tmp_path / "report.html"
    figures = data.report(page, batch_size=10, shuffle=True, seed=3)
    assert figures["card"]["examples"] == 100
    assert [stream["name"] for stream in figures["streams"]] == ["x", "y", "name"]
    assert figures["streams"][0]["max"] == 99
    assert figures["streams"][1]["classes"]["occurring"] == 2
    assert figures["streams"][2]["strings"]["longest"] == 2
    assert figures["order"]["orders"][0]["name"] == "this run: shuffled as a whole"
    assert "<section" in page.read_text()
    with data.loader(batch_size=10, shuffle=True, seed=3) as loader:
        first = next(iter(loader))
        assert loader.report(None)["certificate"]["first"] == [str(key) for key in first.keys[:3]]
        # The loader stays where it is.
        assert loader.step == 1


def test_an_unwritable_page_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        tesson.from_arrays(x=np.arange(4)).report(tmp_path / "nowhere" / "report.html")


def pixels(picture: Path) -> Any:
    """Red, green and blue of a picture's pixels."""
    (picture.parent / "pictures.csv").write_text(f"path,label\n{picture.name},0\n")
    return tesson.read_images(picture.parent / "pictures.csv").head(1)["image"][0]


def test_colours_of_cntk_s_readers_are_those_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "red.ppm").write_bytes(b"P6 16 16 255\n" + bytes([250, 10, 20]) * 256)
    (tmp_path / "map.txt").write_text("red.ppm\t0\n")
    streams = tesson.StreamDefs(image=tesson.StreamDef(field="image"), label=tesson.StreamDef(field="label", shape=2))
    for order in ["bgr", "rgb"]:
        reader = tesson.ImageDeserializer(str(tmp_path / "map.txt"), streams, root=str(tmp_path), channel_order=order)
        page = tmp_path / f"{order}.html"
        with tesson.MinibatchSource(reader, randomize=False) as source:
            source.report(page)
        shown = re.findall(r'src="data:image/png;base64,([^"]*)"', page.read_text())
        picture = tmp_path / f"{order}.png"
        picture.write_bytes(base64.b64decode(shown[0]))
        assert pixels(picture)[0, 0].tolist() == [250, 10, 20], order


class Browser:
    """A headless Chromium that has no network, and that writes what it misses to its console."""

    def __init__(self, folder: Path) -> None:
        found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if found is None:
            pytest.skip("no Chromium is installed (apt-get install chromium)")
        self.program, self.folder = found, folder

    def show(self, page: Path, action: str, width: int, *more: str) -> str:
        # Whatever the page asks for fails, and the console says so.
        options = ["--headless", "--disable-gpu", "--no-sandbox", "--disable-background-networking", "--enable-logging=stderr"]
        options += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={self.folder / 'profile'}", f"--window-size={width},2000"]
        environment = {**os.environ, "HOME": str(self.folder)}
        command = [self.program, *options, *more, action, page.as_uri()]
        shown = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        assert "CONSOLE" not in shown.stderr and "net::ERR" not in shown.stderr, shown.stderr
        return shown.stdout


def test_a_browser_shows_every_section_without_a_request_or_an_error(tmp_path: Path) -> None:
    browser = Browser(tmp_path)
    page = tmp_path / "report.html"
    images = np.arange(20 * 16 * 16 * 3, dtype=np.uint8).reshape(20, 16, 16, 3)
    tesson.from_arrays(image=images, y=np.arange(20) % 3, wave=np.random.default_rng(0).normal(size=(20, 5))).report(page)
    document = browser.show(page, "--dump-dom", 1200)
    for section in SECTIONS:
        assert f'<section id="{section}">' in document, section
    assert document.count("data:image/png") == 10
    # Nothing that a browser would fetch.
    assert all(source.startswith(("data:", "#")) for source in re.findall(r'(?:src|href)="([^"]*)"', document))
    assert "url(" not in document and "@import" not in document
    # The page follows the browser's preference, at the width of a desk and of a telephone.
    for width in [1200, 480]:
        paper = []
        for scheme in ["dark", "light"]:
            picture = tmp_path / f"{scheme}-{width}.png"
            browser.show(page, f"--screenshot={picture}", width, f"--blink-settings=preferredColorScheme={int(scheme == 'light')}")
            shown = pixels(picture).astype(float).mean(axis=2)
            assert shown.shape == (2000, width)
            # Something is on it: lines lighter and darker than the paper.
            assert shown.std() > 10, picture
            paper.append(float(np.median(shown)))
        assert paper[0] < 60 < 200 < paper[1], paper
