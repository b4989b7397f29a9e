"""A program that uses what the package has, for `mypy --strict`; it is not run."""

from typing import Dict, List, Tuple

import numpy as np

import gantry as gt

gt.config(visible=[0], soft=True)
devices: List[gt.Device] = gt.gpus() or [gt.cpu()]
x = gt.ones(2, 3, device=gt.try_gpu())
with gt.device("CPU:0"), gt.device(None):
    y: gt.Array = (x @ x.T).sum() * 2.0 + gt.random.uniform((2, 2), key=gt.random.Key(1))
shape: Tuple[int, ...] = y.to("GPU:1").shape
row: gt.Array = x[0, 1:]
values: "np.ndarray[None, np.dtype[np.float32]]" = x.numpy()


@gt.function
def step(a: gt.Array) -> gt.Array:
    return gt.relu(a) + 1.0


@gt.function(static=(1,), copies="explicit")
def power(a: gt.Array, times: int) -> Dict[str, gt.Array]:
    for _ in range(times):
        a = gt.matmul(a, a, transpose_b=True)
    return {"a": gt.cond(gt.sum(a) > 0, lambda: a, lambda: -a)}


text: str = step.lower(x).text
result: Dict[str, gt.Array] = power(x, 2)
plan: gt.Plan = gt.compile("model.onnx", dims={"batch": [1, 8]}, rules=["MatMul=GPU:1"])
said: str = plan.explain("MatMul", memory=True)
busy: float = sum(moment["end"] - moment["start"] for moment in plan.timeline())
rules: List[str] = [op["rule"] for op in plan.explain(json=True)["functions"][0]["ops"]]
plan.report("report.html")
print(plan.log()[0].upper(), plan.diff(plan)["same"], plan.why_not("MatMul", gt.gpu(1)))
state = gt.State()
state["w"] = np.zeros(3, np.float32)
state.save("w.safetensors", {"step": "1"})
lacking: List[str] = state.load("w.safetensors", map={"v": None, "k": ("w", (0,))}).missing
arrays: Dict[str, gt.Array] = gt.load_safetensors("w.safetensors", device="GPU:0")
gt.save_safetensors("again.safetensors", arrays, {"from": "w"})
for name, output in plan.session(state).run(x=x).items():
    print(name, output.item(), output.device.id)
try:
    gt.load("plan.gantry")
except gt.NotFoundError as error:
    print(error.diagnostics[0][1])
