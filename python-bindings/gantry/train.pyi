import os
from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union

import numpy.typing as npt

from .callbacks import Callback
from .data import Dataset
from .graph import Graph
from .losses import Loss
from .metrics import Metric
from .distribute import Strategy
from .nn.module import Module
from .optim import LossScale, Optimizer
from .plan import Plan

class History:
    history: Dict[str, List[float]]
    def __getitem__(self, name: str) -> List[float]: ...
    def __contains__(self, name: str) -> bool: ...

class Trainer:
    net: Module
    optimizer: Optimizer
    seed: int
    history: History
    epoch: int
    epochs: int
    step: int
    steps: Optional[int]
    total_steps: int
    def __init__(self, net: Module, loss: Union[str, Loss] = "scce", optimizer: Union[str, Optimizer] = "adam",
                 metrics: Sequence[Union[str, Metric]] = (), seed: int = 0, limit: Optional[Mapping[str, str]] = None,
                 math: Optional[str] = None, strategy: Optional[Strategy] = None, accumulate: int = 1,
                 loss_scale: Union[None, LossScale, Literal[False]] = None, check_finite: bool = False, **options: Any) -> None: ...
    @property
    def skipped(self) -> int: ...
    def fit(self, x: Any, y: Any = None, validation: Optional[Union[Tuple[Any, Any], Dataset]] = None, epochs: int = 1,
            batch: Optional[int] = None, shuffle: bool = True, log_every: int = 50, progress: bool = True, steps_per_run: int = 1,
            callbacks: Sequence[Callback] = (), resume: Optional[Union[str, "os.PathLike[str]"]] = None) -> History: ...
    def stop(self) -> None: ...
    def logs(self) -> Dict[str, float]: ...
    def evaluate(self, x: Any, y: Any = None, batch: Optional[int] = None) -> Dict[str, float]: ...
    def predict(self, x: Any, batch: int = 32) -> npt.NDArray[Any]: ...
    def lower(self, x: Any, y: Any) -> Graph: ...
    def plan(self, x: Any, y: Any) -> Plan: ...
