#!/usr/bin/env bash
# Applies each mutant to a copy of the tree, one at a time, and expects the test that it names to fail.
# The last line is "mutants caught N of N".
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tests/mutants/run.sh [--only NAME]... [--list]
  --only NAME   this mutant, instead of all
  --list        say which mutants there are and what they break
Exit code: 0 all were caught, 1 one was not, 2 packages are missing or a flag is wrong, 130 interrupted.
TEXT
}

usage_error() {
  echo "run.sh: $1" >&2
  usage >&2
  exit 2
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
only=()
list=no
while (($# > 0)); do
  case "$1" in
    --only)
      [[ -f "tests/mutants/${2:-}.mutant" ]] || usage_error "no tests/mutants/${2:-}.mutant"
      only+=("tests/mutants/$2.mutant")
      shift
      ;;
    --list) list=yes ;;
    -h | --help) usage; exit 0 ;;
    *) usage_error "unknown flag '$1'" ;;
  esac
  shift
done
mutants=("${only[@]}")
((${#mutants[@]} > 0)) || mutants=(tests/mutants/*.mutant)

name() { basename "$1" .mutant; }
field() { sed -n "s/^$2: *//p" "$1"; }             # field MUTANT KEY
flat() { sed 's/^[[:space:]]*//' "$@"; }           # indentation is no part of a mutant
old_text() { sed -n '/^--- old$/,/^+++ new$/{//!p}' "$1" | flat; }
new_text() { sed -n '/^+++ new$/,${//!p}' "$1" | flat; }

if [[ "$list" == yes ]]; then
  for mutant in "${mutants[@]}"; do printf '%-36s %s\n' "$(name "$mutant")" "$(field "$mutant" promise)"; done
  exit 0
fi

docker/install-packages.sh || exit 2
base="$PWD/build/mutants"
logs="$base/logs"
limit=300  # seconds for one test
shares="$(nproc)"  # a mutant is a compiler and a test, one after the other: as many as processors at a time
((shares <= 4)) || shares=4  # each is a copy that is built
mkdir -p "$logs"
exec 9>"$base/lock"
flock -n 9 || { echo "run.sh: another run is using $base" >&2; exit 2; }

# --- a share: some of the mutants, in a copy of the tree, in a process of its own --------------------
# The copy is whole again at the end, and no process is left behind.
copy='' child='' mutated=''

restore() {
  if [[ -n "$mutated" ]]; then cp "$copy/../original.$share" "$copy/$mutated"; fi
  mutated=''
}

leave() {
  trap '' INT TERM HUP
  if [[ -n "$child" ]]; then kill -KILL -- "-$child" 2>/dev/null || true; fi
  restore
}

# in_group LOG COMMAND...: in a process group of its own.
in_group() {
  local log="$1" status=0
  shift
  set -m
  "$@" >"$log" 2>&1 9>&- </dev/null &
  child=$!
  set +m
  { wait "$child" || status=$?; } 2>/dev/null  # no word about an abort
  child=''
  return "$status"
}

# Only what differs is written, so that only that is built again.
copy_tree() {
  local file
  while IFS= read -r -d '' file; do
    cmp -s "$file" "$copy/$file" && continue
    mkdir -p "$copy/$(dirname "$file")"
    cp "$file" "$copy/$file"
  done < <(git ls-files -z)
}

# The flags of the release preset: its objects are in the compiler cache already.
build() {
  local log="$1"
  shift
  in_group "$log" cmake --build "$copy/build/release" -j 1 --target "$@"
}

# run_test LOG "PROGRAM GTEST-FILTER", or the arguments of godwit-sim.
run_test() {
  local log="$1" program arguments
  read -r program arguments <<<"$2"
  [[ "$program" == godwit-sim ]] || arguments="--gtest_brief=1 --gtest_filter=$arguments"
  # shellcheck disable=SC2086  # several arguments
  in_group "$log" timeout --kill-after=5 "$limit" "$copy/build/release/bin/$program" $arguments
}

# mutate MUTANT: fails with the reason unless the old text is there exactly once.
mutate() {
  local file text old new rest
  file="$(field "$1" file)"
  old="$(old_text "$1")"
  new="$(new_text "$1")"
  text="$(flat "$copy/$file")" || return 1
  rest="${text#*"$old"}"
  if [[ "$rest" == "$text" ]]; then echo "old text not found in $file"; return 1; fi
  if [[ "$rest" == *"$old"* ]]; then echo "old text found more than once in $file"; return 1; fi
  cp "$copy/$file" "$copy/../original.$share"
  mutated="$file"
  printf '%s\n' "${text%%"$old"*}$new$rest" >"$copy/$file"
}

die() {
  echo "run.sh: $1, see ${2#"$PWD/"}" >&2
  exit 1
}

# prepare MUTANT...: their programs are built, and their tests pass.
prepare() {
  local programs tests test log="$logs/share.$share"
  mapfile -t tests < <(for mutant in "$@"; do field "$mutant" test; done | sort -u)
  mapfile -t programs < <(printf '%s\n' "${tests[@]}" | cut -d' ' -f1 | sort -u)
  copy_tree
  export CCACHE_BASEDIR="$copy" CCACHE_NOHASHDIR=1
  in_group "$log" cmake -S "$copy" --preset release -DGODWIT_TRAINER=OFF || die "the copy does not configure" "$log"
  build "$log" "${programs[@]}" || die "the tree does not build" "$log"
  for test in "${tests[@]}"; do
    run_test "$log" "$test" || die "'$test' fails without any mutant" "$log"
    if grep -q '\] 0 tests' "$log"; then die "'$test' names no test" "$log"; fi
  done
  echo "${#tests[@]} tests pass on the unchanged tree after $SECONDS s"
}

# try MUTANT: one line that says what became of it.
try() {
  local name test started="$SECONDS" status=0 log
  name="$(name "$1")"
  test="$(field "$1" test)"
  log="$logs/$name"
  if ! mutate "$1" >"$log"; then
    printf 'stale     %-36s %s\n' "$name" "$(<"$log")"
    return
  fi
  if ! build "$log" "${test%% *}"; then
    printf 'no build  %-36s see %s\n' "$name" "${log#"$PWD/"}"
  else
    run_test "$log" "$test" || status=$?
    case "$status" in
      0) printf 'SURVIVED  %-36s %s\n' "$name" "$test" ;;
      124 | 137) printf 'SURVIVED  %-36s still running after %s s: %s\n' "$name" "$limit" "$test" ;;
      *) printf 'caught    %-36s %3d s  by %s\n' "$name" "$((SECONDS - started))" "$test" ;;
    esac
  fi
  restore
}

# try_share NUMBER MUTANT...
try_share() {
  share="$1"
  copy="$base/$share"
  shift
  trap 'leave; exit 130' INT TERM HUP
  trap leave EXIT
  mkdir -p "$copy"
  prepare "$@"
  for mutant in "$@"; do try "$mutant"; done
}

# --- all shares at a time ------------------------------------------------------------------------------
running=()
trap 'kill -TERM "${running[@]}" 2>/dev/null; wait; echo "run.sh: interrupted"; exit 130' INT TERM HUP

# By program, so that few are built in more than one copy.
by_program() {
  for mutant in "${mutants[@]}"; do echo "$(field "$mutant" test) $mutant"; done | sort | sed 's/.* //'
}
mapfile -t mutants < <(by_program)
each=$(((${#mutants[@]} + shares - 1) / shares))
for ((first = 0; first < ${#mutants[@]}; first += each)); do
  number=$((first / each))
  try_share "$number" "${mutants[@]:first:each}" > >(tee "$logs/results.$number") &
  running+=($!)
done
status=0
for process in "${running[@]}"; do wait "$process" || status=1; done
results() {
  for ((number = 0; number < ${#running[@]}; ++number)); do cat "$logs/results.$number"; done
}
caught="$(results | grep -c '^caught' || true)"
echo "mutants caught $caught of ${#mutants[@]}"
((status == 0 && caught == ${#mutants[@]}))
