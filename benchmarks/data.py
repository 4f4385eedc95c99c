"""How long data takes to make and load: the embedded dataset, synthetic data at scale, features from text.

    python -m benchmarks.data [--sizes 10000,100000,1000000] [--texts DATA] [--out FILE.json]

`--texts` names a dataset with raw text, whose features are computed again. Every row runs in a process of its own, so
that its peak memory is its own; the peak contains what the interpreter and the packages take, about 150 MB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks._common import conditions, described, markdown_table, peak_memory_mb, timed, write_json


def pyseealso() -> list[dict[str, Any]]:
    """The first build and a load from the cache."""
    import xcwork

    with tempfile.TemporaryDirectory() as home:
        rows = []
        for what in ("pyseealso, first build", "pyseealso, from the cache"):
            with timed() as timing:
                data = xcwork.load_dataset("pyseealso", home=home)
            rows.append(_row(what, data, timing.seconds))
    return rows


def synthetic(size: str) -> list[dict[str, Any]]:
    """As many labels as documents."""
    import xcwork

    with timed() as timing:
        data = xcwork.load_dataset(
            f"synthetic:n_documents={size},n_labels={size},n_topics={max(20, int(size) // 1000)}"
        )
    return [_row(f"synthetic, {int(size):,} labels", data, timing.seconds)]


def texts(source: str) -> list[dict[str, Any]]:
    """The vectoriser on the training texts of a dataset."""
    import xcwork
    from xcwork.text.vectorizer import TextVectorizer

    data = xcwork.load_dataset(source)
    if data.train.texts is None:
        raise SystemExit(f"{source} has no raw text")
    vectorizer = TextVectorizer()
    with timed() as fitting:
        vectorizer.fit_transform(data.train.texts, also=data.labels.texts or ())
    vectorizer.transform(["warm"])
    with timed() as one:
        vectorizer.transform([data.test.texts[0][:500]])
    rows = [_row(f"features of {data.name} from text", data, fitting.seconds)]
    return [*rows, rows[0] | {"what": "features of one text of 500 characters", "seconds": round(one.seconds, 4)}]


def _row(what: str, data: Any, seconds: float) -> dict[str, Any]:
    return {
        "what": what,
        "documents": len(data.train) + len(data.test),
        "labels": len(data.labels),
        "features": data.features.size,
        "seconds": round(seconds, 2),
        "peak MB": round(peak_memory_mb()),
    }


PARTS: dict[str, Callable[..., list[dict[str, Any]]]] = {"pyseealso": pyseealso, "synthetic": synthetic, "texts": texts}


def in_own_process(part: str, *arguments: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.data", "--part", part, *arguments]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10000,100000,1000000", help="labels (and documents) of the synthetic data")
    parser.add_argument("--texts", metavar="DATA", help="also make the features of this dataset")
    parser.add_argument("--out", metavar="FILE.json", help="write the raw figures here")
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        part, *rest = arguments.part
        sys.stdout.write(json.dumps(PARTS[part](*rest)))
        return
    facts = conditions()
    rows = in_own_process("pyseealso")
    for size in arguments.sizes.split(","):
        rows += in_own_process("synthetic", size)
    if arguments.texts:
        rows += in_own_process("texts", arguments.texts)
    sys.stdout.write(f"{markdown_table(rows)}\n\n{described(facts)}\n")
    if arguments.out:
        write_json(arguments.out, {"rows": rows, **facts})


if __name__ == "__main__":
    main()
