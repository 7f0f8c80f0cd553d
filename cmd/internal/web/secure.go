package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"

	toolkit "github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v2"
)

// Serve serves until the server is closed. A file in the format of Prometheus' exporter-toolkit configures TLS and
// passwords; "" is plain HTTP for everybody. Changes of passwords and certificates take effect at once.
func Serve(s *http.Server, l net.Listener, file string, log *slog.Logger) error {
	l = fairListener{l}
	if file == "" {
		return s.Serve(l)
	}
	return toolkit.Serve(l, s, &toolkit.FlagConfig{WebConfigFile: &file}, log)
}

// CheckSecurity checks such a file and the files that it names, and says what to do about a fault.
func CheckSecurity(file string) error {
	if file == "" {
		return nil
	}
	if info, err := os.Stat(file); err != nil {
		return fmt.Errorf("%w: %s", err, remedy(err))
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: is no file: name one in the format of Prometheus' exporter-toolkit", file)
	}
	if err := toolkit.Validate(file); err != nil {
		return fmt.Errorf("%s: %w: %s", file, redact(err), remedy(err))
	}
	return nil
}

// Security is what such a file asks for.
type Security struct {
	TLS           bool
	Authenticates bool // nobody gets an answer without a password, or a certificate that is known
}

// Scheme is the scheme of the address.
func (s Security) Scheme() string {
	if s.TLS {
		return "https"
	}
	return "http"
}

// ReadSecurity reads a file that CheckSecurity has accepted.
func ReadSecurity(file string) (s Security, err error) {
	if file == "" {
		return s, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return s, fmt.Errorf("%w: %s", err, remedy(err))
	}
	return parseSecurity(file, b)
}

// parseSecurity reads the content of the file.
func parseSecurity(file string, b []byte) (s Security, err error) {
	var c toolkit.Config
	if err := yaml.UnmarshalStrict(b, &c); err != nil {
		return s, fmt.Errorf("%s: %w: %s", file, redact(err), remedy(err))
	}
	s.TLS = c.TLSConfig.IsEnabled()
	s.Authenticates = len(c.Users) > 0 || c.TLSConfig.ClientAuth == "RequireAndVerifyClientCert"
	return s, nil
}

var lineNumber = regexp.MustCompile(`line \d+: `)

// redact removes the content of the file from an error: the file may be a wrong one, full of secrets.
func redact(err error) error {
	text := err.Error()
	if !strings.HasPrefix(text, "yaml: ") {
		return err
	}
	at := lineNumber.FindString(text) // the first
	if strings.Contains(text, " not found in type ") {
		return errors.New(at + "there is no such key")
	}
	return errors.New(at + "is not what stands in such a file")
}

func remedy(err error) string {
	text := err.Error() // exporter-toolkit does not wrap
	switch {
	case strings.Contains(text, syscall.ENOENT.Error()):
		return "name a file that exists; paths in it begin at its own folder"
	case strings.Contains(text, syscall.EACCES.Error()):
		return "let the switch's user read it"
	}
	return "correct it (github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md)"
}
