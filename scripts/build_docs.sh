#!/bin/sh
# Write what README and docs take from declarations and stored results, then build the site. A warning is an error.
set -eu
python=.venv/bin/python
for script in methods_table format_docs benchmark_tables papers_docs devices_docs; do
    "$python" "scripts/$script.py"
done
# The notices about successors of mkdocs and its theme are not about these pages.
NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true "$python" -m mkdocs build --quiet --strict
if grep -rlE '<(script|img|iframe|link rel="stylesheet")[^>]*(src|href)="(https?:)?//' site --include='*.html'; then
    echo "these pages would fetch something from the network" >&2
    exit 1
fi
echo "site/index.html"
