#!/usr/bin/env bash
# usage: runtime-packages.sh PROGRAM...
# Prints the Debian packages that own the shared libraries these programs load, one a line.
set -euo pipefail

ldd "$@" | sed -nE 's|.*=> (/[^ ]+) .*|\1|p' | sort -u | while read -r library; do
  real="$(realpath "$library")"
  # With merged /usr a package may name the file under either path.
  dpkg-query -S "$real" 2>/dev/null || dpkg-query -S "${real#/usr}" 2>/dev/null ||
    { echo "runtime-packages.sh: no package owns $library" >&2; exit 1; }
done | cut -d: -f1 | sort -u
