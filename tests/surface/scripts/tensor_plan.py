"""Operator graphs on a scratchpad."""

import shorthaul

search = shorthaul.Search(effort=1, seed=3)
result = shorthaul.tensor.plan("mlp-chain:layers=2", rules="contest", restarts=2, search=search)
again = shorthaul.tensor.plan("model.onnx", effort=2, cluster=None, workers=2, seed=1, time_limit=60)
checked = shorthaul.tensor.check("mlp-chain:layers=2", "plan.json", rules="spec")
done = shorthaul.tensor.run("mlp-chain:layers=2", result, rules="spec", seed=4)
print(result, again, checked, done)
shorthaul.tensor.plan("example-1", rules="contst")  # type: ignore[arg-type]
shorthaul.tensor.plan("example-1", restarts=None)  # type: ignore[arg-type]
shorthaul.tensor.plan("example-1", search=1)  # type: ignore[arg-type]
shorthaul.tensor.plan("example-1", options=3)  # type: ignore[arg-type]
shorthaul.tensor.check("example-1", "plan.json", cluster="local")  # type: ignore[call-arg]
