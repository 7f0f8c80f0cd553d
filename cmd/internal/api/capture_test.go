package api

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/runner"
)

func (f *fake) Tap() *capture.Tap { return &f.tap }

const movedPort = 9

func (f *fake) Keeps() bool { return f.keeps }

func (f *fake) Interfaces(dst []capture.Interface) []capture.Interface {
	p2 := capture.Interface{Port: 1, Name: "p2"}
	if f.moved.Load() {
		p2.Port = movedPort
	}
	return append(dst, capture.Interface{Port: 0, Name: "p1", Speed: 1e9}, p2)
}

// feed lets a port capture frames of 100 octets.
func (f *fake) feed(t *testing.T, port, frames int) {
	t.Helper()
	r := f.tap.Recorder()
	assert.MustBeTrue(t, r != nil, "nobody captures")
	r.Lock()
	for range frames {
		if b := r.Put(&capture.Record{Port: port, Time: runner.Now(), Length: 100}); len(b) > 0 {
			b[0] = byte(port)
		}
	}
	r.Unlock()
}

// record begins a capture, feeds it, and returns the file when the capture has ended.
func record(t *testing.T, request CaptureRequest, feed func(f *fake)) (file []byte, tally capture.Tally) {
	t.Helper()
	f := &fake{}
	c, _ := serve(t, f)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() {
		var err error
		tally, err = c.Capture(ctx, request, &out)
		done <- err
	}()
	labtest.Eventually(t, "the capture begins", func() bool { return f.tap.Recorder() != nil })
	feed(f)
	if request.Frames == 0 && request.For == 0 {
		cancel()
	}
	assert.Must(t, <-done)
	labtest.Eventually(t, "the data path captures no more", func() bool { return f.tap.Recorder() == nil })
	return out.Bytes(), tally
}

// blocks counts the blocks of a file by type.
func blocks(t *testing.T, file []byte) map[uint32]int {
	t.Helper()
	n := map[uint32]int{}
	for len(file) > 0 {
		n[binary.NativeEndian.Uint32(file)]++
		file = file[binary.NativeEndian.Uint32(file[4:]):]
	}
	return n
}

// A capture that the client ends has the frames until then, and statistics at its end.
func TestCaptureThatItsClientEnds(t *testing.T) {
	file, tally := record(t, CaptureRequest{}, func(f *fake) { f.feed(t, 0, 10); f.feed(t, 1, 5); f.feed(t, 7, 3) })
	want := map[uint32]int{0x0a0d0d0a: 1, 1: 3, 6: 18, 5: 3}
	assert.True(t, reflect.DeepEqual(blocks(t, file), want) && tally.Frames == 18, "blocks %v, %+v; want %v",
		blocks(t, file), tally, want)
}

func TestCaptureEnds(t *testing.T) {
	for _, test := range []struct {
		request CaptureRequest
		want    int
	}{
		{CaptureRequest{Frames: 4}, 4},
		{CaptureRequest{Frames: 15}, 15},
		{CaptureRequest{Frames: 5, Ports: []string{"p2"}}, 5},
		{CaptureRequest{Frames: 5, Filter: "4,48 0 0 0,21 0 1 1,6 0 0 9,6 0 0 0", Snap: 1}, 5},
	} {
		file, _ := record(t, test.request, func(f *fake) { f.feed(t, 0, 10); f.feed(t, 1, 5) })
		if got := blocks(t, file); got[6] != test.want || got[5] == 0 {
			t.Errorf("%+v: blocks %v, want %d packets and an end", test.request, got, test.want)
		}
	}
}

// full is a file system that is full when the capture ends.
type full struct{ end func() }

func (f full) Write([]byte) (int, error) {
	f.end()
	return 0, syscall.ENOSPC
}

// An error of the file is returned, even if the capture was to end at that moment.
func TestCaptureThatCannotBeWritten(t *testing.T) {
	c, _ := serve(t, &fake{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Capture(ctx, CaptureRequest{}, full{cancel})
	assert.True(t, errors.Is(err, syscall.ENOSPC), "error %v, want that of the file", err)
}

// A capture of a switch that takes the request and never answers can be ended.
func TestCaptureOfAStoppedSwitch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	stopped, err := net.Listen("unix", path) // the kernel takes the request
	assert.Must(t, err)
	defer func() { assert.Must(t, stopped.Close()) }()
	c := NewClient(path)
	c.patience = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Capture(ctx, CaptureRequest{}, io.Discard)
	assert.Fails(t, err, "is stopped or hangs", "error")
}

// The server reads the request as the client wrote it, and refuses others. It reads and writes no file that a request
// names.
func TestCaptureQuery(t *testing.T) {
	want := CaptureRequest{Ports: []string{"a", "b"}, Snap: 7, Filter: "1,6 0 0 1", Frames: 9, For: time.Second,
		Last: time.Minute}
	got, err := parseCapture(want.query())
	assert.True(t, err == nil && reflect.DeepEqual(got, want), "got %+v, %v; want %+v", got, err, want)
	got, err = parseCapture(url.Values{})
	assert.True(t, err == nil && got.Snap == capture.MaxSnap, "nothing asked: %+v, %v", got, err)
	long := strings.Repeat("1", maxFilterText+1)
	for _, query := range []string{"file=/etc/passwd", "write=/x", "snap=0", "snap=65601", "snap=x", "frames=x",
		"frames=-1", "for=x", "for=-1s", "last=-1s", "last=0s", "filter=" + long} {
		w := httptest.NewRecorder()
		NewServer(&fake{}, start, 0).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/capture?"+query, nil))
		assert.Equal(t, w.Code, http.StatusBadRequest, "%.40s: status", query)
	}
}

// Every query is either read with values in range, or refused.
func FuzzCaptureQuery(f *testing.F) {
	f.Add("port=a&port=b&snap=7&filter=1%2C6+0+0+1&frames=9&for=1s&last=1m")
	f.Fuzz(func(t *testing.T, text string) {
		q, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		c, err := parseCapture(q)
		assert.True(t, err != nil || (c.Snap >= 1 && c.Snap <= capture.MaxSnap && c.For >= 0 && c.Last >= 0),
			"%q: %+v", text, c)
	})
}

// A pipeWriter writes answers into a pipe. The reader of the pipe may stop.
type pipeWriter struct{ net.Conn }

func (pipeWriter) Header() http.Header { return http.Header{} }
func (pipeWriter) WriteHeader(int)     {}
func (pipeWriter) FlushError() error   { return nil }

// A reader that stops reading a capture is cut off, and its place is free again.
func TestCaptureOfAStoppedReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		server, client := net.Pipe()
		begun := time.Now()
		ended := make(chan time.Duration, 1)
		go func() {
			NewServer(f, start, 0).ServeHTTP(pipeWriter{server},
				httptest.NewRequest(http.MethodGet, "/v1/capture", nil))
			ended <- time.Since(begun)
		}()
		_, err := client.Read(make([]byte, 1))
		assert.True(t, err == nil, "%v", err)
		assert.Equal(t, <-ended, clientTimeout, "cut off after")
		assert.True(t, f.tap.Recorder() == nil, "the capture goes on in the data path")
		_ = client.Close()
	})
}

const keptFrames = 12_000

// readRing fills the ring of a switch that always captures, as capture.ring: on does, and reads it slowly. It returns
// what came and how long that took. begun is called when the capture has begun, with a way for the client to end it.
func readRing(t *testing.T, begun func(f *fake, end func())) (tally capture.Tally, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{keeps: true}
		f.tap.SetMemory(capture.MinMemory)
		keeper, err := f.tap.Attach(capture.Want{Ports: capture.AllPorts, Snap: capture.MaxSnap})
		assert.Must(t, err)
		t.Cleanup(keeper.Close)
		f.feed(t, 0, keptFrames)
		server, client := net.Pipe()
		ctx, end := context.WithCancel(t.Context())
		defer end()
		from := time.Now()
		go func() {
			r := httptest.NewRequest(http.MethodGet, "/v1/capture?last=1h", nil).WithContext(ctx)
			NewServer(f, start, 0).ServeHTTP(pipeWriter{server}, r)
			_ = server.Close()
		}()
		slow := &slowReader{Conn: client, begun: func() { begun(f, end) }}
		tally, err = capture.Copy(io.Discard, slow)
		assert.True(t, err == nil, "%v", err)
		took = time.Since(from)
	})
	return tally, took
}

// A slowReader takes 100 ms for each read of a pipe.
type slowReader struct {
	net.Conn
	reads int
	begun func() // is called after some reads
}

func (r *slowReader) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	if r.reads++; r.reads == 4 {
		r.begun()
	}
	time.Sleep(100 * time.Millisecond)
	return n, err
}

// What another capture has left is not what the ring would have kept.
func TestCaptureOfTheLastSecondsWithoutARing(t *testing.T) {
	f := &fake{}
	other := assert.Got(f.tap.Attach(capture.Want{Ports: capture.AllPorts, Snap: capture.MaxSnap})).Must(t)
	defer other.Close()
	w := httptest.NewRecorder()
	NewServer(f, start, 0).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/capture?last=1h", nil))
	assert.Equal(t, w.Code, http.StatusConflict, "status")
}

// A capture of a port goes on when the port gets another number.
func TestCaptureOfAPortThatMoves(t *testing.T) {
	_, tally := record(t, CaptureRequest{Ports: []string{"p2"}, Frames: 7}, func(f *fake) {
		f.tap.Describe(capture.Interface{Port: 1, Name: "p2"})
		f.feed(t, 0, 9)
		f.feed(t, 1, 4)
		f.moved.Store(true)
		f.tap.Describe(capture.Interface{Port: movedPort, Name: "p2"})
		r := f.tap.Recorder()
		labtest.Eventually(t, "the new number is captured", func() bool { return r.Wants(movedPort) })
		f.feed(t, movedPort, 3)
	})
	assert.Equal(t, tally, capture.Tally{Frames: 7}, "tally, want 4 frames by the old number and 3 by the new one")
}

// A slow reader of the ring gets all frames that the ring held, and none that came later.
func TestCaptureOfTheLastSecondsForASlowReader(t *testing.T) {
	tally, took := readRing(t, func(f *fake, _ func()) { f.feed(t, 0, 5000) })
	assert.True(t, tally == (capture.Tally{Frames: keptFrames}), "%+v, want %d frames", tally, keptFrames)
	assert.True(t, took >= 2*captureEnd, "the reader took only %v: it was not slow", took)
}

// Frames that are overwritten before a slow reader gets them are counted.
func TestCaptureOfTheLastSecondsIsOverwritten(t *testing.T) {
	tally, _ := readRing(t, func(f *fake, _ func()) { f.feed(t, 0, 5*keptFrames) })
	assert.True(t, tally.Frames+tally.Missing == keptFrames && tally.Frames != 0 && tally.Missing != 0,
		"%+v, want %d in all, some of them missing", tally, keptFrames)
}

// A slow client that ends its capture does not wait for the remaining frames: they are counted.
func TestCaptureThatASlowClientEnds(t *testing.T) {
	tally, took := readRing(t, func(f *fake, end func()) { end(); f.feed(t, 0, 5000) })
	assert.True(t, tally.Frames+tally.Missing == keptFrames && tally.Missing != 0,
		"%+v, want %d in all, some of them missing", tally, keptFrames)
	assert.True(t, took <= captureEnd+2*time.Second, "it took %v to end", took)
}

// A capture for a time has the frames of that time alone.
func TestCaptureForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		server, client := net.Pipe()
		begun := time.Now()
		go func() {
			NewServer(f, start, 0).ServeHTTP(pipeWriter{server},
				httptest.NewRequest(http.MethodGet, "/v1/capture?for=500ms", nil))
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
		took := time.Since(begun)
		assert.True(t, err == nil && took == 500*time.Millisecond, "it took %v, %v", took, err)
		assert.True(t, tally.Frames >= 160 && tally.Frames <= 170 && tally.Missing == 0,
			"%+v, want 166 frames or so", tally)
	})
}
