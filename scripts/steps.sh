# What run_tests.sh and run_check.sh share: steps that print their time, and the style.
python=.venv/bin/python
begin=$(date +%s)

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
