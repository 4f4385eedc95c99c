"""Published results for known datasets: what the papers behind the methods and their baselines report.

`results.csv` has one row for each (dataset, method, setting) of a source, in percent. It holds what the sources print,
except for entries that are visibly another program's (a row that repeats its neighbour digit by digit is left out).
nDCG@1 is P@1 and PSnDCG@1 is PSP@1 by definition, so either fills the other.

The sources use their own splits and features. The rows are for orientation, not a fair race, so pages show them greyed
and with their source.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from xcwork.data.propensity_constants import normalise_name

if TYPE_CHECKING:
    import pandas as pd

# Other names of the same collection.
ALIASES = {
    "EURLEX57K": "GZ-EURLex-4.3K",
    "EURLex-4.3K": "GZ-EURLex-4.3K",
    "Amazon-1M": "GZ-Amazon-1M",
    "Wikipedia-1M": "GZ-Wikipedia-1M",
    "EURLex": "EURLex-4K",
    "Wiki10": "Wiki10-31K",
    "Wiki-325K": "WikiLSHTC-325K",
    "Wiki-500K": "Wikipedia-500K",
    "AmazonCat": "AmazonCat-13K",
}


def find_published_results(dataset: str) -> pd.DataFrame:
    """Return the published rows for a dataset, whatever the spelling of its name; no rows for an unknown one.

    Columns: dataset, method, setting, the metrics of the sources in percent (missing where not reported), source.

    >>> find_published_results("bibtex")["method"].tolist()[:3]
    ['Landmarks', 'PD-Sparse', 'LEML']
    """
    aliases = {normalise_name(alias): name for alias, name in ALIASES.items()}
    wanted = normalise_name(aliases.get(normalise_name(dataset), dataset))
    table = _read_table()
    return table[table["dataset"].map(normalise_name) == wanted].reset_index(drop=True)


@cache
def _read_table() -> pd.DataFrame:
    import pandas as pd

    numbers = {f"{metric}@{k}": [""] for metric in ("P", "nDCG", "PSP", "PSnDCG") for k in (1, 3, 5)}
    with files(__name__).joinpath("results.csv").open("rb") as file:
        table = pd.read_csv(file, keep_default_na=False, na_values=numbers)
    for one, same in (("P@1", "nDCG@1"), ("PSP@1", "PSnDCG@1")):
        table[one], table[same] = table[one].fillna(table[same]), table[same].fillna(table[one])
    return table
