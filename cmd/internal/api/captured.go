package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"pfcswitch/dataplane/capture"
)

// Capture writes a capture to dst as pcapng, until the request is fulfilled or ctx ends. The file is readable however
// the capture ends.
func (c *Client) Capture(ctx context.Context, request CaptureRequest, dst io.Writer) (capture.Tally, error) {
	var socket net.Conn
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var err error
		socket, err = new(net.Dialer).DialContext(ctx, "unix", c.socket)
		return socket, err
	}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequest(http.MethodGet, "http://pfcswitch/v1/capture?"+request.query().Encode(), nil)
	if err != nil {
		return capture.Tally{}, err
	}
	a, err := transport.RoundTrip(r)
	if err != nil {
		return capture.Tally{}, c.noSwitch(err)
	}
	defer func() { _ = a.Body.Close() }()
	if a.StatusCode != http.StatusOK {
		return capture.Tally{}, readError(a)
	}
	ended := make(chan struct{})
	var hung sync.WaitGroup
	hung.Go(func() { closeOnCancel(ctx, ended, socket) })
	out := &errorWriter{Writer: dst}
	t, err := capture.Copy(out, a.Body)
	close(ended)
	hung.Wait()
	if err != nil && out.err == nil && ctx.Err() != nil {
		return t, nil // it was to end
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the switch has ended, or has cut off this capture, which stood still for %v: what came before can be read: %w", clientTimeout, err)
	}
	return t, err
}

// An errorWriter remembers the error of its writer.
type errorWriter struct {
	io.Writer
	err error
}

// Write implements io.Writer.
func (w *errorWriter) Write(b []byte) (n int, err error) {
	n, err = w.Writer.Write(b)
	if err != nil {
		w.err = err
	}
	return n, err
}

// closeOnCancel asks for the end of the file when ctx ends, and closes the socket if that does not help.
func closeOnCancel(ctx context.Context, ended <-chan struct{}, socket net.Conn) {
	select {
	case <-ctx.Done():
	case <-ended:
		return
	}
	if u, ok := socket.(*net.UnixConn); ok {
		_ = u.CloseWrite()
	}
	select {
	case <-time.After(2 * captureEnd):
		_ = socket.Close()
	case <-ended:
	}
}
