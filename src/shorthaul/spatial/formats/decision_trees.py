"""Fitted scikit-learn trees and forests as trees to lay out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.arguments import public
from shorthaul.core.errors import InputError
from shorthaul.spatial.model import Tree, tree_from_parents


@public
def tree_from_sklearn(estimator: object) -> Tree:
    """Return the tree of a fitted decision tree or agglomerative clustering, or those of a fitted forest or boosting.

    Of a pipeline its last step is taken, of a search the best estimator, of what else is made around a model (a
    calibrated classifier, a transformed target, a tuned threshold) the fitted model inside, or all of them. Vertices
    keep scikit-learn's node numbers, those of later trees follow.

    Parameters
    ----------
    estimator : object
        A fitted estimator of scikit-learn.

    Returns
    -------
    Tree
        The tree, or a forest.

    Raises
    ------
    InputError
        If it holds no fitted tree.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> fitted = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    >>> tree_from_sklearn(fitted).parent.tolist()
    [-1, 0, 0]
    """
    parents, offset = [], 0
    try:
        for fitted in _fitted(estimator):
            parent = _parents(fitted)
            parents.append(np.where(parent >= 0, parent + offset, -1))
            offset += len(parent)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:  # as damaged files have it
        found = f"{type(error).__name__}: {error}"
        raise InputError("holds a damaged tree", value=found, cure="fit it and write it again") from None
    if not parents:
        raise InputError("holds no fitted tree", value=type(estimator).__name__, allowed=_READ, cure="fit one of those")
    parent = np.concatenate(parents).astype(np.int64)
    return tree_from_parents(parent, forest=int(np.count_nonzero(parent < 0)) > 1)


_READ = "decision trees, forests, boosting, AgglomerativeClustering, also in pipelines, searches and calibrated ones"
#: Where what is made around a model keeps it once it is fitted.
_INSIDE = ("best_estimator_", "regressor_", "estimator_")


def _fitted(estimator: Any) -> Iterator[Any]:
    inside = next((name for name in _INSIDE if hasattr(estimator, name)), None)
    if isinstance(steps := getattr(estimator, "steps", None), list) and steps:
        yield from _fitted(steps[-1][1])
    elif hasattr(estimator, "tree_"):
        yield estimator.tree_
    elif hasattr(estimator, "calibrated_classifiers_"):
        for calibrated in estimator.calibrated_classifiers_:
            yield from _fitted(calibrated.estimator)
    elif hasattr(estimator, "estimators_"):
        for inner in np.asarray(estimator.estimators_, dtype=object).ravel():
            yield from _fitted(inner)
    elif inside is not None:
        yield from _fitted(getattr(estimator, inside))
    elif hasattr(estimator, "children_"):  # agglomerative clustering
        yield estimator
    elif hasattr(estimator, "_predictors"):  # boosting by histograms
        for trees in estimator._predictors:
            yield from trees


def _parents(fitted: Any) -> npt.NDArray[np.int64]:
    if hasattr(fitted, "children_"):  # those of the vertices after the leaves, in pairs
        parent = np.full(fitted.n_leaves_ + len(fitted.children_), -1, np.int64)
        parent[fitted.children_] = fitted.n_leaves_ + np.arange(len(fitted.children_))[:, None]
        return parent
    if hasattr(fitted, "nodes"):
        inside = ~fitted.nodes["is_leaf"].astype(np.bool_)
        sides = [np.where(inside, fitted.nodes[side].astype(np.int64), -1) for side in ("left", "right")]
    else:
        sides = [fitted.children_left, fitted.children_right]
    parent = np.full(len(sides[0]), -1, np.int64)
    for side in sides:
        inner = np.flatnonzero(side >= 0)
        parent[side[inner]] = inner
    return parent
