"""From a ranking to a decision: probabilities of predictions, thresholds, and what they promise."""
