#!/usr/bin/env bash
# Builds the GPU tests and the bench (preset cuda), runs both, writes tests/gpu/results/<time>.json.
# Without a GPU the tests report themselves skipped, nothing is written, and the exit code is 0.
# --built: build nothing, run the programs that are in build/cuda/bin.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

case "${1:-}" in
  "")
    cmake --preset cuda
    cmake --build --preset cuda
    ;;
  --built) ;;
  *)
    echo "usage: tests/gpu/run.sh [--built]" >&2
    exit 2
    ;;
esac

bin=build/cuda/bin
output="$(mktemp -d)"
trap 'rm -rf "$output"' EXIT

status=0
"$bin/gpu_test" --gtest_brief=1 >"$output/tests" || status=$?
if ((status != 0)); then
  cat "$output/tests" >&2
  exit 1
fi
tail -n 3 "$output/tests"

"$bin/gpu_bench" >"$output/bench" 2>"$output/reason" || status=$?
if ((status == 77)); then
  echo "GPU tests were skipped: $(cat "$output/reason")"
  exit 0
elif ((status != 0)); then
  cat "$output/reason" >&2
  exit 1
fi

passed="$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?\.$/\1/p' "$output/tests")"
commit="$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
mkdir -p tests/gpu/results
result="tests/gpu/results/$(date -u +%Y-%m-%dT%H%M%SZ).json"
printf '{"date": "%s", "commit": "%s", "tests_passed": %d, "bench": %s}\n' \
  "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$commit" "$passed" "$(cat "$output/bench")" >"$result"
cat "$result"
echo "written to $result"
