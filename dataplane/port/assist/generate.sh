#!/usr/bin/env bash
# Compiles the programs into a folder, default that of this file, and records which source they are of. Debian's packages
# clang, llvm, libbpf-dev and linux-libc-dev have what it takes; building the switch takes none of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
to=${1:-.}

GOPACKAGE=assist go run github.com/cilium/ebpf/cmd/bpf2go -output-dir "$to" -tags linux -target bpfel,bpfeb \
  -type port -type flow -type flow_key -type port_counts program assist.bpf.c -- -O2 -fno-strict-aliasing -g -Wall -Werror -mcpu=v3 \
  -idirafter /usr/include/x86_64-linux-gnu -idirafter /usr/include/aarch64-linux-gnu
sha256sum assist.bpf.c >"$to/program.sha256"
