#!/usr/bin/env bash
# The one test command, on a developer's machine and in CI, as root and as an ordinary user:
#
#   scripts/test.sh                all stages
#   scripts/test.sh unit lint      these
#   FUZZ=1 scripts/test.sh         all, and 10 s of each fuzz target
#   INSTALL=0 scripts/test.sh      without installing missing programs
#
# Stages: tools gofmt vet lint unit netns fuzz demo bench leftovers. Every stage runs, whatever the others said; the
# exit status is 0 when none failed. With CI=true a skipped test fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly all_stages=(tools gofmt vet lint unit netns fuzz demo bench leftovers)
readonly absent=77 # what a stage returns that has nothing to do

# Debian packages of the programs that some tests compare with. The project itself needs none of them.
readonly -A packages=([tshark]=tshark [iperf3]=iperf3 [ethtool]=ethtool [ip]=iproute2
  [ovs-vswitchd]=openvswitch-switch [tcpdump]=tcpdump [promtool]=prometheus [lldpd]=lldpd [lldpad]=lldpad [curl]=curl [chromium]=chromium
  [setcap]=libcap2-bin [setpriv]=util-linux [systemd-analyze]=systemd)

work=$(mktemp -d)
readonly work
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
readonly policy own_policy=$work/own_policy # a file, which a stage's own shell makes for this one to see
trap '[[ ! -e $own_policy ]] || rm -f "$policy"; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

race=(-race)
if ! command -v "$(go env CC)" >/dev/null; then
  echo "NO C COMPILER: tests run without -race (install gcc)"
  race=()
fi

# A program with the race detector sleeps for a second before it ends, so that what still runs may be seen to race. Some
# hundred of them end here, tests and the switches that they start: 50 ms each.
export GORACE="atexit_sleep_ms=50 ${GORACE:-}"

# Root may make network namespaces, and CI must: there a test may not excuse itself.
skips=()
if [[ ${CI:-} == true || $EUID -eq 0 ]]; then
  export REQUIRE_NETNS=1
fi
if [[ ${CI:-} == true ]]; then
  skips=(-no-skips)
fi

missing_programs() {
  local program
  for program in "${!packages[@]}"; do
    command -v "$program" >/dev/null || echo "$program"
  done
}

# without_services runs a command during which Debian starts no daemon that it installs: lldpd would speak on this machine.
without_services() {
  local status=0
  [[ -e $policy ]] || { touch "$own_policy" && printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy"; }
  "$@" || status=$?
  [[ ! -e $own_policy ]] || rm -f "$policy" "$own_policy"
  return "$status"
}

stage_tools() {
  local missing program wanted=()
  missing=$(missing_programs)
  if [[ -n $missing && $EUID -eq 0 && ${INSTALL:-1} != 0 ]] && command -v apt-get >/dev/null; then
    for program in $missing; do
      wanted+=("${packages[$program]}")
    done
    export DEBIAN_FRONTEND=noninteractive
    { apt-get -q update && without_services apt-get -qy install --no-install-recommends "${wanted[@]}"; } >"$work/apt.log" 2>&1 ||
      tail -n 20 "$work/apt.log"
    hash -r
    missing=$(missing_programs)
  fi
  for program in $missing; do
    echo "MISSING $program: the tests that compare with it are skipped (Debian: apt-get install ${packages[$program]})"
  done
  [[ -z $missing || ${CI:-} != true ]]
}

stage_gofmt() {
  local unformatted
  unformatted=$(gofmt -l .)
  [[ -z $unformatted ]] || { printf 'not formatted (gofmt -w):\n%s\n' "$unformatted"; return 1; }
}

stage_vet() {
  go vet ./...
}

stage_lint() {
  go tool -modfile=scripts/tools/golangci-lint.mod golangci-lint run ./...
}

judge() {
  [[ -x $work/judge ]] || go build -o "$work/judge" ./scripts/judge
  "$work/judge" "$@"
}

# Tests on real links stand in files called x_netns_test.go.
netns_files() {
  find . -name '*_netns_test.go' -not -path '*/.*/*' "$@" | sort -u
}

# tests_in FILE... prints the names of their tests, one a line.
tests_in() {
  sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' "$@" | grep -vx TestMain | sort -u
}

# pattern prints what go test takes for exactly the names that it reads.
pattern() {
  echo "^($(paste -sd'|'))\$"
}

# One go test for all packages, so that one compiles while another runs: the names of tests on real links are nobody else's. To vet
# them is a stage of its own.
# What the source is checked for has no use for the race detector, which makes the checker seven times slower.
unit_tests() {
  local both skip source=./cmd/internal/archtest status=0
  # shellcheck disable=SC2046 # the names of Go files have no blanks
  both=$(comm -12 <(tests_in $(netns_files)) <(tests_in $(find . -name '*_test.go' -not -name '*_netns_test.go' -not -path '*/.*/*')))
  [[ -z $both ]] || { printf 'names of a test on real links and of another test (rename one):\n%s\n' "$both" >&2; return 1; }
  # shellcheck disable=SC2046
  skip=$(tests_in $(netns_files) | pattern)
  # shellcheck disable=SC2046
  go test -json -vet=off "${race[@]}" -timeout 5m -skip "$skip" $(go list ./... | grep -vx "$(go list "$source")") || status=1
  go test -json -vet=off -timeout 5m "$source" || status=1
  return "$status"
}

stage_unit() {
  unit_tests | judge tests "${skips[@]}" | tee "$work/unit.out"
}

# One package at a time: they share the CPUs with the processes that they start. So all are linked before the first one runs.
real_link_tests() {
  local folder folders status=0
  folders=$(netns_files -printf '%h\n')
  # shellcheck disable=SC2086 # the names of Go packages have no blanks
  go test -c "${race[@]}" -vet=off -o "$work/netns/" $folders >&2 || status=1
  for folder in $folders; do
    (cd "$folder" && go tool test2json -t -p "pfcswitch/${folder#./}" "$work/netns/${folder##*/}.test" -test.v=test2json -test.paniconexit0 \
      -test.timeout=10m -test.run="$(tests_in ./*_netns_test.go | pattern)") || status=1
  done
  return "$status"
}

stage_netns() {
  real_link_tests | judge tests "${skips[@]}" | tee "$work/netns.out"
}

# An input that is new is made smaller for up to 60 s as a rule, which leaves nothing of the time: 20 tries must do.
stage_fuzz() {
  local file target
  [[ ${FUZZ:-} == 1 ]] || { echo "with FUZZ=1: 10 s of each fuzz target (their seeds are unit tests)"; return "$absent"; }
  while IFS=: read -r file target; do
    go test -run '^$' -fuzz "^$target\$" -fuzztime 10s -fuzzminimizetime 20x "$(dirname "$file")"
  done < <(grep -rHoP --include='*_test.go' '^func \KFuzz\w+' .)
}

# The demo's own verdict is not enough: the judge reads frames and counters of its report.
stage_demo() {
  go build -o "$work/pfcswitch" ./cmd/pfcswitch
  run_demo incast
  run_demo host --seconds 3
  run_demo headroom --quick
  run_demo deadlock
  run_demo trunk --seconds 2
}

# run_demo NAME FLAG... runs a demo and judges it. A demo that fails, could not run or died has not passed.
run_demo() {
  local status=0
  "$work/pfcswitch" demo "$@" -j >"$work/demo.json" || status=$?
  [[ -s $work/demo.json ]] || { echo "demo $1: no report, exit status $status"; return 1; }
  judge demo <"$work/demo.json" || return 1
  [[ $status -eq 0 ]] || { echo "demo $1: exit status $status"; return 1; }
}

stage_bench() {
  local status=0 root=$PWD
  (cd "$work" && "$root"/scripts/bench.sh --smoke --json bench.json --svg bench.svg) || status=$? # names are meant from there
  if [[ $status -eq $absent && ${CI:-} == true ]]; then
    echo "with CI=true it has to run: start this script as root"
    return 1
  fi
  if [[ $status -eq 0 && ! ( -s $work/bench.json && -s $work/bench.svg ) ]]; then
    echo "the benchmark has written no results, or no plot"
    return 1
  fi
  return "$status"
}

namespaces() {
  find /run/netns -mindepth 1 -printf '%f\n' 2>/dev/null | sort || true
}
namespaces >"$work/namespaces"

stage_leftovers() {
  local left
  left=$(comm -13 "$work/namespaces" <(namespaces))
  [[ -z $left ]] || { printf 'network namespaces left behind:\n%s\n' "$left"; return 1; }
}

# run STAGE runs it in a shell of its own, so that set -e holds in it, and notes how it went.
summary=()
failed=0
run() {
  local start=$SECONDS status verdict
  printf '\n== %s\n' "$1"
  set +e
  (set -e; "stage_$1") 2>&1 | tee "$work/said"
  status=${PIPESTATUS[0]}
  set -e
  case $status in
    0) verdict=pass ;;
    "$absent") verdict=- ;;
    *)
      verdict=FAIL failed=$((failed + 1))
      { printf '\n== %s failed; its last words:\n' "$1"; tail -n 20 "$work/said"; } >>"$work/failures"
      ;;
  esac
  summary+=("$(printf '%-10s %-5s %4d s' "$1" "$verdict" $((SECONDS - start)))")
}

stages=("$@")
if [[ $# -eq 0 ]]; then
  stages=("${all_stages[@]}")
fi
for stage in "${stages[@]}"; do
  declare -F "stage_$stage" >/dev/null || { echo "no stage $stage; there are: ${all_stages[*]}"; exit 2; }
done
for stage in "${stages[@]}"; do
  run "$stage"
done

[[ ! -e $work/failures ]] || cat "$work/failures"
printf '\n%s\n' "stage      result  time"
printf '%s\n' "${summary[@]}" "total            $(printf '%4d' $SECONDS) s"
# The tests' numbers, summed, are the last line, where tests were among the stages.
find "$work" -name '*.out' -exec cat {} + | awk '
  /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5 }
  END { if (p + f + s) printf "%d passed, %d failed, %d skipped\n", p, f, s }'
[[ $failed -eq 0 ]]
