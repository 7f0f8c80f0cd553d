package web

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// A process that comes late to a request, or to its answer, finds its deadlines over. That ends neither: only a client
// that sends nothing, or does not read, is cut off.
func TestDeadlinesAreForTheClient(t *testing.T) {
	l := assert.Got(net.Listen("unix", filepath.Join(t.TempDir(), "s.sock"))).Must(t)
	defer l.Close()
	client := dial(t, l.Addr().String())
	server := assert.Got(fairListener{l}.Accept()).Must(t)
	defer server.Close()
	assert.Must(t, server.SetDeadline(time.Now().Add(-time.Minute)))
	b := make([]byte, 100)

	if n, err := server.Read(b); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("nothing was sent: %d octets, %v", n, err)
	}
	assert.Got(io.WriteString(client, "question")).Must(t)
	n, err := server.Read(b)
	assert.NoError(t, err, "read a question")
	assert.Equal(t, string(b[:n]), "question", "read")

	n, err = io.WriteString(server, "answer")
	assert.NoError(t, err, "write an answer")
	assert.Equal(t, n, len("answer"), "octets written")
	n, err = client.Read(b)
	assert.NoError(t, err, "read an answer")
	assert.Equal(t, string(b[:n]), "answer", "read")

	n, err = server.Write(make([]byte, 16<<20))
	assert.True(t, n != 0 && n != 16<<20 && errors.Is(err, os.ErrDeadlineExceeded),
		"the client does not read: %d octets written, %v", n, err)
	assert.Must(t, client.Close())
	_, err = server.Read(b)
	assert.True(t, err != nil && !errors.Is(err, os.ErrDeadlineExceeded), "the client is gone: %v", err)
}

// A fault of a handler is no secret, and half of an answer does not look like a whole one.
func TestPanicIsTold(t *testing.T) {
	var said bytes.Buffer
	s := httptest.NewServer(NewLocalServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic("no such port")
	}), slog.New(slog.NewTextHandler(&said, nil))).Handler)
	answer := assert.Got(http.Get(s.URL + "/v1/ports")).Must(t)
	got, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	s.Close()
	text := said.String()
	assert.True(t, err != nil && string(got) == "half", "got %q, %v", got, err)
	assert.True(t, strings.Contains(text, "level=ERROR") && strings.Contains(text, "/v1/ports") &&
		strings.Contains(text, "no such port"), "told: %s", text)
}
