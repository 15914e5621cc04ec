"""The spatial engine's tiny tree and its broken inputs."""

from __future__ import annotations

import json

from tests.contracts.contract import Broken, Contract

TREE = "((a:1,b:2)c:1,(d,(e,f)g)h,i)root;\n"
LAYOUT = {"parent": [-1, 0, 0], "x": [0, 1, 0], "y": [0, 0, 1], "grid": [2, 2]}


def layout(**changes: object) -> dict[str, str]:
    return {"broken.json": json.dumps({**LAYOUT, **changes})}


def tree(text: str, name: str = "broken.nwk") -> dict[str, str]:
    return {name: text}


PLANNED = ("plan", "broken.nwk", "-o", "out.npz", "--result", "result.json")
CHECKED = ("check", "star:n=3", "broken.json", "--json")
ASKED = ("lca", "tree.nwk", "--queries", "queries.txt", "-o", "out.npz")

CONTRACT = Contract(
    engine="spatial",
    plan=("tree.nwk",),
    check=("tree.nwk",),
    plan_file="layout.npz",
    objective="energy_hops",
    files={"tree.nwk": TREE},
    broken=(
        Broken("no-file", ("plan", "tre.nwk"), ("no such file", "tree.nwk")),
        Broken("no-case", ("plan", "yul"), ("unknown file or built-in case", "did you mean 'yule'")),
        Broken("no-parameter", ("plan", "yule:m=3"), ("unknown parameter", "allowed: n, seed")),
        Broken("no-vertices", ("plan", "yule:n=0"), ("yule:n", "out of range")),
        Broken("unclosed", PLANNED, ("broken.nwk", "never closed", "offset 0"), tree("((a,b);")),
        Broken("unopened", PLANNED, ("never opened", "line 2 column 1 (offset 6)"), tree("(a,b)\n);")),
        Broken("two-trees", PLANNED, ("several roots", "--forest"), tree("(a,b);(c,d);")),
        Broken("cycle", ("plan", "t.txt"), ("t.txt", "has a cycle", "1 -> 2 -> 1"), tree("-1\n2\n1\n", "t.txt")),
        Broken("dangling", ("plan", "t.txt"), ("parent[1]", "0 to 1"), tree("-1\n7\n", "t.txt")),
        Broken("no-number", ("bound", "t.txt"), ("line 2", "'x'"), tree("-1\nx\n", "t.txt")),
        Broken("no-curve", ("plan", "tree.nwk", "--curve", "hilbrt"), ("--curve", "did you mean 'hilbert'")),
        Broken("no-grid", ("plan", "tree.nwk", "--grid", "7"), ("--grid", "750x994")),
        Broken("wrong-square", ("plan", "tree.nwk", "--curve", "peano", "--grid", "4x4"), ("power of 3", "gilbert")),
        Broken("small-grid", ("plan", "tree.nwk", "--grid", "2x2"), ("processors: 10 needed", "is 4"), status=3),
        Broken("no-folder", ("plan", "tree.nwk", "-o", "nowhere/layout.npz"), ("folder does not exist",)),
        Broken(
            "suffix", ("plan", "tree.nwk", "-o", "x.txt"), ("x.txt", "suffix of another format", ".json, .npz, .csv")
        ),
        Broken("no-place", ("plan", "tree.nwk", "-o", "/proc/x.npz"), ("/proc/x.npz", "cannot be written")),
        Broken("huge-grid", ("plan", "tree.nwk", "--grid", "999999999x999999999"), ("--grid", "in all", "134217728")),
        Broken("layout-lacks-y", CHECKED, ("broken.json", "no array 'y'"), {"broken.json": '{"parent":[-1],"x":[0]}'}),
        Broken("layout-lengths", CHECKED, ("differ in length",), layout(x=[0, 1])),
        Broken("layout-text", CHECKED, ("x: is not an array of integers",), layout(x=["a", "b", "c"])),
        Broken("shared", CHECKED, ("processor-shared", "vertex 2"), layout(x=[0, 1, 1], y=[0, 0, 0]), status=1),
        Broken("outside", CHECKED, ("outside-grid", "(9, 0)"), layout(x=[0, 9, 0]), status=1),
        Broken("other-tree", CHECKED, ("wrong-parent", "vertex 2"), layout(parent=[-1, 0, 1]), status=1),
        Broken("other-size", ("check", "tree.nwk", "broken.json", "--json"), ("wrong-size",), layout(), status=1),
        Broken("up-affine", ("treefix", "tree.nwk", "--op", "affine"), ("not commutative", "--direction down")),
        Broken("no-operator", ("treefix", "tree.nwk", "--op", "summ"), ("--op", "did you mean 'sum'")),
        Broken("few-words", ("treefix", "tree.nwk", "--words", "2"), ("memory of a processor", "--words"), status=3),
        Broken("no-queries", ("lca", "tree.nwk"), ("no queries", "--random")),
        Broken("query-outside", ASKED, ("queries.txt", "line 2", "names no vertex"), {"queries.txt": "0 1\n2 99\n"}),
        Broken("query-of-three", ASKED, ("line 1", "two vertices"), {"queries.txt": "0 1 2\n"}),
        Broken("query-file-empty", ASKED, ("holds no query",), {"queries.txt": "# none\n"}),
        Broken("sweep-sizes", ("sweep", "yule", "--sizes", "ten"), ("--sizes", "'ten'")),
    ),
)
