"""How far probabilities can be trusted, and what thresholds chosen on held-out documents give on test documents.

    python -m benchmarks.decisions DATA [DATA …] [--methods zestxml,label_tree] [--seeds 0,1,2] [--ways auto]
                                   [--set name=value …] [--option name=value …] [--out FILE.json] [--keep FOLDER]

One cell is one dataset, method, seed and way to calibrate: train, calibrate, predict the evaluation split. Cells that
FILE has are not measured again, so a benchmark that was cut short goes on; every cell runs in a process of its own.
`--keep FOLDER` stores what the models predict: when the calibration changes, cells are measured without training again.

*before* is what the score says when it is taken for a logit (logistic) or for one of the list (softmax over the first
100), *after* what the calibration says; *by chance* is the error that true probabilities would have on as many
predictions. Asked against achieved precision is for one threshold, chosen on held-out
training documents; *automation* is the share of documents that get a label without a check. *cost* is the processor
time of calibrating over that of training, and of adding probabilities over that of predicting 5 labels.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._common import conditions, described, earlier, machine, markdown_table, timed, write_json

DEFAULT_OUT = Path(__file__).with_name("results") / "decisions.json"
METHODS = ("zestxml", "siamesexml", "label_tree", "one_vs_all", "flat", "mhc")
ASKED_PERCENT = (80, 90, 95)
LISTED = 100
WARM_UP = 200  # documents
REPEATS = 5  # of the prediction whose time is measured


def measure(
    data: str, method: str, seed: int, way: str, settings: list[str], options: list[str], keep: Path | None
) -> dict[str, Any]:
    """Return the figures of one cell."""
    kept = None if keep is None else keep / f"{Path(data).name}-{method}-{seed}-{way}"
    if kept is None or not kept.with_suffix(".npz").is_file():
        facts, arrays = train_and_predict(data, method, seed, way, settings, options)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            np.savez(kept.with_suffix(".npz"), **arrays)
            write_json(kept.with_suffix(".json"), facts)
    else:
        facts, arrays = json.loads(kept.with_suffix(".json").read_text("utf-8")), np.load(kept.with_suffix(".npz"))
    # `pyseealso` follows the installed packages: cells of other sizes are not of the same data.
    facts |= {"test documents": len(arrays["test ids"]), "labels": len(arrays["test frequencies"])}
    return facts | (measure_probabilities(facts, arrays, seed) if facts["way"] != "none" else {})


def train_and_predict(
    data: str, method: str, seed: int, way: str, settings: list[str], options: list[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (facts, arrays): all that takes long and that no calibration changes."""
    import xcwork
    from xcwork.decisions.held_out_documents import NONE, plan_holding_out
    from xcwork.methods import find_method_class
    from xcwork.methods.calibrating import score_held_out_documents
    from xcwork.methods.names import count_refits
    from xcwork.options import parse_data_options
    from xcwork.runs.config import choose_calibration

    dataset = xcwork.load_dataset(data, **parse_data_options(options))
    known = find_method_class(method).parameters()
    params = {n: known[n].parse(v) for n, v in (one.split("=", 1) for one in settings) if n in known} | {"seed": seed}
    small = dataset.train.take(range(min(WARM_UP, len(dataset.train))))
    xcwork.create(method, **params).fit(small).predict(small, k=5)
    model = xcwork.create(method, **params)
    choice = choose_calibration(way, method, ranks=1)
    plan = plan_holding_out(choice, dataset.train, dataset.test, seed=seed, refits=count_refits(method))
    with timed() as training:
        model.fit(plan.take_training_split(dataset.train))
    report = xcwork.evaluate(model, dataset, k=LISTED)
    facts: dict[str, Any] = {"settings": settings, "way": plan.way, "load": machine()["load"]}
    facts |= {"train s": training.seconds, "train CPU s": training.cpu_seconds, "held out": 0}
    facts |= {name: report.metrics[name] for name in ("P@1", "P@5", "macro_F1@5", "coverage@5")}
    arrays = _pack_predictions("test", report.topk, dataset.test.Y, model.label_frequencies_)
    if plan.way != NONE:
        with timed() as scoring:
            samples = score_held_out_documents(model, dataset.train, plan)
        for at, sample in enumerate(samples):
            arrays |= _pack_predictions(f"held {at}", sample.topk, sample.truth, sample.label_frequencies)
        facts |= {"models": len(samples), "held out": sum(len(sample.topk) for sample in samples)}
        facts |= {"score s": scoring.seconds, "score CPU s": scoring.cpu_seconds}
        facts["predict CPU s"] = min(_time_prediction(model, dataset.test) for _ in range(REPEATS))
    return facts, arrays


def _pack_predictions(name: str, topk: Any, truth: Any, frequencies: np.ndarray) -> dict[str, Any]:
    parts = {"ids": topk.ids, "scores": topk.scores, "indptr": truth.indptr, "indices": truth.indices}
    return {f"{name} {part}": array for part, array in (parts | {"frequencies": frequencies}).items()}


def _unpack_predictions(name: str, arrays: Any) -> Any:
    """Return the `HeldOutSample` that `_pack_predictions` took apart."""
    from xcwork.core.topk import TopK
    from xcwork.decisions.fitting import HeldOutSample

    ids, scores, indptr, indices, frequencies = (
        arrays[f"{name} {part}"] for part in ("ids", "scores", "indptr", "indices", "frequencies")
    )
    truth = sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), (len(ids), len(frequencies)))
    return HeldOutSample(TopK(ids, scores), truth, frequencies)


def _time_prediction(model: Any, split: Any) -> float:
    with timed() as prediction:
        model.predict(split, 5)
    return prediction.cpu_seconds


def measure_probabilities(facts: dict[str, Any], arrays: Any, seed: int) -> dict[str, Any]:
    """Return calibration errors before and after, what thresholds give, and the time that probabilities take."""
    from xcwork.decisions.fitting import fit_calibration
    from xcwork.metrics.calibration import measure_calibration
    from xcwork.metrics.ranking import place_labels

    held = [_unpack_predictions(f"held {at}", arrays) for at in range(facts["models"])]
    test = _unpack_predictions("test", arrays)
    with timed() as fitting:
        calibration = fit_calibration(held, way=facts["way"], label_frequencies=test.label_frequencies, seed=seed)
    topk, placement = calibration.apply(test.topk, test.label_frequencies), place_labels(test.topk, test.truth)
    figures: dict[str, Any] = {"ece": {}, "brier": {}}
    for name, each in {**_guess_probabilities(test.topk), "after": topk}.items():
        found = measure_calibration(each, placement, test.label_frequencies)
        figures["ece"][name], figures["brier"][name] = found["ece"], found["brier"]
    figures["reliability"] = found["reliability"]
    figures["ece"]["by chance"] = {str(k): expect_chance_error(topk.head(k)) for k in map(int, found["ece"])}
    figures["asked"] = _measure_thresholds(calibration, topk, placement, test.label_frequencies)
    seconds = []
    for _ in range(REPEATS):
        with timed() as applying:
            calibration.apply(test.topk.head(5), test.label_frequencies)
        seconds.append(applying.cpu_seconds)
    figures |= {"fit s": fitting.seconds, "fit CPU s": fitting.cpu_seconds}
    figures["training cost %"] = 100.0 * (facts["score CPU s"] + fitting.cpu_seconds) / facts["train CPU s"]
    return figures | {"prediction cost %": 100.0 * min(seconds) / facts["predict CPU s"]}


def expect_chance_error(topk: Any) -> float:
    """Return the calibration error, times 100, that true probabilities have by chance on this many predictions.

    What is right in a bin then varies by the sum of p (1 - p) around its mean; of a normal variable the mean of the
    absolute value is sqrt(2 / pi) of the deviation. Predictions of one document go together, so it is rather more.
    """
    from xcwork.core.topk import MISSING
    from xcwork.metrics.calibration import assign_bins

    p = topk.probabilities[topk.ids != MISSING].astype(np.float64)
    variances = np.bincount(assign_bins(p), weights=p * (1.0 - p))
    return 100.0 * float(np.sqrt(2.0 / np.pi * variances).sum()) / max(len(p), 1)


def _guess_probabilities(topk: Any) -> dict[str, Any]:
    """Return the predictions with what their scores say without a calibration."""
    scores = np.where(np.isfinite(topk.scores), topk.scores, -np.inf).astype(np.float64)
    shifted = np.exp(scores - scores[:, :1])
    shares = {"logistic": 1.0 / (1.0 + np.exp(-scores)), "softmax": shifted / shifted.sum(axis=1, keepdims=True)}
    return {name: replace(topk, probabilities=np.nan_to_num(p).astype(np.float32)) for name, p in shares.items()}


def _measure_thresholds(calibration: Any, topk: Any, placement: Any, frequencies: np.ndarray) -> dict[str, Any]:
    """Return what is asked for and what comes of it, for one threshold and for one per band."""
    from xcwork.decisions.choice import ASSIGN, SUGGEST
    from xcwork.decisions.outcomes import measure_outcome
    from xcwork.decisions.thresholds import choose_for_precision

    found: dict[str, Any] = {}
    for by in ("one", "band"):
        for percent in ASKED_PERCENT:
            choice = choose_for_precision(calibration.evidence, percent / 100.0, by=by)
            words = choice.decisions.decide(topk, frequencies)
            outcome = measure_outcome(
                words == ASSIGN, words == SUGGEST, topk.probabilities, placement.mark_hits(), placement.n_true
            )
            found[f"{percent} by {by}"] = {
                "achieved": outcome.precision,
                "low": outcome.precision_low,
                "high": outcome.precision_high,
                "n": outcome.n_assignments,
                "recall": outcome.recall,
                "automation": outcome.automation_share,
                "evidence": choice.overall.n,
                "foreseen": [choice.overall.low, choice.overall.high],
                "promised": choice.is_promised,
            }
    return found


def run_cell(cell: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Return a cell, measured in a process of its own; or why there is none."""
    command = [sys.executable, "-m", "benchmarks.decisions", cell["source"], "--one", json.dumps(cell)]
    command += [] if options.keep is None else ["--keep", str(options.keep)]
    for flag in ("set", "option"):
        command += [part for one in getattr(options, flag) for part in (f"--{flag}", one)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        return cell | {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return cell | json.loads(done.stdout.splitlines()[-1])


def summarise(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per cell for people."""
    rows = []
    for cell in cells:
        row = {name: cell[name] for name in ("data", "method", "seed", "way")} | {"P@1": cell.get("P@1")}
        if "ece" in cell:
            row |= {f"ECE@5 {name}": errors.get("5") for name, errors in cell["ece"].items()}
            row |= {f"Brier {name}": scores["all"] for name, scores in cell["brier"].items()}
            for percent in ASKED_PERCENT:
                found = cell["asked"][f"{percent} by one"]
                shown = None if found["achieved"] is None else f"{found['achieved']:.1f} ({found['automation']:.0f} %)"
                row[f"asked {percent}"] = shown or "–"
            row |= {"training cost %": cell["training cost %"], "prediction cost %": cell["prediction cost %"]}
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="built-in names or paths")
    parser.add_argument("--methods", default=",".join(METHODS), help="names separated by commas")
    parser.add_argument("--seeds", default="0", help="numbers separated by commas")
    parser.add_argument("--ways", default="auto", help="auto, held_out, refit or none, separated by commas")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="for methods that have NAME")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="for the reader")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="JSON file that cells are added to")
    parser.add_argument("--keep", type=Path, help="folder of predictions: cells that are there are not trained again")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        cell = json.loads(options.one)
        identity = (cell[name] for name in ("source", "method", "seed", "asked_way"))
        figures = measure(*identity, options.set, options.option, options.keep)
        print(json.dumps(figures))
        return
    cells = earlier(options.out).get("cells", [])
    keys = ("data", "method", "seed", "asked_way")
    for source in options.data:
        for method in options.methods.split(","):
            for seed in map(int, options.seeds.split(",")):
                for way in options.ways.split(","):
                    cell = {"data": Path(source).name, "method": method, "seed": seed, "asked_way": way}
                    if any(all(done[key] == cell[key] for key in keys) for done in cells):
                        continue
                    found = run_cell(cell | {"source": source}, options)
                    found.pop("source")
                    print(json.dumps({key: found.get(key) for key in (*keys, "P@1", "failed")}), file=sys.stderr)
                    if "failed" not in found:
                        cells.append(found)
                        write_json(options.out, {"conditions": conditions(), "cells": cells})
    print(markdown_table(summarise(cells)) if cells else "no cells")
    print(f"\n{described(conditions())}")


if __name__ == "__main__":
    main()
