#!/usr/bin/env bash
# Installs the Debian packages of docker/packages.txt that are missing. Says nothing when none is.
# Needs root or a sudo that asks no password; elsewhere it prints the command to run and exits with 2.
set -euo pipefail

list="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/packages.txt"
mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$list")

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "packages: this is not Debian; install the equivalents of these, then build with cmake: ${wanted[*]}" >&2
  exit 2
fi

installed="$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null |
  sed -n 's/ installed$//p' || true)"
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
((${#missing[@]} > 0)) || exit 0

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
    echo "packages: ${#missing[@]} are missing and this is neither root nor password-less sudo. Run:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 2
  fi
  as_root=(sudo -n)
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 --no-install-recommends "$@" </dev/null
}

echo "packages: installing ${#missing[@]}: ${missing[*]}"
# The package index is fetched only when it is absent or too old to serve what is missing.
apt -s install "${missing[@]}" >/dev/null 2>&1 || apt update
apt install "${missing[@]}" || { apt update && apt install "${missing[@]}"; }
