"""Models of scikit-learn in files: the same trees as from memory, and nothing that runs other code."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import shorthaul.spatial as engine
from shorthaul.core.errors import InputError
from shorthaul.spatial.formats.decision_trees import tree_from_sklearn
from shorthaul.spatial.formats.files import tree_from_file


def fitted(name: str) -> Any:
    from sklearn import ensemble, model_selection, pipeline, preprocessing, tree  # a second and more

    rng = np.random.default_rng(0)
    x = rng.random((60, 3))
    y = x[:, 0] + rng.random(60) > 1
    made = {
        "tree": lambda: tree.DecisionTreeRegressor(splitter="random", random_state=0),
        "forest": lambda: ensemble.RandomForestClassifier(3, random_state=np.random.RandomState(1)),
        "boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=3),
        "histograms": lambda: ensemble.HistGradientBoostingClassifier(max_iter=3),
        "pipeline": lambda: pipeline.make_pipeline(preprocessing.StandardScaler(), ensemble.ExtraTreesClassifier(2)),
        "search": lambda: model_selection.GridSearchCV(tree.DecisionTreeClassifier(), {"max_depth": [1, 4]}, cv=2),
    }
    return made[name]().fit(x, y)


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "histograms", "pipeline", "search"])
def test_files_hold_the_trees_of_the_model(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    tree = tree_from_sklearn(model)
    inner = np.bincount(tree.parent[tree.parent >= 0], minlength=tree.n)
    assert set(inner.tolist()) <= {0, 2}  # every split has two sides
    joblib.dump(model, tmp_path / "model.joblib")
    joblib.dump(model, tmp_path / "packed.joblib", compress=3)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    for method in ("gzip", "bz2", "xz"):
        joblib.dump(model, tmp_path / f"{method}.joblib", compress=(method, 3))
    for file in ("model.joblib", "packed.joblib", "model.pkl", "gzip.joblib", "bz2.joblib", "xz.joblib"):
        found = engine.plan(tmp_path / file, refine=0, baselines=False).plan
        assert found is not None
        assert np.array_equal(found.parent, tree.parent)


class Foreign:
    def __reduce__(self) -> Any:
        return os.mkdir, ("run",)


@pytest.mark.parametrize("suffix", [".pkl", ".joblib"])
def test_nothing_else_is_run(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    joblib.dump([Foreign()], "model.joblib")
    Path("model.pkl").write_bytes(pickle.dumps([Foreign()]))
    with pytest.raises(InputError, match="more than a model"):
        engine.plan(f"model{suffix}")
    assert not Path("run").exists()


@pytest.mark.parametrize("module", ["sklearn.utils._bunch", "numpy.testing", "builtins", "subprocess"])
def test_functions_of_known_packages_are_refused_as_well(module: str) -> None:
    name = {"sklearn.utils._bunch": "warnings.warn", "numpy.testing": "rundocs", "builtins": "eval"}.get(
        module, "Popen"
    )
    pickled = (
        b"\x80\x04\x8c"
        + bytes([len(module)])
        + module.encode()
        + b"\x8c"
        + bytes([len(name)])
        + name.encode()
        + b"\x93."
    )
    with pytest.raises(InputError, match="more than a model"):
        tree_from_file(Path("model.pkl"), pickled)


@pytest.mark.parametrize("data", [b"", b"\x80\x04hello", b"x\x9c", pickle.dumps([1]), pickle.dumps(len)])
def test_what_is_no_model(data: bytes) -> None:
    with pytest.raises(InputError, match=r"model\.pkl"):
        tree_from_file(Path("model.pkl"), data)


@pytest.mark.parametrize("pack", [zlib.compress, gzip.compress, bz2.compress, lzma.compress])
def test_little_that_unpacks_to_much_is_refused(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shorthaul.spatial.formats.estimators.MOST_UNPACKED", 1000)
    with pytest.raises(InputError, match="unpacks to too much"):
        tree_from_file(Path("model.joblib"), pack(bytes(1001)))
    with pytest.raises(InputError, match="is not a model"):
        tree_from_file(Path("model.joblib"), pack(bytes(1000)))


def test_trees_that_are_damaged_are_refused(tmp_path: Path) -> None:
    model = fitted("tree")
    data = pickle.dumps(model)
    record = model.tree_.__getstate__()["nodes"][:1].tobytes()  # begins with the left child
    far = data.replace(record, (2**40).to_bytes(8, "little") + record[8:], 1)
    assert far != data
    with pytest.raises(InputError, match="damaged tree"):
        tree_from_file(tmp_path / "model.pkl", far)
