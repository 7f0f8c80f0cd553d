// Package fuzz runs a fuzz target in a plain loop, which is many times as fast as Go's fuzzer. For that scripts/test.sh
// compiles this file into the tests that have targets. Their inputs are what Go's fuzzer has found by coverage.
package fuzz

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// repeatFuzz is F.Fuzz that then runs the target $EXECUTIONS times, but for $FUZZ_SECONDS at most, each time on a
// mutation of one of its inputs. It does so in the first input's test, after the tests of the others.
func repeatFuzz(f *testing.F, target any) {
	executions, err := strconv.Atoi(os.Getenv("EXECUTIONS"))
	seconds, wrong := strconv.Atoi(os.Getenv("FUZZ_SECONDS"))
	assert.MustBeTrue(f, err == nil && wrong == nil, "EXECUTIONS: %v; FUZZ_SECONDS: %v", err, wrong)
	most := time.Duration(seconds) * time.Second
	function := reflect.ValueOf(target)
	m := newFuzzMutator(function.Type())
	f.Fuzz(reflect.MakeFunc(function.Type(), func(args []reflect.Value) []reflect.Value {
		t := args[0].Interface().(*testing.T)
		m.learn(args)
		if len(m.inputs) > 1 {
			function.Call(args)
			return nil
		}
		t.Parallel() // returns after the tests of the other inputs
		m.args[0].Set(args[0])
		n, start := 0, time.Now()
		finished := false
		defer func() {
			if !finished || t.Failed() {
				t.Logf("execution %d failed:\n%s", n, m)
			}
		}()
		function.Call(args)
		call := func() { function.Call(m.args) }
		if f, ok := target.(func(*testing.T, []byte)); ok {
			call = func() { f(t, m.octets[1]) } // twice as fast
		}
		for ; n < executions && !t.Failed() && (n%64 != 0 || time.Since(start) < most); n++ {
			m.mutate()
			call()
		}
		finished = true
		fmt.Printf("%s: %d executions in %.0f s, from %d inputs\n", f.Name(), n, time.Since(start).Seconds(),
			len(m.inputs))
		return nil
	}).Interface())
}

// A fuzzMutator makes arguments of a target from inputs that it knows.
type fuzzMutator struct {
	*rand.Rand
	inputs [][]reflect.Value
	args   []reflect.Value // the next arguments, behind the test
	octets [][]byte        // those of them that are octets or text
}

func newFuzzMutator(target reflect.Type) *fuzzMutator {
	m := &fuzzMutator{Rand: rand.New(rand.NewPCG(rand.Uint64(), 0)), octets: make([][]byte, target.NumIn())}
	for i := range target.NumIn() {
		m.args = append(m.args, reflect.New(target.In(i)).Elem())
	}
	return m
}

// learn keeps a copy, for targets may write to their arguments.
func (m *fuzzMutator) learn(args []reflect.Value) {
	input := slices.Clone(args)
	for i, v := range args[1:] {
		if v.Kind() == reflect.Slice {
			input[i+1] = reflect.ValueOf(slices.Clone(v.Bytes()))
		}
	}
	m.inputs = append(m.inputs, input)
}

// mutate takes an input and changes it in one to eight places.
func (m *fuzzMutator) mutate() {
	for i, v := range m.inputs[m.IntN(len(m.inputs))] {
		switch {
		case i == 0: // the test
		case v.Kind() == reflect.Slice:
			m.octets[i] = append(m.octets[i][:0], v.Bytes()...)
		case v.Kind() == reflect.String:
			m.octets[i] = append(m.octets[i][:0], v.String()...)
		default:
			m.args[i].Set(v)
		}
	}
	for range 1 << m.IntN(4) {
		m.change(1 + m.IntN(len(m.args)-1))
	}
	for i, v := range m.args {
		switch v.Kind() {
		case reflect.Slice:
			v.SetBytes(m.octets[i])
		case reflect.String:
			v.SetString(string(m.octets[i]))
		}
	}
}

// change changes argument i in one place.
func (m *fuzzMutator) change(i int) {
	switch v := m.args[i]; {
	case v.Kind() == reflect.Slice, v.Kind() == reflect.String:
		m.octets[i] = m.changeOctets(m.octets[i])
	case v.CanInt():
		v.SetInt(v.Int() ^ int64(m.number()))
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	default:
		v.SetUint(v.Uint() ^ m.number())
	}
}

func (m *fuzzMutator) changeOctets(b []byte) []byte {
	if len(b) == 0 {
		return append(b, byte(m.Uint32()))
	}
	at := m.IntN(len(b))
	run := 1 + m.IntN(min(len(b)-at, 1<<m.IntN(7)))
	switch m.IntN(10) {
	case 0, 1:
		b[at] ^= 1 << m.IntN(8)
	case 2, 3:
		b[at] = byte(m.number())
	case 4:
		b[at] += byte(m.IntN(9)) - 4
	case 5:
		var n [4]byte
		binary.BigEndian.PutUint32(n[:], uint32(m.number()))
		copy(b[at:], n[2*m.IntN(2):])
	case 6:
		copy(b[m.IntN(len(b)):], b[at:at+run])
	case 7:
		return slices.Insert(b, m.IntN(len(b)+1), b[at:at+run]...)
	case 8:
		return slices.Delete(b, at, at+run)
	case 9:
		return b[:at]
	}
	return b
}

// number is often small, as lengths, types and versions are.
func (m *fuzzMutator) number() uint64 { return m.Uint64() >> m.IntN(64) }

// String writes the arguments as a file of testdata/fuzz has them, as the target has left them.
func (m *fuzzMutator) String() string {
	s := "go test fuzz v1"
	for _, v := range m.args[1:] {
		switch v.Kind() {
		case reflect.Slice:
			s += fmt.Sprintf("\n[]byte(%q)", v.Bytes())
		default:
			s += fmt.Sprintf("\n%s(%#v)", v.Type(), v)
		}
	}
	return s
}
