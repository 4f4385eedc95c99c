"""ZestXML: a sparse bilinear model that predicts labels it has never seen and can say exactly why.

A document x and a label l, described by terms z_l, meet in pairs of a document feature and a label feature:

    s(x, l) = bias_l + Σ x_c W_cd z_ld + m Σ √x_c idf_c z_lc + Σ x_c V_lc
                       learned pairs      terms in common       memorised for this label

Training has two steps. XHTP finds, in closed form, the few pairs (c, d) for which "the document has c and the label
has d" makes relevance probable (`xhtp`); ranking by them alone is the variant `xhtp`. Refinement then learns weights
against the labels that XHTP itself puts on a document's shortlist (`refine` for pairs that labels share, `own` for
what is memorised of each seen label): the variant `tuned`. A label seen in training has an identity of its own
besides its terms; a label that was never seen has only its terms, which is enough to predict it, and new labels can
join at any time.

The score is a sum over pairs, so the parts of an explanation are the terms of that sum: exact, not an approximation.

Cost: XHTP one addition for each (document feature, label feature of a relevant label); refinement
O(passes * documents * shortlist * features of a document); prediction O(features * K + candidates * terms of a label) a
document. Memory: the data, K numbers for each feature, and the shortlists.

Differences from the paper:

- Own weights are not restricted to K voters but solved for all features and pruned by size; refinement starts from
  prior and exact matches rather than from nothing.
- Exact matches count by √x and idf, and enter as one more sum of pairs instead of through
  0.9 exp(-max(0, 1 - m)²) + 0.1 match, so that the score that ranks is the score that is explained.
- Unseen labels borrow terms from the documents of seen labels with a similar text (`borrow`).
- Unseen labels have a shortlist of their own and a scale of their own, calibrated on labels hidden from training
  (`unseen`); in the reference program more than half of them are lost in the shortlist.

Reference: Gupta, Bohra, Prabhu, Purohit and Varma, Generalized zero-shot extreme multi-label learning, KDD 2021.
"""

from xcwork.methods.zestxml.method import ZestXML

__all__ = ["ZestXML"]
