package web

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	toolkit "github.com/prometheus/exporter-toolkit/web"
)

// Serve serves until the server is closed. A file, of the format of Prometheus' exporter-toolkit, says who may connect and
// by which certificate; "" is plain HTTP for everybody. The file's passwords and certificates are read anew when they change.
func Serve(s *http.Server, l net.Listener, file string, log *slog.Logger) error {
	if file == "" {
		return s.Serve(l)
	}
	return toolkit.Serve(l, s, &toolkit.FlagConfig{WebConfigFile: &file}, log)
}

// CheckSecurity says what is wrong with such a file, or with those that it names, and what to do.
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
		return fmt.Errorf("%s: %w: %s", file, err, remedy(err))
	}
	return nil
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
