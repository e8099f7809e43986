"""Fits the pages to a site: they are written for readers in the repository."""

import posixpath
import re

FENCE = re.compile(r"^(\s*```[a-z]+)[ \t].*$", re.MULTILINE)
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")


def on_page_markdown(markdown, page, config, files):
    """Removes the marks behind fences, and points links that leave docs/ to the repository."""
    folder = posixpath.dirname(page.file.src_uri)

    def outside(match):
        path = posixpath.normpath(posixpath.join("docs", folder, match[1]))
        if path.startswith("docs/") and not path.endswith(".go"):
            return match[0]
        return f"{config.repo_url}/blob/main/{path}{match[2] or ''}"

    return LINK.sub(outside, FENCE.sub(r"\1", markdown))
