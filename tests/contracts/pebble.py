"""The pebble engine's contract: a small weighted tree whose recursion is not optimal, and broken files."""

from __future__ import annotations

import json

from tests.contracts.contract import Broken, Contract

WEIGHTS = {"a": 7, "b": 7, "c": 1, "p": 8, "d": 5, "q": 4, "v": 2}
EDGES = [["a", "c"], ["b", "c"], ["c", "p"], ["d", "q"], ["p", "v"], ["q", "v"]]


def document(**changes: object) -> str:
    nodes = [{"id": name, "weight": weight} for name, weight in WEIGHTS.items()]
    return json.dumps({"kind": "shorthaul/cdag", "version": 1, "nodes": nodes, "edges": EDGES} | changes)


def broken(name: str, text: str, *says: str, status: int = 2) -> Broken:
    return Broken(name, ("plan", "bad.json", "--budget", "15"), says, {"bad.json": text}, status)


CONTRACT = Contract(
    engine="pebble",
    plan=("tree.json", "--budget", "15"),
    check=("tree.json", "--budget", "15"),
    plan_file="plan.json",
    objective="traffic",
    files={"tree.json": document()},
    broken=(
        Broken(
            "budget-huge",
            ("plan", "fft:n=8", "--budget", "9" * 23),
            ("--budget: is out of range", "1 to 1152921504606846976"),
        ),
        broken("cycle", document(edges=[*EDGES, ["v", "c"]]), "bad.json", "the graph has a cycle", "c -> p -> v -> c"),
        broken("loop", document(edges=[*EDGES, ["c", "c"]]), "the graph has a cycle", "c -> c"),
        broken(
            "weight-zero", document(nodes=[{"id": "a", "weight": 0}]), "nodes[0].weight", "must be a positive integer"
        ),
        broken("weight-fraction", document(nodes=[{"id": "a", "weight": 1.5}]), "must be a positive integer", "1.5"),
        broken("weight-text", document(nodes=[{"id": "a", "weight": "7"}]), "must be a positive integer", "'7'"),
        broken(
            "compute-negative", document(nodes=[{"id": "a", "compute": -1}]), "nodes[0].compute", "an integer from 0"
        ),
        Broken("price", ("plan", "tree.json", "--load-price", "-2"), ("--load-price: is no price", "or inf")),
        Broken("price-method", ("plan", "tree.json", "--order", "given", "--method", "dwt"), ("usual prices only",)),
        Broken("no-order", ("plan", "fft:n=8", "--order", "givn"), ("--order", "did you mean 'given'")),
        broken("id-twice", document(nodes=[{"id": "a"}, {"id": "a"}]), "nodes[1].id", "is given twice"),
        broken("id-true", document(nodes=[{"id": True}]), "nodes[0].id", "is no name"),
        broken("no-id", document(nodes=[{"weight": 3}]), "nodes[0]", "is no node"),
        broken("unknown-node", document(edges=[["a", "cc"]]), "edges[0]", "does not exist", "did you mean 'c'"),
        broken("no-edge", document(edges=["a"]), "edges[0]", "is no edge", "[from, to]"),
        broken("isolated", document(edges=EDGES[2:]), "a node has no edge", "a, b"),
        broken("empty", document(nodes=[], edges=[]), "has no nodes"),
        broken("no-nodes", '{"kind": "shorthaul/cdag", "version": 1}', "nodes: is no list"),
        broken("unknown-key", document(edge=[]), "unknown key", "did you mean 'edges'"),
        broken(
            "other-kind",
            '{"kind": "shorthaul/cdga", "version": 1}',
            "bad.json: kind: is of another kind",
            "found:   'shorthaul/cdga'",
            "shorthaul/cdag",
            "give the graph's own file",
        ),
        broken(
            "a-plan",
            '{"kind": "shorthaul/pebble-plan", "version": 1, "moves": []}',
            "found:   'shorthaul/pebble-plan'",
            "shorthaul pebble check INPUT PLAN",
        ),
        broken(
            "no-kind",
            '{"nodes": 3}',
            "kind: names no kind",
            "the keys nodes",
            "from each node to the list",
            'add "kind"',
        ),
        broken("no-keys", "{}", "names no kind", "an object without keys", "from each node to the list"),
        broken("nothing", "null", "is no graph", "found:   None", "shorthaul/cdag"),
        broken("a-number", "3", "is no graph", "shorthaul/cdag"),
        broken("a-list", "[1, 2]", "is no graph", "[1, 2]", "shorthaul/cdag"),
        broken("newer", document(version=9), "is of an unknown version", "use a newer shorthaul"),
        broken("not-json", "{", "is not JSON"),
        broken(
            "nothing", "", "bad.json: is empty", "found:   'no bytes'", "HyperDAG text, DOT", "shorthaul pebble cases"
        ),
        broken("white-space", " \n", "is empty", "nothing but white space"),
        broken("words", "hello world", "line 1", "is not JSON"),
        Broken(
            "words-as-text", ("plan", "bad.hdag"), ("line 1", "is no line of integers"), {"bad.hdag": "hello world"}, 2
        ),
        Broken("no-file", ("plan", "tre.json"), ("no such file", "did you mean 'tree.json'")),
        Broken("no-case", ("plan", "dtw"), ("unknown file or built-in case", "did you mean 'dwt'")),
        Broken("case-parameter", ("plan", "dwt:n=7,d=2"), ("dwt:n", "must be a multiple of 2^d")),
        Broken("case-range", ("plan", "pyramid:n=0"), ("pyramid:n", "is out of range")),
        Broken("case-choice", ("plan", "dwt:weights=equals"), ("dwt:weights", "did you mean 'equal'")),
        Broken("method", ("plan", "tree.json", "--method", "dwd"), ("--method", "unknown value", "did you mean 'dwt'")),
        Broken("method-elsewhere", ("plan", "tree.json", "--method", "mvm-tiling"), ("matrix-vector products only",)),
        Broken("budget", ("plan", "tree.json", "--budget", "0"), ("--budget", "is out of range")),
        Broken(
            "too-small-operand-by-operand",
            ("plan", "tree.json", "--budget", "9", "--partial"),
            ("infeasible at node v", "10 needed, the limit is 9", "operand p: 8", "the result v: 2", "at least 10"),
            status=3,
        ),
        Broken("code-format", ("code", "tree.json", "--format", "cc"), ("--format", "did you mean 'c'")),
        Broken("modes", ("plan", "tree.json", "--partial", "--recompute"), ("--recompute", "cannot be combined")),
        Broken(
            "too-small",
            ("plan", "tree.json", "--budget", "14"),
            ("infeasible at node c", "15 needed, the limit is 14", "operand a: 7", "at least 15"),
            status=3,
        ),
        Broken(
            "unknown-move",
            ("check", "tree.json", "p.json"),
            ("p.json", "moves[0]", "unknown move", "did you mean 'load'"),
            {"p.json": '{"kind": "shorthaul/pebble-plan", "version": 1, "moves": [["laod", "a"]]}'},
        ),
        Broken(
            "move-of-nothing",
            ("check", "tree.json", "p.json"),
            ("moves[0]", "names a node that does not exist", "'z'"),
            {"p.json": '{"kind": "shorthaul/pebble-plan", "version": 1, "moves": [["load", "z"]]}'},
        ),
        Broken(
            "half-a-move",
            ("check", "tree.json", "p.json"),
            ("moves[0]", "is no move"),
            {"p.json": '{"kind": "shorthaul/pebble-plan", "version": 1, "moves": [["load"]]}'},
        ),
        Broken(
            "violations",
            ("check", "tree.json", "p.json", "--budget", "15"),
            (),
            {"p.json": '{"kind": "shorthaul/pebble-plan", "version": 1, "moves": [["load", "a"]]}'},
            status=1,
        ),
        Broken("columns", ("check", "tree.json", "p.npz"), ("is a damaged archive",), {"p.npz": "PK nonsense"}),
        Broken("budgets", ("sweep", "tree.json", "--budgets", "15,x"), ("--budgets", "is no list of budgets")),
        Broken("sweep-too-small", ("sweep", "tree.json", "--budgets", "5"), ("infeasible at node c",), status=3),
        Broken("capacities", ("memory", "tree.json", "--capacities", "0"), ("--capacities", "is no list of budgets")),
        Broken("data", ("run", "tree.json", "--data", "d.txt"), ("line 1", "is no finite number"), {"d.txt": "nan\n"}),
        Broken("short-data", ("run", "tree.json", "--data", "d.txt"), ("wrong number of lines",), {"d.txt": "1\n"}),
    ),
)
