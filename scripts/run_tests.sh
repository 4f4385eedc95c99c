#!/bin/sh
# Style, then two lanes side by side, because most tests use one core. Each lane takes the next suite of the list (types
# are one), longest first, so that both end at about the same time. A lane stops after a suite that fails, and the other goes on; every
# step prints its time, and what cannot run says why.
set -eu
. scripts/steps.sh
suites="engine contract browser notebooks app types faults cluster security"

suite() {
    if [ -n "$(find "tests/$1" -name 'test_*.py' 2>/dev/null)" ]; then
        name=$1
        shift
        step "$name" "$python" -m pytest -q "$@" "tests/$name"
    else
        echo "── $1: skipped, there is no test in tests/$1"
    fi
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
        suite browser --reruns 2 # a real browser on a busy machine; pytest prints what had to be run again
    else
        echo "── browser: skipped, there is no chromium; install it with 'apt-get install chromium' (CI=true does that by itself)"
    fi
}

# Making a folder succeeds for one lane only, which then runs the suite of that name.
lane() {
    for name in $suites; do
        mkdir "$taken/$name" 2>/dev/null || continue
        case $name in
        engine | browser) "$name" ;;
        types) step types sh scripts/check_types.sh ;;
        *) suite "$name" ;;
        esac
    done
}

step style style
taken=$(mktemp -d)
trap 'rm -rf "$taken"' EXIT
(lane) &
beside=$!
failed=0
(lane) || failed=1
wait "$beside" || failed=1
for name in $suites; do
    [ -d "$taken/$name" ] || echo "── $name: not run, because both lanes had stopped" >&2
done
[ "$failed" -eq 0 ] || exit 1
echo "── all: $(($(date +%s) - begin)) s"
