// Package assist is help from inside the kernel: two small eBPF programs at each port, which hold the peer while the
// switch does not look at its rings, and which forward frames that nothing stands before.
//
//	assist.bpf.c  the programs, and the maps that they share with the switch
//	assist.go     Maps: what the ports of a switch share
//	port.go       Port: the programs of one port, and what the switch tells them
//	flows.go      the frames that may take the fast path
//	counts.go     what has taken it
//	pin.go        programs that outlive the switch for a while
//	generate.go   how the objects beside this file are made
package assist

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// MaxPorts and Priorities are the sizes of the maps.
const (
	MaxPorts   = 256
	Priorities = 8
)

// Reasons why there are no programs. The switch then works without them.
var (
	ErrNotAllowed = errors.New("no CAP_BPF: eBPF takes CAP_BPF and CAP_NET_ADMIN outside of user namespaces: run as " +
		"root, or give CAP_BPF to the program's file or unit")
	ErrOldKernel = errors.New("old kernel: Linux 6.6 and later have what it takes")
	ErrOccupied  = errors.New("another program: it stands at the interface's tcx ingress already (\"bpftool net\" " +
		"shows it): take it away, and start the switch again")
)

// Maps are what the ports of one switch share with the programs.
type Maps struct {
	maps  programMaps
	flows int // that the map takes

	ports      []programPort
	counts     []programPortCounts // of all ports for the first CPU, then of all ports for the second
	decisions  []programDecision   // of each CPU
	forgetting sync.Mutex          // by one at a time
	generation uint32              // that of decisions, or before they have all changed, the former one
	mappings   [][]byte
	full       atomic.Bool
}

// loopback is the index of the loopback interface of each network namespace.
const loopback = 1

// Open makes the maps. It fails with ErrNotAllowed or ErrOldKernel where the system does not allow that.
func Open() (*Maps, error) { return open(MaxAllFlows) }

func open(flows int) (*Maps, error) {
	spec, cpus, err := newSpec(flows)
	if err != nil {
		return nil, err
	}
	m := &Maps{flows: flows}
	if err := spec.LoadAndAssign(&m.maps, nil); err != nil {
		return nil, unavailable(err)
	}
	err = m.mapAll(cpus)
	if err == nil {
		if _, tcx := (&Port{index: loopback}).programs(); tcx != nil { // ports that start without programs rely on it
			err = unavailable(tcx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.Forget()
	return m, nil
}

// parsed is what the compiled programs say, which all switches of a process share.
var parsed = sync.OnceValues(loadProgram)

// newSpec returns a copy of what the compiled programs say, with the sizes of the maps on this machine, and its number
// of CPUs.
func newSpec(flows int) (spec *ebpf.CollectionSpec, cpus int, err error) {
	if spec, err = parsed(); err != nil {
		return nil, 0, fmt.Errorf("assist: read the programs: %w", err)
	}
	if cpus, err = ebpf.PossibleCPU(); err != nil {
		return nil, 0, fmt.Errorf("assist: %w", err)
	}
	spec = spec.Copy()
	for _, name := range []string{programMapCounts, programMapDecisions, programMapRecents} {
		spec.Maps[name].MaxEntries = uint32(cpus)
	}
	spec.Maps[programMapFlows].MaxEntries = uint32(flows)
	return spec, cpus, nil
}

// unavailable says why there are no programs, and what would help.
func unavailable(err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w (%w)", ErrNotAllowed, err)
	}
	return fmt.Errorf("%w (%w)", ErrOldKernel, err)
}

func (m *Maps) mapAll(cpus int) error {
	ports, err := mapMemory[programPort](m, m.maps.Ports, MaxPorts)
	if err != nil {
		return err
	}
	counts, err := mapMemory[programPortCounts](m, m.maps.Counts, cpus*MaxPorts)
	if err != nil {
		return err
	}
	decisions, err := mapMemory[programDecision](m, m.maps.Decisions, cpus)
	m.ports, m.counts, m.decisions = ports, counts, decisions
	return err
}

// mapMemory returns n values of T, which a map holds in a row, as memory that the programs see. An array map gives each
// of its values whole multiples of eight octets.
func mapMemory[T any](m *Maps, from *ebpf.Map, n int) ([]T, error) {
	page, value := unix.Getpagesize(), (int(unsafe.Sizeof(*new(T)))+7)&^7
	size := (n*value + page - 1) &^ (page - 1)
	mem, err := unix.Mmap(from.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%w (map memory: %w)", ErrOldKernel, err)
	}
	m.mappings = append(m.mappings, mem)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n), nil
}

// Close gives the maps back. The ports are closed.
func (m *Maps) Close() error {
	err := m.maps.Close()
	for _, mem := range m.mappings {
		err = errors.Join(err, unix.Munmap(mem))
	}
	return err
}

// Forget makes all decisions of Port.Enter invalid: something has changed that one of them may depend on. Frames that
// the programs have decided about already still go.
func (m *Maps) Forget() {
	m.forgetting.Lock()
	defer m.forgetting.Unlock()
	next := max(1, m.generation+1) // 0 is the number of no decision
	for i := range m.decisions {
		atomic.StoreUint32(&m.decisions[i].Generation, next)
	}
	atomic.StoreUint32(&m.generation, next) // last: what is decided under the former number until now is not in force
}

// Generation returns the number of the decisions in force. It counts from 1 on; a decision is entered with the number
// that was read before it was made.
func (m *Maps) Generation() uint32 { return atomic.LoadUint32(&m.generation) }

// clockNs returns CLOCK_MONOTONIC, which the programs use.
func clockNs() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail: the clock exists
	return t.Nano()
}
