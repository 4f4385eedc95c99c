"""Deep-MIML and EAGLE's co-attention: a neural network that learns from bags of instances with common labels.

The network (`network`) gives every instance a score for every label, the largest over K sub-concepts, and a bag the
largest score of its instances. The co-attention mask adds what GRLR (`xcwork.methods.common.grlr`) knows: an instance
close to the embedding of a label has more say about it. τ controls how much; τ = 0 is Deep-MIML, `steps=0` is EAGLE-0.
A document outside of any bag is a bag of one, for which the mask changes nothing: it shapes training only.

The score of a label for a document is its logit v. Around a given document the network is linear (the same hidden units
are active and the same sub-concepts win), so the parts of an explanation, value times slope plus a constant, add up
exactly.

Cost: O(terms * hidden + hidden * labels * K) an instance, so thousands of labels at most; this is the method for bags
of images and sentences rather than for extreme label spaces. Images have the mean image subtracted, as in the paper.

Differences from the paper: the mask multiplies probabilities instead of logits, and only those of labels that the bag
carries; the last layer has no ReLU, which would make every logit positive. `network` says why.

Reference: Feng and Zhou, Deep MIML network, AAAI 2017; Shen et al., Extreme multi-label classification from aggregated
labels, ICML 2020, section 6.
"""

from xcwork.methods.deep_miml.method import DeepMIML

__all__ = ["DeepMIML"]
