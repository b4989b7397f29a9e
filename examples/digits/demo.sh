#!/usr/bin/env bash
# The main job, once from end to end: an ONNX file becomes a plan, the plan runs, the answer shows.
#
#   make demo [DIGIT=seven]      zero ... nine: a held-out image, never seen in training
set -euo pipefail
cd "$(dirname "$0")/../.."

digit=${DIGIT:-seven}
gantry=${BUILD:-build/release}/bin/gantry
here=examples/digits
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
step() { printf '\n$ gantry %s\n' "$*" | sed "s|$out/||g"; }

compile=(compile "$here/digits.onnx" -o "$out/digits.gantry")
step "${compile[@]}"
"$gantry" "${compile[@]}"

run=(run "$out/digits.gantry" --input "image=$here/$digit.npy"
     --output "probabilities=$out/probabilities.npy" --log-device-placement)
step "${run[@]}"
"$gantry" "${run[@]}"

explain=(explain "$out/digits.gantry" --memory)
step "${explain[@]}"
"$gantry" "${explain[@]}"

echo
/usr/bin/python3 "$here/show.py" "$here/$digit.npy" "$out/probabilities.npy" "$digit"
