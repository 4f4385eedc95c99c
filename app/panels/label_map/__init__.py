"""Parts of the page Label map."""
