package capture

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/bpf"
)

// MaxInstructions is the length of the longest filter (BPF_MAXINSNS of Linux).
const MaxInstructions = 4096

// FilterOctets is the least number of octets captured of a frame if there is a filter, so that a short snap length
// does not hide what the filter looks for.
const FilterOctets = 256

// A Filter is a classic BPF program that returns how many octets of a frame to keep, 0 for none. It is for one
// goroutine.
type Filter struct {
	vm   *bpf.VM
	tail []byte // nil, or as long as the longest frame, with zeros behind what was captured
	used int
}

// ParseFilter reads a program in the form of "tcpdump -ddd": the number of instructions, then the code, jt, jf and k of
// each, as decimal numbers between white space or commas. It refuses a program that might run for ever or read outside
// of a frame.
func ParseFilter(text string) (*Filter, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == ',' })
	if len(words) == 0 {
		return nil, fmt.Errorf("the filter is empty: write the number of instructions, then code, jt, jf and k of each")
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 || n > MaxInstructions || len(words) != 1+4*n {
		return nil, fmt.Errorf("the filter does not begin with the number of its instructions, 1 to %d, followed by "+
			"code, jt, jf and k of each", MaxInstructions)
	}
	program := make([]bpf.RawInstruction, n)
	for i := range program {
		if program[i], err = instruction([4]string(words[1+4*i:])); err != nil {
			return nil, fmt.Errorf("instruction %d of the filter: %w", i, err)
		}
	}
	return newFilter(program)
}

func instruction(words [4]string) (r bpf.RawInstruction, err error) {
	var n [4]uint64
	for i, bits := range []int{16, 8, 8, 32} {
		if n[i], err = strconv.ParseUint(words[i], 10, bits); err != nil {
			return r, fmt.Errorf("%q is no number of %d bits", words[i], bits)
		}
	}
	return bpf.RawInstruction{Op: uint16(n[0]), Jt: uint8(n[1]), Jf: uint8(n[2]), K: uint32(n[3])}, nil
}

func newFilter(program []bpf.RawInstruction) (*Filter, error) {
	decoded, ok := bpf.Disassemble(program)
	if !ok {
		return nil, fmt.Errorf("the filter has an instruction that classic BPF does not have")
	}
	vm, err := bpf.NewVM(decoded)
	if err != nil {
		return nil, fmt.Errorf("the filter is no program: %w", err)
	}
	return &Filter{vm: vm}, nil
}

// Keep returns how many octets the filter keeps of a frame of length octets, or 0. data are its captured first octets.
// The filter sees the length, and zeros behind the captured octets.
func (f *Filter) Keep(data []byte, length int) int {
	if f == nil {
		return len(data)
	}
	seen := data
	if len(data) < length && length <= MaxSnap {
		if f.tail == nil {
			f.tail = make([]byte, MaxSnap)
		}
		clear(f.tail[:f.used])
		f.used = copy(f.tail, data)
		seen = f.tail[:length]
	}
	n, err := f.vm.Run(seen)
	if err != nil {
		return 0
	}
	return min(n, len(data))
}
