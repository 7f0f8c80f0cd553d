package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/web"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/runner"
)

// What is no configuration is refused over the real socket with its place and what to do, and changes nothing.
func TestHostileApply(t *testing.T) {
	dir := t.TempDir()
	socket := dir + "/api.sock"
	text := header("test", socket) + "capture: {directory: " + dir + "}\nports: {}\n"
	c := parse(t, text)
	d, _ := run(t, c)
	server := web.NewLocalServer(api.NewServer(d.Source(), time.Now(), runner.Now()), discards)
	go func() { _ = server.Serve(d.controlListener) }()
	t.Cleanup(func() { _ = server.Close() })

	client := api.NewClient(socket)
	before := assert.Got(client.Show(context.Background(), "config")).Must(t)
	for _, tt := range []struct{ name, body, want string }{
		{"nothing of it is text", strings.Repeat("\x00", 1000),
			"x.yaml:1: byte 1 of the line is the control character 0x00"},
		{"half of it", text[:len(text)-12] + "\nports: {p1: {spe",
			"x.yaml:5: not YAML: ',' or '}' must be specified: correct the syntax here or in the line above"},
		{"another key", text + "prots: {}\n", "x.yaml:6: prots: unknown key: did you mean ports?"},
		{"longer than any", text + strings.Repeat("# x\n", 100_000),
			"x.yaml:1: the file is too long, a configuration has at most 262144 bytes: name another file"},
		{"much longer", strings.Repeat("x", 3<<20), "it has more than 1048576 bytes: send a configuration alone"},
		{"what only a restart can change", strings.Replace(text, "name: test", "name: other", 1),
			"x.yaml:1: name: other: cannot change while the switch runs (it is test): restart the switch, or keep " +
				"the value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := client.Apply(context.Background(), "x.yaml", []byte(tt.body), false)
			assert.Fails(t, err, tt.want, "error")
		})
	}
	after := assert.Got(client.Show(context.Background(), "config")).Must(t)
	assert.Equal(t, after.Text(), before.Text(), "the configuration has changed")
}
