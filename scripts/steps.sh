# What run_tests.sh and run_check.sh share: steps that print their time, and the style.
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

style() {
    "$python" -m ruff check . && "$python" -m ruff format --check .
}
