#!/bin/sh
# What a contributor runs before a commit, in less than two minutes on two cores: style, then two lanes side by side,
# types, the fast tests of the other suites and of some of the engine's packages in one, those of the rest of the engine
# in the other. Pytest prints which tests were left out; those that drive a browser are slow, so that none of them is
# even looked at. `make test` runs all.
set -eu
. scripts/steps.sh
other_suites="tests/cli tests/data tests/text tests/analysis tests/viz \
tests/contract tests/app tests/security tests/faults tests/cluster tests/notebooks"

fast_tests() {
    "$python" -m pytest -q -m "not slow" "$@"
}

step style style
failed=0
# shellcheck disable=SC2086 # several arguments
(
    failed=0
    step types sh scripts/check_types.sh || failed=1
    step "fast tests of other suites" fast_tests $other_suites || failed=1
    exit "$failed"
) &
beside=$!
# shellcheck disable=SC2086
(step "fast tests of the engine" fast_tests $engine_tests --ignore=tests/cli \
    --ignore=tests/data --ignore=tests/text --ignore=tests/analysis --ignore=tests/viz) || failed=1
wait "$beside" || failed=1
[ "$failed" -eq 0 ] || exit 1
echo "── all: $(($(date +%s) - begin)) s"
