#!/bin/bash
# Builds the tools and libraries with MLIR and LLVM linked in (GANTRY_STATIC_LLVM) in build/static and
# checks them: nothing of libMLIR or libLLVM is asked for, and models compile to the same plans, byte
# for byte, as with the other build, which has every interface implementation registered.
#
# Usage: tools/dev/build_static.sh [BUILD]     BUILD, build/release unless given, is what to compare
# with; without one only the answers of a small graph are checked. JOBS limits parallel compilation.
# The result to carry: build/static/lib/libgantry-compiler.so.*, stripped and as .xz.
set -euo pipefail
cd "$(dirname "$0")/../.."
other=${1:-build/release}
# A release build has two compilers; the one of shared libraries registers everything.
shared=$other/lib/libgantry-compiler-shared.so
[ -e "$shared" ] || shared=$other/lib/libgantry-compiler.so
build=build/static
jobs=${JOBS:-$(nproc)}

cmake --preset release -B $build -DGANTRY_STATIC_LLVM=ON -DGANTRY_BUILD_TESTS=OFF >/dev/null
cmake --build $build -j "$jobs" --target gantry gantry-opt gantry-compiler gantry-runtime gantry-show

fail() { echo "build_static.sh: $*" >&2; exit 1; }
for file in $build/lib/libgantry-compiler.so $build/bin/gantry-opt; do
  needs=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  ! grep -qE 'LLVM|MLIR' <<<"$needs" || fail "$file needs $(tr '\n' ' ' <<<"$needs")"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
digits=examples/digits
$build/bin/gantry run $digits/digits.onnx --input image=$digits/seven.npy --output "probabilities=$work/p.npy"
/usr/bin/python3 $digits/show.py $digits/seven.npy "$work/p.npy" seven >/dev/null || fail "digits.onnx: wrong answer"

compared=0
if [ -e "$shared" ]; then
  for model in $digits/digits.onnx ../shared/models/*/*.onnx \
               /usr/share/libonnx-testdata/data/*/*_{attention,conv,lstm,matmul,softmax,topk,resize}*/model.onnx; do
    [ -e "$model" ] || continue
    for devices in CPU:0 CPU:0,GPU:0; do
      # Models that Gantry refuses are refused by both.
      GANTRY_COMPILER=$shared \
        $build/bin/gantry compile "$model" --devices=$devices -o "$work/shared" 2>"$work/shared.log" || continue
      $build/bin/gantry compile "$model" --devices=$devices -o "$work/static" || fail "$model: compiles with $other only"
      cmp "$work/shared" "$work/static" || fail "$model on $devices: another plan than with $other"
      compared=$((compared + 1))
    done
  done
fi

library=$(readlink -f $build/lib/libgantry-compiler.so)
strip -o "$library.stripped" "$library"
xz -6 -T0 -k -f "$library.stripped"
printf 'ok: %s plans as with %s; %s MB stripped, %s MB as .xz\n' $compared "$other" \
  $(($(stat -c %s "$library.stripped") / 1000000)) $(($(stat -c %s "$library.stripped.xz") / 1000000))
