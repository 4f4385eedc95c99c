"""Measuring predictions: ranking metrics, propensities, label bands, significance, and the report of a run."""

from xcwork.core.bands import make_absolute_bands, make_decile_bands, make_share_bands, make_shot_bands
from xcwork.core.propensity import compute_inverse_propensities
from xcwork.data.propensity_constants import find_constants
from xcwork.metrics.by_band import tabulate_bands
from xcwork.metrics.per_item import tabulate_documents, tabulate_labels, write_details
from xcwork.metrics.ranking import DEFINITIONS, HEADLINE_METRICS, compute_document_ratios, evaluate_topk, place_labels
from xcwork.metrics.report import EvalReport, evaluate
from xcwork.metrics.significance import bootstrap_difference, compare_predictions

__all__ = [
    "DEFINITIONS",
    "HEADLINE_METRICS",
    "EvalReport",
    "bootstrap_difference",
    "compare_predictions",
    "compute_document_ratios",
    "compute_inverse_propensities",
    "evaluate",
    "evaluate_topk",
    "find_constants",
    "make_absolute_bands",
    "make_decile_bands",
    "make_share_bands",
    "make_shot_bands",
    "place_labels",
    "tabulate_bands",
    "tabulate_documents",
    "tabulate_labels",
    "write_details",
]
