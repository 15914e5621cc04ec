"""The affine engine's tiny problem and its broken inputs."""

from __future__ import annotations

import json

from tests.contracts.contract import Broken, Contract

KERNEL = """void scan(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      a[i] += b[j];
#pragma endscop
}
"""
PLAN = {
    "kind": "shorthaul/affine-plan",
    "version": 1,
    "sizes": {"n": 2},
    "fast_memory": 4,
    "order": [["S0", 0, 0], ["S0", 1, 0], ["S0", 1, 1]],
}


def region(body: str, head: str = "void f(int n, double a[n])") -> dict[str, str]:
    return {"broken.c": f"{head} {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"}


def plan(**changes: object) -> dict[str, str]:
    return {"broken.json": json.dumps({**PLAN, **changes})}


BOUND = ("bound", "broken.c", "--result", "result.json")
CHECK = ("check", "scan.c", "broken.json")
CDAG = ("cdag", "scan.c", "-o", "cdag.json")

CONTRACT = Contract(
    engine="affine",
    plan=("scan.c", "--size", "n=12,S=6", "--effort", "0.1"),
    check=("scan.c",),
    plan_file="plan.json",
    objective="loads_words",
    files={"scan.c": KERNEL},
    broken=(
        Broken("no-file", ("bound", "absent.c"), ("absent.c", "no such file")),
        Broken("near-kernel", ("bound", "gem"), ("unknown file or built-in case", "gemm")),
        Broken("not-text", BOUND, ("broken.c", "no function"), {"broken.c": "\x01\x02"}),
        Broken("no-loops", BOUND, ("broken.c", "no loops", "#pragma scop"), {"broken.c": "void f(void) { }"}),
        Broken("syntax", BOUND, ("line 3 column 23", "syntax error"), region("for (int i = 0; i < n i++) a[i] = 0;")),
        Broken(
            "not-affine", BOUND, ("line 3", "i * i", "not affine"), region("for (int i = 0; i < n; i++) a[i * i] = 0;")
        ),
        Broken("while", BOUND, ("line 3 column 1", "static control"), region("while (n) a[0] = 0;")),
        Broken("call", BOUND, ("line 3 column 1", "side effects"), region("update(a);")),
        Broken("pointer", BOUND, ("line 3", "pointer arithmetic"), region("a[0] = &a[1];")),
        Broken("function", ("bound", "scan.c", "--function", "scam"), ("unknown function", "scan")),
        Broken("size-name", ("bound", "scan.c", "--size", "m=3"), ("--size", "unknown parameter", "m")),
        Broken("size-value", ("bound", "scan.c", "--size", "n=many"), ("--size", "n=many")),
        Broken("size-missing", ("plan", "scan.c", "-o", "p.json"), ("--size", "no size is given for n, S")),
        Broken(
            "size-row",
            (*CDAG[:1], "broken.c", "--size", "n=9,m=8"),
            ("--size", "do not fit together", "m >= n"),
            region(
                "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i * m + j] = 0;",
                "void f(int n, int m, double *a)",
            ),
        ),
        Broken("level-word", ("bound", "scan.c", "--size", "n=9", "--level", "4k"), ("--level", "4k", "integers")),
        Broken("level-twice", ("code", "scan.c", "--size", "n=9", "--level", "8,8"), ("--level", "different")),
        Broken("level-and-S", ("plan", "scan.c", "--size", "n=9,S=8", "--level", "6"), ("--size S", "leave S out")),
        Broken("level-small", ("plan", "scan.c", "--size", "n=9", "--level", "2,8"), ("3 needed",), status=3),
        Broken("plan-levels", CHECK, ("broken.json", "levels", "below fast_memory"), plan(levels=[4])),
        Broken("size-huge", (*CDAG, "--size", "n=100000"), ("5,000,050,000 instances", "too many")),
        Broken("small", ("bound", "scan.c", "--small", "k"), ("--small", "unknown parameter")),
        Broken("profile", ("bound", "scan.c", "--profile", "bets"), ("--profile", "best")),
        Broken("nothing", ("plan", "seidel-2d", "--size", "TSTEPS=1,N=2,S=16"), ("nothing is executed",)),
        Broken("fits-not", ("plan", "scan.c", "--size", "n=9,S=2"), ("fast memory", "3 needed"), status=3),
        Broken("plan-kind", CHECK, ("broken.json", "kind"), plan(kind="shorthaul/cdag")),
        Broken("plan-sizes", CHECK, ("broken.json", "sizes"), plan(sizes={"N": 2})),
        Broken("plan-order", CHECK, ("broken.json", "order[0]"), plan(order=[["S5", 0]])),
        Broken("plan-json", CHECK, ("broken.json", "line 1"), {"broken.json": "{"}),
        Broken(
            "sweep", ("sweep", "scan.c", "--size", "n=9", "--least", "9", "--most", "4"), ("--least", "above --most")
        ),
    ),
)
