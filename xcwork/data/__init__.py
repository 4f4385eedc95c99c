"""Datasets: the types, the readers, the checks, the embedded dataset and the synthetic one."""

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.propensity import Propensity
from xcwork.core.split import Split

__all__ = ["Dataset", "Features", "LabelSpace", "Propensity", "Split"]
