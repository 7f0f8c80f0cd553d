package demo

import (
	"context"
	"net"
	"pfcswitch/dataplane/assert"
	"testing"
	"time"
)

// What arrives when the load is over is read, and not counted.
func TestReadUntil(t *testing.T) {
	for _, tt := range []struct {
		name  string
		until time.Duration
		want  uint64
	}{{"all in time", time.Hour, 8}, {"all too late", -time.Hour, 0}} {
		from, to := net.Pipe()
		wrote := make(chan error, 1)
		go func() {
			_, err := from.Write(make([]byte, 8))
			_ = from.Close()
			wrote <- err
		}()
		got, err := readUntil(to, time.Now().Add(tt.until))
		if sent := <-wrote; got != tt.want || err != nil || sent != nil {
			t.Errorf("%s: %d octets, %v, %v, want %d", tt.name, got, err, sent, tt.want)
		}
	}
}

// A drain ends with its context, though its peer neither sends nor closes.
func TestDrainEndsWithItsContext(t *testing.T) {
	l := assert.Got(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	defer func() { _ = l.Close() }()
	c := assert.Got(net.Dial("tcp", l.Addr().String())).Must(t)
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan received, 1)
	go runDrain(ctx, l, time.Now().Add(time.Hour), done)
	cancel()
	got := <-done
	assert.True(t, got.err != nil, "%+v, want an error", got)
}
