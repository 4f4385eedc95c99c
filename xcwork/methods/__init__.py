"""The methods: `create(name, **params)` makes one, `METHODS` lists their names.

Every method is a package of one shape, and its docstrings teach it:

    NAME/method        the parameters, declared once; idea, equation, cost, differences from the paper
    NAME/model         what is learned: a frozen `FittedModel` with `check`, `predict` and `explain`
    NAME/training      from a split and parameters to the model; the loss has a file of its own (`siamesexml/loss`,
                       `deep_miml/network`, `multihead/heads`), or is that of a kernel (`svm`, `bilinear_training`)
    NAME/...           the parts of the paper by their names: `zestxml/xhtp`, `landmarks/admm`, `label_tree/forest`

All methods share what is beside the packages: `base` (the contract: `fit`, `predict`, `explain`, `save`), `model`,
`params`, `inputs`, `presets`, and the solvers and training loops in `common`. No method imports another. Compiled loops
are in `xcwork.kernels`.

To add a method, write its package (`popularity` is the shortest) and one line in `names`; `docs/architecture.md` has
an example, and `pytest tests/contract -k NAME` holds it to what is expected of every method.
"""

from xcwork.methods.registry import METHODS, create, find_method_class

__all__ = ["METHODS", "create", "find_method_class"]
