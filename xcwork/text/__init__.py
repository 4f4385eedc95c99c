"""Text becomes terms, terms become features."""
