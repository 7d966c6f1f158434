#!/usr/bin/env bash
# usage: installed_client.sh BUILD-FOLDER C++-COMPILER VERSION
# Installs the client library into a temporary folder, and builds and runs client_project on nothing but that.
set -euo pipefail
build="$1" compiler="$2" version="$3"
project="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/client_project"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/installed" --component client >"$folder/install.log" ||
  { cat "$folder/install.log"; exit 1; }

# What users include names no library of ours.
if grep -rlE '#include.*(boost|capnp|openssl)' "$folder/installed/include"; then
  echo "these public headers include what is inside" >&2
  exit 1
fi

cmake -S "$project" -B "$folder/build" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$folder/installed" \
  -DGODWIT_WANTED="$version"
cmake --build "$folder/build"

# There is no server and there are no certificates: a sentence, and no crash.
status=0
"$folder/build/client_project" >"$folder/out" 2>&1 || status=$?
cat "$folder/out"
((status == 3)) || { echo "client_project ended with $status, not 3" >&2; exit 1; }
grep -q 'cannot read absent.crt' "$folder/out"
