"""Label embeddings from groups and the assignment, against algorithm 1 as it is written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.support.planted_groups import planted
from xcwork.data.groups import Groups, collect_groups
from xcwork.errors import ConfigError
from xcwork.kernels.grlr import SETTLED_STEPS
from xcwork.methods.common.grlr import (
    LabelAssignment,
    assign_labels,
    compute_objective,
    measure_assignment_precision,
    solve_with_kernel,
)
from xcwork.methods.common.grlr_problem import AssignmentProblem
from xcwork.sparse import normalise_rows

pytestmark = pytest.mark.slow


def groups_from(members: list[list[int]], labels: np.ndarray, n_documents: int) -> Groups:
    """Groups that may share documents."""
    rows = np.repeat(np.arange(len(members)), [len(m) for m in members])
    entries = (np.ones(len(rows), np.float32), (rows, np.concatenate([*members, []]).astype(int)))
    inside = sparse.csr_array(entries, shape=(len(members), n_documents))
    return Groups([str(j) for j in range(len(members))], inside, sparse.csr_array(labels.astype(np.float32)))


def near_all(X: np.ndarray, E: np.ndarray) -> np.ndarray:
    return np.column_stack([near(X, e) for e in E])


def first_best(members: np.ndarray, similarity: np.ndarray) -> int:
    """The first member that is as near as any, up to rounding."""
    return int(members[np.flatnonzero(similarity >= similarity.max() - 1e-6)[0]])


def near(X: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The similarity of documents with an embedding; an empty one is far from everything."""
    return np.where(np.linalg.norm(X, axis=1) > 0, X @ e, -2.0)


def groups_against(X: np.ndarray, groups: Groups, steps: int, seed: int = 0) -> np.ndarray:
    """The weights of the groups that careful steps of each label take off, (n_groups, n_labels)."""
    rows = sparse.csr_array(X.astype(np.float32))
    settings = {"learning_rate": 0.1, "careful": True, "assign": "one", "centre": True, "keep": 1}
    return AssignmentProblem.from_groups(rows, groups, steps=steps, seed=seed, **settings).others.toarray().T


def literal_grlr(
    X: np.ndarray, groups: Groups, label: int, steps: int, rate: float, against: np.ndarray | None = None
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Algorithm 1 as it is written; careful: with groups against the label, and without what a group says of itself.

    Returns the embedding, and what each group has contributed to it where that does not count for the group itself.
    """

    def proj(vector: np.ndarray) -> np.ndarray:
        length = np.linalg.norm(vector)
        return vector / length if length > 1e-5 else vector * 0

    members, weights = groups.members.toarray() > 0, groups.labels.toarray()[:, label]
    carrying = np.flatnonzero(weights)
    own = {j: weights[j] * X[members[j]].sum(axis=0) for j in carrying}
    first = sum(own.values(), np.zeros(X.shape[1]))
    e = proj(first)
    careful = against is not None
    if careful and not against[:, label].any():
        steps = 0
    leave_out = float(careful and len(carrying) > 1 and steps > 0)
    own = {j: leave_out * part / max(np.linalg.norm(first), 1e-9) for j, part in own.items()}
    if careful:  # group j as any group is entry j + n_groups
        members, weights = np.vstack([members, members]), np.concatenate([weights, against[:, label]])
        own |= {j + len(against): np.zeros(X.shape[1]) for j in np.flatnonzero(against[:, label])}
    history = []
    for _ in range(steps):
        chosen = {j: first_best(np.flatnonzero(members[j]), near(X[members[j]], e - own[j])) for j in own}
        history.append(chosen)
        if (
            careful
            and len(history) > SETTLED_STEPS
            and all(earlier == chosen for earlier in history[-SETTLED_STEPS - 1 :])
        ):
            break
        total = sum((weights[j] * X[i] for j, i in chosen.items()), np.zeros(X.shape[1]))
        if np.linalg.norm(total) <= 1e-5:
            break
        rho = np.linalg.norm(e + rate * proj(total))
        step = leave_out * rate / np.linalg.norm(total)
        own = {j: (part + step * weights[j] * X[chosen[j]]) / rho for j, part in own.items()}
        e = proj(e + rate * proj(total))
    return e, own


@st.composite
def grouped_data(draw) -> tuple[np.ndarray, Groups]:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, d, m, n_labels = draw(st.integers(1, 14)), draw(st.integers(2, 8)), draw(st.integers(1, 6)), 4
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    overlap = draw(st.booleans())
    members = (
        [sorted(rng.choice(n, rng.integers(1, n + 1), replace=False)) for _ in range(m)]
        if overlap
        else [part.tolist() for part in np.array_split(rng.permutation(n), min(m, n))]
    )
    members = [sorted(group) for group in members]
    labels = rng.integers(0, 3, (len(members), n_labels)) * (rng.random((len(members), n_labels)) < 0.6)
    return X, groups_from(members, labels, n)


def centred(X: np.ndarray, centre: bool) -> np.ndarray:
    """What documents are compared by: unit rows; centred, without their mean and of unit length again."""
    unit = normalise_rows(sparse.csr_array(X.astype(np.float32))).toarray().astype(np.float64)
    if centre:
        there = np.linalg.norm(unit, axis=1, keepdims=True) > 0
        unit = (unit - unit.mean(axis=0)) * there
        lengths = np.linalg.norm(unit, axis=1, keepdims=True)
        unit = np.divide(unit, lengths, out=np.zeros_like(unit), where=lengths > 1e-4)
    return unit


@settings(max_examples=40)
@given(grouped_data(), st.sampled_from([0, 1, 5, 20]), st.sampled_from([0.1, 1.0, 10.0]), st.booleans())
def test_embeddings_are_those_of_algorithm_one(
    data: tuple[np.ndarray, Groups], steps: int, rate: float, centre: bool
) -> None:
    X, groups = data
    rows = sparse.csr_array(X.astype(np.float32))
    found = assign_labels(rows, groups, steps=steps, learning_rate=rate, keep=None, centre=centre).embeddings.toarray()
    against = groups_against(X, groups, steps) if centre else None
    for label in range(groups.labels.shape[1]):
        if np.linalg.norm(literal_grlr(centred(X, centre), groups, label, 0, rate)[0]) > 0:
            expected, _ = literal_grlr(centred(X, centre), groups, label, steps, rate, against)
            np.testing.assert_allclose(found[label], expected, atol=5e-5)


@settings(max_examples=40)
@given(grouped_data(), st.sampled_from([1, 5, 20]))
def test_with_careful_steps_no_group_has_a_say_about_itself(data: tuple[np.ndarray, Groups], steps: int):
    X, groups = data
    vectors = centred(X, True)
    marked = assign_labels(sparse.csr_array(X.astype(np.float32)), groups, steps=steps).Y.toarray() > 0
    for label in range(groups.labels.shape[1]):
        if np.linalg.norm(literal_grlr(vectors, groups, label, 0, 0.1)[0]) == 0:
            continue
        e, own = literal_grlr(vectors, groups, label, steps, 0.1, groups_against(X, groups, steps))
        for j in np.flatnonzero(groups.labels.toarray()[:, label]):
            part = own[j]
            members = np.flatnonzero(groups.members.toarray()[j])
            similarity = near(vectors[members], e - part)
            best = members[np.isclose(similarity, similarity.max(), atol=5e-5)]
            assert marked[best, label].any()


@settings(max_examples=40)
@given(grouped_data(), st.sampled_from([0, 20]))
def test_every_label_of_a_group_goes_to_its_nearest_member(data: tuple[np.ndarray, Groups], steps: int):
    X, groups = data
    rows = sparse.csr_array(X.astype(np.float32))
    found = assign_labels(rows, groups, steps=steps, careful=False, keep=None)
    similarity = near_all(centred(X, True), found.embeddings.toarray())
    marked, inside = found.Y.toarray() > 0, groups.members.toarray() > 0
    claimed = np.zeros_like(marked)
    for j, label in np.argwhere(groups.labels.toarray() > 0):
        members = np.flatnonzero(inside[j])
        best = members[np.isclose(similarity[members, label], similarity[members, label].max(), atol=5e-5)]
        assert marked[best, label].any()
        claimed[members, label] = True
    assert not (marked & ~claimed).any()


@settings(max_examples=40)
@given(grouped_data(), st.sampled_from(["one", "top_c"]))
def test_as_many_members_of_every_disjoint_group_are_marked_as_asked_for(data: tuple[np.ndarray, Groups], assign: str):
    X, groups = data
    disjoint = groups.members.sum(axis=0).max() <= 1
    found = assign_labels(sparse.csr_array(X.astype(np.float32)), groups, assign=assign)
    times = (groups.members @ found.Y).toarray()
    labels = groups.labels.toarray()
    wanted = np.minimum(labels, np.diff(groups.members.indptr)[:, None]) if assign == "top_c" else labels > 0
    assert (times[labels > 0] >= 1).all()
    if disjoint:
        np.testing.assert_array_equal(times, wanted)


def test_top_c_marks_as_many_members_as_the_label_was_merged_in():
    X = sparse.csr_array(np.array([[1, 0], [0.9, 0.1], [0, 1], [0, 2]], np.float32))
    groups = groups_from([[0, 1, 2], [3]], np.array([[2, 1], [0, 3]]), 4)
    found = assign_labels(X, groups, assign="top_c")
    assert found.Y.toarray().tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    more = groups_from([[0, 1], [2, 3]], np.array([[5, 0], [0, 1]]), 4)
    assert assign_labels(X, more, assign="top_c").Y.toarray()[:, 0].tolist() == [1, 1, 0, 0]
    with pytest.raises(ConfigError, match="assign must be one of one, top_c, outstanding, got 'two'"):
        assign_labels(X, groups, assign="two")


def test_members_that_stand_out_get_a_label_too_where_counts_are_not_known():
    """Three of four members of a group have its label, which nobody counted; other groups are about other things."""
    rng = np.random.default_rng(0)
    topic, rest = np.eye(12)[0], np.eye(12)[1:]
    with_label = [topic + 0.1 * rng.normal(size=12) for _ in range(3)]
    others = [rest[rng.integers(11)] + 0.1 * rng.normal(size=12) for _ in range(41)]
    X = sparse.csr_array(np.array([*with_label, *others]))
    members = [[0, 1, 2, 3], *([4 * number + at for at in range(4)] for number in range(1, 11))]
    labels = np.zeros((11, 1))
    labels[0] = 1
    groups = groups_from(members, labels, 44)
    one, outstanding = (assign_labels(X, groups, assign=name).Y.toarray()[:, 0] for name in ("one", "outstanding"))
    assert one.sum() == 1
    assert outstanding[:3].tolist() == [1, 1, 1]
    assert outstanding.sum() == 3
    # A label of all groups stands out nowhere: it stays with the nearest members.
    everywhere = groups_from(members, np.ones((11, 1)), 44)
    nearest, found = (assign_labels(X, everywhere, assign=name).Y for name in ("one", "outstanding"))
    assert (nearest != found).nnz == 0


@given(grouped_data())
def test_whoever_is_nearest_stands_out_and_nobody_outside_of_the_groups_does(data: tuple[np.ndarray, Groups]):
    X, groups = data
    one, found = (assign_labels(sparse.csr_array(X), groups, assign=name).Y for name in ("one", "outstanding"))
    assert (one.toarray() <= found.toarray()).all()
    assert (found.toarray() <= groups.share_labels().toarray()).all()


def test_groups_of_one_keep_their_labels_and_embed_a_label_as_the_direction_of_its_documents(jumble):
    train = jumble.train
    found = assign_labels(train.X, collect_groups(train), steps=20, keep=None, centre=False)
    assert (found.Y != train.Y).nnz == 0
    centroids = normalise_rows(sparse.csr_array(train.Y.T @ normalise_rows(train.X)))
    np.testing.assert_allclose(found.embeddings.toarray(), centroids.toarray(), atol=1e-5)


@pytest.mark.parametrize("centre", [False, True])
def test_steps_raise_the_objective(centre: bool):
    split, _ = planted(8)
    groups = collect_groups(split)
    none, many = (
        assign_labels(split.X, groups, steps=steps, careful=False, keep=None, centre=centre) for steps in (0, 20)
    )
    before, after = (compute_objective(split.X, groups, found) for found in (none, many))
    assert after.mean() > before.mean()
    assert np.mean(after >= before - 1e-6) > 0.95
    shared = measure_assignment_precision(groups.share_labels(), split.Y)
    assert min(measure_assignment_precision(found.Y, split.Y) for found in (none, many)) > 2 * shared


def test_groups_against_a_label_weigh_as_much_as_those_that_carry_it():
    rng = np.random.default_rng(0)
    labels = rng.integers(1, 3, (300, 6)) * (rng.random((300, 6)) < [0.0, 0.01, 0.1, 0.3, 0.7, 1.0])
    groups = groups_from([[j] for j in range(300)], labels, 300)
    against = groups_against(rng.normal(size=(300, 4)), groups, steps=1)
    drawn = (against != 0).sum(axis=0)
    assert drawn[0] == 0
    assert 8 <= drawn[1] <= 10
    assert 40 <= drawn[3] <= (labels[:, 3] > 0).sum()
    assert drawn[4:].tolist() == [0, 0]  # too little tells their groups from any
    for column in against.T[1:4]:
        assert len(set(column[column != 0])) == 1
    np.testing.assert_allclose(against.sum(axis=0)[1:4], -labels.sum(axis=0)[1:4], rtol=1e-5)


def test_careful_steps_find_the_members_that_a_common_topic_hides():
    """Every group has a member of a topic that half of the documents share; steps alone would go there."""
    right = {}
    for careful in (False, True):
        found = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            n_groups, size, n_labels = 120, 6, 12
            topics = rng.normal(size=(n_labels, 40))
            truth = np.zeros((n_groups * size, n_labels))
            truth[np.arange(n_groups * size), rng.integers(0, n_labels, n_groups * size)] = 1
            common = (rng.random(n_groups * size) < 0.5)[:, None] * rng.normal(size=40) * 3
            X = truth @ topics + common + 2.5 * rng.normal(size=(n_groups * size, 40))
            members = np.arange(n_groups * size).reshape(n_groups, size)
            groups = groups_from(members.tolist(), truth.reshape(n_groups, size, -1).sum(axis=1), len(X))
            Y = assign_labels(sparse.csr_array(X.astype(np.float32)), groups, careful=careful, seed=seed).Y
            found.append(measure_assignment_precision(Y, sparse.csr_array(truth)))
        right[careful] = np.mean(found)
    assert right[True] > right[False] + 0.05


def test_the_objective_is_the_sum_of_the_best_similarities():
    X = sparse.csr_array(np.array([[2, 0], [0, 3], [1, 1]], np.float32))
    groups = groups_from([[0, 1], [2]], np.array([[2, 1], [1, 0]]), 3)
    E = sparse.csr_array(np.array([[1.0, 0.0], [0.6, 0.8]]))
    found = LabelAssignment(sparse.csr_array((3, 2)), E, np.zeros(2))
    np.testing.assert_allclose(compute_objective(X, groups, found), [2 * 1 + 1 / np.sqrt(2), 0.8], rtol=1e-6)


def test_centring_tells_documents_apart_that_share_most_words():
    split, _ = planted(4)
    common = sparse.csr_array(np.full((len(split), 1), 3.0, np.float32))  # a word that every document repeats
    X = sparse.csr_array(sparse.hstack([normalise_rows(split.X), common]))
    groups = collect_groups(split)
    plain, centred = (
        measure_assignment_precision(assign_labels(X, groups, centre=c).Y, split.Y) for c in (False, True)
    )
    assert centred > plain


def test_members_that_cancel_out_leave_no_holes():
    """The toy example of the paper: x and -x in every group, where the first embedding is undefined."""
    X = sparse.csr_array(np.tile([[0.6, 0.8], [-0.6, -0.8]], (3, 1)).astype(np.float32))
    groups = groups_from([[0, 1], [2, 3], [4, 5]], np.ones((3, 2)), 6)
    for seed in range(5):
        found = assign_labels(X, groups, seed=seed, keep=None)
        assert np.isfinite(found.embeddings.data).all()
        np.testing.assert_allclose(np.abs(found.embeddings.toarray()), [[0.6, 0.8]] * 2, atol=1e-6)
        for column in found.Y.toarray().T.tolist():
            assert column in ([1, 0] * 3, [0, 1] * 3)
    starts = {tuple(assign_labels(X, groups, seed=seed).Y.toarray()[:, 0].tolist()) for seed in range(10)}
    assert len(starts) == 2


def test_a_label_of_empty_documents_goes_to_the_first_of_them():
    X = sparse.csr_array(np.array([[0, 0], [0, 0], [1, 0]], np.float32))
    found = assign_labels(X, groups_from([[0, 1], [2]], np.array([[1, 0], [0, 1]]), 3), centre=False)
    assert found.Y.toarray().tolist() == [[1, 0], [0, 0], [0, 1]]
    assert found.embeddings.toarray().tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("stored_zero", [False, True])
def test_an_empty_document_never_wins_against_another(centre: bool, stored_zero: bool):
    X = sparse.csr_array(np.array([[0.5, 0], [-1, 0], [1, 0], [0.9, 0.1], [1, -0.1]], np.float32))
    X.data[0] = 0
    if not stored_zero:
        X.eliminate_zeros()
    groups = groups_from([[0, 1], [2], [3], [4]], np.ones((4, 1)), 5)
    assert assign_labels(X, groups, centre=centre).Y.toarray().ravel().tolist() == [0, 1, 1, 1, 1]


def test_a_group_without_labels_gives_none():
    X = sparse.csr_array(np.eye(3, dtype=np.float32))
    found = assign_labels(X, groups_from([[0, 1], [2]], np.array([[0, 0], [0, 1]]), 3))
    assert found.Y.toarray().tolist() == [[0, 0], [0, 0], [0, 1]]


def test_only_the_largest_entries_of_an_embedding_are_kept():
    X = sparse.csr_array(np.array([[0.1, -0.7, 0.7, 0.0]], np.float32))
    groups = groups_from([[0]], np.ones((1, 1)), 1)
    whole, two = (assign_labels(X, groups, keep=keep, centre=False).embeddings.toarray()[0] for keep in (None, 2))
    np.testing.assert_allclose(whole, X.toarray()[0] / np.linalg.norm(X.toarray()), atol=1e-6)
    np.testing.assert_allclose(two, whole * [0, 1, 1, 0], atol=1e-7)


@settings(max_examples=40)
@given(grouped_data(), st.sampled_from([0, 1, 20]), st.sampled_from(["one", "top_c", "outstanding"]), st.booleans())
def test_torch_gives_the_same_answer(data: tuple[np.ndarray, Groups], steps: int, assign: str, centre: bool):
    from xcwork.methods.common.grlr_torch import solve_with_torch

    X, groups = data
    rows = sparse.csr_array(X.astype(np.float32))
    problem = AssignmentProblem.from_groups(
        rows, groups, steps=steps, learning_rate=0.1, careful=True, assign=assign, centre=centre, keep=6, seed=1
    )
    documents, embeddings = solve_with_kernel(problem)
    documents_by_torch, embeddings_by_torch = solve_with_torch(problem, "cpu")
    np.testing.assert_array_equal(documents, documents_by_torch)
    np.testing.assert_allclose(embeddings.toarray(), embeddings_by_torch.toarray(), atol=5e-5)


def test_torch_agrees_where_labels_have_many_groups():
    """Where a few new winners among many do not keep a label from settling."""
    from xcwork.methods.common.grlr_torch import solve_with_torch

    split, _ = planted(3)
    groups = collect_groups(split)
    assert groups.labels.astype(bool).sum(axis=0).max() > 50
    problem = AssignmentProblem.from_groups(
        split.X, groups, steps=20, learning_rate=0.1, careful=True, assign="one", centre=True, keep=6, seed=1
    )
    np.testing.assert_array_equal(solve_with_kernel(problem)[0], solve_with_torch(problem, "cpu")[0])


def test_torch_agrees_on_the_toy_example_too():
    from xcwork.methods.common.grlr_torch import solve_with_torch

    X = sparse.csr_array(np.tile([[0.6, 0.8], [-0.6, -0.8]], (3, 1)).astype(np.float32))
    groups = groups_from([[0, 1], [2, 3], [4, 5]], np.ones((3, 7)), 6)
    problem = AssignmentProblem.from_groups(
        X, groups, steps=20, learning_rate=0.1, careful=True, assign="one", centre=False, keep=2, seed=3
    )
    np.testing.assert_array_equal(solve_with_kernel(problem)[0], solve_with_torch(problem, "cpu")[0])
