package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard accepts only requests to a name of this machine. With DNS rebinding, a foreign page makes a browser send its
// own name to this address.
func guard(names []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowed(r.Host, names) {
			http.Error(w, fmt.Sprintf("%q is no name of this switch: use its address, or add the name to metrics.hosts", r.Host), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// allowed tells whether a Host header is harmless: an address, a name without a dot, which nobody can own in the public
// DNS, or one of names. HTTP/1.0 clients send none.
func allowed(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") || slices.Contains(names, host)
}
