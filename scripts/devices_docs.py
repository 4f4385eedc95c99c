"""Write docs/devices.md from the methods' own declarations and the results: `python scripts/devices_docs.py [--check]`.

`--check` changes nothing and fails if the text is not up to date.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from xcwork.export.tables import render_markdown
from xcwork.methods.registry import METHODS, find_method_class

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "devices.md"
RESULTS = ROOT / "benchmarks" / "results" / "gpu.json"
PATHS = ROOT / "benchmarks" / "results" / "torch_paths.json"
CONTRACT = "tests/contract/test_contract_device*.py"
INTRODUCTION = """# Devices

<!-- Written by python scripts/devices_docs.py, from gpu.json and torch_paths.json in benchmarks/results. -->

**No figure on this page was measured on a GPU, because none was available.** Correctness is checked on an emulated
accelerator (`tests/support/emulated_accelerator.py`), which computes on the CPU, rejects CPU tensors as a GPU does,
cannot be read by numpy, and counts copies, waits, kernels and memory.

## `device`

`device` is where a method trains and predicts. `auto` takes CUDA if available, then Apple's MPS, then the CPU; `cpu`,
`cuda` and `mps` take just that, or end with a clear error. It can be changed in a trained model
(`model.set_params(device="cpu")`). A model that was last used on a device that this machine does not have is loaded
with `auto`, and the log says so."""
FURTHER = """Everything else runs on the CPU, with compiled kernels.

**Apple's MPS** has neither double precision nor sparse products. What needs them runs on the CPU, and the log says so:
ridge regression and scores of `landmarks`, the counting of XHTP, label embeddings. (ADMM uses single precision.) Linear
classifiers, trees and searches would need neither, but were never tried on MPS and run on the CPU, too. Neural methods
use single precision.

**Several GPUs**: `--ranks n` starts one process per GPU, each with the device of its local rank, connected by NCCL
([beyond one machine](cluster.md)).

## `precision`

The parameter `precision` of neural methods is that of the matrix products in training. `auto` is `bfloat16` if training
gains from it, and `float32` otherwise; `float16` is for older GPUs and scales losses. Weights, moments, sums and losses
always have 32 bits, and predictions are not affected. `torch.compile` is not used, because nothing could be measured
that would justify it.

Training gains from `bfloat16` on GPUs made for it (NVIDIA's from Ampere on), if its largest product takes longer to
compute than to move: both factors have to be converted, which moves half as many bytes again. By the data sheet of an
A100 that pays off from about 1 / (1/m + 1/k + 1/n) = 38 on, for m rows of k numbers and n outputs. That is the case for
`flat` with 128 documents per step, a width of 256 and 100,000 labels; not with 32 documents per step, and never for the
few outputs of `mhc` and `mhp`. This is arithmetic, not a measurement.

## Memory

Before training, the log says how much memory a step will take and how much the device has free. A batch that does not
fit is halved until it does. If memory still runs out, the step is repeated in halves, and training continues with this
size; the log says so. Each half is a step of its own with the same step size, so the result is that of a smaller
`batch_size`, and differs in the last bits between devices. Ranks that share their labels do not halve.

Linear classifiers and predictions work in independent blocks of labels or documents. A block that does not fit is
halved, the log says so, and the result is the same. The same applies to the parts of training that compute with blocks
of labels, features or nodes: affinities, ridge regression, label embeddings, the counting of XHTP, clusters of labels.
What is needed as a whole, such as the documents themselves, cannot be halved; training that needs more memory than
there is ends with a clear error.

The Train page shows the device and about how much of its memory a training run will take, from the sizes of the data
(`Method.estimate_device_bytes`).

## Copies

All arrays of a batch, and all parts of a matrix, are copied together, as one page-locked piece of memory, while the
host continues. Results come back in one copy, and losses once per epoch. The contract tests allow each method a number
of copies:

| method | to the device | back |
| --- | --- | --- |
| `flat`, `mhp` | 4 per step | 1 per epoch |
| `mhs` | 5 per step | 1 per epoch |
| `mhc` | 9 per step | 1 per epoch, and 1 per step, because groups are chosen on the CPU |
| `deep_miml` | 3 per step | 1 per epoch |
| `siamesexml`, encoder | 3 per step | 1 per epoch |
| `siamesexml`, classifiers | 4 per step | 1 per epoch, near negatives with the losses |
| linear machines | data, 1 per block of labels | 1 per block, 3 numbers per Newton step of its labels |
| ADMM | 2 | 1 per round |"""


def render_page() -> str:
    """Return the text of the page."""
    rows = []
    for name in METHODS:
        can = find_method_class(name).capabilities
        if can.gpu:
            rows.append((f"`{name}`", can.gpu_training or "–", can.gpu_prediction or "–"))
    methods = "\n".join(
        ["## What runs there", "", render_markdown(("method", "training", "prediction"), rows), "", FURTHER]
    )
    results, paths = (json.loads(file.read_text("utf-8")) for file in (RESULTS, PATHS))
    return "\n\n".join([INTRODUCTION, methods, *_render_results(results), _render_paths(paths["rows"])]) + "\n"


def _render_results(results: dict[str, Any]) -> list[str]:
    columns = (
        "method",
        "checks",
        "tests passed",
        "failed",
        "counted",
        "to",
        "back",
        "prediction to",
        "prediction back",
    )
    contract = [
        (
            f"`{row['method']}`",
            str(row["checks"]),
            f"{row['passed']} of {row['tests']}",
            row["failed"] or "–",
            row["counted"],
            *(f"{row[name]:g}" for name in columns[5:]),
        )
        for row in results["contract"]
        if row["method"] != "all"
    ]
    of_all = [row for row in results["contract"] if row["method"] == "all"]
    passed, tests = (sum(row[name] for row in results["contract"]) for name in ("passed", "tests"))
    sheet = results["a100"]
    peaks = ", ".join(f"{value / 1e12:g} Tflop/s in {name}" for name, value in sheet["peaks"].items())
    return [
        f"## The contract\n\n`{CONTRACT}` runs every method that has a device on the emulated accelerator: "
        f"{passed} of {tests} tests passed, {sum(row['tests'] for row in of_all)} of them for no single method. Copies "
        "to the device and back are counted on 24 documents: of an epoch of three or four steps (of both modules for "
        "`siamesexml`), or of a whole training that has no epochs, and of a prediction by a model that is there "
        "already.\n\n" + render_markdown(columns, contract, [False, True, True, False, False, True, True, True, True]),
        "## The work of a training step\n\n"
        "Counted on the emulation (`python -m benchmarks.gpu`): 50,000 features, 100 words and 5 labels per document, "
        "defaults otherwise. **The last two columns are arithmetic**: what an A100 would need at the least, with "
        f"{peaks} and {sheet['bytes_per_second'] / 1e12:g} TB/s of its data sheet, without launching kernels, copies "
        "and the host's share.\n\n" + _render_rows(results["steps"]),
        "Methods that are trained in one piece have no steps. These are whole training runs of {documents:,} documents "
        "with {labels:,} labels and {features:,} features, counted and computed in the same way.\n\n".format(
            **results["trained_on"]
        )
        + _render_rows(results["trainings"]),
    ]


def _render_rows(rows: list[dict[str, Any]]) -> str:
    columns = list(rows[0])
    is_number = [not isinstance(rows[0][column], str) for column in columns]
    return render_markdown(columns, [[_format(row[column]) for column in columns] for row in rows], is_number)


def _render_paths(rows: list[dict[str, Any]]) -> str:
    """Return the section that compares tensors with kernels."""
    text = [
        "## Tensors beside kernels",
        "Linear methods computed by the tensors that an accelerator would get, and by the compiled kernels, both on "
        "one core of a CPU and in one run (`python -m benchmarks.torch_paths`). Labels that the same training "
        "documents have share their ranks. A tolerance that is not named is the default, at which kernels stop earlier "
        "than tensors. Objectives are of the machines of some labels, solved well and without pruning. Rows with * are "
        "of the code before this.",
    ]
    names = ("documents", "labels", "path", "P@1", "P@3", "P@5", "objective", "train, CPU s", "predict, CPU s")
    cells = [
        [
            row["data"] + "*" * row.get("earlier", False),
            row["method"],
            *(_format_measured(name, row.get(name)) for name in names),
        ]
        for row in rows
        if row["path"] in ("kernels", "torch")
    ]
    is_number = [False, False, *(name != "path" for name in names)]
    return "\n\n".join([*text, render_markdown(("data", "method", *names), cells, is_number)])


def _format_measured(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.2f}" if name.startswith("P@") else f"{value:,.1f}"
    return _format(value)


def _format(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the text is up to date")
    options = parser.parse_args()
    if not options.check:
        PAGE.write_text(render_page(), "utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text("utf-8") == render_page():
        return 0
    print("docs/devices.md is not up to date; run python scripts/devices_docs.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
