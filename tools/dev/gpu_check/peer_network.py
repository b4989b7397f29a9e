"""One network in PyTorch or ONNX Runtime on the GPU: {"ms": median of single runs with a wait each} as the last line.

Usage: peer_network.py NAME f32|bf16 eager|reduce-overhead|max-autotune|onnxruntime
"""

import json
import pathlib
import sys
import tempfile

import common
import networks
import stage_bench


def by_torch(name, dtype, mode):
    import torch
    net, inputs = networks.network(common.BUNDLE / "make_models.py", name, dtype)
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    net, given = net.cuda(), [value.cuda() for value in networks.given(inputs, kind)]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with torch.no_grad():
        run = net if mode == "eager" else torch.compile(net, mode=mode)
        return stage_bench.timed(lambda: run(*given), torch.cuda.synchronize, seconds=1.0)[0]


def by_onnxruntime(name):
    """Its CUDA provider without TF32; operands are on the GPU, as PyTorch's are."""
    import onnxruntime
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        raise RuntimeError("ONNX Runtime is here without CUDA")
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "model.onnx"
        inputs = networks.export(common.BUNDLE / "make_models.py", name, file)
        session = onnxruntime.InferenceSession(str(file), providers=[("CUDAExecutionProvider", {"use_tf32": "0"})])
        binding = session.io_binding()
        for key, value in inputs.items():
            binding.bind_ortvalue_input(key, onnxruntime.OrtValue.ortvalue_from_numpy(value, "cuda", 0))
        binding.bind_output("output", "cuda")
        return stage_bench.timed(lambda: session.run_with_iobinding(binding), binding.synchronize_outputs, seconds=1.0)[0]


def main():
    name, dtype, mode = sys.argv[1:]
    print(json.dumps({"ms": by_onnxruntime(name) if mode == "onnxruntime" else by_torch(name, dtype, mode)}))


if __name__ == "__main__":
    main()
