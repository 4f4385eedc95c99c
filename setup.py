"""Packages and where they are, and the long description.

The dashboard is the folder `app`, installed as `xcwork_app`. Images and relative links of the README lead nowhere
outside a checkout, so the long description has their text alone.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup


def read_description() -> str:
    """Return the README without images and with relative links replaced by their text."""
    text = Path(__file__).with_name("README.md").read_text("utf-8")
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|<img\b[^>]*>", "", text)
    text = re.sub(r"^\|[\s|]*\|\n\| -[-\s|]*\|\n(\|[\s|]*\|\n)+", "", text, flags=re.MULTILINE)  # tables of images only
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)


app = [f"xcwork_app{name.removeprefix('app')}" for name in find_packages(include=["app", "app.*"])]
setup(
    packages=[*find_packages(include=["xcwork", "xcwork.*"]), *app],
    package_dir={"xcwork_app": "app"},
    long_description=read_description(),
    long_description_content_type="text/markdown",
)
