package web

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"pfcswitch/dataplane/assert"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// deaf is a client that takes nothing of an answer for a while.
type deaf struct {
	*httptest.ResponseRecorder
	pause time.Duration
}

func (d deaf) Write(b []byte) (int, error) {
	time.Sleep(d.pause)
	return d.ResponseRecorder.Write(b)
}

// Clients who ask without end get a quarter of a CPU's time, one at a time; surplus ones are refused. Those that take
// nothing of their answers delay no others.
func TestPacedAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, span, work = 40, 10 * time.Second, 10 * time.Millisecond
		var mu sync.Mutex
		making, answered, refused := 0, 0, 0
		paced := newPacer().handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			making++
			assert.True(t, making <= 1, "two answers are made at once")
			mu.Unlock()
			time.Sleep(work)
			mu.Lock()
			making--
			mu.Unlock()
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte("body"))
		}))
		ask := func(pause time.Duration) {
			r := httptest.NewRecorder()
			paced.ServeHTTP(deaf{r, pause}, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case r.Code == http.StatusServiceUnavailable && r.Header().Get("Retry-After") != "":
				refused++
			case r.Code == http.StatusTeapot && r.Body.String() == "body":
				answered++
			default:
				t.Errorf("status %d, body %q", r.Code, r.Body)
			}
		}
		var all sync.WaitGroup
		for range maxWriters - maxMakers {
			all.Go(func() {
				time.Sleep(time.Duration(rand.IntN(int(time.Second))))
				ask(span)
			})
		}
		began := time.Now()
		for range clients {
			all.Go(func() {
				for time.Since(began) < span {
					ask(0)
					time.Sleep(time.Millisecond)
				}
			})
		}
		all.Wait()
		if most, least := int(span/(4*work))+maxMakers+1, int(span/(4*work))/2; answered > most || answered < least {
			t.Errorf("%d answers in %v, want %d to %d", answered, span, least, most)
		}
		assert.True(t, refused != 0, "none of %d clients was refused", clients)
	})
}
