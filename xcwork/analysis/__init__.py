"""Looking into a trained model and its predictions: where it fails, why, and what lies near what."""
