"""Parts of the page Decisions."""
