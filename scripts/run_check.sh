#!/bin/sh
# What a contributor runs before a commit, in less than two minutes on two cores: style, then types and the fast tests
# side by side. Pytest prints which tests were left out; `make test` runs all of them.
set -eu
. scripts/steps.sh

step style style
(step types sh scripts/check_types.sh) &
beside=$!
failed=0
(step "fast tests" "$python" -m pytest -q -m "not slow" tests) || failed=1
wait "$beside" || failed=1
[ "$failed" -eq 0 ] || exit 1
echo "── all: $(($(date +%s) - begin)) s"
