#!/usr/bin/env bash
# Makes an RDMA device (Soft-RoCE, the kernel's rdma_rxe) of an interface, above all of a host NIC's, and measures RDMA
# writes through it with perftest, in priority 3 (DSCP 26). The device is gone at the end.
#
#   scripts/rxe.sh INTERFACE [FLAG...]          the server; flags are those of ib_write_bw
#   scripts/rxe.sh INTERFACE SERVER [FLAG...]   the client of a server's address, for 5 s
#
# Exit status: 77 where something is missing, in one sentence; 2 wrong arguments; else perftest's.
set -euo pipefail

if [[ $# -lt 1 || $1 == -* ]]; then
  sed -n '/^#  /s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
interface=$1 device=rxe_$1

missing() {
  echo "rxe.sh did not run: $*" >&2
  exit 77
}
command -v rdma >/dev/null || missing "there is no program rdma: install iproute2"
command -v ib_write_bw >/dev/null || missing "there is no program ib_write_bw: install perftest"
[[ $(id -u) == 0 ]] || missing "only root makes RDMA devices: use sudo"
modprobe -q rdma_rxe 2>/dev/null || [[ -d /sys/module/rdma_rxe ]] ||
  missing "kernel $(uname -r) has no module rdma_rxe (CONFIG_RDMA_RXE): use one that has it"
ip link show dev "$interface" >/dev/null 2>&1 ||
  missing "there is no interface $interface: pfcswitch nic --wire IF makes host0"

rdma link add "$device" type rxe netdev "$interface"
trap 'rdma link delete "$device"' EXIT
# The connection manager (-R) finds the right address of the device, and sets the type of service, 4 · DSCP.
ib_write_bw -R -d "$device" -T $((4 * 26)) -D 5 --report_gbits "${@:2}"
