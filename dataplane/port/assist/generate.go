package assist

// Debian's packages clang, llvm, libbpf-dev and linux-libc-dev have what this needs; building the switch needs none.
//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -tags linux -target bpfel,bpfeb -type port -type flow -type flow_key -type port_counts program assist.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -idirafter /usr/include/x86_64-linux-gnu -idirafter /usr/include/aarch64-linux-gnu
