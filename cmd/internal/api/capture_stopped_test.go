package api

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pfcswitch/dataplane/capture"
)

// A pipeWriter answers into a pipe, whose reader may stand still.
type pipeWriter struct{ net.Conn }

func (pipeWriter) Header() http.Header { return http.Header{} }
func (pipeWriter) WriteHeader(int)     {}
func (pipeWriter) FlushError() error   { return nil }

// Whoever stops to read a capture is cut off, and its place is free again.
func TestCaptureOfAStoppedReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		server, client := net.Pipe()
		begun := time.Now()
		ended := make(chan time.Duration, 1)
		go func() {
			NewServer(f, start, 0).capture(pipeWriter{server}, httptest.NewRequest(http.MethodGet, "/v1/capture", nil))
			ended <- time.Since(begun)
		}()
		if _, err := client.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		if took := <-ended; took != clientTimeout {
			t.Errorf("cut off after %v, want %v", took, clientTimeout)
		}
		if f.tap.Recorder() != nil {
			t.Error("the capture goes on in the data path")
		}
		_ = client.Close()
	})
}

// keeper keeps the ring of f written, as capture.ring: on does.
func keeper(t *testing.T, f *fake) {
	t.Helper()
	f.tap.SetMemory(capture.MinMemory)
	c, err := f.tap.Attach(capture.Want{Ports: capture.AllPorts, Snap: capture.MaxSnap})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
}

// slowCapture asks for a capture, reads it slowly, and returns what was in it and how long it took. begun is called when
// it has begun, with a way for the client to end it.
func slowCapture(t *testing.T, f *fake, query string, begun func(end func())) (tally capture.Tally, took time.Duration) {
	t.Helper()
	server, client := net.Pipe()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	from := time.Now()
	go func() {
		r := httptest.NewRequest(http.MethodGet, "/v1/capture?"+query, nil).WithContext(ctx)
		NewServer(f, start, 0).capture(pipeWriter{server}, r)
		_ = server.Close()
	}()
	slow := &slowReader{Conn: client}
	if begun != nil {
		slow.begun = func() { begun(end) }
	}
	tally, err := capture.Copy(io.Discard, slow)
	if err != nil {
		t.Error(err)
	}
	return tally, time.Since(from)
}

// A slowReader takes 100 ms for each read of a pipe.
type slowReader struct {
	net.Conn
	reads int
	begun func() // is called after some reads
}

func (r *slowReader) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	if r.reads++; r.reads == 4 && r.begun != nil {
		r.begun()
	}
	time.Sleep(100 * time.Millisecond)
	return n, err
}

// Whoever reads what the ring holds gets all of it, however slowly, and not what comes meanwhile.
func TestCaptureOfTheLastSecondsForASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		keeper(t, f)
		const kept, later = 12_000, 5_000
		f.feed(t, 0, kept)
		tally, took := slowCapture(t, f, "last=1h", func(func()) { f.feed(t, 0, later) })
		if tally != (capture.Tally{Frames: kept}) {
			t.Errorf("%+v, want %d frames", tally, kept)
		}
		if took < 2*captureEnd {
			t.Errorf("the reader took only %v: it was not slow", took)
		}
	})
}

// What is overwritten before a slow reader comes to it is counted.
func TestCaptureOfTheLastSecondsIsOverwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		keeper(t, f)
		const kept = 12_000
		f.feed(t, 0, kept)
		tally, _ := slowCapture(t, f, "last=1h", func(func()) { f.feed(t, 0, 5*kept) })
		if tally.Frames+tally.Missing != kept || tally.Frames == 0 || tally.Missing == 0 {
			t.Errorf("%+v, want %d in all, some of them missing", tally, kept)
		}
	})
}

// A client that ends its capture does not wait for all that it was too slow for: the rest is counted.
func TestCaptureThatASlowClientEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		keeper(t, f)
		const kept, later = 12_000, 5_000
		f.feed(t, 0, kept)
		tally, took := slowCapture(t, f, "last=1h", func(end func()) { end(); f.feed(t, 0, later) })
		if tally.Frames+tally.Missing != kept || tally.Missing == 0 {
			t.Errorf("%+v, want %d in all, some of them missing", tally, kept)
		}
		if took > captureEnd+2*time.Second {
			t.Errorf("it took %v to end", took)
		}
	})
}

// A capture for a time has what comes in it, and not what comes later.
func TestCaptureForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		server, client := net.Pipe()
		begun := time.Now()
		go func() {
			NewServer(f, start, 0).capture(pipeWriter{server}, httptest.NewRequest(http.MethodGet, "/v1/capture?for=500ms", nil))
			_ = server.Close()
		}()
		var feeding sync.WaitGroup
		defer feeding.Wait()
		feeding.Go(func() {
			for time.Since(begun) < time.Second {
				if f.tap.Recorder() != nil {
					f.feed(t, 0, 1)
				}
				time.Sleep(3 * time.Millisecond)
			}
		})
		tally, err := capture.Copy(io.Discard, client)
		if took := time.Since(begun); err != nil || took != 500*time.Millisecond {
			t.Errorf("it took %v, %v", took, err)
		}
		if tally.Frames < 160 || tally.Frames > 170 || tally.Missing != 0 {
			t.Errorf("%+v, want 166 frames or so", tally)
		}
	})
}
