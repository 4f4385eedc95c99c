"""idx images (the MNIST family): `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, `t10k-…`, gzipped or not.

Two zero bytes, the type (8: unsigned byte), the number of dimensions, the sizes as big-endian 32-bit numbers, then the
values. A document is an image: its pixels divided by 255, with exactly one label.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from xcwork.compute.memory import check_memory
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options, look_for_files
from xcwork.data.readers.safe_files import get_bare_name, read_bytes
from xcwork.errors import DataError

FORMAT = FormatDeclaration(
    name="idx",
    title="idx images of the MNIST family: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-…",
    files=("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    options=describe_options("test_share"),
    example_code="""from pathlib import Path

two_images = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 255, 51, 0, 255, 0, 0, 51])
Path("train-images-idx3-ubyte").write_bytes(two_images)
Path("train-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 1, 0]))
""",
)
IMAGES_PER_BLOCK = 4096
FASHION_CLASSES = (
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


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """The images of a split as rows of pixels, each with its class."""

    X: sparse.csr_array  # (n_images, n_pixels)
    shape: tuple[int, ...]  # of an image
    classes: np.ndarray  # (n_images,) uint8

    def to_split(self, n_classes: int) -> RawSplit:
        """Return the images as documents with one label each."""
        n_images = len(self.classes)
        ones = np.ones(n_images, np.float32)
        Y = sparse.csr_array(
            (ones, self.classes.astype(np.int32), np.arange(n_images + 1)), shape=(n_images, n_classes)
        )
        return RawSplit(X=self.X, Y=Y)


def inspect(path: Path) -> Finding:
    if path.is_dir() and (file := _find_file(path, "train", "images")) is not None:
        return Finding.accept(file.name)
    return look_for_files(path, "train-images-idx3-ubyte", "train-labels-idx1-ubyte")


def read(path: Path, name: str, *, test_share: float = TEST_SHARE) -> Dataset:
    train = _read_images(path, "train")
    test_prefix = next((prefix for prefix in ("t10k", "test") if _find_file(path, prefix, "images") is not None), None)
    test = None if test_prefix is None else _read_images(path, test_prefix)
    if test is not None and test.shape != train.shape:
        raise DataError(
            f"training images are {train.shape}, test images {test.shape}", file=path, remedy="use matching files"
        )
    n_classes = 1 + max(int(images.classes.max(initial=0)) for images in (train, test) if images is not None)
    # The files hold class numbers only; this family's names are common knowledge.
    names = list(FASHION_CLASSES) if "fashion" in name.lower() and n_classes == len(FASHION_CLASSES) else None
    raw = RawDataset(
        train=train.to_split(n_classes),
        test=None if test is None else test.to_split(n_classes),
        labels=RawLabels(names=names or [str(number) for number in range(n_classes)]),
        features=Features(train.X.shape[1], image_shape=train.shape),
        source="idx images, pixel / 255",
        path=path,
    )
    return build_dataset(raw, name=name, test_share=test_share)


def _find_file(path: Path, prefix: str, what: str) -> Path | None:
    """Return the file of a split, or None.

    Names vary: `train-images-idx3-ubyte`, `emnist-letters-train-images-idx3-ubyte.gz`, `train-images.idx3-ubyte`, …
    """
    for file in sorted(path.iterdir()):
        name = get_bare_name(file).replace(".", "-")
        if file.is_file() and f"{prefix}-{what}-idx" in name and name.endswith("-ubyte"):
            return file
    return None


def _read_images(path: Path, prefix: str) -> LabelledImages:
    """Return the images and labels of one split."""
    image_file = _find_file(path, prefix, "images")
    label_file = _find_file(path, prefix, "labels")
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
    blocks = [sparse.csr_array(flat[at : at + IMAGES_PER_BLOCK]) for at in range(0, len(flat), IMAGES_PER_BLOCK)]
    X = sparse.csr_array(sparse.vstack(blocks) if blocks else sparse.csr_array(flat.shape, dtype=np.uint8))
    X = sparse.csr_array((X.data.astype(np.float32) / 255, X.indices, X.indptr), shape=X.shape)
    return LabelledImages(X, images.shape[1:], labels)


def read_idx(path: Path) -> np.ndarray:
    """Return the array of an idx file of unsigned bytes."""
    content = read_bytes(path)
    if len(content) < 4 or content[:3] != b"\x00\x00\x08" or len(content) < 4 + 4 * content[3]:
        raise DataError("this is not an idx file of unsigned bytes", file=path, remedy="download it again")
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
