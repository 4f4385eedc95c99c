"""Options as people write them: `name=value`."""
