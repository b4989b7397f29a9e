"""One network in PyTorch on the GPU: {"ms": median of single runs with a wait each} as the last line.

Usage: peer_network.py NAME eager|max-autotune
"""

import json
import sys

import common
import networks
import stage_bench


def main():
    import torch
    name, mode = sys.argv[1:]
    net, inputs = networks.network(common.BUNDLE / "make_models.py", name)
    net, given = net.cuda(), [torch.from_numpy(value).cuda() for value in inputs.values()]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with torch.no_grad():
        run = net if mode == "eager" else torch.compile(net, mode=mode)
        print(json.dumps({"ms": stage_bench.timed(torch, lambda: run(*given), seconds=1.0)[0]}))


if __name__ == "__main__":
    main()
