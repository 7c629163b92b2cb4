"""Reports: from Python, and their pages in a real browser where one is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

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


def test_a_browser_shows_every_section_without_a_request_or_an_error(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    page = tmp_path / "report.html"
    images = np.arange(20 * 16 * 16 * 3, dtype=np.uint8).reshape(20, 16, 16, 3)
    tesson.from_arrays(image=images, y=np.arange(20) % 3, wave=np.random.default_rng(0).normal(size=(20, 5))).report(page)
    for width, name in [(1200, "wide"), (480, "narrow")]:
        picture = tmp_path / f"{name}.png"
        # Whatever the page asks for fails, and the console says so.
        options = ["--headless", "--disable-gpu", "--no-sandbox", "--disable-background-networking", "--enable-logging=stderr"]
        options += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / name}", f"--window-size={width},2000"]
        environment = {**os.environ, "HOME": str(tmp_path)}
        for action in ["--dump-dom", f"--screenshot={picture}"]:
            shown = subprocess.run([browser, *options, action, page.as_uri()], capture_output=True, text=True, env=environment, timeout=120)
            assert "CONSOLE" not in shown.stderr and "net::ERR" not in shown.stderr, shown.stderr
            if action == "--dump-dom":
                document = shown.stdout
        assert picture.stat().st_size > 20_000
    for section in SECTIONS:
        assert f'<section id="{section}">' in document, section
    assert document.count("data:image/png") == 10
    # Nothing that a browser would fetch.
    assert all(source.startswith(("data:", "#")) for source in re.findall(r'(?:src|href)="([^"]*)"', document))
    assert "url(" not in document and "@import" not in document
