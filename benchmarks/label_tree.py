"""Label trees with one and with three trees beside omikuji, napkinXC and PECOS: the label trees of `peers.py` alone.

    pip install .[peers]
    python -m benchmarks.label_tree DATA … [--systems "a;b"] [--repeats 3] [--pecos PYTHON] [--out FILE.json]

All programs get the same features, one after the other in one run, with the settings of Parabel: balanced halves, at
most 100 labels a leaf, a beam of 10. `peers.py` says what the columns mean and has more options, which work here too.
"""

from __future__ import annotations

from benchmarks._peers import SYSTEMS
from benchmarks.peers import main

if __name__ == "__main__":
    main(__doc__, [name for name in SYSTEMS if "tree" in name])
