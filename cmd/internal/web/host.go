package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard lets requests through that were made to a name of this machine. A page of somebody else can make a browser believe
// that its own name leads here (DNS rebinding); the browser then still sends that name.
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
// DNS, or one of names. Programs that speak HTTP/1.0 send none.
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
