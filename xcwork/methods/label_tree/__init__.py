"""Label trees: a document finds its labels by going down a tree of ever smaller sets of labels.

Similar labels share a branch. At every node linear classifiers decide which branches a document follows, and at the
leaves which labels it gets:

    P(label | x) = Π over the way down of exp(-max(0, 1 - w·x/‖x‖ - b)ᵖ),     score = mean of P over the trees

with (w, b) support vector machines of squared hinge loss and p = `power`, 2 as in Parabel. A classifier is trained on
the documents at its node alone, and a search follows the `beam` best nodes of a level, so both cost far less than a
classifier a label over everything.

- kind="parabel": balanced halves by spherical 2-means of the label centroids, until a node has at most `leaf_size`
  labels. `branching` above 2 takes several halvings at once, which makes a flatter tree.
- kind="bonsai": k-means with many clusters, as unequal as they come, and at most `max_depth` such splits.
- kind="given": the hierarchy that the dataset gives its labels.

Cost: O(log n_labels) classifiers a document and tree in training and prediction, about `beam` * `leaf_size` labels at
the leaves. Nodes train side by side on all cores; one seed gives one result whatever their number.

Differences from the papers: documents without labels are negatives at the root; the bias is not pruned; entries of a
centroid below 0.01 do not take part in clustering; at most ten passes of descent at a node with few branches. A label
without training documents is in no tree and is never predicted; a tree that does not reach a label counts as zero.

References: Prabhu et al., Parabel, WWW 2018; Khandagale, Xiao and Babbar, Bonsai, Machine Learning 2020.
"""

from xcwork.methods.label_tree.method import LabelTree

__all__ = ["LabelTree"]
