"""Parts that several pages show."""
