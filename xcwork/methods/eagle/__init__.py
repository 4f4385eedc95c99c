"""EAGLE: learning from labels that are known for groups of documents only.

A label of a group belongs to at least one member, but which? The embedding of a label should be close to at least one
member of every group that carries it,

    e_k = argmax over ‖e‖ = 1 of  Σ_{groups j with label k}  max_{i in j} <e, x_i>,

which GRLR approximates by T steps that alternate between picking the nearest member of each group and moving the
embedding towards those picked. Then each group gives each of its labels to the member nearest to the label's
embedding, or to the c nearest where c members brought it in, and any method of the workbench learns from the result as
if it were ordinary data. Without steps (T = 0) this is EAGLE-0; `assign="all"` gives every label to every member, the
baseline; `assign="truth"` takes the documents' own labels, where they are known, as the oracle. On ordinary data every
document is its own group and nothing changes.

A rule of thumb from the paper's theorem 1 and table 2: mixed groups gain from assignment, in tight groups (all members
nearly alike) the labels of the group may as well stay with all of them. That is so where each label goes to one member;
given to as many as brought it in, assignment has been better in clusters too (README).

Training looks at the labels of groups alone. Where the documents carry labels of their own, these serve to report how
many assigned pairs are true.

Differences from the paper: documents are centred before cosines are taken, and steps are careful then: they take off
what wins in groups at large, which assigns far more labels right (`centre=False` is the paper's way for text); the
undefined Proj(0) and steps that change nothing are handled (`xcwork.kernels.grlr`); a label that a group carries c
times goes to its c nearest members, where algorithm 2 marks one (`assign="one"`): in large groups one member out of
many that carry a label leaves little to learn from.

Reference: Shen, Yu, Sanghavi and Dhillon, Extreme multi-label classification from aggregated labels, ICML 2020.
"""

from xcwork.methods.eagle.method import Eagle

__all__ = ["Eagle"]
