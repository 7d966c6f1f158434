#!/usr/bin/env bash
# Three regions train one model over encrypted, WAN-like links; two leaders are killed and come back; the
# running job switches to sync and back; at the end every region holds the same bytes and no push is lost.
# Everything is real: processes, TLS, RocksDB, kill -9. Nothing outlives this script.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: bench/quickstart.sh [--json FILE] [--data PATH] [--seconds N] [--keep]
  --json FILE   also write the table as JSON
  --data PATH   text to train on, a file or a folder (default: the text of Debian's bible-kjv)
  --seconds N   async training before the switch to sync, kills included (default 75)
  --keep        keep the cluster's folder .godwit-dev (logs, stores, certificates)
Exit code: 0 the run is right (identical replicas, nothing missing or twice, what workers saw fits
together, the bigram is beaten), 1 it is not, 2 packages are missing or a flag is wrong, 130 interrupted.
TEXT
}

json='' data='' seconds=75 keep=no
while (($# > 0)); do
  case "$1" in
    --json) json="$(realpath -m "${2:?--json needs a file}")"; shift ;;
    --data)
      data="$(realpath -qe "${2:?--data needs a path}")" ||
        { echo "quickstart.sh: --data: there is no $2; name a text file, or a folder of them" >&2; exit 2; }
      shift
      ;;
    --seconds) seconds="${2:?--seconds needs a number}"; shift ;;
    --keep) keep=yes ;;
    -h | --help) usage; exit 0 ;;
    *) echo "quickstart.sh: unknown flag '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
[[ "$seconds" =~ ^[1-9][0-9]*$ ]] || { echo "quickstart.sh: --seconds needs a positive number" >&2; exit 2; }

cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly folder="$PWD/.godwit-dev" bin="$PWD/build/release/bin"
readonly regions=(us-west eu-central ap-southeast)
declare -A worker_pid=()

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
godwit() { "$bin/godwit" -C "$folder" "$@"; }

end_everything() {
  trap '' INT TERM HUP
  for pid in "${worker_pid[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  if [[ -x "$bin/godwit" && -f "$folder/cluster.toml" ]]; then
    for region in "${regions[@]}"; do godwit kill "$region" >/dev/null 2>&1 || true; done
  fi
  [[ "$keep" == yes ]] || rm -rf "$folder"
}
trap end_everything EXIT
trap 'echo "quickstart.sh: interrupted" >&2; exit 130' INT TERM HUP

# ---- build ---------------------------------------------------------------------------------------------
docker/install-packages.sh
[[ -n "${HOME:-}" ]] || export CCACHE_DIR="$PWD/build/ccache"
say "Building (some minutes the first time, nothing afterwards)"
[[ -f build/release/build.ninja ]] || cmake --preset release >/dev/null
cmake --build --preset release --target godwit godwit-server godwit-worker history_check

# ---- a cluster -----------------------------------------------------------------------------------------
if [[ -f "$folder/cluster.toml" ]]; then godwit down >/dev/null 2>&1 || true; fi
rm -rf "$folder"
mkdir -p "$folder"
if [[ -z "$data" ]]; then
  data="$folder/text"
  bible -f gen1:1-rev22:21 >"$data"
fi

say "A cluster of three regions: certificates, configuration, servers"
list="$(IFS=,; echo "${regions[*]}")"
godwit init "$folder" --regions "$list" --shards 2 --workers 1 --delay 40ms --rate 200Mbit/s --window 1500ms \
  --codec int8+zstd
godwit up

# The admin port of each server, and numbers from what it says.
declare -A admin_of=()
for region in "${regions[@]}"; do
  admin_of[$region]="$(awk -v want="$region" -F'"' \
    '/^name/ {name = $2} /^admin/ && name == want {print $2}' "$folder/cluster.toml")"
done
ask() { curl -sf --max-time 2 "http://${admin_of[$1]}/api/v1/status" 2>/dev/null || echo '{}'; }
version_of() { ask "$1" | jq -r ".shards[$2].version // 0"; }
round_of() { ask "$1" | jq -r '[.shards[].round | tonumber] | min // 0'; }
now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN {printf "%.3f", b - a}'; }

wan_bytes=0  # of server processes that are gone
wan_bytes_of() { ask "$1" | jq -r '[.links[]?.traffic[]?.sent_bytes | tonumber] | add // 0'; }
add_wan_bytes() { wan_bytes=$((wan_bytes + $(wan_bytes_of "$1"))); }

wait_for() {  # wait_for SECONDS WHAT COMMAND...
  local limit="$1" what="$2" started name
  shift 2
  started="$(now)"
  until "$@"; do
    if awk -v t="$(since "$started")" -v limit="$limit" 'BEGIN {exit !(t > limit)}'; then
      echo "quickstart.sh: waited $limit s for $what; the logs are in $folder/log" >&2
      keep=yes
      exit 1
    fi
    for name in "${!worker_pid[@]}"; do
      kill -0 "${worker_pid[$name]}" 2>/dev/null && continue
      echo "quickstart.sh: the worker of $name ended:" >&2
      tail -n 3 "$folder/log/worker-$name.log" >&2
      keep=yes
      exit 1
    done
    sleep 0.05
  done
}

# ---- workers -------------------------------------------------------------------------------------------
say "One worker per region: each reads only its own slice of the text"
data_port() { awk -v want="$1" -F'"' '/^name/ {name = $2} /^data/ && name == want {print $2}' "$folder/cluster.toml"; }
index=0
for region in "${regions[@]}"; do
  holder="$folder/certificates/$region.worker-0"
  "$bin/godwit-worker" train --server "$(data_port "$region")" --region "$region" --regions 3 --region-index "$index" \
    --name worker-0 --cert "$holder.crt" --key "$holder.key" --ca "$folder/certificates/ca.crt" --data "$data" \
    --size nano --acknowledgements "$folder/acknowledgements.$region" --history "$folder/history.$region" \
    >"$folder/log/worker-$region.log" 2>&1 </dev/null &
  worker_pid[$region]=$!
  index=$((index + 1))
done
has_model() { (($(version_of us-west 0) >= 1 && $(version_of us-west 1) >= 1)); }
wait_for 60 "the first version of the model" has_model
godwit model export "$folder/start.safetensors" >/dev/null

progress() {
  printf '  %-13s %s\n' "$1" "$(tr '\r' '\n' <"$folder/log/worker-$1.log" | grep -a 'loss' | tail -n 1)"
}
train_for() {  # train_for SECONDS
  local started
  started="$(now)"
  while awk -v t="$(since "$started")" -v limit="$1" 'BEGIN {exit !(t < limit)}'; do
    sleep 5
    progress "${regions[$((RANDOM % 3))]}"
  done
}

# ---- kill -9 -------------------------------------------------------------------------------------------
recoveries=()
kill_and_start() {  # kill_and_start REGION SHARD WITNESS: kill the server of REGION, which leads SHARD
  local region="$1" shard="$2" witness="$3" before lines killed_at acknowledgements
  acknowledgements="$folder/acknowledgements.$region"
  say "kill -9 the server of $region, which leads shard $shard, and start it again"
  add_wan_bytes "$region"
  before="$(version_of "$witness" "$shard")"
  killed_at="$(now)"
  godwit kill "$region" >/dev/null
  lines="$(wc -l <"$acknowledgements")"
  godwit start "$region" >/dev/null
  recovered() {
    (($(wc -l <"$acknowledgements") > lines && $(version_of "$witness" "$shard") > before))
  }
  wait_for 60 "shard $shard to go on after its leader came back" recovered
  recoveries+=("$(since "$killed_at")")
  echo "  a new version of shard $shard and a new acknowledgement in $region after ${recoveries[-1]} s"
}

say "Async: windows of at most 1.5 s, int8 over 80 ms / 200 Mbit/s links; nobody waits"
third=$((seconds / 3))
leader_of() { ask us-west | jq -r ".shards[$1].leader_region"; }
train_for "$third"
kill_and_start "$(leader_of 0)" 0 us-west
train_for "$third"
kill_and_start "$(leader_of 1)" 1 us-west
train_for "$third"

# ---- sync and back -------------------------------------------------------------------------------------
await_rounds() {  # await_rounds COUNT SECONDS
  local target
  target=$(($(round_of us-west) + $1))
  reached() { (($(round_of us-west) >= target)); }
  wait_for "$2" "$1 more rounds" reached
}
say "The running job becomes synchronous: 16 steps, then everybody waits for everybody"
godwit mode sync --steps 16 --wait
await_rounds 6 120
for region in "${regions[@]}"; do progress "$region"; done
say "And asynchronous again"
godwit mode async --wait
await_rounds 4 60
train_for 5

# ---- the end, and the proof ----------------------------------------------------------------------------
say "Workers finish: what they have is pushed and acknowledged"
for region in "${regions[@]}"; do kill -TERM "${worker_pid[$region]}"; done
for region in "${regions[@]}"; do
  wait "${worker_pid[$region]}" || { echo "quickstart.sh: the worker of $region failed" >&2; keep=yes; exit 1; }
done
worker_pid=()

say "Every region holds the same bytes"
identical=true
godwit verify --timeout 30s || identical=false
godwit model export "$folder/end.safetensors" >/dev/null
parameters="$(ask us-west | jq '[.shards[].parameters | tonumber] | add')"
for region in "${regions[@]}"; do add_wan_bytes "$region"; done

say "Held-out text: the model before and after, and an order-1 model of the training text"
evaluate() { "$bin/godwit-worker" evaluate --model "$1" --data "$data" --size nano -o json 2>/dev/null; }
evaluate "$folder/start.safetensors" >"$folder/start.json" &
evaluate "$folder/end.safetensors" >"$folder/end.json"
wait

say "Servers stop; every acknowledged push is counted in their logs"
godwit down >/dev/null
godwit verify --offline --acknowledgements "${regions[@]/#/$folder/acknowledgements.}" -o json \
  >"$folder/audit.json" || true

say "What the workers saw is judged by a checker that shares no code with the servers"
"$bin/history_check" --json "${regions[@]/#/$folder/history.}" >"$folder/judged.json" || true

recovery="$(printf '%s\n' "${recoveries[@]}" | sort -n |
  awk '{a[NR] = $1} END {print (a[int((NR + 1) / 2)] + a[int(NR / 2) + 1]) / 2}')"
jq -n --slurpfile before "$folder/start.json" --slurpfile after "$folder/end.json" \
  --slurpfile audit "$folder/audit.json" --slurpfile judged "$folder/judged.json" \
  --argjson identical "$identical" --argjson recovery "$recovery" --argjson wan "$wan_bytes" \
  --argjson parameters "$parameters" '
  def number: if type == "string" then tonumber else . end;
  $before[0] as $s | $after[0] as $e | $audit[0] as $a | $judged[0] as $h | {
    regions: 3, shards: 2, workers: 3, parameters: $parameters,
    rounds_async: ($a.rounds_async | number), rounds_sync: ($a.rounds_sync | number), tokens: ($a.tokens | number),
    heldout_bits_per_byte_start: $s.heldout_bits_per_byte, heldout_bits_per_byte_end: $e.heldout_bits_per_byte,
    bigram_bits_per_byte: $e.bigram_bits_per_byte,
    replicas_identical: ($identical and ($a.replicas_identical // false)),
    kill_recovery_seconds: $recovery,
    pushes_acknowledged: ($a.pushes_acknowledged | number), pushes_in_log: ($a.pushes_in_log | number),
    pushes_missing: ($a.pushes_missing | number), pushes_twice: ($a.pushes_twice | number),
    history_events: $h.events, history_closed: $h.closed, history_violations: $h.history_violations,
    wan_bytes_sent: $wan, mode_switches: ($a.mode_switches | number)}' >"$folder/result.json"

say "Result"
jq -r 'to_entries[] | "\(.key)\t\(.value)"' "$folder/result.json" | awk -F'\t' '{printf "  %-30s %s\n", $1, $2}'
[[ -z "$json" ]] || cp "$folder/result.json" "$json"
if ! jq -e '.replicas_identical and .pushes_missing == 0 and .pushes_twice == 0 and .history_violations == 0
            and .mode_switches >= 2
            and .heldout_bits_per_byte_end < .bigram_bits_per_byte' "$folder/result.json" >/dev/null; then
  echo "quickstart.sh: the run is not right; logs and stores are kept in $folder" >&2
  keep=yes
  exit 1
fi
