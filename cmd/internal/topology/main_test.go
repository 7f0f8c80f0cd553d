package topology

import (
	"encoding/json"
	"os"
	"os/signal"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	if ready := os.Getenv(readyKeeperVariable); ready != "" {
		os.Exit(runReadyKeeper(ready))
	}
	labtest.Main(m)
}

// readyKeeperVariable makes this binary a keeper that is ready just when a signal ends it. The value is the file in
// which the keeper reports that it runs.
const readyKeeperVariable = "PFCSWITCH_TEST_LATE_KEEPER"

func runReadyKeeper(ready string) (status int) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGTERM)
	if os.WriteFile(ready, nil, 0o600) != nil {
		return 1
	}
	<-ended
	if json.NewEncoder(os.NewFile(answerFD, "answer")).Encode(answer{State: State{Schema: 1, Name: "late"}}) != nil ||
		os.WriteFile(ready+".ended", nil, 0o600) != nil {
		return 1
	}
	return 0
}
