#!/usr/bin/env bash
# Compares forwarding of pfcswitch, the Linux bridge and Open vSwitch's userspace datapath in one interleaved run, on the
# same veth links: h1, h3 ── switch ── h2. The load comes from "pfcswitch send" without flow control, tagged, and leaves tagged; what
# arrives is the kernel's counter of h2's interface, on which no socket listens; IPv6 is off.
#
#   scripts/bench.sh                      7 rounds, then the search for the loss-free rate (about 45 minutes)
#   scripts/bench.sh --rounds 3 --search 0
#   scripts/bench.sh --octets "60 512"    frames of these lengths instead of 60 and 1514
#   scripts/bench.sh --trunk              pfcswitch alone: a trunk with meters beside the bridge's ports (about 5 minutes)
#   scripts/bench.sh --smoke              does it work? (seconds; the figures mean nothing)
#   scripts/bench.sh --json FILE          the single results as JSON lines too
#
# Needs root. Open vSwitch is installed where it is missing and apt-get may; else it is left out, loudly.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rounds=7 seconds=3 trial=10 search=1 confirm=3 json=/dev/null smoke=0 trunk=0
sizes=(60 1514) priorities=(0 3)
while [[ $# -gt 0 ]]; do
  case $1 in
  --rounds) rounds=$2; shift 2 ;;
  --seconds) seconds=$2; shift 2 ;;
  --trial) trial=$2; shift 2 ;;
  --search) search=$2; shift 2 ;;
  --octets) read -ra sizes <<<"$2"; shift 2 ;;
  --json) json=$2; shift 2 ;;
  --trunk) trunk=1 search=0; shift ;;
  --smoke) smoke=1 rounds=1 seconds=1 search=0 sizes=(60) priorities=(3); shift ;;
  *) echo "bench.sh: $1 is not an option: see the head of this file" >&2; exit 1 ;;
  esac
done
if [[ $EUID -ne 0 ]]; then
  echo "bench.sh: needs root, to make network namespaces and a bridge" >&2
  [[ $smoke -eq 1 ]] && exit 77 # nothing to do here, as scripts/test.sh has it
  exit 1
fi

work=$(mktemp -d)
readonly work ns="pfcbench-$$" sink=02:00:00:00:00:02 vlan=10
pids=()

cleanup() {
  local name pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  for name in $(ip netns list | awk -v p="^$ns-" '$1 ~ p {print $1}'); do ip netns del "$name"; done
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What a run that was killed has left: namespaces whose process is gone.
for name in $(ip netns list | awk '/^pfcbench-/ {print $1}'); do
  owner=${name#pfcbench-}
  [[ -d /proc/${owner%%-*} ]] || ip netns del "$name"
done

install_ovs() {
  command -v ovs-vswitchd >/dev/null && return
  if [[ ${INSTALL:-1} != 0 ]] && command -v apt-get >/dev/null; then
    { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends openvswitch-switch; } >"$work/apt.log" 2>&1 || true
    hash -r
  fi
  command -v ovs-vswitchd >/dev/null
}

switches=(pfcswitch bridge) rivals=(bridge ovs) own=pfcswitch
if [[ $trunk -eq 1 ]]; then
  switches=(bridged trunk) rivals=(bridged trunk) own=trunk
elif [[ $smoke -eq 1 && -z $(command -v ovs-vswitchd || true) ]]; then
  echo "Open vSwitch is not installed: left out of the smoke run"
elif install_ovs; then
  switches+=(ovs)
else
  echo "OPEN VSWITCH IS MISSING and could not be installed: left out"
fi

go build -o "$work/pfcswitch" ./cmd/pfcswitch

node() {
  ip netns add "$ns-$1"
  ip -n "$ns-$1" link set lo up
  ip netns exec "$ns-$1" sh -c 'for f in all default; do echo 1 >/proc/sys/net/ipv6/conf/$f/disable_ipv6; done' 2>/dev/null || true
}

# network SWITCH makes the namespaces and links of one switch.
network() {
  local sw=$1 i
  node "$sw"
  for i in 1 2 3; do
    node "$sw-h$i"
    ip link add "p$i" netns "$ns-$sw" type veth peer name eth0 netns "$ns-$sw-h$i"
    ip -n "$ns-$sw-h$i" link set eth0 address "02:00:00:00:00:0$i" up
    ip -n "$ns-$sw" link set "p$i" up
  done
}

background() { # NAMESPACE COMMAND...
  local name=$1
  shift
  ip netns exec "$name" "$@" >>"$work/log" 2>&1 &
  pids+=($!)
}

start_pfcswitch() {
  sed "s|^name: bench|name: bench\napi: {socket: $work/bench.sock}\nfdb: [{mac: \"$sink\", vlan: $vlan, port: p2}]|" scripts/bench.yaml >"$work/bench.yaml"
  background "$ns-pfcswitch" "$work/pfcswitch" run -c "$work/bench.yaml"
}

# start_as SWITCH KEYS runs pfcswitch with the ports of bench-trunk.yaml and these keys.
start_as() {
  { cat scripts/bench-trunk.yaml; printf 'api: {socket: %s/%s.sock}\n%s\n' "$work" "$1" "$2"; } >"$work/$1.yaml"
  background "$ns-$1" "$work/pfcswitch" run -c "$work/$1.yaml"
}

start_bridged() { start_as bridged "fdb: [{mac: \"$sink\", vlan: $vlan, port: p2}]"; }

start_trunk() { start_as trunk "trunks: {up: {uplink: p2, members: [p1, p3]}}"; }

start_bridge() {
  local i
  ip -n "$ns-bridge" link add br0 type bridge
  for i in 1 2 3; do ip -n "$ns-bridge" link set "p$i" master br0; done
  ip -n "$ns-bridge" link set br0 up
  bridge -n "$ns-bridge" fdb add "$sink" dev p2 master static
}

start_ovs() {
  local i db="unix:$work/ovs/db.sock"
  mkdir -p "$work/ovs"
  export OVS_RUNDIR="$work/ovs" OVS_LOGDIR="$work/ovs" OVS_DBDIR="$work/ovs"
  ovsdb-tool create "$work/ovs/conf.db" /usr/share/openvswitch/vswitch.ovsschema
  background "$ns-ovs" ovsdb-server "$work/ovs/conf.db" "--remote=p$db" "--unixctl=$work/ovs/db.ctl"
  for _ in $(seq 50); do [[ -S $work/ovs/db.sock ]] && break; sleep 0.1; done
  ovs-vsctl "--db=$db" --no-wait init
  background "$ns-ovs" ovs-vswitchd "$db" "--unixctl=$work/ovs/vswitchd.ctl"
  ovs-vsctl "--db=$db" --timeout=20 add-br br0 -- set bridge br0 datapath_type=netdev
  for i in 1 2 3; do ovs-vsctl "--db=$db" --timeout=20 add-port br0 "p$i" -- set interface "p$i" "ofport_request=$i"; done
  ovs-ofctl add-flow "$work/ovs/br0.mgmt" "dl_dst=$sink,actions=output:2"
}

received() { ip netns exec "$ns-$1-h2" awk '/eth0:/ {sub(/.*:/, ""); print $2}' /proc/net/dev; }
busy() { awk '/^cpu / {print $2 + $3 + $4 + $7 + $8 + $9}' /proc/stat; }
field() { awk -F'[:,]' -v key="\"$1\"" '$1 ~ key {print $2 + 0; exit}' "$2"; }

# load SWITCH HOST OCTETS PRIORITY SECONDS SPEED writes the sender's report to $work/SWITCH-HOST.
load() {
  ip netns exec "$ns-$1-$2" "$work/pfcswitch" send eth0 --no-sink --to "$sink" --flow-control off -j --flow "$4:octets=$3" \
    --vlan "$vlan" --seconds "$5" --speed "$6" >"$work/$1-$2"
}

# measure SWITCH SENDERS OCTETS PRIORITY SECONDS SPEED prints: offered frames, delivered frames, frames per second
# delivered, µs of CPU per frame delivered (whole machine, idle excluded, sender included).
measure() {
  local r0 r1 c0 c1 offered elapsed hosts=(h1) host jobs=()
  [[ $2 -eq 2 ]] && hosts=(h1 h3)
  sleep 0.2
  r0=$(received "$1") c0=$(busy)
  for host in "${hosts[@]}"; do load "$1" "$host" "$3" "$4" "$5" "$6" & jobs+=($!); done
  wait "${jobs[@]}"
  sleep 0.3
  r1=$(received "$1") c1=$(busy)
  offered=0 elapsed=0
  for host in "${hosts[@]}"; do
    offered=$((offered + $(field frames "$work/$1-$host")))
    elapsed=$(field elapsed_ns "$work/$1-$host")
  done
  awk -v o="$offered" -v d=$((r1 - r0)) -v e="$elapsed" -v c=$((c1 - c0)) 'BEGIN {printf "%d %d %.0f %.3f\n", o, d, d / (e / 1e9), d ? c * 10000 / d : 0}'
}

record() { # WHAT SWITCH SENDERS OCTETS PRIORITY OFFERED DELIVERED RATE CPU
  printf '{"what":"%s","switch":"%s","senders":%d,"octets":%d,"priority":%d,"offered":%d,"delivered":%d,"frames_per_second":%d,"cpu_us_per_frame":%s}\n' "$@" >>"$work/results"
  echo "$@" >>"$work/lines"
}

# loss_free SWITCH OCTETS PRIORITY FROM: RFC 2544 search from FROM frames/s down, to 2 %, the result confirmed. The rate is
# what the sender really offered in the trial: at a high one it stays behind what it was asked for.
loss_free() {
  local low=0 high=$4 rate=$4 good=0 got ok=0
  while :; do
    got=$(clean "$1" "$2" "$3" "$rate")
    if ((got > 0)); then low=$rate good=$got; else high=$rate; fi
    ((high - low > high / 50 + 1 && high > 1000)) || break
    rate=$(((low + high + 1) / 2))
  done
  while ((ok < confirm && low > 1000)); do
    got=$(clean "$1" "$2" "$3" "$low")
    if ((got > 0)); then
      ok=$((ok + 1))
      ((got < good)) && good=$got
    else
      ok=0 low=$((low * 97 / 100)) good=$low
    fi
  done
  echo "$good"
}

# clean SWITCH OCTETS PRIORITY RATE prints the rate that was offered in a trial at RATE frames/s, 0 where a frame was lost.
clean() {
  local o d r c
  read -r o d r c < <(measure "$1" 1 "$2" "$3" "$trial" $(($4 * ($2 + 24) * 8)))
  if ((d >= o)); then echo $((o / trial)); else echo 0; fi
}

median() { sort -g | awk '{v[NR] = $1} END {if (NR) print (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2)}'; }
spread() { sort -g | awk 'NR == 1 {a = $1} {b = $1} END {printf "%s-%s", a, b}'; }
values() { awk -v s="$1" -v n="$2" -v z="$3" -v p="$4" -v k="$5" '$1 == "delivered" && $2 == s && $3 == n && $4 == z && $5 == p {print $k}' "$work/lines"; }

table() {
  local n z p s
  printf '\n%-10s %7s %6s %4s %12s %21s %10s %10s %10s\n' switch senders octets prio "frames/s" spread "µs/frame" "vs ${rivals[0]}" "vs ${rivals[1]}"
  for n in 1 2; do for z in "${sizes[@]}"; do for p in "${priorities[@]}"; do for s in "${switches[@]}"; do
    [[ -n $(values "$s" "$n" "$z" "$p" 8) ]] || continue
    printf '%-10s %7d %6d %4d %12.0f %21s %10.2f %10s %10s\n' "$s" "$n" "$z" "$p" "$(values "$s" "$n" "$z" "$p" 8 | median)" \
      "$(values "$s" "$n" "$z" "$p" 8 | spread)" "$(values "$s" "$n" "$z" "$p" 9 | median)" "$(against "${rivals[0]}" "$s" "$n" "$z" "$p")" "$(against "${rivals[1]}" "$s" "$n" "$z" "$p")"
  done; done; done; done
  while read -r _ s n z p _ _ r _; do
    printf 'loss-free  %-10s %d octets, priority %d: %d frames/s, %s of what it delivers\n' "$s" "$z" "$p" "$r" \
      "$(values "$s" "$n" "$z" "$p" 8 | median | awk -v r="$r" '{printf "%.2f", r / $1}')"
  done < <(grep '^loss-free ' "$work/lines" || true)
}

# against OTHER SWITCH SENDERS OCTETS PRIORITY: the median of the rounds' ratios.
against() {
  local a b
  a=$(values "$2" "$3" "$4" "$5" 8) b=$(values "$1" "$3" "$4" "$5" 8)
  [[ -n $b ]] || { echo -; return; }
  paste <(echo "$a") <(echo "$b") | awk '$2 > 0 {print $1 / $2}' | median | awk '{printf "%.2f", $1}'
}

# reaction KEY prints the quantiles of one of the reactions that show pfc knows.
reaction() {
  ip netns exec "$ns-pfcswitch" "$work/pfcswitch" show pfc -s "$work/bench.sock" -j |
    awk -v key="\"$1\"" '$1 == key ":" {on = 1} on && /"(count|p50_ns|p99_ns|max_ns)"/ {gsub(/[",:]/, ""); printf "%s %s  ", $1, $2} on && /}/ {exit}'
}

# xoff_reaction lets a sender that obeys PFC meet a sink that reads slowly and holds the switch, so that the buffer fills
# again and again, and prints how fast XOFF left.
xoff_reaction() {
  local job
  ip netns exec "$ns-pfcswitch" "$work/pfcswitch" clear counters -s "$work/bench.sock" >/dev/null
  ip netns exec "$ns-pfcswitch-h2" "$work/pfcswitch" sink eth0 --speed none --read-rate 20000 --seconds $((seconds + 2)) >/dev/null &
  job=$!
  sleep 0.5
  ip netns exec "$ns-pfcswitch-h1" "$work/pfcswitch" send eth0 --to "$sink" --vlan "$vlan" --flow 3:octets=1514 --seconds "$seconds" --speed 2G >/dev/null
  wait "$job" || true
  echo "XOFF reaction, admission that crosses the threshold → entry of the send call: $(reaction xoff_reaction)"
  echo "               receive stamp of the frame that crosses it → the same:         $(reaction xoff_since_arrival)"
}

for s in "${switches[@]}"; do network "$s"; "start_$s"; done
sleep 2
echo "machine: $(nproc) CPUs, $(awk -F': ' '/model name/ {print $2; exit}' /proc/cpuinfo), kernel $(uname -r), $(go version | cut -d' ' -f3), load $(cut -d' ' -f1-3 /proc/loadavg)"
echo "$rounds rounds of ${seconds} s; idle: $(b=$(busy); sleep 2; echo $((($(busy) - b)))) ticks of 10 ms in 2 s"
for ((round = 1; round <= rounds; round++)); do
  for n in 1 2; do for z in "${sizes[@]}"; do for p in "${priorities[@]}"; do for s in "${switches[@]}"; do
    read -r o d r c < <(measure "$s" "$n" "$z" "$p" "$seconds" none)
    record delivered "$s" "$n" "$z" "$p" "$o" "$d" "$r" "$c"
  done; done; done; done
done
if [[ $search -ne 0 ]]; then
  for z in "${sizes[@]}"; do for p in "${priorities[@]}"; do for s in "${switches[@]}"; do
    best=$(values "$s" 1 "$z" "$p" 8 | sort -g | tail -n 1)
    best=$(awk -v b="$best" 'BEGIN {printf "%.0f", 1.05 * b}')
    record loss-free "$s" 1 "$z" "$p" 0 0 "$(loss_free "$s" "$z" "$p" "$best")" 0
  done; done; done
fi
table
[[ $trunk -eq 1 ]] || xoff_reaction
cp "$work/results" "$json" 2>/dev/null || cat "$work/results" >"$json"
if [[ $(awk -v s="$own" '$2 == s && $7 > 0' "$work/lines" | wc -l) -eq 0 ]]; then
  echo "$own delivered nothing:" && cat "$work/log"
  exit 1
fi
