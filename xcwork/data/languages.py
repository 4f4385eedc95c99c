"""Which languages texts are written in, by a light rule: the script, and for Latin letters the most frequent words.

It is meant to notice that a dataset mixes languages, not to label a text. A text counts for the language whose words
it has most of, if there are at least MIN_WORDS; a short or technical text often has none, and says nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

MAX_TEXTS = 500  # looked at, spread evenly over all of them
MAX_CHARACTERS = 2000  # of each text
MIN_WORDS = 2  # that belong to a language before a text counts for it
MIN_SCRIPT_SHARE = 0.3  # of the letters of a text, written in the script of a language
UNKNOWN = "unknown"
SCRIPTS = (  # the first whose letters are frequent enough; Japanese before Chinese, whose characters it uses
    ("Japanese", re.compile(r"[\u3040-\u30ff]"), 0.05),
    ("Korean", re.compile(r"[\uac00-\ud7af]"), MIN_SCRIPT_SHARE),
    ("Chinese", re.compile(r"[\u4e00-\u9fff]"), MIN_SCRIPT_SHARE),
    ("Russian or another in Cyrillic", re.compile(r"[\u0400-\u04ff]"), MIN_SCRIPT_SHARE),
    ("Greek", re.compile(r"[\u0370-\u03ff]"), MIN_SCRIPT_SHARE),
    ("Arabic", re.compile(r"[\u0600-\u06ff]"), MIN_SCRIPT_SHARE),
    ("Hebrew", re.compile(r"[\u0590-\u05ff]"), MIN_SCRIPT_SHARE),
    ("Hindi or another in Devanagari", re.compile(r"[\u0900-\u097f]"), MIN_SCRIPT_SHARE),
    ("Thai", re.compile(r"[\u0e00-\u0e7f]"), MIN_SCRIPT_SHARE),
)
COMMON_WORDS = {
    "English": "the of and to is that it for with as on are this be by from or which was not have an at",
    "German": "der die und das den von zu mit sich des auf für ist im dem nicht ein eine als auch werden aus bei",
    "French": "le la les et des du une est dans que qui pour par sur au avec ne pas ce sont ou aux plus",
    "Spanish": "el los las y del una por con para es lo se al como más su pero sus entre este está son",
    "Italian": "il di che è della per un una con non sono del le nel gli alla dei si da come anche più",
    "Portuguese": "o os e do da dos das em um uma para com não que por mais como ao se na no são",
    "Dutch": "de het een van en is dat op te zijn met voor niet aan er die door ook bij naar wordt",
    "Polish": "w i na się z do nie jest że to o jak po przez od dla są oraz tym które który",
    "Swedish": "och att det som en är av för på med den till inte ett har om de från kan eller",
}
_WORD_SETS = {language: frozenset(listed.split()) for language, listed in COMMON_WORDS.items()}
_LETTERS = re.compile(r"[^\W\d_]+", re.UNICODE)


def guess_language(text: str) -> str:
    """Return the language of a text, or UNKNOWN.

    >>> guess_language("The label of a document is one of many, and this text has it.")
    'English'
    """
    start = text[:MAX_CHARACTERS]
    words = _LETTERS.findall(start.lower())
    n_letters = max(1, sum(map(len, words)))
    for language, script, share in SCRIPTS:
        if len(script.findall(start)) >= share * n_letters:
            return language
    votes = Counter(
        {name: count for name, known in _WORD_SETS.items() if (count := sum(map(known.__contains__, words)))}
    )
    ranked = votes.most_common(2)
    is_clear = bool(ranked) and ranked[0][1] >= MIN_WORDS and (len(ranked) == 1 or ranked[0][1] > ranked[1][1])
    return ranked[0][0] if is_clear else UNKNOWN


def estimate_languages(texts: Sequence[str]) -> dict[str, float]:
    """Return the share of each language among the texts that could be told, most frequent first; from a sample."""
    places = np.unique(np.linspace(0, len(texts) - 1, min(len(texts), MAX_TEXTS)).round().astype(int))
    found = Counter(guess_language(texts[place]) for place in places)
    del found[UNKNOWN]
    total = sum(found.values())
    return {language: count / total for language, count in found.most_common()}
