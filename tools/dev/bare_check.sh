#!/usr/bin/env bash
# Runs the two commands of the README on a machine that has nothing: a minimal Debian 12 root is made, the last commit
# is cloned there, and `make demo` and `make test` install what they need, build and run. The last line of each is told.
#
# Usage: tools/dev/bare_check.sh [--ccache FOLDER] [--keep]
#
#   --ccache FOLDER   ccache's folder of this machine, which the root shares: minutes in place of the better part of an
#                     hour where this commit was built here before
#   --keep            leaves the root where it is, and says where, to look into
#
# Wants root, mmdebstrap, unshare and git, the network that apt takes packages from, and 15 GB in TMPDIR (/tmp). What
# the commands said is in build/bare-check. Nothing else is left, also after Ctrl-C.
# Exit status 0 when both commands end with 0, 1 when one does not, 2 for wrong usage, 3 when no root can be made here.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
logs=$here/build/bare-check

usage() { sed -n '2,/^set/{/^#/s/^# \?//p}' "$0"; }
wrong() { echo "bare_check: $*; see --help" >&2; exit 2; }
refuse() { echo "bare_check: $*" >&2; exit 3; }

ccache="" keep=""
while [[ $# -gt 0 ]]; do
  case $1 in
    --help | -h) usage; exit ;;
    --keep) keep=1; shift ;;
    --ccache) [[ $# -gt 1 ]] || wrong "--ccache wants a folder"; ccache=$2; shift 2 ;;
    --ccache=*) ccache=${1#*=}; shift ;;
    *) wrong "unknown argument '$1'" ;;
  esac
done
[[ -z $ccache || -d $ccache ]] || wrong "--ccache: there is no folder '$ccache'"
[[ $(id -u) -eq 0 ]] || refuse "only root can make a root folder and change into it: sudo tools/dev/bare_check.sh"
for program in mmdebstrap unshare git; do
  command -v $program >/dev/null || refuse "$program is missing: apt-get install ${program/unshare/util-linux}"
done
unshare --mount --pid --fork true 2>/dev/null || refuse "no mounts and processes of its own can be had here (unshare)"

work=$(mktemp -d)
root=$work/root
child="" end=TERM
# Mounts and processes of the root are in namespaces that end with their first process.
tidy() {
  trap '' INT TERM HUP
  [[ -z $child ]] || { kill -$end "$child" && wait "$child"; } 2>/dev/null || true
  if [[ $keep ]]; then echo "bare_check: the root is $root"; else rm -rf --one-file-system "$work"; fi
}
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
# A signal ends the shell while it waits, not when a command that it runs is over.
run() {
  "$@" </dev/null &
  child=$!
  local status=0
  wait "$child" || status=$?
  child=""
  return $status
}
since() { local seconds=$((SECONDS - $1)); echo "$((seconds / 60)) min $((seconds % 60)) s"; }

mkdir -p "$logs"
[[ -z $(git -C "$here" status --porcelain) ]] || echo "bare_check: what is not committed is left out"
begun=$SECONDS
run mmdebstrap --quiet --variant=minbase --include=make,git bookworm "$root" >"$logs/root.log" 2>&1 ||
  { tail -n 5 "$logs/root.log" >&2; refuse "mmdebstrap failed; all that it said is in $logs/root.log"; }
[[ ! -e /etc/resolv.conf ]] || cp -L /etc/resolv.conf "$root/etc/"
mkdir -p "$root/root" "$root/proc" "$root/sys" "$root/dev"
git clone --quiet --depth 1 "file://$here" "$root/gantry"
echo "bare_check: a root with $(git -C "$here" log -1 --format='%h %s') in $(since $begun)"

# What runs inside sees processes, mounts and variables of its own. unshare waits for it, deaf to other signals.
end=KILL
inside() {
  # shellcheck disable=SC2016  # expanded by the inner shell
  run unshare --mount --propagation private --pid --fork --kill-child sh -ec '
    root=$1 ccache=$2; shift 2
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount --rbind /dev "$root/dev"
    if [ "$ccache" ]; then
      mkdir -p "$root/ccache"
      mount --bind "$ccache" "$root/ccache"
    fi
    exec chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 CCACHE_DIR=/ccache CCACHE_BASEDIR=/gantry \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c "cd /gantry && exec \"\$@\"" sh "$@"
  ' sh "$root" "$ccache" "$@"
}

failed=0
for target in demo test; do
  begun=$SECONDS status=0
  inside make "$target" >"$logs/$target.log" 2>&1 || status=$?
  [[ $status -eq 0 ]] || { failed=1; tail -n 15 "$logs/$target.log" | sed 's/^/    | /'; }
  echo "bare_check: make $target, exit status $status, $(since $begun); its last line:"
  grep -v '^make\b' "$logs/$target.log" | tail -n 1
done
exit $failed
