"""Two gloo ranks that share the labels train the model of one process, and save it as an ordinary one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import xcwork
from tests.support import rank_script
from tests.support.rank_script import CASES, data, trained
from tests.support.waiting import PATIENCE_SECONDS
from xcwork.compute.ranks import Group, Shard
from xcwork.errors import ConfigError
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.runs import RunStore, jobs

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def of_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two ranks wrote."""
    folder = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(Path(rank_script.__file__)), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.parametrize("case", list(CASES))
def test_two_ranks_learn_what_one_process_learns(case: str, of_ranks: Path) -> None:
    number, dataset = list(CASES).index(case), data()
    ours, theirs = trained(case, dataset.train), xcwork.load_method(of_ranks / f"model{number}")
    for name, weights in ours.model_.weights.items():
        np.testing.assert_allclose(theirs.model_.weights[name], weights, atol=2e-4, err_msg=name)
    learned = [part for name, part in ours.model_.weights.items() if name.startswith("heads.")]
    assert not any(np.allclose(part, 0) for part in learned)
    curve = json.loads((of_ranks / f"facts{number}.json").read_text())["curve"]
    for mine, yours in zip(ours.model_.curve, curve, strict=True):
        assert mine == pytest.approx(yours, rel=1e-3)


@pytest.mark.parametrize("case", list(CASES))
def test_ranking_by_two_ranks_is_that_of_the_saved_model(case: str, of_ranks: Path) -> None:
    number, test = list(CASES).index(case), data().test
    found, alone = np.load(of_ranks / f"found{number}.npz"), xcwork.load_method(of_ranks / f"model{number}")
    best = alone.predict(test, 5)
    np.testing.assert_allclose(found["scores"], best.scores, rtol=1e-4, atol=1e-6)
    assert np.mean(found["ids"] == best.ids) > 0.99  # nearly equal scores may change places


def test_a_rank_holds_its_own_rows_and_says_what_it_cannot_share(of_ranks: Path) -> None:
    facts = [json.loads((of_ranks / f"rank{rank}.json").read_text()) for rank in range(2)]
    assert [fact["rows"] for fact in facts] == [37, 19]  # the first one has them all in the end
    for fact in facts:
        assert fact["refusals"] == ["ranks share the labels of mhs with sampling batch and margin 0 only"] * 2


def test_one_process_goes_on_from_the_checkpoint_of_two_ranks(of_ranks: Path) -> None:
    checkpoint = Checkpoint(of_ranks / "checkpoint")
    state = checkpoint.restore()["states"]["training"]
    assert state["weights"]["heads.labels.weight"].shape == (37, 17)
    resumed = trained("flat, many labels", data().train, checkpoint, swa=1)
    np.testing.assert_array_equal(
        resumed.model_.weights["heads.labels.weight"], state["weights"]["heads.labels.weight"]
    )


@pytest.mark.parametrize("case", rank_script.RESUMED)
def test_ranks_and_one_process_go_on_from_the_checkpoint_of_the_others(case: str, of_ranks: Path, tmp_path) -> None:
    """The first two epochs here and the last there, or the other way round, are three epochs."""
    number, train = list(CASES).index(case), data().train
    whole = trained(case, train).model_.weights
    there = xcwork.load_method(of_ranks / f"resumed{number}").model_.weights
    shutil.copytree(of_ranks / f"begun{number}", tmp_path / "begun")
    here = trained(case, train, Checkpoint(tmp_path / "begun")).model_.weights
    for name, weights in whole.items():
        np.testing.assert_allclose(there[name], weights, atol=2e-4, err_msg=name)
        np.testing.assert_allclose(here[name], weights, atol=2e-4, err_msg=name)


def test_one_label_per_document_is_nothing_to_share_for_products(of_ranks: Path) -> None:
    for rank in range(2):
        refusal = json.loads((of_ranks / f"rank{rank}.json").read_text())["of products"]
        assert refusal.startswith("ranks share the label sets of mhp")


def test_shards_cover_every_row_once() -> None:
    for n_rows, size in ((37, 2), (100, 7), (5, 5)):
        bounds = [Shard(Group(rank, size), n_rows).compute_bounds(rank) for rank in range(size)]
        assert [row for first, stop in bounds for row in range(first, stop)] == list(range(n_rows))
    with pytest.raises(ConfigError, match="3 labels cannot be shared by 4 ranks"):
        Shard(Group(0, 4), 3)


def test_a_run_with_two_ranks_ends_with_an_ordinary_model(home: Path) -> None:
    source, params = "synthetic:n_documents=200,n_labels=37,n_topics=5,seed=1", dict(rank_script.SMALL)
    run = RunStore().create("flat", params, source, ranks=2)
    status = jobs.wait(jobs.launch(run), timeout=PATIENCE_SECONDS)
    assert status.state == "finished", run.read_log(40)
    model, ours = run.load_model(), trained("flat, many labels", data().train)
    np.testing.assert_allclose(model.label_embeddings(), ours.label_embeddings(), atol=2e-4)
    assert run.read_report().metrics["P@1"] > 0


def test_methods_that_cannot_share_their_labels_say_which_can(home: Path) -> None:
    with pytest.raises(
        ConfigError, match="label_tree does not share its labels among ranks; use one of flat, mhc, mhp, mhs"
    ):
        RunStore().create("label_tree", {}, "pyseealso", ranks=2)
