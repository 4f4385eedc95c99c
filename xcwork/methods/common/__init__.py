"""What several methods share: solvers, training by epochs, checkpoints. No method imports another."""
