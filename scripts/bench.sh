#!/usr/bin/env bash
# Compares pfcswitch, the Linux bridge and Open vSwitch's userspace datapath, without and with TSO, in interleaved runs on
# the same veth links: h1, h3 ── switch ── h2. The load comes from "pfcswitch send" without flow control, tagged, and leaves
# tagged. What arrives is the kernel's counter of h2's interface, on which no socket listens. IPv6 is off. cmd/bench does
# the work.
#
#   scripts/bench.sh                      everything, 7 rounds (about two and a half hours, 80 minutes of them for the loss-free rate;
#                                         it says at the start what the parts take), into bench.json and bench.svg
#   scripts/bench.sh --priorities 3       the lossless priority alone (an hour and a half)
#   scripts/bench.sh --switches "pfcswitch bridge ovs"
#                                         without Open vSwitch's TSO (two hours)
#   scripts/bench.sh --only "frames tcp"  these parts: frames lossfree tcp latency xoff pause ports
#                                         fabric incast fdb trunk flap
#   scripts/bench.sh --rounds 3 --search 0
#   scripts/bench.sh --octets "60 512"    frames of these lengths instead of 60, 512 and 1514
#   scripts/bench.sh --only lossfree --switches pfcswitch --search 1 --trial 10
#                                         without its peers
#   scripts/bench.sh --packet-socket      senders use the packet socket alone: slower, as before Linux 6.17
#   scripts/bench.sh --smoke              does every part work? (a minute; the figures mean nothing; writes no file unasked)
#   scripts/bench.sh --json FILE --svg FILE
#                                         the single results and their summary as JSON lines, and a plot, elsewhere
#                                         than in bench.json and bench.svg of the current folder; "" is no file, - the
#                                         standard output
#   scripts/bench.sh --help               all options
#
# Needs root. Open vSwitch and iperf3 are installed where they are missing and apt-get may;
# else they are left out, loudly. INSTALL=0 installs nothing.
set -euo pipefail
export BENCH_FOLDER=$PWD # names of files are meant from here
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ $EUID -ne 0 && ! " $* " =~ " "--?h(elp)?" " ]]; then
  echo "bench.sh: needs root, to make network namespaces and a bridge" >&2
  [[ " $* " == *" --smoke "* ]] && exit 77 # nothing to do here, as scripts/test.sh has it
  exit 1
fi

missing=$(for program in ovs-vswitchd iperf3 ethtool; do command -v "$program" >/dev/null || echo "$program"; done)
if [[ -n $missing && $EUID -eq 0 && ${INSTALL:-1} != 0 && ! " $* " =~ " "--?(smoke|h|help)" " ]]; then
  echo "installing" $missing >&2
  TOOLS=$missing scripts/test.sh tools >&2 || true # the program says what is missing still
fi

# The program takes this process's place and number, by which what it makes is named, and removes the folder at the end.
work=$(mktemp -d -t "pfcbench-$$-XXXXXX")
trap 'rm -rf "$work"' EXIT
go build -o "$work/bench" ./cmd/bench
exec "$work/bench" "$@"
