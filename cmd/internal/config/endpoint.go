package config

import (
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// Pause is what XOFF frames carry.
type Pause struct {
	Quanta    uint16 // pause time in units of 512 bit times, 1 to 65535; unused with Remaining
	Remaining bool   // the time that the free buffer lasts instead: free bits / 512
}

// Metrics is the HTTP endpoint.
type Metrics struct {
	Listen string // host:port; empty: off
}

// API is the control socket.
type API struct {
	Socket string // absolute path
	Auto   bool   // Socket is the default; NAME.sock in $XDG_RUNTIME_DIR where that cannot be made
}

func (p *Pause) read(v value) {
	v.read(field{"quanta", func(v value) {
		if p.Remaining = v.is("remaining"); !p.Remaining {
			set(&p.Quanta, or(number[uint16]("number of quanta", 1, 65535), "remaining"))(v)
		}
	}})
}

func (m *Metrics) read(v value) { v.read(field{"listen", set(&m.Listen, listenAddress)}) }

func (a *API) read(v value) {
	v.read(field{"socket", func(v value) {
		if a.Auto = v.is("auto"); !a.Auto {
			set(&a.Socket, socketPath)(v)
		}
	}})
}

var listenAddress = matching(`^(.*:[0-9]{1,5}|off)$`, readListenAddress)

func readListenAddress(text string) (string, error) {
	if text == "off" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(text)
	number, numberErr := strconv.ParseUint(port, 10, 16)
	if err != nil || numberErr != nil || number == 0 && port != "0" || !printable(host) || strings.ContainsAny(host, " /") {
		return "", errors.New(`is not an address: write "host:port", such as "127.0.0.1:9808" or "[::1]:9808", or off`)
	}
	return text, nil
}

// socketPath checks a path for a unix socket, whose address holds 107 bytes.
var socketPath = matching(`^/.*[^/]$`, readSocketPath)

func readSocketPath(text string) (string, error) {
	if !filepath.IsAbs(text) || len(text) > 107 || !printable(text) || strings.HasSuffix(text, "/") {
		return "", errors.New("is not a socket: write an absolute path of at most 107 bytes, such as /run/pfcswitch/leaf1.sock")
	}
	return text, nil
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}
