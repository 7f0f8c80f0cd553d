package port

import (
	"os/exec"
	"testing"
)

// Whatever a name holds, the shell takes it for one word.
func TestCommandIn(t *testing.T) {
	for _, text := range []string{"eth0", "a b", "it's", "$(id)", "", "a;b", "/run/netns/x-1"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+ShellWord(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q became %q, %v", text, out, err)
		}
	}
	for netns, want := range map[string]string{"": "x", "h": "nsenter --net=/run/netns/h x", "pid:7": "nsenter --net=/proc/7/ns/net x", "/a/b": "nsenter --net=/a/b x"} {
		if got := CommandIn(netns, "x"); got != want {
			t.Errorf("in %q: %s, want %s", netns, got, want)
		}
	}
	if got, want := CommandIn("h", "a && b"), "nsenter --net=/run/netns/h sh -c 'a && b'"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
