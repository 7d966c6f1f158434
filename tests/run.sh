#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. The last line is "N passed, M failed, K skipped".
# By default: the tests of the release build, the fast ones under ASan+UBSan and built by Clang, minutes of simulated
# seeds, chaos on real processes, fuzzing, and whether tests fail when promises are broken.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tests/run.sh [--fast | --short] [--cycles N] [--seeds N] [--minutes N] [--sanitizers]
  --fast        only the release build, only tests labelled fast
  --short       without five minutes of seeds, three of chaos, fuzzing, and mutants
  --minutes N   simulate seeds for N minutes, not 5, on every processor
  --cycles N    kill -9 and restart N times in the recovery test      (GODWIT_TEST_CYCLES)
  --seeds N     simulate N seeds, not 2000                            (GODWIT_TEST_SEEDS)
  --sanitizers  every sanitizer: ASan+UBSan, Clang and also TSan, with --fast too
Exit code: 0 all passed, 1 something failed, 2 packages are missing or a flag is wrong, 130 interrupted.
TEXT
}

usage_error() {
  echo "run.sh: $1" >&2
  usage >&2
  exit 2
}

positive() { [[ "$2" =~ ^[1-9][0-9]*$ ]] || usage_error "$1 needs a positive number, not '$2'"; }

fast=no
short=no
minutes=5
sanitizers=default
while (($# > 0)); do
  case "$1" in
    --fast) fast=yes ;;
    --short) short=yes ;;
    --minutes) positive "$1" "${2:-}"; minutes="$2"; shift ;;
    --sanitizers) sanitizers=all ;;
    --cycles) positive "$1" "${2:-}"; export GODWIT_TEST_CYCLES="$2"; shift ;;
    --seeds) positive "$1" "${2:-}"; export GODWIT_TEST_SEEDS="$2"; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage_error "unknown flag '$1'" ;;
  esac
  shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -n "${HOME:-}" ]] || export CCACHE_DIR="$PWD/build/ccache"

# --- no process is left behind -----------------------------------------------------------------
# Each step runs in a process group of its own. A daemon that left the group (a test's cluster) still
# carries the mark in its environment and is found by it.
export GODWIT_TEST_RUN="$$-$RANDOM"
child=

marked_processes() {  # the search itself goes without the mark
  env -u GODWIT_TEST_RUN grep -lszxF "GODWIT_TEST_RUN=$GODWIT_TEST_RUN" /proc/[0-9]*/environ | tr -dc '0-9\n' || true
}

end_everything() {
  local pids
  if [[ -n "$child" ]]; then
    kill -TERM -- "-$child" 2>/dev/null || true
    for _ in {1..30}; do
      kill -0 -- "-$child" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL -- "-$child" 2>/dev/null || true
  fi
  for _ in {1..5}; do  # again, for what was being forked meanwhile
    mapfile -t pids < <(marked_processes)
    ((${#pids[@]} > 0)) || break
    kill -KILL "${pids[@]}" 2>/dev/null || true
  done
}

interrupted() {
  trap '' INT TERM HUP
  end_everything
  echo "run.sh: interrupted" >&2
  exit "$1"
}
trap 'interrupted 130' INT
trap 'interrupted 143' TERM HUP
trap end_everything EXIT

phases=()

# phase NAME COMMAND...: runs the command, remembers how long it took, returns its exit code.
phase() {
  local name="$1" started="$SECONDS" status=0
  shift
  echo "== $name"
  set -m
  "$@" </dev/null &
  child=$!
  set +m
  wait "$child" || status=$?
  child=
  phases+=("$(printf '%-24s %6d s' "$name" "$((SECONDS - started))")")
  return "$status"
}

# --- what is run -------------------------------------------------------------------------------
jobs="$(nproc)"
passed=0 failed=0 skipped=0

# count NAME REPORT: an attribute of the report's <testsuite>, 0 where there is none.
count() {
  local number
  number="$(grep -oE -m 1 "^[[:space:]]*$1=\"[0-9]+\"" "$2" 2>/dev/null | grep -oE '[0-9]+' || true)"
  echo "${number:-0}"
}

# test_preset PRESET TARGET CTEST-FLAGS...: a build that fails counts as one failed test.
test_preset() {
  local preset="$1" target="$2" report="$PWD/build/$1/tests.xml" status=0 tests bad absent
  shift 2
  if ! phase "$preset: configure" cmake --preset "$preset" ||
    ! phase "$preset: build" cmake --build --preset "$preset" --target "$target" -j "$jobs"; then
    echo "run.sh: the $preset build failed; its tests did not run" >&2
    failed=$((failed + 1))
    return 0
  fi
  rm -f "$report"
  phase "$preset: test" ctest --preset "$preset" --output-junit "$report" "$@" || status=$?
  tests="$(count tests "$report")"
  bad="$(count failures "$report")"
  absent="$(($(count skipped "$report") + $(count disabled "$report")))"
  if ((status != 0 && bad == 0)); then  # no tests, or ctest itself failed
    echo "run.sh: ctest of the $preset build failed without naming a test (exit code $status)" >&2
    bad=$((bad + 1))
    tests=$((tests + 1))
  fi
  passed=$((passed + tests - bad - absent))
  failed=$((failed + bad))
  skipped=$((skipped + absent))
}

# single NAME COMMAND...: counts as one test.
single() {
  if phase "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# Other seeds than those that ctest runs; a number of them on each processor.
simulate() {
  local job status=0 processes=()
  for ((job = 1; job <= jobs; ++job)); do
    build/release/bin/godwit-sim --seed "${job}0000000" --minutes "$minutes" &
    processes+=($!)
  done
  for job in "${processes[@]}"; do wait "$job" || status=1; done
  return "$status"
}

phase "packages" docker/install-packages.sh || exit 2
if [[ "$fast" == yes ]]; then
  test_preset release fast_tests --label-regex fast
else
  test_preset release all --label-exclude chaos
fi
if [[ "$fast" == no && "$short" == no ]]; then
  single "simulation: $minutes min" simulate
  single "mutants" tests/mutants/run.sh
  single "chaos: 3 min" ctest --preset release --label-regex chaos
  single "fuzz: 30 s each" tests/fuzz/run.sh
fi
presets=()
if [[ "$fast" == no || "$sanitizers" == all ]]; then presets+=(asan clang); fi
if [[ "$sanitizers" == all ]]; then presets+=(tsan); fi
for preset in "${presets[@]}"; do test_preset "$preset" fast_tests --label-regex fast; done

echo
printf '%s\n' "${phases[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
