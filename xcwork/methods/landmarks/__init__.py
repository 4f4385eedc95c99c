"""Landmark label selection: predict a few informative labels well and reconstruct the rest from them.

Labels depend on each other: who tags a page `python` often tags it `programming` too. So instead of a classifier a
label, k *landmark* labels get one, and every other label is a fixed combination of the predicted landmarks. Labels that
no combination reproduces, the *outliers*, keep a predictor of their own.

    1. affinity    every label as a sparse combination of the others:  min ‖Z‖₁ + α‖E‖₂,₁  s.t.  Y = Y Z + E, Z_ll = 0
    2. selection   S greedily maximises  cut(S) - λ·redundancy(S) + α_s·predictability(S)   on the graph |Z| + |Z|ᵀ
    3. predictors  p(x) = Bᵀx  for the landmarks: ridge regression or support vector machines
    4. decoding    Ŷ = p(x) Z_S  with Z_S from least squares or from the same ℓ1 problem with Y_S
    5. outliers    labels with ‖y - Y_S z‖ / ‖y‖ > τ are scored by their own regressor instead

Each step has a module with its mathematics. Everything is linear in x, so the share of a term by way of a landmark,
x_t · B[t, s] · Z[s, l], is exact: those products are the explanation, and the columns of Z_S embed the labels.

How much of the result the landmarks carry is easy to misread: with many outliers the method *is* one-vs-rest, and with
ridge it is exactly that when every badly reproduced label is an outlier. Therefore `diagnostics` always reports the
number of outliers, and P@k and nDCG@k of the landmarks alone and of full one-vs-rest beside the method's own.

Cost: counts O(sum_i |y_i|²), affinities and greedy selection proportional to what co-occurs, ridge O(min(N, d)³) or
conjugate gradients, one regressor a label for the scores of step 2 (and for the one-vs-rest row). Prediction:
O(k · terms + nnz(Z) + outlier weights of the terms) a document. Cannot predict a label that no training document has.

Differences from the paper: the optimisation of step 1 is corrected and solved by columns (see `affinity` and `admm`);
the definition of the predictability score, the weights λ and α_s, the outlier rule and the base regressor are not in
the part of the paper that is available, and are the choices described in the modules.

Reference: Barezi, Wood, Fung, Rabiee, A Submodular Feature-Aware Framework for Label Subset Selection in Extreme
Classification Problems, NAACL 2019.
"""

from xcwork.methods.landmarks.method import Landmarks

__all__ = ["Landmarks"]
