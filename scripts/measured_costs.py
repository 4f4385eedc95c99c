"""Write xcwork/runs/measured_costs.json, from which costs are estimated where nothing was trained yet.

python scripts/measured_costs.py HOME      takes the finished runs of a home folder
"""

from __future__ import annotations

import sys
from dataclasses import asdict

from xcwork.runs import RunStore
from xcwork.runs.estimates import REFERENCES, measurement_of
from xcwork.storage import write_json


def main(home: str) -> None:
    newest = {(found.method, found.data): found for run in RunStore(home).list() if (found := measurement_of(run))}
    rows = [asdict(measured) for measured in newest.values()]
    for row in rows:
        row.pop("here")
    write_json(REFERENCES, sorted(rows, key=lambda row: (row["method"], row["n_train"])))


if __name__ == "__main__":
    main(sys.argv[1])
