#!/bin/sh
# Prints the path of a Python that can carry xcwork, or says in one line what is missing and fails.
# Runs before anything is installed. PYTHON and CXX name a particular interpreter or compiler.
set -eu

fail() {
    echo "xcwork: $1" >&2
    exit 1
}

usable() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# A name on the path is not enough: version managers put stubs there that fail when they are run.
python=""
for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3 python}; do
    if usable "$candidate"; then
        python=$(command -v "$candidate")
        break
    fi
done
[ -n "$python" ] || fail "Python 3.11 or newer is missing (tried: ${PYTHON:-python3.11 python3.12 python3.13 python3 python}); install it, for example with 'apt-get install python3 python3-venv python3-dev', or name one with PYTHON=…"

"$python" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
    fail "$python cannot make virtual environments; install its venv module, for example with 'apt-get install python3-venv'"

compiler=""
for candidate in ${CXX:-c++ g++ clang++}; do
    if command -v "$candidate" >/dev/null 2>&1; then
        compiler=$candidate
        break
    fi
done
[ -n "$compiler" ] || fail "a C++ compiler is missing (hnswlib is built with it); install one, for example with 'apt-get install g++'"

"$python" -c 'import sys, sysconfig, os; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
    fail "the header files of $python are missing (hnswlib is built with them); install them, for example with 'apt-get install python3-dev'"

echo "$python"
