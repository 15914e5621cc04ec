"""Trees of NEXUS files, as MrBayes, BEAST and Mesquite write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.commands import shorthaul_json
from tests.samples import samples

import shorthaul.spatial as engine
from shorthaul.core.errors import InputError
from shorthaul.spatial.formats.files import newick_from_tree, tree_from_file
from shorthaul.spatial.model import Tree
from shorthaul.spatial.workloads import generators

BEAST = """#NEXUS
[a comment; with = and 'a quote [and; another [one;] of these] in it']
Begin taxa;
  Dimensions ntax=3;
  Taxlabels 'Pongo; abelii' Homo_sapiens Pan;
End;
begin Trees;
  TITLE 'of; apes';
  Translate [numbers] 1 'Pongo; abelii', 2 Homo_sapiens,
    3 Pan
    ;
tree STATE_0 [&lnP=-1.5] = [&R] ((2:0.5[&rate=1;2],3:1.5):1,1:3)root;
End;
"""


def read(text: str, forest: bool = False) -> Tree:
    return tree_from_file(Path("trees.nex"), text.encode(), forest=forest)


def test_names_are_translated_and_comments_passed_over() -> None:
    tree = read(BEAST)
    assert tree.parent.tolist() == [-1, 0, 1, 1, 0]
    assert tree.labels is not None
    assert tree.labels.names() == ["root", "", "Homo sapiens", "Pan", "Pongo; abelii"]
    assert tree.labels.lengths()[1:].tolist() == [1.0, 0.5, 1.5, 3.0]
    assert newick_from_tree(tree) == b"((Homo_sapiens:0.5,Pan:1.5):1,'Pongo; abelii':3)root;\n"


def test_words_that_are_translated_may_be_in_quotes() -> None:
    tree = read("#NEXUS\nbegin trees;\ntranslate '1' a, 2 'b', 'it''s' c;\ntree x = (1,('2','it''s'));\nend;")
    assert tree.labels is not None
    assert tree.labels.names() == ["", "a", "", "b", "c"]


def test_comments_before_lengths_and_properties_of_mesquite() -> None:
    text = "#NEXUS\nbegin trees;\ntree x = [&R] ((a:[&rate={1,2}]1.5E-1,'b<c=d>':[x] .5)[&p=1]:[&q=2]2<color = 5 >,c:1);\nend;"
    tree = read(text)
    assert tree.labels is not None
    assert tree.labels.names() == ["", "", "a", "b<c=d>", "c"]
    assert tree.labels.lengths()[1:].tolist() == [2, 0.15, 0.5, 1]


def test_numbers_of_taxa_stand_for_their_labels() -> None:
    text = BEAST.replace(BEAST[BEAST.index("  Translate") : BEAST.index("tree STATE")], "")
    tree = read(text)
    assert tree.labels is not None
    assert tree.labels.names() == ["root", "", "Homo sapiens", "Pan", "Pongo; abelii"]
    assert read(text.replace("Pan;", "12;")).labels.names() == [
        "root",
        "",
        "2",
        "3",
        "1",
    ]  # labels are numbers themselves


def test_numbers_of_inner_vertices_are_support_where_leaves_have_them() -> None:
    tree = read("#NEXUS\nbegin trees;\ntranslate 1 ape, 2 man, 3 ancestor;\ntree t = ((1,2)2,x)3;\nend;\n")
    assert tree.labels is not None
    assert tree.labels.names() == ["ancestor", "2", "ape", "man", "x"]


def test_several_trees_are_a_forest() -> None:
    text = BEAST.replace("End;\n", "utree * other = (1,(3,2));\nENDBLOCK;\n")
    assert read(text, forest=True).roots().tolist() == [0, 5]
    with pytest.raises(InputError, match="root"):
        read(text)


def test_any_tree_comes_back() -> None:
    for seed in samples(20):
        tree = generators.yule(101, seed)
        text = newick_from_tree(tree).decode()
        found = read(f"#nexus\r\nBEGIN TREES;\r\nTREE 'a = b' = [&U] {text}\r\nEND;")
        assert np.array_equal(found.parent, tree_from_file(Path("tree.nwk"), text.encode()).parent)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (")root;", "root;", "line 12"),
        ("3:1.5)", "3:)", "line 12"),
        ("tree STATE_0", "network STATE_0", "holds no tree"),
        ("begin Trees;", "begin sets;", "holds no tree"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(BEAST.replace(old, new))


def test_values_and_queries_by_name(tmp_path: Path) -> None:
    (tmp_path / "apes.nex").write_text(BEAST)
    (tmp_path / "values.csv").write_text("name,value\nroot,0\n1,0\nHomo sapiens,5\nPan,18446744073709551615\n'x,1\n")
    with pytest.raises(InputError, match="names no vertex"):
        engine.treefix(tmp_path / "apes.nex", values=tmp_path / "values.csv", op="max", refine=0)
    text = (tmp_path / "values.csv").read_text().replace("'x", '"Pongo; abelii"')
    (tmp_path / "values.csv").write_text(text)
    sums = engine.treefix(tmp_path / "apes.nex", values=tmp_path / "values.csv", op="max", refine=0)
    assert sums.plan is not None
    assert sums.plan.arrays["value"].tolist() == [2**64 - 1, 2**64 - 1, 5, 2**64 - 1, 1]
    (tmp_path / "values.csv").write_text(text.replace(",5", ",1e999"))
    with pytest.raises(InputError, match="line 4: is no value"):  # no float holds it
        engine.treefix(tmp_path / "apes.nex", values=tmp_path / "values.csv", op="max", refine=0)
    (tmp_path / "pairs.csv").write_text("Pan,Homo_sapiens\nPan,Pongo; abelii\n")
    asked = engine.lca(tmp_path / "apes.nex", queries=tmp_path / "pairs.csv", refine=0)
    assert asked.plan is not None
    assert asked.plan.arrays["ancestor"].tolist() == [1, 0]


def test_branch_lengths_as_values(tmp_path: Path) -> None:
    (tmp_path / "apes.nex").write_text(BEAST)
    far = engine.treefix(tmp_path / "apes.nex", lengths=True, direction="down", refine=0)
    assert far.plan is not None
    assert far.plan.arrays["value"].tolist() == [0.0, 1.0, 1.5, 2.5, 3.0]  # from the root to every vertex
    document = shorthaul_json("spatial", "treefix", "apes.nex", "--lengths", "--refine", "0", cwd=tmp_path)
    assert document["plan"]["value"] == [6.0, 3.0, 0.5, 1.5, 3.0]  # branches in all
    with pytest.raises(InputError, match="cannot be combined"):
        engine.treefix(tmp_path / "apes.nex", [1] * 5, lengths=True)
    (tmp_path / "apes.nex").write_text(BEAST.replace("3:1.5", "3"))
    with pytest.raises(InputError, match="vertex 3 Pan: has no branch length"):
        engine.treefix(tmp_path / "apes.nex", lengths=True)
    (tmp_path / "apes.nex").write_text(BEAST.replace("3:1.5", "3:1e999"))
    with pytest.raises(InputError, match="vertex 3: has a branch length that is too large"):
        engine.treefix(tmp_path / "apes.nex", lengths=True)
    with pytest.raises(InputError, match="missing where masked"):
        engine.treefix([-1, 0, 0], np.ma.masked_less([3, 1, 2], 2))
    with pytest.raises(InputError, match="2 of 3 vertices have none"):
        engine.treefix([-1, 0, 0], lengths=True)
