"""Parts of the page Train."""
