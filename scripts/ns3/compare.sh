#!/usr/bin/env bash
# Compares virtual time (pfcswitch sim) with ns-3: the same fabrics with the same frames in both.
#
#   scripts/ns3/compare.sh            installs what is missing, as root with apt-get; takes some minutes
#   INSTALL=0 scripts/ns3/compare.sh  installs nothing
#   RUNS=7 scripts/ns3/compare.sh     so many interleaved runs of the fat tree; 3 otherwise
#
# Dumbbell: three senders of 40 Mbit/s each into 100 Mbit/s, drop-tail, for 4 s. Frames received and dropped are to
# differ by less than 2 %. Fat tree: k = 4, 1 Gbit/s, each host sends at 60 % to the one half the way round, for 300 ms.
# Exit status: 0 the dumbbells agree; 1 they do not; 77 ns-3 is not here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly modules="ns3-applications ns3-internet ns3-point-to-point ns3-network ns3-core"
# shellcheck disable=SC2086 # a list
have_ns3() { pkg-config --exists $modules && [[ -e /usr/include/gsl/gsl_version.h ]]; }

if ! have_ns3 && [[ $EUID -eq 0 && ${INSTALL:-1} != 0 ]] && command -v apt-get >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update >/dev/null
  apt-get -qy install --no-install-recommends libns3-dev libgsl-dev g++ pkg-config >/dev/null
fi
have_ns3 || { echo "ns-3 is not here (Debian: apt-get install libns3-dev libgsl-dev g++ pkg-config)"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2046,SC2086 # lists of flags
g++ -O2 -std=c++17 -o "$work/fabric" scripts/ns3/fabric.cc $(pkg-config --cflags --libs $modules)
CGO_ENABLED=0 go build -trimpath -o "$work/pfcswitch" ./cmd/pfcswitch

cat >"$work/tree.yaml" <<'YAML'
name: tree
fabric:
  fat-tree: {k: 4}
  links: {speed: 1G, cable: 10m}
  switches: {preset: roce}
traffic: {half: {permutation: on, priority: 0, octets: 1518, rate: 600M, duration: 300ms}}
YAML

# ours FILE prints frames sent, received and dropped, frame-hops and CPU seconds, as fabric.cc does. Its CPU time is that
# of the whole program, while fabric.cc counts the run alone: 300 ms are long enough for the start not to matter.
ours() {
  local cpu TIMEFORMAT='%U %S'
  cpu=$({ time "$work/pfcswitch" sim "$1" >"$work/report"; } 2>&1)
  awk -v cpu="$cpu" '
    $3 == "lossy" { sent += $4; received += $5; lost += $6 }
    match($0, /[0-9]+ frame-hops/) { hops = substr($0, RSTART) + 0 }
    END { split(cpu, c, " "); printf "sent %d received %d dropped %d hops %d cpu %.3f\n", sent, received, lost, hops, c[1] + c[2] }
  ' "$work/report"
}

a=$("$work/fabric" dumbbell 3 40000000 100000000 100 4)
b=$(ours scripts/ns3/dumbbell.yaml)
printf 'dumbbell, ns-3:    %s\ndumbbell, virtual: %s\n' "$a" "$b"
status=0
echo "$a $b" | awk '
  function differ(x, y) { return (x > y ? x - y : y - x) / y * 100 }
  { r = differ($14, $4); d = differ($16, $6); printf "received differs by %.2f %%, dropped by %.2f %%\n", r, d
    exit !($4 > 0 && $6 > 0 && r < 2 && d < 2) }' || status=1

for ((i = 1; i <= ${RUNS:-3}; i++)); do
  printf 'fat tree, ns-3:    %s\n' "$("$work/fabric" fat-tree 4 600000000 1000000000 100 0.3)"
  printf 'fat tree, virtual: %s\n' "$(ours "$work/tree.yaml")"
done | awk '{ print; at[$3]++; speed[$3, at[$3]] = $(NF - 2) / $NF }
  function median(of, i, j, n, t, v) {
    n = at[of]
    for (i = 1; i <= n; i++) v[i] = speed[of, i]
    for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (v[j] < v[i]) { t = v[i]; v[i] = v[j]; v[j] = t }
    return v[int((n + 1) / 2)]
  }
  END { a = median("ns-3:"); b = median("virtual:")
    printf "frame-hops per CPU second, medians: ns-3 %d, virtual %d: %.1f times\n", a, b, b / a }'
exit "$status"
