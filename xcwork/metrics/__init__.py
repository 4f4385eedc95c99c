"""Measuring predictions: ranking metrics, propensities, label bands, significance, and the report of a run."""

from xcwork.core.bands import absolute_bands, decile_bands, share_bands, shot_bands
from xcwork.core.propensity import inverse_propensities
from xcwork.data.propensity_constants import constants_for
from xcwork.metrics.by_band import band_table
from xcwork.metrics.per_item import per_document, per_label, write_details
from xcwork.metrics.ranking import DEFINITIONS, HEADLINE_METRICS, document_ratios, evaluate_topk, place
from xcwork.metrics.report import EvalReport, evaluate
from xcwork.metrics.significance import compare, paired_bootstrap

__all__ = [
    "DEFINITIONS",
    "HEADLINE_METRICS",
    "EvalReport",
    "absolute_bands",
    "band_table",
    "compare",
    "constants_for",
    "decile_bands",
    "document_ratios",
    "evaluate",
    "evaluate_topk",
    "inverse_propensities",
    "paired_bootstrap",
    "per_document",
    "per_label",
    "place",
    "share_bands",
    "shot_bands",
    "write_details",
]
