# What run_tests.sh and run_check.sh share: steps that print their time, the style, and which tests are the engine's.
python=.venv/bin/python
begin=$(date +%s)
engine_tests="tests --ignore=tests/contract --ignore=tests/app --ignore=tests/security --ignore=tests/faults \
--ignore=tests/cluster --ignore=tests/notebooks --ignore=tests/browser"

step() {
    step_name=$1
    shift
    echo "── $step_name"
    start=$(date +%s)
    "$@" || { echo "── $step_name failed after $(($(date +%s) - start)) s" >&2; return 1; }
    echo "── $step_name: $(($(date +%s) - start)) s"
}

style() {
    "$python" -m ruff check . && "$python" -m ruff format --check .
}
