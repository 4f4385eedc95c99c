"""xcwork: a workbench for extreme multi-label classification.

>>> import xcwork
>>> sorted(name for name in xcwork.__all__ if name.startswith("load"))
['load_dataset', 'load_method']
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# Imported when first used, so that `import xcwork` and `xcwork --help` stay fast.
_PUBLIC = {
    "Callback": "xcwork.progress:Callback",
    "Dataset": "xcwork.core.dataset:Dataset",
    "Explanation": "xcwork.core.explanation:Explanation",
    "TopK": "xcwork.core.topk:TopK",
    "create": "xcwork.methods.registry:create",
    "describe": "xcwork.data.card:describe",
    "evaluate": "xcwork.metrics:evaluate",
    "from_arrow": "xcwork.data.from_memory:from_arrow",
    "from_frame": "xcwork.data.from_memory:from_frame",
    "from_lists": "xcwork.data.from_memory:from_lists",
    "load_dataset": "xcwork.data.load:load_dataset",
    "load_method": "xcwork.methods.base:Method.load",
    "recommend": "xcwork.advice.recommending:recommend",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'xcwork' has no attribute {name!r}")
    module, _, path = _PUBLIC[name].partition(":")
    value: Any = import_module(module)
    for attribute in path.split("."):
        value = getattr(value, attribute)
    return value


def __dir__() -> list[str]:
    return __all__
