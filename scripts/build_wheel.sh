#!/bin/sh
# Builds the wheel into dist/, installs it alone (no extra) into a new environment outside the checkout, and asks the
# installed command for its help.
set -eu
cd "$(dirname "$0")/.."
rm -rf dist build
.venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
.venv/bin/python -m venv "$folder/environment"
"$folder/environment/bin/python" -m pip install --quiet --disable-pip-version-check dist/xcwork-*.whl
(cd "$folder" && environment/bin/xcwork --version && environment/bin/xcwork --help >/dev/null)
echo "dist/$(cd dist && ls xcwork-*.whl) installs and answers"
