#!/bin/sh
# Style, then two lanes side by side, of about the same length, because most tests use one core: engine and browser in
# one, contract, app, security, faults, cluster and notebooks in the other. A lane stops after a step that fails; every
# step prints its time, and what cannot run says why.
set -eu

python=.venv/bin/python
begin=$(date +%s)

step() {
    name=$1
    shift
    echo "── $name"
    start=$(date +%s)
    "$@" || { echo "── $name failed after $(($(date +%s) - start)) s" >&2; exit 1; }
    echo "── $name: $(($(date +%s) - start)) s"
}

suite() {
    if [ -n "$(find "tests/$1" -name 'test_*.py' 2>/dev/null)" ]; then
        step "$1" "$python" -m pytest -q "tests/$1"
    else
        echo "── $1: skipped, there is no test in tests/$1"
    fi
}

style() {
    "$python" -m ruff check . && "$python" -m ruff format --check .
}

find_browser() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

install_browser() {
    as_root=""
    [ "$(id -u)" -eq 0 ] || as_root=sudo
    $as_root apt-get update -qq && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
}

engine() {
    step engine "$python" -m pytest -q tests --ignore=tests/contract --ignore=tests/app --ignore=tests/security \
        --ignore=tests/faults --ignore=tests/cluster --ignore=tests/notebooks --ignore=tests/browser
}

browser() {
    if ! find_browser >/dev/null && [ "${CI:-}" = true ]; then
        step "installing chromium" install_browser
    fi
    if find_browser >/dev/null; then
        suite browser
    else
        echo "── browser: skipped, there is no chromium; install it with 'apt-get install chromium' (CI=true does that by itself)"
    fi
}

step style style
{ suite contract && suite app && suite security && suite faults && suite cluster && suite notebooks; } &
beside=$!
failed=0
(engine && browser) || failed=1
wait "$beside" || failed=1
[ "$failed" -eq 0 ] || exit 1
echo "── all: $(($(date +%s) - begin)) s"
