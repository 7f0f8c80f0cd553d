package config

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"pfcswitch/dataplane/capture"
)

// Pause configures XOFF frames.
type Pause struct {
	Quanta    uint16 // pause time in units of 512 bit times, 1 to 65535; unused with Remaining
	Remaining bool   // the time that the free buffer lasts instead: free bits / 512
}

// Metrics is the HTTP endpoint: metrics and the page.
type Metrics struct {
	Listen    string   // host:port; empty: off
	WebConfig string   // file of exporter-toolkit: TLS, passwords; empty: plain HTTP
	Hosts     []string // names with a dot by which browsers may reach it, beside those that the machine knows
	Fixed     bool     // Listen stands on the command line, whatever a file says
}

// WithMetrics returns the configuration with the metrics address of the command line, or off.
func (c *Config) WithMetrics(listen string) (*Config, error) {
	address, err := orOff(listenAddress).read(listen)
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", listen, err)
	}
	return c.withMetrics(address), nil
}

// KeepMetrics returns the configuration with the metrics address of the one before, where the command line fixed that.
func (c *Config) KeepMetrics(before *Config) *Config {
	if !before.Metrics.Fixed {
		return c
	}
	return c.withMetrics(before.Metrics.Listen)
}

func (c *Config) withMetrics(listen string) *Config {
	fixed := *c
	fixed.Metrics.Listen, fixed.Metrics.Fixed = listen, true
	return &fixed
}

// API is the control socket.
type API struct {
	Socket string // absolute path
	Auto   bool   // Socket is the default; NAME.sock in $XDG_RUNTIME_DIR where that cannot be made
}

func (m *Metrics) fields() []field {
	return []field{
		key("listen", &m.Listen, orOff(listenAddress)),
		key("web_config", &m.WebConfig, orOff(webConfig)),
		entries("hosts", &m.Hosts, hostName, ""),
	}
}

// ParseMetrics makes the endpoint of a page that runs as its own program.
func ParseMetrics(listen, webConfig string, hosts []string) (*Metrics, error) {
	if _, err := listenAddress.read(listen); err != nil {
		return nil, fmt.Errorf("--listen %s: is not an address: write host:port, such as 127.0.0.1:9809", listen)
	}
	for _, name := range hosts {
		if _, err := hostName.read(name); err != nil {
			return nil, fmt.Errorf("--host %q: %w", name, err)
		}
	}
	return &Metrics{Listen: listen, WebConfig: webConfig, Hosts: hosts}, nil
}

// Reachable tells whether other machines reach the address.
func (m *Metrics) Reachable() bool {
	if m.Listen == "" {
		return false
	}
	host, _, err := net.SplitHostPort(m.Listen)
	if err != nil || host == "localhost" {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

func (c *Config) warnMetrics() []Warning {
	if c.Metrics.Reachable() && c.Metrics.WebConfig == "" {
		return []Warning{c.ExposedWarning()}
	}
	return nil
}

// ExposedWarning warns that other machines reach the metrics address without authentication. With a web_config only its
// reader can tell.
func (c *Config) ExposedWarning() Warning {
	return c.warning("metrics.listen",
		"%s: whoever reaches this address reads the state of the switch: write 127.0.0.1, or ask for passwords with "+
			"metrics.web_config", c.Metrics.Listen)
}

var (
	webConfig = textual(`^(/.*|off)$`, "is not a file: write an absolute path, such as /etc/pfcswitch/web.yml, or off",
		absolute).written(strconv.Quote)
	directory = textual(`^/`, "is not a folder: write an absolute path, such as /var/lib/pfcswitch",
		absolute).written(strconv.Quote)
	hostName = textual(nameForm, "is not the name of a host: write one such as leaf1.example.net, without port",
		func(text string) bool { return identifier(text, 253) }).written(strconv.Quote)
)

func absolute(text string) bool { return filepath.IsAbs(text) && len(text) <= 1024 && printable(text) }

var listenAddress = textual(`^(.*:[0-9]{1,5}|off)$`,
	`is not an address: write "host:port", such as "127.0.0.1:9808" or "[::1]:9808", or off`,
	func(text string) bool {
		host, port, err := net.SplitHostPort(text)
		number, numberErr := strconv.ParseUint(port, 10, 16)
		return err == nil && numberErr == nil && (number > 0 || port == "0") && printable(host) &&
			!strings.ContainsAny(host, " /")
	}).written(strconv.Quote)

// socketPath reads the path of a unix socket, whose address holds 107 bytes.
var socketPath = textual(`^/.*[^/]$`,
	"is not a socket: write an absolute path of at most 107 bytes, such as /run/pfcswitch/leaf1.sock",
	func(text string) bool {
		return absolute(text) && len(text) <= 107 && !strings.HasSuffix(text, "/")
	}).written(strconv.Quote)

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}

// Capture configures captures: the memory of all captures, and the recorder of the last seconds, which is written to a
// file when a lossless frame is lost.
type Capture struct {
	Ring      bool          // off: frames are captured only while a command asks for them
	Memory    int64         // bytes that captures take, all together
	Last      time.Duration // how much the file holds, as far as Memory reaches
	Snap      int           // octets of each frame in it
	Directory string        // absolute; where files are written. No command can name another
	Files     int           // most files; the oldest is replaced, but for the first of a run
}

func defaultCapture() Capture {
	return Capture{Memory: capture.DefaultMemory, Last: 5 * time.Second, Snap: 256, Directory: "/var/lib/pfcswitch",
		Files: 4}
}

func (c *Capture) fields() []field {
	return []field{
		key("ring", &c.Ring, toggle),
		key("memory", &c.Memory, size(capture.MinMemory, 1<<30)),
		key("last", &c.Last, duration(100*time.Millisecond, time.Hour)),
		key("snap", &c.Snap, number[int]("number of octets", 14, capture.MaxSnap)),
		key("directory", &c.Directory, directory),
		key("files", &c.Files, number[int]("number of files", 1, 1000)),
	}
}
