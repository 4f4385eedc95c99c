"""Parts of the page Labs."""
