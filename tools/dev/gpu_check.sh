#!/bin/bash
# The proof on a real GPU: what is made here is carried to a machine with one, run there in stages,
# and becomes one report, docs/benchmarks/gpu.md and gpu.html. docs/benchmarks/METHOD.md has the command lines.
#
# Usage: gpu_check.sh --bundle [options of gpu_check/bundle.py]   here: makes build/gpu-check
#        gpu_check.sh --stage=bits,programs,sanitize,memory,bench,peers,autotune   there: results in $OUT (JSON)
#        gpu_check.sh --build                                     there: runtime and tests from source
#        gpu_check.sh --report [FOLDER]                           here: the report from JSON files
#        gpu_check.sh --rehearse [--stage=...] [options]          all of it on the fake libcuda
set -uo pipefail
cd "$(dirname "$0")/../.."
scripts=tools/dev/gpu_check
python=${PYTHON:-python3}
all=bits,programs,sanitize,memory,bench,peers,autotune

usage() { sed -n '5,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }

stages() {
  local failed=0
  for stage in ${1//,/ }; do
    [[ -e $scripts/stage_$stage.py ]] || { echo "gpu_check: no stage '$stage'; there are $all" >&2; exit 2; }
    "$python" $scripts/stage_$stage.py || failed=1
  done
  return $failed
}

rehearse() {
  local stage=$all
  if [[ ${1:-} == --stage=* ]]; then stage=${1#--stage=}; shift; fi
  export GPU_CHECK_REHEARSE=1 GPU_CHECK_BUNDLE=${GPU_CHECK_BUNDLE:-$PWD/build/gpu-check-rehearsal}
  export OUT=${OUT:-$GPU_CHECK_BUNDLE/out}
  "$python" $scripts/bundle.py --small --sizes 33 --products 24 --attention 12 --staged 6 "$@" || return 1
  export GANTRY_CUDA_LIB=$GPU_CHECK_BUNDLE/lib/libfake-cuda.so GANTRY_CUBLASLT_LIB=$GPU_CHECK_BUNDLE/lib/libfake-cuda.so
  export FAKE_CUDA_DEVICES=1 FAKE_CUDA_MEMORY=$((1 << 30)) FAKE_CUDA_SEED=1
  # Stages that go on where a call was cut off: a call that may take two steps, then one that goes on.
  local failed=0 going_on
  for going_on in peers autotune sanitize; do
    [[ ,$stage, == *,$going_on,* ]] || continue
    GPU_CHECK_STEPS=2 "$python" $scripts/stage_$going_on.py || failed=1
  done
  stages "$stage" || failed=1
  return $failed
}

needs_numpy() {
  "$python" -c 'import numpy' 2>/dev/null && return
  echo "gpu_check: $python has no NumPy; install it, or name another Python with PYTHON=/usr/bin/python3" >&2
  exit 2
}

case ${1:-} in --bundle|--stage=*|--rehearse) needs_numpy ;; esac
case ${1:-} in
  --bundle) shift; exec "$python" $scripts/bundle.py "$@" ;;
  --stage=*) stages "${1#--stage=}" ;;
  --build)
    cmake -S . -B build/gpu-check-build -DCMAKE_BUILD_TYPE=Release -DGANTRY_BUILD_COMPILER=OFF &&
      cmake --build build/gpu-check-build -j "$(nproc)" --target gantry gantry-runtime gantry-emulator DriverConformanceTest ;;
  --report) shift; exec "$python" $scripts/report.py "$@" ;;
  --rehearse) shift; rehearse "$@" ;;
  *) usage ;;
esac
