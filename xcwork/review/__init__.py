"""What deserves a person's eye, what people said about it, and what their answers change."""
