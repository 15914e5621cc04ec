"""The dataflow engine's promises, on a pair of actors and on broken inputs."""

from __future__ import annotations

import json

from tests.contracts.contract import Broken, Contract

TINY = {
    "kind": "shorthaul-dataflow-application",
    "name": "tiny",
    "time_unit": "us",
    "actors": [
        {"id": "a", "tau": {"t1": 10, "t3": 30}},
        {"id": "m", "kind": "multicast", "tau": {"t1": 1, "t3": 3}},
        {"id": "b", "tau": {"t1": 20, "t3": 60}},
        {"id": "d", "tau": {"t1": 20}},
    ],
    "channels": [
        {"id": "c1", "src": "a", "dst": "m", "token_bytes": 1000, "delay": 1},
        {"id": "c2", "src": "m", "dst": "b", "token_bytes": 1000, "delay": 1},
        {"id": "c3", "src": "m", "dst": "d", "token_bytes": 1000, "delay": 1},
    ],
}


def changed(path: list, value: object) -> str:
    document = json.loads(json.dumps(TINY))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(document)


def broken(name: str, text: str, *says: str) -> Broken:
    return Broken(name, ("plan", "bad.json", "-o", "out.json"), ("bad.json", *says), {"bad.json": text})


def mapping(binding: dict, application: str = "tiny.json", xi: dict | None = None) -> str:
    return json.dumps({"application": application, "binding": binding, "xi": xi or {}, "channel_decision": {}})


CONTRACT = Contract(
    engine="dataflow",
    plan=("tiny.json", "--generations", "20", "--population", "20"),
    check=("tiny.json",),
    plan_file="plan.json",
    files={"tiny.json": json.dumps(TINY)},
    broken=(
        Broken("unknown-case", ("plan", "sobbel"), ("sobbel", "did you mean 'sobel'")),
        Broken("no-file", ("plan", "tiny.jsn"), ("tiny.jsn", "no such file", "tiny.json")),
        Broken("strategy", ("plan", "tiny.json", "--strategy", "mrb"), ("--strategy", "mrb-explore")),
        Broken("population", ("plan", "tiny.json", "--population", "1"), ("--population", "out of range")),
        broken("not-json", "{", "is not JSON"),
        broken("unknown-actor", changed(["channels", 0, "dst"], "n"), "channels[0] (c1).dst", "unknown actor"),
        broken("unknown-key", changed(["channels", 0, "delays"], 1), "channels[0]", "unknown key", "'delay'"),
        broken("no-core", changed(["actors", 0, "tau"], {}), "actors[0] (a).tau", "no core type"),
        broken("token-size", changed(["channels", 1, "token_bytes"], 1), "(m)", "differ in token size"),
        broken("wrong-type", changed(["channels", 1, "delay"], "one"), "channels", "expected"),
        broken("time-unit", changed(["time_unit"], []), "time_unit", "is not a time unit", "s, ms, us, ns"),
        Broken(
            "deadlock",
            ("plan", "bad.json"),
            ("deadlock", "a -> b -> a", "give one of"),
            {
                "bad.json": json.dumps(
                    {
                        "kind": TINY["kind"],
                        "actors": [{"id": "a", "tau": {"t1": 1}}, {"id": "b", "tau": {"t1": 1}}],
                        "channels": [
                            {"id": "x", "src": "a", "dst": "b", "token_bytes": 1},
                            {"id": "y", "src": "b", "dst": "a", "token_bytes": 1},
                        ],
                    }
                )
            },
        ),
        Broken(
            "mapping-unknown-core",
            ("schedule", "map.json"),
            ("map.json: binding.b: unknown core", "'p99'", "did you mean 'p9'"),
            {"map.json": mapping({"a": "p1", "m": "p1", "b": "p99", "d": "p1"})},
        ),
        Broken(
            "mapping-incomplete",
            ("schedule", "map.json"),
            ("map.json: binding", "not bound to a core", "'d'"),
            {"map.json": mapping({"a": "p1", "m": "p1", "b": "p2"})},
        ),
        Broken(
            "no-core-can-run",
            ("plan", "bad.json"),
            ("bad.json: actors[0] (a).tau", "no core of platform", "t1, t2, t3"),
            {"bad.json": changed(["actors", 0, "tau"], {"t9": 4})},
        ),
        broken(
            "id-twice",
            changed(["actors", 2, "id"], "a"),
            "actors[2].id",
            "given twice",
            "'a'",
            "actors[0] and actors[2]",
        ),
        Broken("no-checkpoint", ("plan", "tiny.json", "--resume", "gone.npz"), ("gone.npz", "no such file")),
        Broken(
            "no-multicast",
            ("schedule", "map.json"),
            ("map.json: xi", "unknown multicast", "'m'", "nothing: there is none"),
            {
                "plain.json": changed(["actors", 1, "kind"], "actor"),
                "map.json": mapping({"a": "p1", "m": "p1", "b": "p2", "d": "p1"}, "plain.json", {"m": 1}),
            },
        ),
        Broken("no-mapping", ("schedule", "tiny.json"), ("--mapping", "no mapping is given")),
        Broken("not-a-plan", ("check", "tiny.json", "tiny.json"), ("tiny.json: front", "holds no plan")),
    ),
)
