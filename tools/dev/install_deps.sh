#!/usr/bin/env bash
# Installs the Debian packages that Gantry needs and that this machine lacks, and says which.
#
#   tools/dev/install_deps.sh [GROUP ...]      groups: build test references dev (default: build test)
#
#   build       compilers, MLIR 22 and the libraries: `make build`
#   test        ONNX's test data, what the Python runners import, two libraries of MPI: `make test`
#   references  PyTorch, scikit-learn and mypy: tests that compare with PyTorch or check types,
#               examples/digits/train.py
#   dev         formatter, linter, sanitizer runtimes
#
# Quick and silent when nothing is missing: the package database is asked, the network is not.
set -euo pipefail

declare -A groups=(
  [build]="cmake ninja-build ccache pkg-config git make g++ clang-22 lld-22 liblld-22-dev
           libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools libzstd-dev zlib1g-dev
           libflatbuffers-dev flatbuffers-compiler libprotobuf-dev protobuf-compiler
           libgtest-dev libcli11-dev nlohmann-json3-dev libxxhash-dev
           python3 python3-numpy"
  [test]="libonnx-testdata python3-onnx python3-jsonschema python3-scipy binutils
          openmpi-bin mpich"
  [references]="python3-torch python3-torchvision python3-sklearn mypy"
  [dev]="clang-format-22 clang-tidy-22 libclang-rt-22-dev"
)

[[ $# -gt 0 ]] || set -- build test
wanted=()
for group in "$@"; do
  if [[ -z "${groups[$group]:-}" ]]; then
    echo "install_deps: unknown group '$group'; the groups are: build test references dev" >&2
    exit 2
  fi
  read -r -d '' -a packages <<<"${groups[$group]}" || true
  wanted+=("${packages[@]}")
done

# One query for all; a package that was never heard of prints nothing on standard output.
declare -A have=()
while read -r status package; do
  [[ $status == [hi]i ]] && have[$package]=1
done < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
  [[ -n "${have[$package]:-}" ]] || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

echo "install_deps: installing with apt: ${missing[*]}"
as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "install_deps: neither root nor sudo; run as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
apt_get() {
  # ${a[@]+…}: an empty array counts as unset for `set -u` in older bash.
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -y -qq \
    -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@"
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt_get update && apt_get install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  cat "$log" >&2
  echo "install_deps: apt-get failed; see above. Wanted: ${missing[*]}" >&2
  exit 1
fi
