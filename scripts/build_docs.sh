#!/bin/sh
# Write what README and docs take from declarations and stored results, then build the site. A warning is an error.
# With --check nothing is written: the site is built elsewhere and thrown away. Tests compare what is generated.
set -eu
python=.venv/bin/python
if [ "${1:-}" = --check ]; then
    site=$(mktemp -d)
    trap 'rm -rf "$site"' EXIT
else
    site=site
    for script in methods_table format_docs benchmark_tables papers_docs devices_docs; do
        "$python" "scripts/$script.py"
    done
fi
# The notices about successors of mkdocs and its theme are not about these pages.
NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true "$python" -m mkdocs build --quiet --strict --site-dir "$site"
if grep -rlE '<(script|img|iframe|link rel="stylesheet")[^>]*(src|href)="(https?:)?//' "$site" --include='*.html'; then
    echo "these pages would fetch something from the network" >&2
    exit 1
fi
[ "$site" != site ] || echo "site/index.html"
