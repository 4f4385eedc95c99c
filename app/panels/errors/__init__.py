"""Parts of the page Errors."""
