#!/usr/bin/env bash
# Installs into a folder of its own, moves it, and builds and runs two programs against it: one with
# find_package(Gantry), one with pkg-config. Both are C: the runtime half of the API alone.
#
# Usage: run.sh BUILD CMAKE CC
set -euo pipefail
build=$1 cmake=$2 cc=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log" ||
  { cat "$work/install.log" >&2; exit 1; }
mv "$work/first" "$work/prefix"
if grep -rIl "$work/first\|$build" "$work/prefix" --include='*.cmake' --include='*.pc'; then
  echo "install: the files above name the folder that they were built in" >&2
  exit 1
fi

"$cmake" -G Ninja -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_C_COMPILER="$cc" >"$work/configure.log" || { cat "$work/configure.log" >&2; exit 1; }
"$cmake" --build "$work/consumer" >"$work/build.log" || { cat "$work/build.log" >&2; exit 1; }
"$work/consumer/consumer"

pc=$(dirname "$(find "$work/prefix" -name gantry-runtime.pc)")
export PKG_CONFIG_PATH=$pc
# shellcheck disable=SC2046  # flags are separate words
"$cc" "$here/consumer/main.c" $(pkg-config --cflags --libs gantry-runtime) \
  -Wl,-rpath,"$(pkg-config --variable=libdir gantry-runtime)" -o "$work/with-pkg-config"
"$work/with-pkg-config"

# The installed tool finds its libraries from where it is.
"$work/prefix/bin/gantry" --version
