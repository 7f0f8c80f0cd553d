// Package web is the page of a switch, or of several, for people with a browser. It only reads: whatever changes a switch
// goes over its control socket.
//
//	Switch.Read → View → JSON → server-sent events → static/page.js
//
//	handler.go      what is served at the address, and the headers of every answer
//	static/         the page: HTML, CSS and JavaScript as they are, from no other place
//	poller.go       Poller: looks at the switches while somebody watches; View, which it makes
//	stream.go       the views as server-sent events
//	read.go         a switch that is read over its control socket or its address
//	host.go         names that a request may be made to
//	server.go       limits of time and size; connections.go: of the number of connections
//	run.go          the page of several switches, as a program of its own
//	secure.go       TLS and passwords, as the file of Prometheus' exporter-toolkit says
//
// The page is told only of switches that were named at the start: no request can name another, or a file.
package web
