package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/capture"
	"testing"
)

// portless is a switch without ports, which has events all the same.
type portless struct{ *fake }

func (portless) Events(since uint64) []dataplane.Event { return new(fake).Events(since) }
func (portless) NextEvent() uint64                     { return new(fake).NextEvent() }

// gone is the context of a client that is gone: streams end at once.
var gone = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// wantAnswer asks a server by a number that stands for a method.
func wantAnswer(t testing.TB, s *Server, method uint8, address string, body []byte) {
	u, err := url.ParseRequestURI(address)
	if err != nil {
		return
	}
	methods := []string{http.MethodGet, http.MethodPost, http.MethodHead, http.MethodDelete}
	r := (&http.Request{Method: methods[method%4], URL: u, Body: io.NopCloser(bytes.NewReader(body))}).
		WithContext(gone)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Header().Get("Content-Type") == "application/x-pcapng" {
		return
	}
	for all := json.NewDecoder(w.Body); all.More(); {
		var answer errorReply
		if err := all.Decode(&answer); err != nil || answer.Schema != Schema ||
			(answer.Error == "") != (w.Code == http.StatusOK) {
			t.Fatalf("%s %q: status %d, %v, %+v", r.Method, address, w.Code, err, answer)
		}
	}
}

// Whatever is asked, an answer is JSON of this schema, and says with every other status what is wrong. What ports tell
// takes long to write and depends on no request: few of those asked of a switch with ports are enough.
func FuzzRequest(f *testing.F) {
	server := func(source Source) *Server {
		keeps := assert.Got(source.Tap().Attach(capture.Want{})).Must(f) // each capture would make a ring of its own
		f.Cleanup(keeps.Close)
		return NewServer(source, start, 0)
	}
	withPorts, without := server(&fake{}), server(portless{&fake{empty: true}})
	for _, seed := range []struct {
		method uint8
		url    string
		body   string
	}{
		{0, "/v1/ports", ""}, {0, "/v1/events?since=3", ""}, {0, "/v1/state", ""}, {0, "/v1/follow?since=-1", ""},
		{1, "/v1/explain?port=p1&number=2&vnet=00000000000000000000", "\x02\x00\x00\x00\x00\x02"},
		{1, "/v1/explain?vnet=1", ""}, {1, "/v1/apply?name=x", "name: s1"}, {1, "/v1/apply", "bad"},
		{1, "/v1/clear/counters", ""}, {1, "/v1/clear/%2e%2e", ""},
		{1, "/v1/linkcheck/headroom?port=p1&priority=3&xoffs=9", ""}, {0, "/v1/capture?snap=7&for=1s", ""},
		{2, "/v1//ports", ""}, {3, "/", ""},
	} {
		wantAnswer(f, withPorts, seed.method, seed.url, []byte(seed.body))
		f.Add(seed.method, seed.url, []byte(seed.body))
	}
	f.Fuzz(func(t *testing.T, method uint8, address string, body []byte) {
		s := without
		if method >= 240 { // few of those that mutation makes
			s = withPorts
		}
		wantAnswer(t, s, method, address, body)
	})
}

// Whatever a switch answers to an action, it is refused, or has a text.
func FuzzAnswer(f *testing.F) {
	dropped := sampleTraces()["down"]
	for _, answer := range []any{sampleCheck(), Explanation{Frames: []ExplainedFrame{Explain(1, &dropped)}},
		errorReply{Schema, "no"}} {
		text := assert.Got(json.Marshal(answer)).Must(f)
		f.Add(text)
	}
	f.Add([]byte(`{"frames":[{"verdict":"dropped"}],"after_xoff_bytes":[-9]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var check HeadroomCheck
		assert.True(t, json.Unmarshal(b, &check) != nil || check.Text() != "", "a check without a text")
		var explained Explanation
		if json.Unmarshal(b, &explained) == nil {
			_ = explained.Text()
		}
		bad := &http.Response{Status: "409 Conflict", Body: io.NopCloser(bytes.NewReader(b))}
		err := readError(bad)
		assert.True(t, err != nil && err.Error() != "", "%q is no error: %v", b, err)
	})
}
