"""What everything is about: datasets, splits, labels, features, rankings, explanations, bands."""
