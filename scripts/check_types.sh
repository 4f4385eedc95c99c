#!/bin/sh
# mypy over the engine and the dashboard. The dashboard is the folder `app` but the package `xcwork_app`, so mypy gets a
# link of that name to follow.
set -eu
cd "$(dirname "$0")/.."
mkdir -p .mypy_cache/path
ln -sfn ../../app .mypy_cache/path/xcwork_app
MYPYPATH=.mypy_cache/path exec .venv/bin/python -m mypy -p xcwork -p xcwork_app "$@"
