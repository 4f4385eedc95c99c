"""What the page Review is built from."""
