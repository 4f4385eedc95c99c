"""Write xcwork/runs/measured_costs.json, from which costs are estimated where nothing was trained yet.

    python scripts/measured_costs.py HOME      takes the finished runs of a home folder

Every method needs a run on a dataset of a few documents, which tells its base cost, such as
`synthetic:n_documents=60,n_labels=12,n_topics=3,labels_per_document=1.5`, and runs on larger ones, which tell how the
cost grows. Of several runs of the same training the fastest counts: the others shared the machine.
"""

from __future__ import annotations

import sys
from dataclasses import asdict

from xcwork.runs import RunStore
from xcwork.runs.estimates import REFERENCES, measurement_of
from xcwork.storage.atomic import write_json


def main(home: str) -> None:
    slowest_first = sorted(filter(None, map(measurement_of, RunStore(home).list())), key=lambda found: -found.seconds)
    fastest = {(measured.method, measured.data, measured.n_train): measured for measured in slowest_first}
    rows = [asdict(measured) for measured in fastest.values()]
    for row in rows:
        row.pop("here")
    write_json(REFERENCES, sorted(rows, key=lambda row: (row["method"], row["n_train"])))


if __name__ == "__main__":
    main(sys.argv[1])
