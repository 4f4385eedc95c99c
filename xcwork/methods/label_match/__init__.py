"""Label matching: a document gets the labels whose own text shares terms with it. Nothing is learned from Y.

Both methods here score a label by a sum over the terms t that document and label share,

    s(x, l) = sum over t of d(x, t) * r(l, t)

so a term's contribution is the explanation, a label without any training document is as reachable as any other, and a
document without a known term gets no label. They differ in the weights d and r:

- `TfidfMatch` takes the features as they are, unit rows of tf-idf, so that s is the cosine of document and label text.
- `BM25` treats the label text as the document that is searched for and the document as a long query (Robertson et al.,
  TREC-3), with n(l, t) and n(x, t) the counts of t, |l| the number of terms of l, N and N_t the number of training
  documents and of those that contain t:

      r(l, t) = idf(t) * (k1 + 1) n(l, t) / (n(l, t) + k1 (1 - b + b |l| / mean |l|))
      d(x, t) = (k3 + 1) n(x, t) / (n(x, t) + k3)
      idf(t)  = ln(1 + (N - N_t + ½) / (N_t + ½))

  Searching the documents for the label text instead, and idf over the label texts, both did worse on the training
  part of pyseealso (P@1 54.0 and 52.2 against 56.2).

A split stores unit rows, so counts are recovered from them: divided by idf, the values of a row are proportional to its
counts, and the smallest is taken to be a single occurrence. Features without a vectoriser count as if idf were one.

Cost: nothing to train beyond counting; O(terms of x * labels that contain such a term) a document.
"""

from xcwork.methods.label_match.method import BM25, TfidfMatch

__all__ = ["BM25", "TfidfMatch"]
