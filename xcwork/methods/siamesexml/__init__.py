"""SiameseXML: documents and labels share one encoder, and every label has a classifier that starts from its text.

Short texts with label texts are its home. The encoder (`encoder`) sums token embeddings and normalises; training has
four modules:

I.   The encoder learns to bring labels and their documents together, against the hardest of a batch (`module_one`).
II.  Labels get smoothed text embeddings and centroids; searches over them find candidates in about log L (`graphs`).
III. Classifiers w_l = N(z̃_l + η_l) start at η = 0, where they equal the label's text.
IV.  η and a residual block learn against each document's hard negatives; with `plus` the tokens too (`classifiers`).

Prediction searches candidates and adds the scores of each with weights learned on validation documents (`scores`,
`fusion`). A label added later is known by its text at once. Every score is linear in the tokens once the activations of
this document are given, therefore explanations add up exactly (`explain`).

Cost: encoding O(tokens * D + D²); a batch of module I O(B² D), of module IV O(B D * labels of the batch); prediction
O(D² + D log L) a document. Memory: three vectors and the weights of some words a label, one
vector a training document.

Differences from the paper (camera-ready; `siamesexml.supplement()` gives the parameters of the earlier variant):

- Candidates of all searches are united and every score is computed exactly; scores add linearly, so that they can be
  explained; nearest documents, words in common and a second classifier over the words themselves (`terms`) take part.
  Weights depend on how frequent a label is and come from validation documents taken from the training part, which
  afterwards serve in centroids and searches. `alpha` asks for the paper's sum of three instead.
- `likelihood=logistic` lets module IV let go of pairs that are right already, which helps where labels are frequent.
  Its step size falls in a line rather than by half once, and some tokens are left out at random.
- The residual block starts as the identity (radius 0), so that Lemma 2's assumption L²(0) = L¹ holds.
- Tokens start from the data's own singular vectors; a file of word vectors can replace them.

Reference: Dahiya et al., SiameseXML: siamese networks meet extreme classifiers with 100M labels, ICML 2021.
"""

from xcwork.methods.siamesexml.method import SiameseXML

__all__ = ["SiameseXML"]
