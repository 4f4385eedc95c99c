#!/bin/sh
# Style, then two lanes side by side, because most tests use one core. Each lane takes the next suite of the list (types
# and docs are two of them), longest first, so that both end at about the same time. A lane goes on after a suite that
# fails, so that one run shows every failure; every step prints its time, and what cannot run says why.
# Tests with real browsers and processes can be starved by a busy machine. What failed therefore runs once more at the
# end, when nothing else does: what passes then is named and counts as passed, what fails again fails the whole.
set -eu
. scripts/steps.sh
suites="browser engine app contract notebooks faults types cluster docs security"
max_again=20 # so many failed tests of one suite are no coincidence

# run_pytest SUITE ARGUMENT …: with a cache of its own, which knows the tests that failed.
run_pytest() {
    name=$1
    shift
    step "$name" "$python" -m pytest -q -o "cache_dir=$state/$name/cache" "$@" || echo "$*" >"$state/$name/failed"
}

suite() {
    if [ -n "$(find "tests/$1" -name 'test_*.py' 2>/dev/null)" ]; then
        name=$1
        shift
        run_pytest "$name" "$@" "tests/$name"
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
    # shellcheck disable=SC2086 # several arguments
    run_pytest engine $engine_tests
}

browser() {
    if ! find_browser >/dev/null && [ "${CI:-}" = true ]; then
        step "installing chromium" install_browser || touch "$state/broken"
    fi
    if find_browser >/dev/null; then
        suite browser --reruns 2 # pytest prints what had to be run again
    else
        echo "── browser: skipped, there is no chromium; install it with 'apt-get install chromium' (CI=true does that by itself)"
    fi
}

# Making a folder succeeds for one lane only, which then runs the suite of that name.
lane() {
    for each in $suites; do
        mkdir "$state/$each" 2>/dev/null || continue
        case $each in
        engine | browser) "$each" ;;
        faults | cluster) suite "$each" --reruns 2 ;;
        types) step types sh scripts/check_types.sh || touch "$state/broken" ;;
        docs) step docs sh scripts/build_docs.sh --check || touch "$state/broken" ;;
        *) suite "$each" ;;
        esac
    done
}

# run_again SUITE: the tests of a suite that failed, or all of them where pytest did not live to write them down.
run_again() {
    ids=$(sed -n 's/^  "\(.*\)": true,*$/\1/p' "$state/$1/cache/v/cache/lastfailed" 2>/dev/null) || ids=""
    count=$(echo "$ids" | wc -l)
    if [ "$count" -gt "$max_again" ]; then
        echo "── $1: $count tests failed, too many to run them again" >&2
        return 1
    fi
    # shellcheck disable=SC2046 # no argument has a space
    step "$1, failed tests alone" "$python" -m pytest -q -o "cache_dir=$state/$1/cache" --last-failed \
        $(cat "$state/$1/failed") || return 1
    echo "── $1: passed when run alone:" ${ids:-all}
}

step style style
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
(lane) &
beside=$!
(lane) || touch "$state/broken"
wait "$beside" || touch "$state/broken"
for each in $suites; do
    [ -d "$state/$each" ] || { echo "── $each: not run, because both lanes had stopped" >&2; touch "$state/broken"; }
    [ ! -e "$state/$each/failed" ] || run_again "$each" || touch "$state/broken"
done
[ ! -e "$state/broken" ] || exit 1
echo "── all: $(($(date +%s) - begin)) s"
