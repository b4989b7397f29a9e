"""Times networks in PyTorch or ONNX Runtime on the GPU: for each line `NAME f32|bf16 MODE` of its input a line
{"ms": median of single runs with a wait each, "begin_s": seconds until the first result, "flags": what was set} or
{"failed": why}.

MODE: eager, reduce-overhead, max-autotune, max-autotune-triton, max-autotune-whole or onnxruntime. One process for many, since importing
PyTorch takes longer than most of the measurements; stage_peers.py ends it where one takes too long.
"""

import json
import os
import pathlib
import sys
import tempfile
import time

import common
import networks
import stage_bench

# What PyTorch and Triton compile and find best is kept from call to call.
CACHES = {"TORCHINDUCTOR_CACHE_DIR": str(common.STATE / "inductor"), "TRITON_CACHE_DIR": str(common.STATE / "triton"),
          "TORCHINDUCTOR_FX_GRAPH_CACHE": "1", "TORCHINDUCTOR_COMPILE_THREADS": str(os.cpu_count() or 1)}
# Autotuning with few candidates, since the whole search takes minutes for a network: cuBLAS's and cuDNN's kernels, and with
# Triton's as well where the mode says so.
FEW = {"max_autotune_gemm_search_space": "DEFAULT", "coordinate_descent_tuning": False}
BACKENDS = {"max-autotune": "ATEN", "max-autotune-triton": "ATEN,TRITON"}


def autotune_options(mode, of_mode, known):
    """Those of max-autotune, `of_mode`, with few candidates, as far as this PyTorch knows their names."""
    few = {**FEW, "max_autotune_gemm_backends": BACKENDS[mode], "max_autotune_conv_backends": BACKENDS[mode]}
    return {**of_mode, **{key: value for key, value in few.items() if known(key)}}


def compiled(torch, net, mode):
    """(how the network is called, what was set)."""
    if mode == "eager":
        return net, "eager"
    if mode == "reduce-overhead":
        return torch.compile(net, mode=mode), "torch.compile(mode='reduce-overhead')"
    if mode == "max-autotune-whole":
        return torch.compile(net, mode="max-autotune"), "torch.compile(mode='max-autotune')"
    import torch._inductor.config as config
    options = autotune_options(mode, torch._inductor.list_mode_options("max-autotune"), lambda key: hasattr(config, key))
    text = ", ".join(f"{key}={value}" for key, value in sorted(options.items()))
    return torch.compile(net, options=options), f"torch.compile(options of max-autotune with {text})"


def by_torch(name, dtype, mode):
    import torch
    torch._dynamo.reset()
    torch.cuda.empty_cache()
    net, inputs = networks.network(common.BUNDLE / "make_models.py", name, dtype)
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    net, given = net.cuda(), [value.cuda() for value in networks.given(inputs, kind)]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    start = time.monotonic()
    with torch.no_grad():
        run, flags = compiled(torch, net, mode)
        run(*given)
        torch.cuda.synchronize()
        begin = round(time.monotonic() - start, 1)
        return {"begin_s": begin, "ms": stage_bench.timed(lambda: run(*given), torch.cuda.synchronize, seconds=0.7)[0],
                "flags": f"PyTorch {torch.__version__}, TF32 off, {flags}"}


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
        ms = stage_bench.timed(lambda: session.run_with_iobinding(binding), binding.synchronize_outputs, seconds=0.7)[0]
        return {"ms": ms, "flags": f"ONNX Runtime {onnxruntime.__version__}, use_tf32=0"}


def stand_in(name, mode):
    """Of a rehearsal, where no peer has a GPU: one fails, and one is too slow until what it has begun is in the cache."""
    if mode == "onnxruntime":
        raise RuntimeError("a peer that fails")
    begun = common.STATE / f"{name}-{mode}"
    if mode == "max-autotune" and not begun.exists():
        begun.parent.mkdir(parents=True, exist_ok=True)
        begun.touch()
        time.sleep(3600)
    return {"ms": stage_bench.timed(lambda: None, lambda: None, seconds=0.01)[0], "begin_s": 0.0, "flags": "nothing: a rehearsal"}


def answer(name, dtype, mode):
    try:
        if common.REHEARSED:
            return stand_in(name, mode)
        return by_onnxruntime(name) if mode == "onnxruntime" else by_torch(name, dtype, mode)
    except Exception as error:  # of one peer
        return {"failed": f"{type(error).__name__}: {error}".replace("\n", " ")[:200]}


def main():
    os.environ.update(CACHES)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    for line in sys.stdin:
        print(json.dumps(answer(*line.split())), file=out, flush=True)


if __name__ == "__main__":
    main()
