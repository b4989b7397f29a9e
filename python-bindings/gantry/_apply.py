"""Where ops go: into the graph that is traced, else to be computed at once."""

from . import _eager
from .graph import tracing


def apply(name, operands, attributes=(), device=None, label=None, result=None):
    graph = tracing()
    if graph is not None:
        return graph.apply(name, operands, attributes, device, label, result)
    return _eager.run(name, operands, attributes, device, label, result)
