package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"pfcswitch/cmd/internal/api"
)

// maxState bounds the state that is read from a switch, in bytes: enough for some 500 ports.
const maxState = 8 << 20

// SwitchAt returns the switch at an address: host:port of its metrics, or the path of its control socket, which has a
// slash.
func SwitchAt(address string) (Switch, error) {
	if strings.Contains(address, "://") {
		return Switch{}, fmt.Errorf("%q is a URL: write host:port alone, or the path of a control socket", address)
	}
	if strings.Contains(address, "/") {
		return Switch{Label: strings.TrimSuffix(filepath.Base(address), ".sock"),
			Read: reader("unix", address, "pfcswitch")}, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || !namesHost(host) || !namesPort(port) {
		return Switch{}, fmt.Errorf("%q is no switch: write host:port of its metrics, such as 192.0.2.7:9808, or the "+
			"path of its control socket", address)
	}
	return Switch{Label: address, Read: reader("tcp", address, address)}, nil
}

var hostname = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9.])?$`)

// namesHost tells whether a text can be the name or the address of a host.
func namesHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || hostname.MatchString(text)
}

func namesPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// reader returns a function that reads the state of the switch at an address, without proxy and redirection.
func reader(network, address, host string) func(context.Context) (*api.State, error) {
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context) (*api.State, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/v1/state", nil)
		if err != nil {
			return nil, err
		}
		a, err := client.Do(r)
		if err != nil {
			return nil, plainError(err)
		}
		defer func() { _ = a.Body.Close() }()
		if a.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("it answers %s", a.Status)
		}
		return decode(a.Body)
	}
}

// plainError words an error for people.
func plainError(err error) error {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return errors.New("it does not run")
	case errors.Is(err, syscall.EACCES):
		return errors.New("this user may not open its socket")
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return errors.New("it does not answer in time")
	}
	return err
}

// decode reads a state from an untrusted sender.
func decode(r io.Reader) (*api.State, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxState+1))
	switch {
	case err != nil:
		return nil, plainError(err)
	case len(b) > maxState:
		return nil, errors.New("its answer is too long to be the state of a switch")
	}
	s := new(api.State)
	if err := json.Unmarshal(b, s); err != nil || s.Schema == 0 {
		return nil, errors.New("its answer is not the state of a switch")
	}
	if s.Schema != api.Schema {
		return nil, fmt.Errorf("it speaks schema %d and this program schema %d", s.Schema, api.Schema)
	}
	if s.Ports == nil || s.PFC == nil || s.Pools == nil || s.Buffer == nil || s.Queues == nil || s.Headroom == nil ||
		s.Watchdog == nil || s.LLDP == nil || s.Events == nil {
		return nil, errors.New("its answer is not the whole state of a switch")
	}
	return s, nil
}
