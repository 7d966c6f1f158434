#!/usr/bin/env bash
# Builds the fuzz targets (preset fuzz) and runs each for a while, from the corpus in the tree and from what
# earlier runs found (build/fuzz/corpus). The last line is "N of N fuzz targets clean".
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: tests/fuzz/run.sh [--seconds N] [--target NAME]...
  --seconds N    fuzz each target for N seconds (30)
  --target NAME  only this one, for example message
Exit code: 0 all clean, 1 an input was found that breaks a target, 2 packages are missing or a flag is wrong,
130 interrupted.
TEXT
}

usage_error() {
  echo "run.sh: $1" >&2
  usage >&2
  exit 2
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=30
targets=()
while (($# > 0)); do
  case "$1" in
    --seconds)
      [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || usage_error "--seconds needs a positive number, not '${2:-}'"
      seconds="$2"
      shift
      ;;
    --target)
      [[ -d "tests/fuzz/corpus/${2:-.}" && -n "${2:-}" ]] || usage_error "no target '${2:-}'; see tests/fuzz/corpus"
      targets+=("$2")
      shift
      ;;
    -h | --help) usage; exit 0 ;;
    *) usage_error "unknown flag '$1'" ;;
  esac
  shift
done
((${#targets[@]} > 0)) || mapfile -t targets < <(basename -a tests/fuzz/corpus/*/)

[[ -n "${HOME:-}" ]] || export CCACHE_DIR="$PWD/build/ccache"
jobs="$(nproc)"
work=build/fuzz
mkdir -p "$work/logs" "$work/corpus" "$work/found"

# --- no process is left behind: each runs in a process group of its own ---------------------------------
declare -A running=()  # process -> target
exec 3>&2               # a signal may come while stderr is shut

end_everything() {
  local process
  for process in "${!running[@]}"; do kill -KILL -- "-$process" 2>/dev/null || true; done
}
interrupted() {
  trap '' INT TERM HUP
  end_everything
  echo "run.sh: interrupted" >&3
  exit "$1"
}
trap 'interrupted 130' INT
trap 'interrupted 143' TERM HUP
trap end_everything EXIT

# start NAME LOG COMMAND...
start() {
  local name="$1" log="$2"
  shift 2
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  running[$!]="$name"
  set +m
}

# One that has ended: sets ended (its name) and status.
wait_for_one() {
  local process=
  status=0
  { wait -n -p process "${!running[@]}" || status=$?; } 2>/dev/null
  ended="${running[$process]}"
  unset "running[$process]"
}

# --- build -----------------------------------------------------------------------------------------------
build_step() {
  local log="$work/logs/build"
  start build "$log" "$@"
  wait_for_one
  ((status == 0)) && return
  tail -n 30 "$log" >&2
  echo "run.sh: the fuzz targets do not build, see $log" >&2
  exit 2
}

docker/install-packages.sh || exit 2
build_step cmake --preset fuzz
build_step cmake --build --preset fuzz -j "$jobs"

# --- fuzz ------------------------------------------------------------------------------------------------
fuzz() {
  local name="$1"
  mkdir -p "$work/corpus/$name"
  start "$name" "$work/logs/$name" "$work/bin/fuzz_$name" -max_total_time="$seconds" -rss_limit_mb=1024 \
    -malloc_limit_mb=512 -timeout=10 -max_len=8192 -print_final_stats=1 -artifact_prefix="$work/found/$name-" \
    "$work/corpus/$name" "tests/fuzz/corpus/$name"
}

statistic() { sed -n "s/^stat::$1: *//p" "$2" | tail -n 1; }

# The line of a target that has ended.
report() {
  local name="$1" log="$work/logs/$1" last
  last="$(grep -aE '^#[0-9]+.* cov: [0-9]+' "$log" | tail -n 1 || true)"
  printf '%-18s %10s %8s %7s %7s  %s\n' "$name" "$(statistic number_of_executed_units "$log")" \
    "$(statistic average_exec_per_sec "$log")" "$(grep -oE 'cov: [0-9]+' <<<"$last" | cut -d' ' -f2 || true)" \
    "$(grep -oE 'corp: [0-9]+' <<<"$last" | cut -d' ' -f2 || true)" "$2"
}

explain() {
  local name="$1" log="$work/logs/$1" file
  file="$(sed -nE 's/^.*Test unit written to (.*)$/\1/p' "$log" | tail -n 1)"
  {
    echo "run.sh: $name is broken by ${file:-an input that was not written down}; the whole story is in $log"
    grep -aE -m 3 '^godwit bug:|ERROR: |runtime error:' "$log" | sed 's/^/  /' || true
    [[ -z "$file" ]] || echo "  again: $work/bin/fuzz_$name $file"
  } >&2
}

clean=0
next=0
printf '%-18s %10s %8s %7s %7s\n' target executions exec/s edges corpus
while ((next < ${#targets[@]} || ${#running[@]} > 0)); do
  while ((next < ${#targets[@]} && ${#running[@]} < jobs)); do
    fuzz "${targets[next]}"
    next=$((next + 1))
  done
  wait_for_one
  if ((status == 0)); then
    clean=$((clean + 1))
    report "$ended" clean
  else
    report "$ended" BROKEN
    explain "$ended"
  fi
done
echo "$clean of ${#targets[@]} fuzz targets clean"
((clean == ${#targets[@]}))
