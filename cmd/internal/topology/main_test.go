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

// readyKeeperVariable is set where this binary is a keeper that is ready when it is told to end: it says so in the file
// that it names.
const readyKeeperVariable = "PFCSWITCH_TEST_LATE_KEEPER"

func runReadyKeeper(ready string) (status int) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, unix.SIGTERM)
	if os.WriteFile(ready, nil, 0o600) != nil {
		return 1
	}
	<-told
	if json.NewEncoder(os.NewFile(answerFD, "answer")).Encode(answer{State: State{Schema: 1, Name: "late"}}) != nil ||
		os.WriteFile(ready+".ended", nil, 0o600) != nil {
		return 1
	}
	return 0
}
