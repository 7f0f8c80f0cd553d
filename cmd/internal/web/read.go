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

// SwitchAt returns the switch at an address: host:port of its metrics, the path of its control socket, which has a
// slash, or the name of one that runs here.
func SwitchAt(address string) (Switch, error) {
	if strings.Contains(address, "://") {
		return Switch{}, fmt.Errorf("%q is a URL: write host:port alone, or the path of a control socket", address)
	}
	if address != "" && !strings.Contains(address, ":") {
		path, err := api.Find(address)
		if err != nil {
			return Switch{}, err
		}
		address = path
	}
	if strings.Contains(address, "/") {
		return newSwitch(strings.TrimSuffix(filepath.Base(address), ".sock"), "unix", address, "pfcswitch"), nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || !namesHost(host) || !namesPort(port) {
		return Switch{}, fmt.Errorf("%q is no switch: write host:port of its metrics, such as 192.0.2.7:9808, the "+
			"path of its control socket, or the name of one that runs here", address)
	}
	return newSwitch(address, "tcp", address, address), nil
}

func newSwitch(label, network, address, host string) Switch {
	return Switch{label, reader(network, address, host, "state", maxState, checkState),
		reader(network, address, host, "history", api.MaxAnswer,
			func(h *api.History) error { return checkSchema(h.Schema) })}
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

// maxState bounds the state of a switch, in bytes: enough for that of 256 ports.
const maxState = 8 << 20

// reader returns a function that reads a noun of the switch at an address, of so many bytes at most, without proxy and
// redirection.
func reader[T any](network, address, host, noun string, most int64, check func(*T) error) func(context.Context) (*T,
	error) {
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, address)
			}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context) (*T, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/v1/"+noun, nil)
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
		return decode(a.Body, most, check)
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

// decode reads an answer from an untrusted sender.
func decode[T any](r io.Reader, most int64, check func(*T) error) (*T, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return nil, plainError(err)
	case int64(len(b)) > most:
		return nil, errors.New("its answer is too long to be that of a switch")
	}
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, errNoSwitch
	}
	return v, check(v)
}

var errNoSwitch = errors.New("its answer is not the state of a switch")

func checkSchema(schema int) error {
	switch schema {
	case api.Schema:
		return nil
	case 0:
		return errNoSwitch
	}
	return fmt.Errorf("it speaks schema %d and this program schema %d", schema, api.Schema)
}

// checkState tells what is wrong with a state, or missing in it. Older switches have no History.
func checkState(s *api.State) error {
	if err := checkSchema(s.Schema); err != nil {
		return err
	}
	if s.Ports == nil || s.PFC == nil || s.Pools == nil || s.Buffer == nil || s.Queues == nil || s.Headroom == nil ||
		s.Watchdog == nil || s.LLDP == nil || s.Events == nil {
		return errors.New("its answer is not the whole state of a switch")
	}
	return nil
}
