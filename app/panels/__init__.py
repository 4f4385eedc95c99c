"""What pages are made of: one file a panel, plain functions that draw where they are called."""
