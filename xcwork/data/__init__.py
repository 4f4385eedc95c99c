"""Datasets: the types, the readers, the checks, the embedded dataset and the synthetic one."""

from xcwork.data.dataset import Dataset, Features, LabelSpace, Propensity, Split

__all__ = ["Dataset", "Features", "LabelSpace", "Propensity", "Split"]
