"""Which methods suit a dataset: a rule that answers at once, and a pilot that tries them on a sample."""

from xcwork.advice.recommendation import Recommendation, Suggestion
from xcwork.advice.recommending import recommend

__all__ = ["Recommendation", "Suggestion", "recommend"]
