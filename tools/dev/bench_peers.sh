#!/usr/bin/env bash
# Compares `gantry bench` with others on the same machine in one run; ratios above 1: Gantry is faster.
#
# Usage: tools/dev/bench_peers.sh MODEL.onnx ...        whole models against ONNX Runtime in turn, medians, and what
#                                                       they take at the processor's peak; with
#                                                       WRITE=docs/benchmarks/models that page and its figures
#        tools/dev/bench_peers.sh --ops MODEL.onnx ...  the models' products and convolutions one by one, hot and
#                                                       cold, and 200 sizes drawn at random, against oneDNN,
#                                                       PyTorch and ONNX Runtime: writes docs/benchmarks/cpu.md
#        tools/dev/bench_peers.sh --math TYPE MODEL.onnx ...  whole models with --math=TYPE (bf16, f16) against f32, in
#                                                       turn; with WRITE=docs/benchmarks/math that page and its figures
#
# Peers that are not here are left out, and that is said: ONNX Runtime comes from npm (onnxruntime-node) into
# build/peers, oneDNN from libdnnl-dev, PyTorch from python3-torch. Environment: THREADS ("1 2" by default, of --ops
# the first one counts), GANTRY (the tool), PYTHON (python3), WRITE (where to, without ending), ROUNDS (of models: 3,
# with --math 5).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
gantry=${GANTRY:-$root/build/release/bin/gantry}
python=${PYTHON:-python3}
peers=$root/build/peers

if [[ $# -eq 0 || $1 == --help ]]; then
  sed -n '2,16s/^# \{0,1\}//p' "$0"
  exit $(($# == 0 ? 2 : 0))
fi
write=()
[[ ! ${WRITE:-} ]] || write=(--write "$WRITE")
if [[ $1 == --math ]]; then
  read -ra threads <<<"${THREADS:-1}"
  exec "$python" "$root/tools/dev/peers/modes.py" --gantry "$gantry" --math "$2" --threads "${threads[@]}" \
    --rounds "${ROUNDS:-5}" "${write[@]}" -- "${@:3}"
fi
mkdir -p "$peers"
left_out() { echo "bench_peers: without $1: $2" >&2; }

has_ort=1
command -v node >/dev/null || { has_ort=; left_out "ONNX Runtime" "node is missing; apt-get install nodejs npm"; }
if [[ $has_ort && ! -d $peers/node_modules/onnxruntime-node ]]; then
  # Without its install script: that would fetch a GPU build.
  (cd "$peers" && npm install --silent --ignore-scripts onnxruntime-node) ||
    { has_ort=; left_out "ONNX Runtime" "npm could not install onnxruntime-node"; }
fi
[[ ! $has_ort ]] || cp "$root/tools/dev/bench_ort.mjs" "$root/tools/dev/peers/ort_peer.mjs" "$peers/"

if [[ $1 == --ops ]]; then
  shift
  found=()
  [[ ! $has_ort ]] || found+=(--ort "$peers")
  if ${CXX:-c++} -O2 -std=c++17 "$root/tools/dev/peers/onednn_peer.cpp" -ldnnl -o "$peers/onednn_peer" 2>"$peers/onednn.log"; then
    found+=(--onednn "$peers/onednn_peer")
  else
    left_out oneDNN "onednn_peer.cpp does not build, see $peers/onednn.log; apt-get install libdnnl-dev"
  fi
  if "$python" -c 'import torch' 2>/dev/null; then
    found+=(--torch)
  else
    left_out PyTorch "$python has no module torch; apt-get install python3-torch"
  fi
  threads=${THREADS:-1}
  exec "$python" "$root/tools/dev/peers/bench.py" --gantry "$gantry" "${found[@]}" --threads "${threads%% *}" \
    --write "${WRITE:-$root/docs/benchmarks/cpu}" --models "$@"
fi

[[ $has_ort ]] || exit 1
read -ra threads <<<"${THREADS:-1 2}"
exec "$python" "$root/tools/dev/peers/models.py" --gantry "$gantry" --ort "$peers" --threads "${threads[@]}" \
  --rounds "${ROUNDS:-3}" "${write[@]}" -- "$@"
