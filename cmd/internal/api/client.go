package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/frame"
)

// A Client talks to a running switch.
type Client struct {
	socket   string
	http     http.Client
	patience time.Duration // with the end of a capture
}

// NewClient returns a client for the switch that listens on a socket.
func NewClient(socket string) *Client {
	return &Client{socket: socket, http: http.Client{Transport: transport(socket, func(net.Conn) {})},
		patience: 2 * captureEnd}
}

// transport returns the way to a socket. opened gets each connection.
func transport(socket string, opened func(net.Conn)) *http.Transport {
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		opened(conn)
		return conn, err
	}}
}

// Raw returns the JSON of a noun. since is the first event wanted, for events.
func (c *Client) Raw(ctx context.Context, noun string, since uint64) ([]byte, error) {
	path := "/v1/" + url.PathEscape(noun)
	if since > 0 {
		path += fmt.Sprintf("?since=%d", since)
	}
	a, err := c.open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }()
	return io.ReadAll(a)
}

// Show returns the answer to a noun.
func (c *Client) Show(ctx context.Context, noun string) (Reply, error) {
	b, err := c.Raw(ctx, noun, 0)
	if err != nil {
		return nil, err
	}
	return Parse(noun, b)
}

// Apply puts a configuration in force, or with dry only asks what that would change. name stands for the file in
// messages.
func (c *Client) Apply(ctx context.Context, name string, yaml []byte, dry bool) (*Applied, error) {
	path := "/v1/apply?name=" + url.QueryEscape(name)
	if dry {
		path += "&dry_run=1"
	}
	return post[Applied](ctx, c, path, yaml)
}

// Explain asks what would become of a frame.
func (c *Client) Explain(ctx context.Context, number int, q TraceRequest) (*Explanation, error) {
	path := fmt.Sprintf("/v1/explain?port=%s&number=%d", url.QueryEscape(q.Port), number)
	if q.Vnet != (frame.VnetHeader{}) {
		var v [frame.VnetHeaderOctets]byte
		q.Vnet.Encode(v[:])
		path += "&vnet=" + hex.EncodeToString(v[:])
	}
	return post[Explanation](ctx, c, path, q.Frame)
}

// Clear starts the user's counters or watermarks again.
func (c *Client) Clear(ctx context.Context, what string) error {
	_, err := post[Cleared](ctx, c, "/v1/clear/"+url.PathEscape(what), nil)
	return err
}

// Restart starts the switch again. It returns when the switch is about to end.
func (c *Client) Restart(ctx context.Context) error {
	_, err := post[Restarting](ctx, c, "/v1/restart", nil)
	return err
}

// post sends a request that does more than read, and decodes the answer.
func post[T any](ctx context.Context, c *Client, path string, body []byte) (*T, error) {
	a, err := c.open(ctx, http.MethodPost, path, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }()
	answer := new(T)
	if err := json.NewDecoder(a).Decode(answer); err != nil {
		return nil, fmt.Errorf("the switch's answer cannot be read: %w", err)
	}
	return answer, nil
}

// open sends a request and returns the body of the answer.
func (c *Client) open(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://pfcswitch"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	a, err := c.http.Do(r)
	if err != nil {
		return nil, c.noSwitch(err)
	}
	if a.StatusCode != http.StatusOK {
		defer func() { _ = a.Body.Close() }()
		return nil, readError(a)
	}
	return a.Body, nil
}

// Follow reads the state and then events from sequence number since on (nil: new ones). It calls see with each line,
// raw and decoded, until the stream ends, see returns an error, or ctx ends. The end of ctx is no error.
func (c *Client) Follow(ctx context.Context, since *uint64, see func(raw []byte, line *Line) error) error {
	path := "/v1/follow"
	if since != nil {
		path += fmt.Sprintf("?since=%d", *since)
	}
	a, err := c.open(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	lines := bufio.NewReader(a)
	for {
		raw, err := lines.ReadBytes('\n')
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("the switch has ended, or the connection to it: %w", err)
		}
		var line Line
		if err := json.Unmarshal(raw, &line); err != nil {
			return fmt.Errorf("the switch's answer cannot be read: %w", err)
		}
		if err := see(raw, &line); err != nil {
			return err
		}
		if line.Type == LineEnd {
			return errors.New(optionalText(line.Reason))
		}
	}
}

func (c *Client) noSwitch(err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the switch at %s takes questions and does not answer in time: it is stopped or hangs "+
			"(kill -CONT, or start it again): %w", c.socket, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("the switch at %s hung up before it answered: it ends, or gets no CPU (ask again): %w",
			c.socket, err)
	}
	return fmt.Errorf("%w at %s (%w): is it running, and may this user open its socket?", ErrNoSwitch, c.socket, err)
}

// Capture writes a capture to dst as pcapng, until the request is fulfilled or ctx ends. The file is always readable.
func (c *Client) Capture(ctx context.Context, request CaptureRequest, dst io.Writer) (capture.Tally, error) {
	// not ctx, since its end would close the connection before the end of the file
	connected, hangUp := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(connected, http.MethodGet,
		"http://pfcswitch/v1/capture?"+request.query().Encode(), nil)
	if err != nil {
		hangUp()
		return capture.Tally{}, err
	}
	var socket atomic.Pointer[net.UnixConn]
	var hung sync.WaitGroup
	hung.Go(func() { c.endOnCancel(ctx, connected.Done(), &socket, hangUp) })
	defer hung.Wait()
	defer hangUp()
	a, err := transport(c.socket, func(conn net.Conn) {
		if u, ok := conn.(*net.UnixConn); ok {
			socket.Store(u)
		}
	}).RoundTrip(r)
	if err != nil {
		if connected.Err() != nil || socket.Load() != nil && ctx.Err() != nil { // it did not answer until the end
			err = context.DeadlineExceeded
		}
		return capture.Tally{}, c.noSwitch(err)
	}
	defer func() { _ = a.Body.Close() }()
	if a.StatusCode != http.StatusOK {
		return capture.Tally{}, readError(a)
	}
	out := &errorWriter{Writer: dst}
	t, err := capture.Copy(out, a.Body)
	if err != nil && out.err == nil && ctx.Err() != nil {
		return t, nil // it was to end
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the switch has ended, or has cut off this capture, which stood still for %v: what came "+
			"before can be read: %w", clientTimeout, err)
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

// endOnCancel asks for the end of the file when ctx ends, and hangs up if that does not help. It returns when the
// connection has ended.
func (c *Client) endOnCancel(ctx context.Context, ended <-chan struct{}, socket *atomic.Pointer[net.UnixConn],
	hangUp func()) {
	select {
	case <-ctx.Done():
	case <-ended:
		return
	}
	if u := socket.Load(); u != nil {
		_ = u.CloseWrite()
	}
	select {
	case <-time.After(c.patience):
		hangUp()
	case <-ended:
	}
}
