"""Packages that only some parts of xcwork need: which extra brings each, and one sentence where it is missing."""

from __future__ import annotations

from importlib.util import find_spec

from xcwork.errors import ConfigError

# The extra of pyproject.toml that installs a package, by the name under which the package is imported.
EXTRAS = {
    "distributed": "cluster",
    "openpyxl": "excel",
    "plotly": "app",
    "rdflib": "vocabularies",
    "sentence_transformers": "encoders",
    "streamlit": "app",
    "torch": "neural",
    "umap": "map",
}


class MissingExtraError(ConfigError):
    """A package that this part of xcwork needs is not installed."""

    def __init__(self, user: str, package: str) -> None:
        super().__init__(f"{user} needs {package}, which is not installed; pip install 'xcwork[{EXTRAS[package]}]'")
        self.package = package


def is_installed(package: str) -> bool:
    """Return whether a package can be imported, without importing it."""
    return find_spec(package) is not None


def require_package(package: str, user: str) -> None:
    """Raise one sentence that names the extra unless `package`, which `user` needs, is installed.

    >>> require_package("torch", "SiameseXML")
    """
    if not is_installed(package):
        raise MissingExtraError(user, package)
