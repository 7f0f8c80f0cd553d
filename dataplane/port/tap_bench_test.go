package port_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// BenchmarkTAP measures a frame's way from the host, and to a host that discards it: one system call each, and a copy.
// It also measures a call that returns nothing.
func BenchmarkTAP(b *testing.B) {
	for _, octets := range []int{60, 1514, 65_000} {
		b.Run(fmt.Sprintf("read/frame=%d", octets), func(b *testing.B) { benchmarkRead(b, octets) })
	}
	for _, octets := range []int{60, 1514, 65_000} {
		b.Run(fmt.Sprintf("write/frame=%d", octets), func(b *testing.B) { benchmarkWrite(b, octets) })
	}
	b.Run("nothing", benchmarkNothing)
}

// silentTAP returns a TAP whose host sends nothing by itself.
func silentTAP(b *testing.B) *tap {
	b.Helper()
	h := newTAP(b, port.QueueRule{Tags: true})
	assert.Must(b, port.InNetns(h.ns, func() error {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/nic0/disable_ipv6", []byte("1"), 0)
		if errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6 is as good
			return nil
		}
		return err
	}))
	h.collect(1 << 20)
	return h
}

// benchmarkRead reads bursts that the host's stack has queued.
func benchmarkRead(b *testing.B, octets int) {
	h := silentTAP(b)
	host := assert.Got(porttest.OpenSocket(h.ns, "nic0")).Must(b)
	defer func() { _ = host.Close() }()
	data, v := numberedFrame(0, octets)
	var frames [port.BatchFrames]port.Frame
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for range port.BatchFrames {
			assert.Must(b, host.Send(v, data))
		}
		b.StartTimer()
		for left := port.BatchFrames; left > 0; {
			n := h.Receive(port.Lossless, frames[:left], 1<<30)
			if n == 0 || len(frames[0].Data) != octets {
				b.Fatalf("%d of %d frames wait, the first of %d octets", n, left, len(frames[0].Data))
			}
			h.Release(port.Lossless, n)
			left -= n
		}
	}
	reportFrame(b)
}

func benchmarkWrite(b *testing.B, octets int) {
	h := silentTAP(b)
	batch := port.NewBatch()
	for seq := range port.BatchFrames {
		data, v := numberedFrame(seq, octets)
		add(batch, v, data, octets)
	}
	b.ReportAllocs()
	for b.Loop() {
		if n, err := h.Send(batch); n != batch.Len() || err != nil {
			b.Fatalf("Send: %d, %v", n, err)
		}
	}
	reportFrame(b)
}

// benchmarkNothing reads while no frame waits.
func benchmarkNothing(b *testing.B) {
	h := silentTAP(b)
	var frames [port.BatchFrames]port.Frame
	b.ReportAllocs()
	for b.Loop() {
		if n := h.Receive(port.Lossless, frames[:], 1<<30); n != 0 {
			b.Fatalf("%d frames", n)
		}
	}
}

// numberedFrame returns a complete frame, or a GSO frame if it is longer than 1514 octets.
func numberedFrame(seq, octets int) ([]byte, frame.VnetHeader) {
	if octets > 1514 {
		return gsoFrame(nil, seq, octets)
	}
	return craft(nil, experimental, seq, octets), frame.VnetHeader{}
}

// reportFrame reports the time per frame.
func reportFrame(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*port.BatchFrames), "ns/frame")
}
