package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// passwordHash is bcrypt of "secret" with the lowest cost.
const passwordHash = "$2a$04$6DtK3SCgCw9ZYvgCsvCbROYCOkTsuNqQDJoZsuMEp/ypyZGzPsg0K"

// certify writes a certificate for 127.0.0.1 and its key, and returns a pool that trusts the certificate.
func certify(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key := assert.Got(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)).Must(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true}
	der := assert.Got(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)).Must(t)
	raw := assert.Got(x509.MarshalPKCS8PrivateKey(key)).Must(t)
	assert.Must(t, os.WriteFile(filepath.Join(dir, "cert.pem"),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	assert.Must(t, os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY",
		Bytes: raw}),
		0o600))
	trust := x509.NewCertPool()
	certificate := assert.Got(x509.ParseCertificate(der)).Must(t)
	trust.AddCert(certificate)
	return trust
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// With a certificate and a password in the file, page, state, metrics and views need TLS and the password.
func TestTLSAndPassword(t *testing.T) {
	dir := t.TempDir()
	trust := certify(t, dir)
	file := writeFile(t, filepath.Join(dir, "web.yml"),
		"tls_server_config: {cert_file: cert.pem, key_file: key.pem}\nbasic_auth_users: {ann: "+passwordHash+"}\n")
	assert.Must(t, CheckSecurity(file))
	l := assert.Got(net.Listen("tcp", "127.0.0.1:0")).Must(t)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	s := NewServer(handler(t, Config{Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "pfcswitch_up 1\n")
	})}), log)
	ended := make(chan error, 1)
	go func() { ended <- Serve(s, l, file, log) }()
	defer func() { _, _ = s.Close(), <-ended }()

	client := &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	get := func(path, user, password string) (int, string) {
		r := assert.Got(http.NewRequest(http.MethodGet, "https://"+l.Addr().String()+path, nil)).Must(t)
		if user != "" {
			r.SetBasicAuth(user, password)
		}
		a := assert.Got(client.Do(r)).Must(t)
		defer func() { _ = a.Body.Close() }()
		b := make([]byte, 512)
		n, _ := io.ReadAtLeast(a.Body, b, 1)
		return a.StatusCode, string(b[:n])
	}
	for _, path := range []string{"/", "/page.js", "/v1/state", "/v1/view", "/metrics"} {
		for _, who := range [][2]string{{"", ""}, {"ann", "wrong"}, {"bob", "secret"}} {
			status, body := get(path, who[0], who[1])
			assert.True(t, status == http.StatusUnauthorized && !strings.Contains(body, "pfcswitch"),
				"%s as %q: status %d: %s", path, who, status, body)
		}
		status, body := get(path, "ann", "secret")
		assert.True(t, status == http.StatusOK && body != "", "%s with the password: status %d: %q", path, status, body)
	}
	plain := assert.Got((&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" +
		l.Addr().String() + "/metrics")).Must(t)
	defer func() { _ = plain.Body.Close() }()
	assert.Equal(t, plain.StatusCode, http.StatusBadRequest, "without TLS: status")
}

// The error of an unusable file has its name, what is wrong, and what to do.
func TestCheckSecurity(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ name, path, want string }{
		{"none", "", ""},
		{"missing", filepath.Join(dir, "no.yml"), "no such file or directory: name a file that exists"},
		{"a folder", dir, "is no file: name one in the format"},
		{"not YAML", writeFile(t, filepath.Join(dir, "a.yml"), "tls_server_config: ["), "correct it"},
		{"unknown key", writeFile(t, filepath.Join(dir, "b.yml"), "tls: {}"),
			": line 1: there is no such key: correct it"},
		{"another file, of secrets", writeFile(t, filepath.Join(dir, "g.yml"),
			"root:$6$hush:19000:0\nann:$6$hush:19001:0\n"), ": line 1: is not what stands in such a file: correct it"},
		{"another file, with keys", writeFile(t, filepath.Join(dir, "h.yml"), "# mine\nhush: hush\n"),
			": line 2: there is no such key: correct it"},
		{"another file, key twice", writeFile(t, filepath.Join(dir, "i.yml"), "hush: 1\nhush: 2\n"), "correct it"},
		{"another file, half", writeFile(t, filepath.Join(dir, "j.yml"), "a: *hush\n"), "correct it"},
		{"half a certificate", writeFile(t, filepath.Join(dir, "c.yml"), "tls_server_config: {cert_file: cert.pem}"),
			"key_file"},
		{"no certificate", writeFile(t, filepath.Join(dir, "d.yml"),
			"tls_server_config: {cert_file: cert.pem, key_file: key.pem}"),
			"cert.pem: no such file or directory: name a file"},
		{"not a hash", writeFile(t, filepath.Join(dir, "e.yml"), "basic_auth_users: {ann: secret}"), "correct it"},
		{"good", writeFile(t, filepath.Join(dir, "f.yml"), "basic_auth_users: {ann: "+passwordHash+"}"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckSecurity(tt.path)
			assert.True(t, (err == nil) == (tt.want == "") && (err == nil || (strings.Contains(err.Error(), tt.want) &&
				strings.Contains(err.Error(), tt.path))), "got %v\nwant %q, with the path", err, tt.want)
			assert.True(t, err == nil || !strings.Contains(err.Error(), "hush"),
				"it shows what stands in the file: %v", err)
		})
	}
}

// Only passwords and checked client certificates authenticate.
func TestReadSecurity(t *testing.T) {
	dir := t.TempDir()
	tls := "tls_server_config: {cert_file: cert.pem, key_file: key.pem"
	for _, tt := range []struct {
		text string
		want Security
	}{
		{"", Security{}},
		{"rate_limit: {interval: 1s, burst: 1}", Security{}},
		{"basic_auth_users: {}", Security{}},
		{"basic_auth_users: {ann: " + passwordHash + "}", Security{Authenticates: true}},
		{tls + "}", Security{TLS: true}},
		{tls + ", client_auth_type: RequireAnyClientCert, client_ca_file: ca.pem}", Security{TLS: true}},
		{tls + ", client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.pem}",
			Security{TLS: true, Authenticates: true}},
	} {
		got, err := ReadSecurity(writeFile(t, filepath.Join(dir, "web.yml"), tt.text))
		assert.True(t, err == nil && got == tt.want, "%q: %+v, %v, want %+v", tt.text, got, err, tt.want)
	}
	got, err := ReadSecurity("")
	assert.True(t, err == nil && got == (Security{}) && got.Scheme() == "http" &&
		(Security{TLS: true}).Scheme() == "https", "no file: %+v, %v", got, err)
}

// The log has the scheme of the page, and warns if others reach the page without authentication.
func TestLogOfPage(t *testing.T) {
	dir := t.TempDir()
	certify(t, dir)
	l := assert.Got(net.Listen("unix", filepath.Join(dir, "s1.sock"))).Must(t)
	defer func() { _ = l.Close() }()
	assert.Must(t, os.Symlink(filepath.Join(dir, "s1.sock"), filepath.Join(dir, "link.sock")))
	file := writeFile(t, filepath.Join(dir, "web.yml"), "tls_server_config: {cert_file: cert.pem, key_file: key.pem}")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	assert.Must(t, Run(ctx, Options{Listen: "127.0.0.1:0", Reachable: true, Security: file,
		Switches: []string{filepath.Join(dir, "link.sock")}, Log: slog.New(slog.NewTextHandler(&out, nil))}))
	got := out.String()
	assert.True(t, strings.Contains(got, "url=https://127.0.0.1:") &&
		strings.Contains(got, "level=WARN msg=\"whoever reaches"), "the log says\n%s", got)
}
