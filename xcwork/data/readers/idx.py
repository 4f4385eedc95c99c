"""idx images (the MNIST family): `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, `t10k-…`, gzipped or not.

Two zero bytes, the type (8: unsigned byte), the number of dimensions, the sizes as big-endian 32-bit numbers, then the
values. A document is an image: its pixels divided by 255, with exactly one label.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from scipy import sparse

from xcwork.compute.memory import check_memory
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.data.readers.assemble import TEST_SHARE, Part, feature_dataset
from xcwork.data.readers.safe_files import bare_name, read_bytes
from xcwork.errors import DataError

TITLE = "idx images: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-…, t10k-labels-…"
IMAGES_AT_ONCE = 4096
FASHION = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)


def recognises(path: Path) -> bool:
    return path.is_dir() and _find(path, "train", "images") is not None


def read(path: Path, name: str, *, test_share: float = TEST_SHARE) -> Dataset:
    train, shape, train_classes = _read_part(path, "train")
    parts, classes = [train], train_classes
    for prefix in ("t10k", "test"):
        if len(parts) == 1 and _find(path, prefix, "images") is not None:
            test, test_shape, test_classes = _read_part(path, prefix)
            if test_shape != shape:
                raise DataError(
                    f"training images are {shape}, test images {test_shape}", file=path, remedy="use matching files"
                )
            parts, classes = [train, test], max(classes, test_classes)
    parts = [Part(part.X, _one_label(part.Y.indices, classes)) for part in parts]
    # The files hold class numbers only; this family's names are common knowledge.
    names = list(FASHION) if "fashion" in name.lower() and classes == len(FASHION) else None
    labels = LabelSpace(names or [str(number) for number in range(classes)])
    return feature_dataset(
        name,
        parts[0],
        parts[1] if len(parts) > 1 else None,
        path=path,
        source="idx images, pixel / 255",
        labels=labels,
        features=Features(train.X.shape[1], image_shape=shape),
        test_share=test_share,
    )


def _find(path: Path, prefix: str, what: str) -> Path | None:
    """`train-images-idx3-ubyte`, `emnist-letters-train-images-idx3-ubyte.gz`, `train-images.idx3-ubyte`, …"""
    for file in sorted(path.iterdir()):
        name = bare_name(file).replace(".", "-")
        if file.is_file() and f"{prefix}-{what}-idx" in name and name.endswith("-ubyte"):
            return file
    return None


def _read_part(path: Path, prefix: str) -> tuple[Part, tuple[int, ...], int]:
    """(images and labels, shape of an image, number of classes)."""
    image_file, label_file = _find(path, prefix, "images"), _find(path, prefix, "labels")
    if image_file is None or label_file is None:
        missing = "images" if image_file is None else "labels"
        raise DataError(f"the file {prefix}-{missing}-… is missing", file=path, remedy="put it into the folder")
    images, labels = read_idx(image_file), read_idx(label_file)
    if images.ndim < 2 or labels.ndim != 1 or len(images) != len(labels):
        raise DataError(
            f"{images.shape} images do not fit {labels.shape} labels in {label_file.name}",
            file=image_file,
            remedy="use files that belong together",
        )
    check_memory(images.size * 8, "the images", image_file)
    flat = images.reshape(len(images), -1)
    # In blocks, because scipy turns a dense matrix into CSR through arrays of 8-byte coordinates.
    blocks = [sparse.csr_array(flat[at : at + IMAGES_AT_ONCE]) for at in range(0, len(flat), IMAGES_AT_ONCE)]
    X = sparse.csr_array(sparse.vstack(blocks) if blocks else sparse.csr_array(flat.shape, dtype=np.uint8))
    X = sparse.csr_array((X.data.astype(np.float32) / 255, X.indices, X.indptr), shape=X.shape)
    classes = int(labels.max(initial=0)) + 1
    return Part(X, _one_label(labels, classes)), images.shape[1:], classes


def _one_label(labels: np.ndarray, classes: int) -> sparse.csr_array:
    ones = np.ones(len(labels), np.float32)
    return sparse.csr_array((ones, labels.astype(np.int32), np.arange(len(labels) + 1)), shape=(len(labels), classes))


def read_idx(path: Path) -> np.ndarray:
    """The array of an idx file of unsigned bytes."""
    content = read_bytes(path)
    if len(content) < 4 or content[:3] != b"\x00\x00\x08" or len(content) < 4 + 4 * content[3]:
        raise DataError("this is no idx file of unsigned bytes", file=path, remedy="download it again")
    dimensions = content[3]
    shape = struct.unpack_from(f">{dimensions}I", content, 4)
    expected, found = int(np.prod(shape, dtype=object)), len(content) - 4 - 4 * dimensions
    if expected != found:
        raise DataError(
            f"the header promises {' × '.join(map(str, shape))} bytes, the file has {found:,}",
            file=path,
            remedy="download it again",
        )
    return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
