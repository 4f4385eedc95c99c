"""Nearest documents: a document gets the labels of the training documents it resembles most.

The score of label l for document x is the similarity-weighted vote of its n nearest training documents,

    s(x, l) = sum over i in N(x) of cos(x, x_i) * Y[i, l]  /  sum over i in N(x) of cos(x, x_i)

so every score lies in [0, 1], and the share that one neighbour contributes is exact: that is the explanation.

Cost: nothing to train; O(terms of x * average posting length) a document. Memory: the training matrix, one accumulator
of the training documents a thread, and one block of votes. Cannot predict a label that no training document carries.
A document that shares no term with any training document has no neighbours and gets no labels.
"""

from xcwork.methods.nearest_documents.method import NearestDocuments

__all__ = ["NearestDocuments"]
