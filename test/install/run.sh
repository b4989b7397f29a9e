#!/usr/bin/env bash
# Installs into a folder of its own, moves it, runs every installed program on a graph, and builds
# and runs programs against it: with find_package(Gantry), one for each library of the C API, and with
# pkg-config.
#
# Usage: run.sh BUILD CMAKE CC
set -euo pipefail
build=$1 cmake=$2 cc=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "install: $*" >&2; exit 1; }

"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log" ||
  { cat "$work/install.log" >&2; exit 1; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix
if grep -rIl "$work/first\|$build" "$prefix" --include='*.cmake' --include='*.pc' --include='*.md'; then
  fail "the files above name the folder that they were built in"
fi
# What messages and headers name; of the references those that need no compiler.
for file in include/gantry/Plan/Plan.fbs include/gantry/Support/CompileFlags.def \
  share/doc/Gantry/docs/Errors.md share/doc/Gantry/docs/OnnxOps.md share/doc/Gantry/docs/CLI.md \
  share/doc/Gantry/examples/hello_terse.c share/bash-completion/completions/gantry \
  share/zsh/site-functions/_gantry share/fish/vendor_completions.d/gantry.fish; do
  [[ -f $prefix/$file ]] || fail "$file is missing"
done

# Nothing of it looks for libraries in the current folder.
/usr/bin/python3 "$here/../../tools/dev/check_elf.py" "$prefix"
mkdir "$work/planted"
for program in "$prefix"/bin/*; do
  for library in libzip.so.4 $(ldd "$program" | awk '/=>/ { print $1 }'); do : >"$work/planted/$library"; done
  (cd "$work/planted" && "$program" --help >/dev/null) || fail "$program loads a library of the current folder"
done

halves=(runtime show)
[[ -e $prefix/bin/gantry-opt ]] && halves+=(compiler)
for half in "${halves[@]}"; do
  "$cmake" -G Ninja -S "$here/consumer" -B "$work/$half" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DHALF="$half" >"$work/configure.log" ||
    { cat "$work/configure.log" >&2; exit 1; }
  "$cmake" --build "$work/$half" >"$work/build.log" || { cat "$work/build.log" >&2; exit 1; }
  "$work/$half/consumer" "$here/consumer/graph.mlir"
done

pc=$(dirname "$(find "$prefix" -name gantry-runtime.pc)")
export PKG_CONFIG_PATH=$pc
# shellcheck disable=SC2046  # flags are separate words
"$cc" "$here/consumer/runtime.c" $(pkg-config --cflags --libs gantry-runtime) \
  -Wl,-rpath,"$(pkg-config --variable=libdir gantry-runtime)" -o "$work/with-pkg-config"
# shellcheck disable=SC2046  # flags are separate words
"$cc" "$here/consumer/show.c" $(pkg-config --cflags --libs gantry-show) \
  -Wl,-rpath,"$(pkg-config --variable=libdir gantry-show)" -o "$work/shows"
"$work/shows"
"$work/with-pkg-config"
# shellcheck disable=SC2046  # flags are separate words
"$cc" "$here/consumer/show.c" $(pkg-config --cflags --libs gantry-show) \
  -Wl,-rpath,"$(pkg-config --variable=libdir gantry-show)" -o "$work/shows"
"$work/shows"

# Installed programs find what they need from where they are, without help from the environment.
unset LD_LIBRARY_PATH GANTRY_COMPILER
"$prefix/bin/gantry" --version
# Completion and manual pages are those of this program, one page for each command.
"$prefix/bin/gantry" completion bash | diff - "$prefix/share/bash-completion/completions/gantry"
"$prefix/bin/gantry" man | diff - "$prefix/share/man/man1/gantry.1"
for command in $("$prefix/bin/gantry" man | sed -n 's/^.fBgantry.-\([a-z\\-]*\).fR(1)$/\1/p' | tr -d '\\'); do
  "$prefix/bin/gantry" man "$command" | diff - "$prefix/share/man/man1/gantry-$command.1"
  pages=$((${pages:-0} + 1))
done
[[ ${pages:-0} -gt 8 ]] || fail "only ${pages:-0} manual pages"
"$prefix/bin/gantry-memplan" --help | grep -q 'gantry-memplan .OPTIONS. FILE' || fail "gantry-memplan does not start"
"$prefix/bin/gantry-ptx" --help | grep -q 'gantry-ptx parse' || fail "gantry-ptx does not start"
[[ -e $prefix/bin/gantry-opt ]] || exit 0
graph=$here/consumer/graph.mlir
run() { "$@" >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "$1 failed"; }; }
expect() { grep -q "$1" "$work/out" || { cat "$work/out" >&2; fail "expected '$1' in the above"; }; }
run "$prefix/bin/gantry" run "$graph" --fill ramp
expect 'f32\[2,2\] on CPU:0'
run "$prefix/bin/gantry" compile "$graph" -o "$work/graph.gantry"
run "$work/shows" "$work/graph.gantry"
expect "Executing op MatMul in device"
run env GANTRY_COMPILER=/nonexistent "$prefix/bin/gantry" run "$work/graph.gantry" --fill ramp
run "$prefix/bin/gantry-opt" "$graph"
expect gantry.matmul
run "$prefix/bin/gantry-reduce" "$graph" --test=/bin/false
expect "^module"
printf '%s' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}
// -----
{"jsonrpc":"2.0","id":1,"method":"shutdown"}
// -----
{"jsonrpc":"2.0","method":"exit"}
' >"$work/lsp"
run "$prefix/bin/gantry-lsp-server" -lit-test <"$work/lsp"
expect capabilities
