"""Hooks of MkDocs: pages outside of docs/ join the site, and links between files of the repository work in it.

A Markdown file is written for a reader of the repository, with links relative to itself. In the site a link to another page leads to that page,
and one to any other file of the repository to the file on the repository's host. A link to a missing file stays as it is, for MkDocs to refuse.
"""

import logging
import os
import posixpath
import re
import shutil
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
DOCS = "docs"

# The files outside of docs/ that are pages, or hold figures that pages rest on.
OUTSIDE = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "bench/runs/*/README.md", "examples/*/README.md"]

# Reached by links from the pages that list them, not by the navigation.
LISTED = ("decisions/", "bench/runs/", "examples/")

LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s#]*)(#[^)\s]*)?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)

# A reference of a docstring to a name of the package, as mkdocstrings leaves it.
ROLE = re.compile(r":(?:func|class|meth|exc|data|mod|attr):<code>([^<]*)</code>")

log = logging.getLogger("mkdocs.site_hook")


def on_files(files, config):
    """Adds the pages outside of docs/."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    for file in files:
        if file.src_uri.startswith(LISTED) and file.is_documentation_page():
            file.inclusion = file.inclusion.NOT_IN_NAV
    return files


def in_repository(file):
    """The path of a page in the repository."""
    return Path(file.abs_src_path).resolve().relative_to(ROOT).as_posix()


def on_page_markdown(markdown, page, config, files):
    """Leads each link to the site's page of a file, or to the file in the repository."""
    pages = {in_repository(file): file.src_uri for file in files if file.abs_src_path and not file.src_uri.startswith("assets/")}
    here = posixpath.dirname(in_repository(page.file))

    def lead(match):
        label, target, part = match[1], match[2], match[3] or ""
        if not target or ":" in target:
            return match[0]
        path = posixpath.normpath(posixpath.join(here, target))
        if path in pages:
            target = posixpath.relpath(pages[path], posixpath.dirname(page.file.src_uri) or ".")
        elif path + "/README.md" in pages:
            target = posixpath.relpath(pages[path + "/README.md"], posixpath.dirname(page.file.src_uri) or ".")
        elif (ROOT / path).exists():
            kind = "tree" if (ROOT / path).is_dir() else "blob"
            target = f"{config.extra['repository']}/{kind}/main/{path}"
        return f"{label}({target}{part})"

    # Links inside of code are text.
    pieces, at = [], 0
    for code in CODE.finditer(markdown):
        pieces += [LINK.sub(lead, markdown[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*pieces, LINK.sub(lead, markdown[at:])])


def on_page_content(html, page, config, files):
    """Makes references of docstrings links where the page has the name, and code elsewhere."""

    def name(match):
        named = match[1].removeprefix("~")
        code = f"<code>{named}</code>"
        return f'<a href="#{named}">{code}</a>' if f'id="{named}"' in html else code

    return ROLE.sub(name, html)


def on_post_build(config):
    """Puts each page's Markdown beside it for programs that read text, and checks the links of llms.txt."""
    site = Path(config.site_dir)
    for path in (ROOT / DOCS).rglob("*.md"):
        copy = site / path.relative_to(ROOT / DOCS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    listing = site / "llms.txt"
    for match in LINK.finditer(listing.read_text() if listing.exists() else ""):
        if ":" not in match[2] and not os.path.exists(site / match[2]):
            log.warning("llms.txt: no `%s`", match[2])
