package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pfcswitch/dataplane/assert"
)

// Lines keep their order, attributes and time, and are all there once the journal is closed.
func TestJournalWritesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		j := newJournal(slog.NewTextHandler(&out, nil))
		log := slog.New(j)
		log.Debug("not asked for")
		want := ""
		for i := range 100 {
			log.With("port", i).WithGroup("g").Warn("line", "n", i)
			want += fmt.Sprintf("time=%s level=WARN msg=line port=%d g.n=%d\n",
				time.Now().Format("2006-01-02T15:04:05.000Z07:00"), i, i)
			time.Sleep(time.Millisecond)
		}
		j.close()
		assert.True(t, out.String() == want, "got\n%swant\n%s", out.String(), want)
	})
}

// heldLog takes nothing until it is freed.
type heldLog struct {
	slog.Handler
	freed chan struct{}
}

func (l heldLog) Handle(ctx context.Context, r slog.Record) error {
	<-l.freed
	return l.Handler.Handle(ctx, r)
}

// A log that takes nothing holds up nobody, not even the end; what did not fit is counted, in the log.
func TestJournalOfAHeldLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := heldLog{slog.NewTextHandler(&out, nil), make(chan struct{})}
		j := newJournal(l)
		log := slog.New(j)
		log.Info("first")
		synctest.Wait()
		for range journalLines + 7 {
			log.Info("more")
		}
		begun := time.Now()
		j.close()
		assert.Equal(t, time.Since(begun), journalTimeout, "the end waited for")
		close(l.freed)
		synctest.Wait()
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 1+1+journalLines || !strings.Contains(lines[1], "missing") ||
			!strings.Contains(lines[1], "lines=7") {
			t.Errorf("%d lines, the second: %s", len(lines), lines[1])
		}
	})
}
