"""What everything speaks of: datasets, splits, labels, features, rankings, explanations, bands."""
