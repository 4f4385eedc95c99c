"""Multi-head encoding: a few short heads in the place of one enormous output layer.

| method | module | for | parameters of the heads | logits a document |
| --- | --- | --- | --- | --- |
| `flat` | `flat` | comparison: one-hot encoding, one logit a label | d L | L |
| `mhp` | `product` | one label a document; label sets as a powerset | d Σ h | Σ h |
| `mhc` | `cascade` | several labels a document | d (h_1 + c) + c L | h_1 + kept Σ h_t |
| `mhs` | `flat` | cheap training on very many labels | d L | L; in training S heads |

L labels, d features, heads of length h, label embeddings of size c. All four share backbones, label order, training and
explanations (`base`), so they differ in nothing but the classifier.

What the paper claims and what holds: random label order does cost accuracy when the network underfits (its figure 9
says so, theorem 3 does not); the studies in `xcwork.studies.multihead` measure it. MHC does not shrink parameters
geometrically, because every label keeps an embedding. The theorems about products need non-negative outputs.

Reference: Liang, Zhang, Yuan, Zhang, Multi-head encoding for extreme label classification, TPAMI 2025.
"""

from xcwork.methods.multihead.method import MHC, MHP, MHS, Flat

__all__ = ["MHC", "MHP", "MHS", "Flat"]
