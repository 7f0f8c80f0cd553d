package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/runner"
)

// A CaptureRequest says what to capture.
type CaptureRequest struct {
	Ports  []string      // none: all, those too that come later
	Snap   int           // octets of each frame; 0: all
	Filter string        // classic BPF as "tcpdump -ddd" prints it; empty: every frame
	Frames uint64        // the capture ends after so many; 0: it does not
	For    time.Duration // it ends after this time; 0: it does not
	Last   time.Duration // instead of what comes: what the ring holds of this time; 0: what comes
}

const (
	capturePeriod = 20 * time.Millisecond // how often new frames are looked for
	capturePiece  = 64 << 10              // octets of one write
	captureEnd    = 2 * time.Second       // for the remaining frames after the client has ended it
	maxFilterText = 128 << 10
)

// query returns the request as the server reads it.
func (c *CaptureRequest) query() url.Values {
	q := url.Values{"port": c.Ports}
	for key, value := range map[string]any{"snap": c.Snap, "filter": c.Filter, "frames": c.Frames, "for": c.For,
		"last": c.Last} {
		if !reflect.ValueOf(value).IsZero() {
			q.Set(key, fmt.Sprint(value))
		}
	}
	return q
}

func parseCapture(q url.Values) (c CaptureRequest, err error) {
	for key := range q {
		if !strings.Contains(" port snap filter frames for last ", " "+key+" ") {
			return c, fmt.Errorf("%s: there is no such parameter: there are port, snap, filter, frames, for, last", key)
		}
	}
	c = CaptureRequest{Ports: q["port"], Filter: q.Get("filter"), Snap: capture.MaxSnap}
	if text := q.Get("snap"); text != "" {
		if c.Snap, err = strconv.Atoi(text); err != nil || c.Snap < 1 || c.Snap > capture.MaxSnap {
			return c, fmt.Errorf("snap=%s: is no number of octets: write 1 to %d", text, capture.MaxSnap)
		}
	}
	if text := q.Get("frames"); text != "" {
		if c.Frames, err = strconv.ParseUint(text, 10, 63); err != nil {
			return c, fmt.Errorf("frames=%s: is no number of frames", text)
		}
	}
	for key, d := range map[string]*time.Duration{"for": &c.For, "last": &c.Last} {
		if text := q.Get(key); text != "" {
			if *d, err = time.ParseDuration(text); err != nil || *d <= 0 {
				return c, fmt.Errorf("%s=%s: is no time: write one such as 10s", key, text)
			}
		}
	}
	if len(c.Filter) > maxFilterText {
		return c, errors.New("the filter is too long")
	}
	return c, nil
}

// capture answers with a pcapng file. The file ends when the request is fulfilled, or when the client closes its
// sending direction.
func (s *Server) capture(w http.ResponseWriter, r *http.Request) (any, error) {
	c, err := parseCapture(r.URL.Query())
	if err != nil {
		return nil, err
	}
	o, want, err := s.captureOptions(&c)
	if err != nil {
		return nil, err
	}
	if c.Last > 0 && !s.source.Keeps() { // another capture's frames are not what was asked for
		return nil, withStatus(http.StatusConflict,
			errors.New("nothing was kept: capture.ring is off in the configuration"))
	}
	cursor, err := s.source.Tap().Attach(want)
	if err != nil {
		return nil, withStatus(http.StatusServiceUnavailable, err)
	}
	defer cursor.Close()
	o.Wall = time.Now().UnixNano() - runner.Now()
	a := captureReply{w: w, cursor: cursor, from: runner.Now(), find: func() capture.Ports { return s.find(c.Ports) }}
	if c.Last > 0 {
		oldest := cursor.Rewind()
		a.stop()
		o.Since = a.from - int64(c.Last)
		a.from = max(o.Since, oldest) // the ring may be too small for all of it
	}
	a.stream = capture.NewStream(cursor, o)
	clearDeadlines(w)
	w.Header().Set("Content-Type", "application/x-pcapng")
	a.run(r.Context(), c.For)
	return nil, nil
}

func (s *Server) captureOptions(c *CaptureRequest) (o capture.Options, want capture.Want, err error) {
	want = capture.Want{Ports: capture.AllPorts, Snap: c.Snap}
	if len(c.Ports) > 0 {
		want.Ports = capture.Ports{}
		for _, name := range c.Ports {
			n, err := s.portNumber(name)
			if err != nil {
				return o, want, err
			}
			want.Ports.Add(n)
		}
	}
	o = capture.Options{Ports: c.Ports, Snap: c.Snap, Frames: c.Frames, Interfaces: s.source.Interfaces,
		Program: "pfcswitch " + ThisVersion().Version, Comment: "switch " + s.source.Name()}
	if c.Filter != "" {
		if o.Filter, err = capture.ParseFilter(c.Filter); err != nil {
			return o, want, err
		}
		want.Snap = max(want.Snap, capture.FilterOctets)
	}
	return o, want, nil
}

func (s *Server) portNumber(name string) (int, error) {
	all := s.source.Interfaces(nil)
	if i := slices.IndexFunc(all, func(i capture.Interface) bool { return i.Name == name }); i >= 0 {
		return all[i].Port, nil
	}
	return 0, &NoPortError{name, each(all, func(i *capture.Interface) string { return i.Name })}
}

// find returns the ports that have these names now; no names mean all ports.
func (s *Server) find(names []string) (found capture.Ports) {
	if len(names) == 0 {
		return capture.AllPorts
	}
	for _, i := range s.source.Interfaces(nil) {
		if slices.Contains(names, i.Name) {
			found.Add(i.Port)
		}
	}
	return found
}

type captureReply struct {
	w        http.ResponseWriter
	find     func() capture.Ports // the wanted ports, which get other numbers with other interfaces
	found    time.Time            // when they were looked for
	cursor   *capture.Cursor
	stream   *capture.Stream
	from, to int64 // of the switch's clock; to is 0 until it is known
}

// stop ends the capture with the frames that have come until now.
func (a *captureReply) stop() {
	if a.to == 0 {
		a.cursor.Stop()
		a.to = runner.Now()
	}
}

// follow looks for the ports from time to time. What came by an old number is still wanted.
func (a *captureReply) follow() {
	if now := time.Now(); a.to == 0 && now.Sub(a.found) >= capturePeriod {
		a.found = now
		a.cursor.AddPorts(a.find())
	}
}

// run writes the file until it is complete: after the time lasts, if that is not 0, or when the client ends it.
func (a *captureReply) run(client context.Context, lasts time.Duration) {
	ctx := client
	if lasts > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(client, lasts)
		defer cancel()
	}
	look := time.NewTicker(capturePeriod)
	defer look.Stop()
	var cut time.Time // when what is left is given up
	b := a.stream.Begin(nil)
	for more := a.to != 0; a.write(b); {
		if !more {
			select {
			case <-ctx.Done():
			case <-look.C:
			}
		}
		a.follow()
		if ctx.Err() != nil {
			a.stop()
		}
		switch {
		case client.Err() == nil:
		case cut.IsZero():
			cut = time.Now().Add(captureEnd)
		case time.Now().After(cut):
			a.cursor.Abandon()
		}
		b, more = a.stream.Append(b[:0], capturePiece)
		if a.stream.Done() || a.to != 0 && !more {
			_ = a.write(a.stream.End(b, a.from, cmp.Or(a.to, runner.Now())))
			return
		}
	}
}

// write sends a piece and reports whether the client has taken it.
func (a *captureReply) write(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	setWriteDeadline(a.w) // of this piece: a reader that stands still must not keep a place that others may want
	_, err := a.w.Write(b)
	return err == nil && http.NewResponseController(a.w).Flush() == nil
}
