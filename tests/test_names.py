"""Names and docstrings say what a function does: the first word of each is a verb.

A name is read word by word: `compute_margins` and `_find_shard` pass, `margins`, `shard_of` and `joined` do not.
Properties are nouns and are not looked at. A new verb is added to VERBS; a noun is renamed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.syntax_trees import read_modules

# The packages that are held to the rule.
PACKAGES = ("xcwork", "xcwork_app")
VERB_LIST = """
differentiate fetch repeat squash surround overlap cross
accept acquire activate adapt add advance aggregate agree align allow alternate announce answer append apply arrange
ascend ask assign assist attach attribute average beat begin bench bootstrap borrow break bring build cache calibrate
call cancel cast catch change check choose classify clean clear close cluster collect colour compact compare
compile complete compute concatenate connect continue convert copy correct correlate count create cut decay decide
declare decode decompose define deflate delete descend describe diagnose disarm discard dismiss divide do drain draw
drop edit elect embed encode end enlarge enter escape estimate evaluate examine exchange exit explain export extend
extrapolate factorise fail fall fill filter find finish fit fix flatten flush follow forget format gather generate get
give glance
go grade group grow guess halve hand hash hear hide highlight hold identify ignore imitate import improve include index
initialise insert inspect invoke iterate join judge keep launch lay leap learn leave let light limit link list listen
load locate lock log look lower make map mark match maximise measure merge mirror mix move multiply name narrow
normalise note number observe offer open order pack pad paint pair parse pass peek permute phrase pick place plan plant
pool precondition predict prepare preview print project promise publish push put query queue quote raise rank rate read
recalibrate recognise recommend reconstruct record reduce refine refresh refuse register regroup reject relate release
remember remove rename render renumber replace report require resample resolve restore restrict resume return review
rewrite round run sample save say scale score search seed select send set share shift shorten shortlist show shuffle
sift simulate skip solve sort space spawn spell split spread stack stage stamp start stem step stop store strip style
suggest sum summarise swap sweep switch sync tabulate take tell test time toggle trace track train transform transpose
triage trim try turn understand undo unflatten unite unpack unquote unscale update use validate vectorise view wait walk
warn watch weigh widen work write yield zero
"""
VERBS = set(VERB_LIST.split())
# Questions with the answer yes or no, other constructors, conversions, and what a callback hears.
PREFIXES = {"are", "can", "from", "has", "is", "may", "needs", "on", "to", "was"}
PREDICATES = {
    "asks",
    "belongs",
    "fits",
    "holds",
    "keeps",
    "lies",
    "lists",
    "looks",
    "moves",
    "names",
    "prevails",
    "shares",
}
PREDICATES |= {"shrinks", "starts", "trusts", "wants"}
# Words of others: torch, IPython and `io` call these, and `main` is what a program starts with.
# `head` and `where` are pandas' and numpy's, `max` torch's; the maps and top-k functions are named after Python's `map`
# and the usual word for them.
VOCABULARY = {
    "_repr_html_",
    "backward",
    "forward",
    "main",
    "parameters",
    "readable",
    "readinto",
    "head",
    "where",
    "max",
}
VOCABULARY |= {"block_map", "parallel_map", "stream_map", "top_k_product", "top_k_rows"}
# Commands that are nouns on the command line, and what the command line starts with.
COMMANDS = {"_root", "app", "datasets", "demo_runs", "methods", "papers", "runs", "study"}
# The published contracts of methods and readers, and what declares the field of a class, as `dataclasses.field` does.
CONTRACT = {"for_display", "label_embeddings", "param", "recognises", "with_gaps"}
CONTRACT |= {"device_param", "precision_param"}
MODULES = {name: tree for name, tree in read_modules().items() if name.startswith(PACKAGES)}


def is_verb_phrase(name: str) -> bool:
    """Tell whether the name of a function starts with a verb; `name_of` and `place_of` are nouns all the same."""
    words = name.strip("_").split("_")
    if name in VOCABULARY | CONTRACT | COMMANDS or name.startswith("__"):
        return True
    return words[0] in VERBS | PREFIXES | PREDICATES and words[1:2] != ["of"]


def find_functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield every function that is not a property, nested ones too, with the place where it is defined."""
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                decorators = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
                if "property" not in decorators and ".setter" not in decorators:
                    yield f"{module}:{node.lineno} {node.name}", node


FUNCTIONS = list(find_functions())


def test_every_package_is_there() -> None:
    assert all(any(module.startswith(package) for module in MODULES) for package in PACKAGES)
    assert len(FUNCTIONS) > 100


def test_functions_start_with_a_verb() -> None:
    assert [place for place, node in FUNCTIONS if not is_verb_phrase(node.name)] == []


def test_docstrings_of_functions_start_with_a_verb() -> None:
    first_words = [
        (place, text.split()[0]) for place, node in FUNCTIONS if (text := ast.get_docstring(node)) is not None
    ]
    assert [f"{place}: {word}" for place, word in first_words if word.lower().rstrip(".,:") not in VERBS] == []


def test_constants_stand_on_a_line_each() -> None:
    assert [
        f"{module}:{node.lineno}"
        for module, tree in MODULES.items()
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Tuple)
        and any(isinstance(each, ast.Name) and each.id.isupper() for each in target.elts)
    ] == []


@pytest.mark.parametrize("name", ["margins", "_card", "joined", "shard_of", "name_of", "tree_frame", "_nothing"])
def test_nouns_and_participles_are_found(name: str) -> None:
    assert not is_verb_phrase(name)


@pytest.mark.parametrize("name", ["compute_margins", "_fit", "from_state", "is_seen", "on_step", "__len__"])
def test_verbs_are_left_alone(name: str) -> None:
    assert is_verb_phrase(name)
