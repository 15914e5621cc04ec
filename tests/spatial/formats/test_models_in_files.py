"""Models of scikit-learn in files: the same trees as from memory, and nothing that runs other code."""

from __future__ import annotations

import io
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

import shorthaul.spatial as engine
from shorthaul.core.errors import InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.spatial.formats.decision_trees import tree_from_sklearn
from shorthaul.spatial.formats.estimators import _decompressed, load_estimator
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


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "way"),
    [
        *(("tree", 0), ("forest", 3), ("histograms", "bz2")),
        pytest.param("boosting", "gzip", marks=pytest.mark.slow),
        pytest.param("pipeline", "xz", marks=pytest.mark.slow),
        pytest.param("search", None, marks=pytest.mark.slow),
    ],
)
def test_files_hold_the_trees_of_the_model(name: str, way: str | int | None, tmp_path: Path) -> None:
    model, file = fitted(name), tmp_path / "model.joblib"
    tree = tree_from_sklearn(model)
    inner = np.bincount(tree.parent[tree.parent >= 0], minlength=tree.n)
    assert set(inner.tolist()) <= {0, 2}  # every split has two sides
    if way is None:
        file = tmp_path / "model.pkl"
        file.write_bytes(pickle.dumps(model))
    else:
        joblib.dump(model, file, compress=(way, 3) if isinstance(way, str) else way)
    if name in {"tree", "search"}:  # as a user reads them: the process that does so imports for two seconds
        found = engine.plan(file, refine=0, baselines=False).plan
        assert found is not None
    else:
        found = tree_from_sklearn(load_estimator(_decompressed(file.read_bytes())))
    assert np.array_equal(found.parent, tree.parent)


@pytest.mark.costly
def test_agglomerative_clustering_is_a_tree_of_what_was_joined() -> None:
    """Below the roots that are left are the clusters."""
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.neighbors import kneighbors_graph

    points = np.random.default_rng(0).random((30, 2))
    near = kneighbors_graph(points, 9)
    for full in (False, True):
        model = AgglomerativeClustering(3, connectivity=near, compute_full_tree=full).fit(points)
        tree = tree_from_sklearn(load_estimator(pickle.dumps(model)))
        assert tree.n == (59 if full else 57)
        top = np.arange(57)  # the last two were not joined to get three clusters
        for v in range(56, -1, -1):
            top[v] = top[tree.parent[v]] if 0 <= tree.parent[v] < 57 else v
        clusters = {(int(root), int(label)) for root, label in zip(top[:30], model.labels_, strict=True)}
        assert len(clusters) == len(set(top[:30].tolist())) == 3


@pytest.mark.slow
def test_models_inside_models() -> None:
    from sklearn import calibration, compose, ensemble, feature_selection, tree

    rng = np.random.default_rng(0)
    x = rng.random((60, 3))
    y = x[:, 0] + rng.random(60) > 1
    single = tree.DecisionTreeClassifier(max_depth=2, random_state=0)
    calibrated = calibration.CalibratedClassifierCV(ensemble.RandomForestClassifier(2, max_depth=2), cv=3).fit(x, y)
    inner = [one for part in calibrated.calibrated_classifiers_ for one in part.estimator.estimators_]
    assert tree_from_sklearn(calibrated).n == sum(one.tree_.node_count for one in inner)
    assert len(tree_from_sklearn(calibrated).roots()) == 6
    target = compose.TransformedTargetRegressor(tree.DecisionTreeRegressor(max_depth=2)).fit(x, x[:, 0])
    assert tree_from_sklearn(target).n == target.regressor_.tree_.node_count
    chosen = feature_selection.RFE(single, n_features_to_select=2).fit(x, y)
    assert tree_from_sklearn(chosen).n == chosen.estimator_.tree_.node_count
    with pytest.raises(InputError, match="no fitted tree"):
        tree_from_sklearn(compose.TransformedTargetRegressor(single))


def test_old_protocols_and_functions_that_nobody_calls() -> None:
    import functools

    from sklearn import tree
    from sklearn.utils import check_array

    model = tree.DecisionTreeClassifier(max_depth=2).fit([[0], [1], [float("nan")]], [0, 1, 0])
    model.kept = functools.partial(check_array, ensure_2d=False)  # as boosting does that knows of categories
    for protocol in (0, 2, 5):
        found = tree_from_sklearn(load_estimator(pickle.dumps(model, protocol)))
        assert np.array_equal(found.parent, tree_from_sklearn(model).parent)
    with pytest.raises(InputError, match="bytes as rot13"):
        load_estimator(b"c_codecs\nencode\n(Va\nVrot13\ntR.")


class Foreign:
    def __reduce__(self) -> Any:
        return os.mkdir, ("run",)


@pytest.mark.costly
@pytest.mark.parametrize("suffix", [".pkl", ".joblib"])
def test_nothing_else_is_run(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    joblib.dump([Foreign()], "model.joblib")
    Path("model.pkl").write_bytes(pickle.dumps([Foreign()]))
    with pytest.raises(InputError, match="more than a model"):
        engine.plan(f"model{suffix}")
    assert not Path("run").exists()


@pytest.mark.costly
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


@pytest.mark.costly
@pytest.mark.parametrize("data", [b"", b"\x80\x04hello", b"x\x9c", pickle.dumps([1]), pickle.dumps(len)])
def test_what_is_no_model(data: bytes) -> None:
    with pytest.raises(InputError, match=r"model\.pkl"):
        tree_from_file(Path("model.pkl"), data)


@pytest.mark.costly
def test_little_that_unpacks_to_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shorthaul.spatial.formats.estimators.MOST_UNPACKED", 1000)
    with pytest.raises(InputError, match="unpacks to too much"):
        tree_from_file(Path("model.joblib"), zlib.compress(bytes(1001)))
    with pytest.raises(InputError, match="is not a model"):
        tree_from_file(Path("model.joblib"), zlib.compress(bytes(1000)))


def test_trees_that_are_damaged_are_refused(tmp_path: Path) -> None:
    model = fitted("tree")
    data = pickle.dumps(model)
    record = model.tree_.__getstate__()["nodes"][:1].tobytes()  # begins with the left child
    far = data.replace(record, (2**40).to_bytes(8, "little") + record[8:], 1)
    assert far != data
    with pytest.raises(InputError, match="damaged tree"):
        tree_from_file(tmp_path / "model.pkl", far)


def of_elements_far_away() -> bytes:
    """Return a file with an array whose elements lie beyond it; NumPy does not look."""
    file = io.BytesIO()
    joblib.dump(np.ones(4, [("a", "i8")]), file)
    near, far = b"K\x00\x86", b"J\x00\x00\x00\x04\x86"  # the offset of a column, and the end of a pair
    assert near in file.getvalue()
    return file.getvalue().replace(near, far, 1)


def of_a_key_without_end() -> bytes:
    """Return a pickle of a few hundred bytes whose one key is hashed by way of 2^60 pairs."""
    pairs: tuple[object, ...] = ()
    for _ in range(60):
        pairs = (pairs, pairs)
    return b"\x80\x02}(" + pickle.dumps(pairs, 2)[2:-1] + b"K\x01u."


LARGE = b"cbuiltins\nbytearray\n(I%d\ntR." % (3 << 30)


@pytest.mark.costly
@pytest.mark.parametrize(
    ("data", "seconds", "problem"),
    [
        (of_elements_far_away(), 100, "ended its reader with status -"),
        (of_a_key_without_end(), 1, "too long to read"),
        (LARGE, 100, "too much memory to read"),
    ],
)
def test_a_model_that_ends_its_reader(data: bytes, seconds: int, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shorthaul.spatial.formats.estimators._MOST_BYTES", 1)
    monkeypatch.setattr("shorthaul.spatial.formats.estimators._MOST_S", seconds)
    with pytest.raises(InputError, match=problem):
        tree_from_file(Path("model.joblib"), data)


def test_a_model_is_not_waited_for_beyond_the_deadline() -> None:
    with pytest.raises(NoPlanError):
        tree_from_file(Path("model.joblib"), of_a_key_without_end(), search=Search(time_limit=0.5))


class OlderWrapper(joblib.numpy_pickle.NumpyArrayWrapper):  # type: ignore[misc]  # joblib has no types
    """Takes whatever an array of objects is made of, as joblib did before 1.6."""

    def read_array(self, unpickler: Any, *_: object) -> Any:
        return pickle.load(unpickler.file_handle)


OlderWrapper.__module__, OlderWrapper.__qualname__ = "joblib.numpy_pickle", "NumpyArrayWrapper"


def test_arrays_of_objects_run_nothing_with_older_versions_of_joblib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("joblib.numpy_pickle.NumpyArrayWrapper", OlderWrapper)
    with Path("model.joblib").open("wb") as file:
        joblib.dump(np.array([Foreign()], object), file)
    with pytest.raises(InputError, match="mkdir"):
        load_estimator(Path("model.joblib").read_bytes())
    assert not Path("run").exists()
