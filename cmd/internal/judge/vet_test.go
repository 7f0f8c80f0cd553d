package judge

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The linter's govet runs what go vet runs, which is therefore not run beside it: it has every check of the go command
// in use.
func TestLintHasAllOfVet(t *testing.T) {
	config, err := os.ReadFile("../../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	enabled := regexp.MustCompile(`(?s)\n    govet:\n +disable-all: true\n +enable: \[(.*?)\]`).FindSubmatch(config)
	if enabled == nil {
		t.Fatal("the configuration has no list of govet's checks")
	}
	has := regexp.MustCompile(`\w+`).FindAllString(string(enabled[1]), -1)
	help, err := exec.Command("go", "tool", "vet", "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, registered, _ := strings.Cut(string(help), "Registered analyzers:\n")
	registered, _, _ = strings.Cut(registered, "By default")
	checks := regexp.MustCompile(`(?m)^    (\w+) `).FindAllStringSubmatch(registered, -1)
	if len(checks) < 30 {
		t.Fatalf("go vet names %d checks in:\n%s", len(checks), help)
	}
	for _, check := range checks {
		if !slices.Contains(has, check[1]) {
			t.Errorf("go vet's %s is not among govet's", check[1])
		}
	}
}
