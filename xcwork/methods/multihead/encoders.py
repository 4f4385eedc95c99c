"""Documents as a frozen sentence encoder sees them (`xcwork.methods.common.sentence_encoder`)."""

from __future__ import annotations

from scipy import sparse

from xcwork.core.split import Split
from xcwork.errors import DataError
from xcwork.methods.common.sentence_encoder import embed_texts, get_encoder
from xcwork.methods.inputs import Documents, read_documents

USER = "backbone sentence"


def read_sentences(documents: Documents, folder: str | None, device: str) -> sparse.csr_array:
    """Return the embeddings of the texts of documents; rows that are embeddings already stay as they are."""
    given = documents.texts if isinstance(documents, Split) else read_documents(documents)
    if given is None:
        raise DataError(
            "backbone sentence reads text, and these documents have none", remedy="use backbone text or dense"
        )
    if not isinstance(given, list):
        return given
    cache = documents.embeddings if isinstance(documents, Split) else None
    return sparse.csr_array(embed_texts(given, get_encoder(folder, device, USER), cache))
