"""What several methods share. No method imports another, so what two of them need is here.

one_vs_all_svm                      a support vector machine per label, against all other documents
pair_svm, training_pairs            the same over given pairs, and the pairs of a shortlist
grlr, grlr_problem, grlr_torch      labels of groups assigned to documents (EAGLE, Deep-MIML)
epochs, checkpoints                 training by epochs with early stopping, and how it is resumed
row_adam, token_bags, sparse_torch  Adam on the rows in use, sums of token vectors, sparse products in torch
"""
