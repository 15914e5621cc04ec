"""Results as documents, files and pages."""

from pathlib import Path

import shorthaul

results = [shorthaul.pebble.plan("dwt", budget=budget) for budget in (48, 64)]
document: dict[str, object] = results[0].to_dict()
results[0].save("result.json")
page: Path = shorthaul.report([*results, "result.json", document], "report.html")
what: str = shorthaul.convert("graph.dot", Path("graph.json"))
print(page, what, repr(results[0]))
results[0].save(3)  # type: ignore[arg-type]
shorthaul.report(3)  # type: ignore[arg-type]
shorthaul.report(results, pge="report.html")  # type: ignore[call-arg]
shorthaul.convert("graph.dot")  # type: ignore[call-arg]
