package web

import (
	"net"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// The file of passwords and certificates is read or refused, and no error tells what stands in it.
func FuzzReadSecurity(f *testing.F) {
	const secret = "hunter2hunter2"
	f.Add("basic_auth_users: {a: ", "}")
	f.Add("tls_server_config:\n  cert_file: ", "")
	f.Add("- ", ": x")
	f.Add("a: *", "")
	f.Add("\t", "\n%")
	f.Fuzz(func(t *testing.T, before, behind string) {
		_, err := parseSecurity("web.yaml", []byte(before+secret+behind))
		assert.True(t, err == nil || !strings.Contains(err.Error(), secret), "%q and %q: %v", before, behind, err)
	})
}

// A Host header that is a name in the public DNS is refused, unless it is a name of this machine.
func FuzzHost(f *testing.F) {
	for _, host := range []string{"", "s1", "s1:9100", "127.0.0.1:9100", "[::1]:9100", "evil.example",
		"evil.example.:80", "1.2.3.4.evil.example", "a.localhost", "[evil.example]"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if !allowed(host, nil) {
			return
		}
		name := host
		if before, _, err := net.SplitHostPort(host); err == nil {
			name = before
		}
		name = strings.ToLower(strings.TrimSuffix(name, "."))
		i := strings.LastIndexByte(name, '.')
		top := name[i+1:]
		assert.True(t, i < 0 || len(top) <= 1 || top == "localhost" || strings.Contains(name, "%") ||
			strings.Trim(top, "abcdefghijklmnopqrstuvwxyz") != "", "%q is allowed", host)
	})
}
