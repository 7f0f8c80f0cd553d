#!/usr/bin/env bash
# The one test command, on a developer's machine and in CI, as root and as an ordinary user:
#
#   scripts/test.sh                all stages
#   scripts/test.sh unit lint      these
#   FUZZ=1 scripts/test.sh         all, and 10 s of each fuzz target
#   FUZZ=100000000 scripts/test.sh fuzz        10 s, then so many executions of each, for FUZZ_SECONDS (3600) at most
#   FUZZ_SEARCH=0                  the executions without the 10 s: from inputs that were found before
#   INSTALL=0 scripts/test.sh      without installing missing programs
#   TOOLS="iperf3 ip" scripts/test.sh tools    installs these programs alone, where they are missing
#
# Stages: tools gofmt generate unit netns alone fuzz demo lint bench leftovers. Every stage runs, also where another one failed;
# the exit status is 0 when none failed. With CI=true a skipped test fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly all_stages=(tools gofmt generate unit netns alone fuzz demo lint bench leftovers)
readonly absent=77 # what a stage returns that has nothing to do

# Debian packages of the programs, and of a header, that some tests compare with and that compile what eBPF is of. The
# project itself needs none of them.
readonly compilers="clang llvm-objdump /usr/include/bpf/bpf_helpers.h"
readonly -A packages=([clang]=clang [llvm-objdump]=llvm [/usr/include/bpf/bpf_helpers.h]=libbpf-dev
  [tshark]=tshark [iperf3]=iperf3 [ethtool]=ethtool [ip]=iproute2
  [ovs-vswitchd]=openvswitch-switch [tcpdump]=tcpdump [promtool]=prometheus [lldpd]=lldpd [lldpad]=lldpad [curl]=curl
  [chromium]=chromium [setcap]=libcap2-bin [setpriv]=util-linux [systemd-analyze]=systemd [lintian]=lintian)

work=$(mktemp -d)
readonly work
export WORK=$work # to functions that run in shells of their own
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
readonly policy own_policy=$work/own_policy # a file, which a stage's own shell makes for this one to see
linter="" # the process, and its group, of linters that run beside the demos
trap '[[ -z $linter ]] || kill -- "-$linter" 2>/dev/null; [[ ! -e $own_policy ]] || rm -f "$policy"; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

race=(-race)
if ! command -v "$(go env CC)" >/dev/null; then
  echo "NO C COMPILER: tests run without -race (install gcc)"
  race=()
fi

# Programs without the race detector are compiled as in the image, here and by tests, so that they are compiled once.
export CGO_ENABLED=0 GOFLAGS="-trimpath $(go env GOFLAGS)"

# A program with the race detector sleeps for a second before it ends, so that the detector sees races of what still runs.
# Some hundred programs end here, tests and the switches that they start: 50 ms each.
export GORACE="atexit_sleep_ms=50 ${GORACE:-}"

# Root may make network namespaces, and CI must: there a test that cannot make them fails.
skips=()
if [[ ${CI:-} == true || $EUID -eq 0 ]]; then
  export REQUIRE_NETNS=1
fi
if [[ ${CI:-} == true ]]; then
  skips=(-no-skips)
fi

# missing_programs prints those of TOOLS that are missing, as a rule of all.
missing_programs() {
  local program
  for program in ${TOOLS:-"${!packages[@]}"}; do
    [[ -r $program ]] || command -v "$program" >/dev/null || echo "$program"
  done
}

# without_services runs a command while Debian starts no daemon that it installs: lldpd would send frames from this machine.
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

# stage_generate compiles the eBPF programs again, and compares their instructions with those of the objects in the tree.
# `go generate ./dataplane/port/assist` makes them anew.
stage_generate() {
  local folder=dataplane/port/assist object status=0
  TOOLS=$compilers stage_tools || return 1
  [[ -z $(TOOLS=$compilers missing_programs) ]] || return "$absent"
  bash "$folder/generate.sh" "$work" >/dev/null
  for object in program_bpfel.o program_bpfeb.o; do
    diff <(instructions "$folder/$object") <(instructions "$work/$object") >"$work/differs" || {
      printf '%s in the tree is not what %s compiles of assist.bpf.c (go generate ./%s, and commit):\n' "$object" \
        "$(clang --version | head -n 1)" "$folder"
      head -n 20 "$work/differs"
      status=1
    }
  done
  return "$status"
}

# instructions FILE prints those of an object.
instructions() {
  (cd "${1%/*}" && llvm-objdump -d -r "${1##*/}")
}

# lint runs the analyzers of cmd/lint as go vet, which keeps in Go's build cache what has not changed, and looks for
# misspelled words. Its arguments are those of the race detector: what tests have compiled is not compiled again.
lint() {
  local status=0
  mkdir -p "$WORK/lint"
  go build -C cmd/lint -o "$WORK/lint/" . github.com/golangci/misspell/cmd/misspell || return 1
  CGO_ENABLED=${1:+1} go vet "$@" -vettool="$WORK/lint/lint" ./... || status=1
  find . \( -name '*.go' -o -name '*.md' -o -name '*.sh' \) -not -path '*/.*/*' -print0 |
    xargs -0 "$WORK/lint/misspell" -error -i ect || status=1 # ECT: ECN-capable transport
  return "$status"
}
export -f lint

# The demos leave most of the CPU, so the linters run beside them. Nice 15 gives the demos precedence, and leaves the
# linters some time where other programs keep all CPUs busy.
start_lint() {
  setsid nice -n 15 bash -c 'lint "$@" >"$WORK/lint.said" 2>&1; echo "$? $SECONDS" >"$WORK/lint.status"' lint "${race[@]}" &
  linter=$!
}

stage_lint() {
  local status seconds
  [[ -n $linter ]] || { lint "${race[@]}"; return; }
  tail --pid="$linter" -f /dev/null
  cat "$work/lint.said"
  read -r status seconds <"$work/lint.status"
  echo "took $seconds s, most of them beside the demos"
  return "$status"
}

judge_program() {
  [[ -x $work/judge ]] || go build -o "$work/judge" ./cmd/judge
}

judge() {
  judge_program
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

# test_flags are those of tests with goroutines. All stages use one set of test programs, without tables for debuggers.
test_flags=("${race[@]}" -vet=off -ldflags="-s -w" -o "$work/tests/")

go_test() {
  CGO_ENABLED=${race:+1} go test "$@"
}

# with_tests lists the packages that have tests. A program without any may have the name of another package.
with_tests() {
  go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...
}

# The state machines, simulations and configurations start no goroutine and take no lock, which archtest sees to. So they
# are tested without the race detector, which makes their tests up to ten times slower. Those that take longest begin.
readonly sequential=(./cmd/internal/paper ./cmd/internal/sonic ./cmd/internal/simulation ./cmd/internal/config
  ./cmd/internal/archtest ./buffer ./deadlock ./headroom ./lldp ./lldp/dcbx ./macctl ./dataplane ./dataplane/bridge
  ./dataplane/dcqcn ./dataplane/sched ./dataplane/trunk ./dataplane/sim)

# One go test runs all packages, so that one compiles while another runs. The tests on real links are left out by name, so
# no other test may have their names. Stage lint vets the tests.
unit_tests() {
  local both skip status=0
  # shellcheck disable=SC2046 # the names of Go files have no blanks
  both=$(comm -12 <(tests_in $(netns_files)) \
    <(tests_in $(find . -name '*_test.go' -not -name '*_netns_test.go' -not -path '*/.*/*')))
  if [[ -n $both ]]; then
    printf 'names of a test on real links and of another test (rename one):\n%s\n' "$both" >&2
    return 1
  fi
  # shellcheck disable=SC2046
  skip=$(tests_in $(netns_files) | pattern)
  # shellcheck disable=SC2046
  go_test -json "${test_flags[@]}" -timeout 5m -skip "$skip" $(with_tests | grep -vxf <(go list "${sequential[@]}")) || status=1
  go test -json -vet=off -ldflags="-s -w" -timeout 5m "${sequential[@]}" || status=1
  return "$status"
}

stage_unit() {
  unit_tests | judge tests "${skips[@]}" | tee "$work/unit.out"
}

# Tests on real links run in parallel, each in namespaces of its own. Some tests need the whole machine and run alone:
# rates in a storm against rates before; a busy process on every CPU; shares of a CPU; medians of times; what labs
# carry; TCP's time-outs; a ring's outage; a full tunnel; a file system that all switches of this machine see; what is
# lost, or comes after XOFF, where the switch itself is late; how long a bystander is held; how soon a pause through a
# trunk ends; captures that must miss nothing; a buffer that has to drain under load. The commands of README, which a
# person runs one at a time, are run after the others.
readonly alone=(TestBystandersOfAStorm TestOverload TestIdleCost TestScrapeCost TestHeldPriorityStopsNoOther
  TestTimesOfNotification TestShowUnderLoad TestLabs TestHostNIC TestApplyGrowsRings TestMachines
  TestKilledSwitchHoldsItsPeers TestObedientSendersLoseNothing TestApplyToAFullPool TestCapture TestSlowCaptureNeverBlocks
  TestCaptureShowsWhatATrunkDrops TestXoffStopsTheFastPath TestCalibratedFabric
  TestHeadroomIsChecked TestHostNICMeasures TestEveryKeyChangesUnderLoad TestPausesPassThroughATrunk)
readonly last_folders=(./cmd/internal/readme)

# These parallel tests take longest. Each is a run of its own, before all others: at the end no CPU waits for one of them.
# The plain ones send so many frames that the race detector makes them take five times as long, so they run without it.
# TestFastPathKeepsOrder runs with it, too, with a fifteenth of the frames. Those of the switch's default socket, of which
# this machine has one, are in one run.
readonly long_runs="./cmd/internal/acceptance TestChaos tests
./cmd/internal/acceptance TestNobodyNoticesTheFastPath tests
./cmd/internal/packaging TestDebianPackage tests
./cmd/internal/acceptance TestFastPathKeepsOrder tests
./cmd/internal/acceptance TestFastPathKeepsOrder plain
./cmd/internal/topology TestLabsComeAndGo tests
./cmd/internal/packaging TestLabFilesRun|TestRunWithoutAFile|TestLateInterfaces|TestLateInterfacesRefused tests
./cmd/internal/acceptance TestTCP plain"
mapfile -t long < <(cut -d ' ' -f 2 <<<"$long_runs" | tr '|' '\n' | sort -u)

# runs prints a line for each run of a test program: its folder, its tests and the folder of the program. "parallel" are
# the long ones, then six tests of a folder at a time, folders with many tests first; "last" and "alone" are the others.
runs() {
  local folder of_folder here
  [[ $1 != parallel ]] || echo "$long_runs"
  while read -r folder; do
    of_folder=$(tests_in "$folder"/*_netns_test.go)
    if [[ " ${last_folders[*]} " == *" $folder "* ]]; then
      [[ $1 != last ]] || in_turns "$folder" <<<"$of_folder"
      continue
    fi
    [[ $1 != last ]] || continue
    here=$(grep -xF "$(printf '%s\n' "${alone[@]}")" <<<"$of_folder") || true
    [[ $1 == alone ]] || here=$(grep -vxF "$(printf '%s\n' "${alone[@]}" "${long[@]}")" <<<"$of_folder") || true
    [[ -z $here ]] || in_turns "$folder" <<<"$here"
  done < <(netns_files -printf '%h\n' | while read -r folder; do
    echo "$(tests_in "$folder"/*_netns_test.go | wc -l) $folder"
  done | sort -rn | cut -d ' ' -f 2)
}

# in_turns distributes the tests that it reads over as many runs as they need.
in_turns() {
  awk -v folder="$1" '{ name[NR] = $1 }
    END { n = int((NR + 5) / 6)
      for (i = 1; i <= NR; i++) { r = i % n; of[r] = of[r] (of[r] == "" ? "" : "|") name[i] }
      for (r = 0; r < n; r++) print folder, of[r], "tests" }'
}

# run_tests FOLDER NAMES PROGRAMS runs tests and prints their output in one piece.
run_tests() {
  local status=0 said
  said=$(mktemp "$WORK/said.XXXXXX")
  [[ $3 == plain ]] || export ASSIST_FRAMES=20000
  (cd "$1" && go tool test2json -t -p "pfcswitch/${1#./}" "$WORK/$3/${1##*/}.test" -test.v=test2json \
    -test.paniconexit0 -test.timeout=10m -test.parallel=6 -test.run="^($2)\$") >"$said" || status=1
  flock "$WORK" cat "$said"
  rm "$said"
  return "$status"
}
export -f run_tests

# program builds the program once for the tests on real links and the demos. Any user may run it.
program() {
  chmod 711 "$work"
  export PFCSWITCH_PROGRAM=$work/pfcswitch
  [[ -x $PFCSWITCH_PROGRAM ]] || go build -o "$PFCSWITCH_PROGRAM" ./cmd/pfcswitch
}

# real_link_tests WHICH NUMBER runs the tests on real links that are parallel, last or alone, so many runs at once. Those
# that are parallel wait for a third of their time.
real_link_tests() {
  local status=0
  program || return 1
  # shellcheck disable=SC2046 # the names of Go packages have no blanks
  go_test -c "${test_flags[@]}" $(netns_files -printf '%h\n') >&2 || status=1
  runs "$1" | xargs -P "$2" -L 1 bash -c 'run_tests "$@"' run || status=1
  return "$status"
}

netns_tests() {
  local status=0
  # shellcheck disable=SC2046
  go test -c -vet=off -ldflags="-s -w" -o "$work/plain/" $(awk '$3 == "plain" { print $1 }' <<<"$long_runs" | sort -u) >&2 ||
    status=1
  real_link_tests parallel $((1 + $(nproc))) || status=1
  real_link_tests last 1 || status=1
  return "$status"
}

stage_netns() {
  netns_tests | judge tests "${skips[@]}" | tee "$work/netns.out"
}

stage_alone() {
  local unknown folder names
  # shellcheck disable=SC2046 # the names of Go files have no blanks
  unknown=$(comm -13 <(tests_in $(netns_files)) <(printf '%s\n' "${alone[@]}" | sort)
    while read -r folder names _; do
      comm -13 <(tests_in "$folder"/*_netns_test.go) <(tr '|' '\n' <<<"$names" | sort) | sed "s,^,$folder ,"
    done <<<"$long_runs")
  [[ -z $unknown ]] || { printf 'no such test on real links, or not in this folder:\n%s\n' "$unknown"; return 1; }
  real_link_tests alone 1 | judge tests "${skips[@]}" | tee "$work/alone.out"
}

# By default the fuzzer minimizes a new input for up to 60 s, which is more than the time of a target: 20 tries suffice.
stage_fuzz() {
  local folder target
  [[ -n ${FUZZ:-} ]] || { echo "with FUZZ=1: 10 s of each fuzz target (their seeds are unit tests)"; return "$absent"; }
  [[ ${FUZZ_SEARCH:-} == 0 ]] || fuzz_targets | while read -r folder target; do
    go test -run '^$' -fuzz "^$target\$" -fuzztime 10s -fuzzminimizetime 20x "./$folder"
  done
  [[ $FUZZ == 1 ]] || repeat_targets
}

# fuzz_targets prints the folder and the name of each, those of cmd, most of which read text, behind those that read octets.
fuzz_targets() {
  grep -roP --include='*_test.go' --exclude-dir=fuzz '^func \KFuzz\w+' -- * | sed 's,/[^/]*:, ,' | sort -r
}

# repeat_targets runs each target $FUZZ times on mutations of what Go's fuzzer has found, in a plain loop, which is some
# hundred times as fast as that fuzzer: in copies of the tests, repeatFuzz takes the place of F.Fuzz. Targets that read
# text, and not octets, are up to a hundred times as slow. Each stops after $FUZZ_SECONDS, and prints how often it ran.
repeat_targets() {
  local folder target file corpus
  corpus=$(go env GOCACHE)/fuzz/$(go list -m)
  fuzz_targets | cut -d ' ' -f 1 | sort -u | while read -r folder; do
    mkdir -p "$work/fuzz/$folder/testdata/fuzz"
    cp -r "$folder/testdata" "$corpus/$folder/." "$work/fuzz/$folder/" 2>/dev/null || true # a folder may have neither
    for file in $(grep -lF 'f.Fuzz(' "$folder"/*_test.go); do
      sed 's/\bf\.Fuzz(/repeatFuzz(f, /' "$file" >"$work/fuzz/$file"
    done
    sed "s/^package .*/$(grep -m1 '^package ' "$file")/" cmd/internal/fuzz/repeat.go >"$work/fuzz/$folder/repeat_test.go"
  done
  find "$work/fuzz" -name '*_test.go' -printf "\"$PWD/%P\":\"%p\"\n" | paste -sd, |
    sed 's/.*/{"Replace":{&}}/' >"$work/fuzz/overlay.json"
  # shellcheck disable=SC2046 # the names of Go packages have no blanks
  go test -c -vet=off -overlay "$work/fuzz/overlay.json" -o "$work/fuzz/" $(fuzz_targets | sed 's, .*,,; s,^,./,' | sort -u)
  fuzz_targets | while read -r folder target; do
    mv "$work/fuzz/$folder/$target" "$work/fuzz/$folder/testdata/fuzz/" 2>/dev/null || true # nothing found
    echo -n "$folder "
    (cd "$work/fuzz/$folder" && GOGC=800 EXECUTIONS=$FUZZ FUZZ_SECONDS=${FUZZ_SECONDS:-3600} \
      "$work/fuzz/${folder##*/}.test" -test.timeout 0 -test.run "^$target\$")
  done
}

# Two demos run at a time, the longest first: what each judges holds however slow the machine is. Only demo trunk has to
# fill an uplink beyond its watermark, for which its senders need a CPU.
stage_demo() {
  local status=0
  program
  judge_program
  xargs -P 2 -L 1 bash -c '"$@"' demo <<<"run_demo deadlock
run_demo incast
run_demo headroom --quick
run_demo dcqcn
run_demo host --seconds 3 --report $WORK/host.html" || status=1
  grep -q '<svg' "$WORK/host.html" || status=1
  run_demo trunk --seconds 2 || status=1
  return "$status"
}

# run_demo NAME FLAG... runs a demo, judges it and prints all in one piece. The demo's own verdict is not enough: the
# judge looks at its flows, and whether it has shown all that it has to show. A demo that fails, could not run or died
# has not passed.
run_demo() {
  local status=0 report=$WORK/$1.json
  {
    "$PFCSWITCH_PROGRAM" demo "$@" -j >"$report" || status=$?
    if [[ ! -s $report ]]; then
      echo "demo $1: no report, exit status $status"
      status=1
    elif ! "$WORK/judge" demo <"$report"; then
      status=1
    elif [[ $status -ne 0 ]]; then
      echo "demo $1: exit status $status"
    fi
  } >"$report.said" 2>&1
  flock "$WORK" cat "$report.said"
  return "$((status != 0))"
}
export -f run_demo

stage_bench() {
  local status=0 root=$PWD
  (cd "$work" && "$root"/scripts/bench.sh --smoke --json bench.json --svg bench.svg) || status=$?
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
  [[ $stage != demo || " ${stages[*]} " != *" demo lint "* ]] || start_lint
  run "$stage"
  [[ $stage != lint ]] || linter=""
done

[[ ! -e $work/failures ]] || cat "$work/failures"
printf '\n%s\n' "stage      result  time"
printf '%s\n' "${summary[@]}" "total            $(printf '%4d' $SECONDS) s"
# The tests' numbers, summed, are the last line, where tests were among the stages.
find "$work" -name '*.out' -exec cat {} + | awk '
  /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5 }
  END { if (p + f + s) printf "%d passed, %d failed, %d skipped\n", p, f, s }'
[[ $failed -eq 0 ]]
