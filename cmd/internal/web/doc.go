// Package web is the browser page of one or several switches. The page only reads: changes go over the control socket.
//
//	Switch.Read → View → JSON → server-sent events → static/page.js
//
//	handler.go   the paths, the headers of every answer, and the allowed host names
//	static/      the page: HTML, CSS and JavaScript: page.js, and its pictures: topology.js, history.js
//	poller.go    Poller: polls the switches while a browser watches, and sends Views as server-sent events
//	read.go      reads a switch over its control socket or its address
//	server.go    limits of time, size and connections
//	run.go       the page of several switches as its own program
//	secure.go    TLS and passwords, in the format of Prometheus' exporter-toolkit
//
// The switches are named at the start: no request can name another switch, or a file.
package web
