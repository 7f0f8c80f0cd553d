package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/capture"
)

// A CaptureRequest says what a capture shows.
type CaptureRequest struct {
	Ports  []string      // none: all, those too that come later
	Snap   int           // octets of each frame; 0: all
	Filter string        // classic BPF as "tcpdump -ddd" prints it; empty: every frame
	Frames uint64        // the capture ends after so many; 0: it does not
	For    time.Duration // it ends after this time; 0: it does not
	Last   time.Duration // instead of what comes: what the ring holds of this time; 0: what comes
}

const (
	capturePeriod = 20 * time.Millisecond // between two looks at what has come
	capturePiece  = 64 << 10              // octets of one write
	captureEnd    = 2 * time.Second       // for what is left at the end
	maxFilterText = 128 << 10
)

// query returns the request as the server reads it.
func (c *CaptureRequest) query() url.Values {
	q := url.Values{"port": c.Ports}
	set := func(key string, there bool, value string) {
		if there {
			q.Set(key, value)
		}
	}
	set("snap", c.Snap > 0, strconv.Itoa(c.Snap))
	set("filter", c.Filter != "", c.Filter)
	set("frames", c.Frames > 0, strconv.FormatUint(c.Frames, 10))
	set("for", c.For > 0, c.For.String())
	set("last", c.Last > 0, c.Last.String())
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

// capture answers with a pcapng file that goes on until it has what was asked for, or the client ends it: one that closes
// its sending direction gets a proper end of the file.
func (s *Server) capture(w http.ResponseWriter, r *http.Request) {
	c, err := parseCapture(r.URL.Query())
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	o, want, err := s.captureOptions(&c)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	if c.Last > 0 && s.source.Tap().Recorder() == nil {
		refuse(w, http.StatusConflict, errors.New("nothing was kept: capture.ring is off in the configuration"))
		return
	}
	cursor, err := s.source.Tap().Attach(want)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	defer cursor.Close()
	from := dataplane.Now()
	if c.Last > 0 {
		cursor.Rewind()
		o.Since, o.Until = from-int64(c.Last), from
	}
	o.Wall = time.Now().UnixNano() - dataplane.Now()
	takeTime(w)
	w.Header().Set("Content-Type", "application/x-pcapng")
	stream(r.Context(), w, capture.NewStream(cursor, o), &c, from)
}

// captureOptions translates a request.
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
	o = capture.Options{Snap: c.Snap, Frames: c.Frames, Interfaces: s.source.Interfaces, Program: "pfcswitch " + ThisVersion().Version,
		Comment: "switch " + s.source.Name()}
	if c.Filter != "" {
		if o.Filter, err = capture.ParseFilter(c.Filter); err != nil {
			return o, want, err
		}
		want.Snap = max(want.Snap, capture.FilterOctets)
	}
	return o, want, nil
}

func (s *Server) portNumber(name string) (int, error) {
	var names []string
	for _, i := range s.source.Interfaces(nil) {
		if i.Name == name {
			return i.Port, nil
		}
		names = append(names, i.Name)
	}
	return 0, fmt.Errorf("there is no port %s: there are %s", name, strings.Join(names, ", "))
}

// stream writes a file until it is complete.
func stream(ctx context.Context, w http.ResponseWriter, s *capture.Stream, c *CaptureRequest, from int64) {
	out := http.NewResponseController(w)
	write := func(b []byte) bool {
		if len(b) == 0 {
			return true
		}
		expectTaken(w) // of this piece: a reader that stands still must not keep a place that others may want
		_, err := w.Write(b)
		return err == nil && out.Flush() == nil // a client that is gone needs no answer
	}
	if c.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.For)
		defer cancel()
	}
	look := time.NewTicker(capturePeriod)
	defer look.Stop()
	b := s.Begin(nil)
	ended, last := c.Last > 0, time.Now().Add(captureEnd)
	for more := false; write(b); {
		b, more = s.Append(b[:0], capturePiece)
		switch {
		case s.Done(), ended && !more, ended && time.Now().After(last):
			_ = write(s.End(b, from, dataplane.Now()))
			return
		case more || ended:
			continue
		}
		select {
		case <-ctx.Done():
			ended, last = true, time.Now().Add(captureEnd)
		case <-look.C:
		}
	}
}
