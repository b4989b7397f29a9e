"""Networks against torch.compile with max-autotune, for which the stage peers has no time: the search takes minutes for a
network. A network after the other, those first whose ratio the project asks for, bf16 before f32: of each with few candidates
(libraries' kernels; then Triton's, too), then the whole search.

What peers know is known here, and the other way round: figures and what PyTorch has compiled are kept, so that a call that
was too short is gone on with by the next.

GPU_CHECK_NETWORKS=NAME,NAME chooses networks; GPU_CHECK_SECONDS_OF_ONE is what a search of one may take (default 200),
twice that when it comes again.
"""

import os
import sys

import common
import networks
import stage_peers

MODES = ("max-autotune", "max-autotune-triton", "max-autotune-whole")
SECONDS_OF_ONE = float(os.environ.get("GPU_CHECK_SECONDS_OF_ONE", 2 if common.REHEARSED else 200))


def chosen(entries, names):
    """Of the networks with these names, or else of those that are asked for; a rehearsal has others."""
    if unknown := set(names) - {entry["name"] for entry in entries}:
        sys.exit(f"gpu_check: GPU_CHECK_NETWORKS: the bundle has no {', '.join(sorted(unknown))}")
    return [entry for entry in entries if entry["name"] in (names or stage_peers.FIRST) or common.REHEARSED and not names]


def order(own):
    """[(entry, mode)]"""
    place = {name: number for number, name in enumerate(stage_peers.FIRST)}
    some = sorted(own, key=lambda entry: (entry["dtype"] == "f32", place.get(entry["name"], len(place))))
    return [(entry, mode) for entry in some for mode in MODES]


def figures(kept, entry):
    begins = [kept.get(stage_peers.key_of(entry, mode)) or {} for mode in MODES]
    return {**stage_peers.figures(kept, entry, MODES), "search_s": ", ".join(str(known.get("begin_s", "-")) for known in begins)}


def main():
    entries = chosen(stage_peers.timed_here(), [name for name in os.environ.get("GPU_CHECK_NETWORKS", "").split(",") if name])
    own = [entry for entry in entries if networks.is_ours(entry)]
    return stage_peers.run("autotune", entries, order(own), figures, SECONDS_OF_ONE)


if __name__ == "__main__":
    sys.exit(main())
