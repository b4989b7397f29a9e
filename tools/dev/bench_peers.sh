#!/usr/bin/env bash
# Compares `gantry bench` with ONNX Runtime on the same machine in one run: warm medians, and their
# ratio (above 1: Gantry is faster). ONNX Runtime comes from npm (onnxruntime-node) into build/peers.
#
# Usage: tools/dev/bench_peers.sh MODEL.onnx ...        THREADS="1 2" by default
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
gantry=${GANTRY:-$root/build/release/bin/gantry}
peers=$root/build/peers

if [[ $# -eq 0 || $1 == --help ]]; then
  sed -n '2,5s/^# \{0,1\}//p' "$0"
  exit $(($# == 0 ? 2 : 0))
fi
command -v node >/dev/null || { echo "bench_peers: node is missing; apt-get install nodejs npm" >&2; exit 1; }
if [[ ! -d $peers/node_modules/onnxruntime-node ]]; then
  mkdir -p "$peers"
  # Without its install script: that would fetch a GPU build.
  (cd "$peers" && npm install --silent --ignore-scripts onnxruntime-node)
fi
cp "$root/tools/dev/bench_ort.mjs" "$peers/"

printf '%-28s %8s %12s %12s %8s\n' model threads "ORT ms" "Gantry ms" ratio
for model in "$@"; do
  for threads in ${THREADS:-1 2}; do
    ort=$(node "$peers/bench_ort.mjs" "$model" "$threads")
    own=$("$gantry" bench "$model" --threads "$threads" --min-time 2 --json 2>/dev/null |
          sed -E 's/.*"median_ms":([0-9.e-]+).*/\1/')
    awk -v m="$(basename "$model")" -v t="$threads" -v o="$ort" -v g="$own" \
      'BEGIN { printf "%-28s %8d %12.3f %12.3f %8.2f\n", m, t, o, g, o / g }'
  done
done
