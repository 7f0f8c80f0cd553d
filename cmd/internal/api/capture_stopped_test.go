package api

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
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
		if took := <-ended; took != clientPatience {
			t.Errorf("cut off after %v, want %v", took, clientPatience)
		}
		if f.tap.Recorder() != nil {
			t.Error("the capture goes on in the data path")
		}
		_ = client.Close()
	})
}
