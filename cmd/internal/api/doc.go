// Package api is the control socket of a switch: the answers of the read commands, and the way of apply and clear to
// the daemon.
//
//	Source → moment → Ports, PFC, … (one type for each noun) → JSON → unix socket → Client → JSON or Text
//
// Text is made from the JSON that -j prints, so a table never knows more than a script.
//
//	source.go, moment.go, baseline.go  what the daemon provides, as this user sees it: since the last clear
//	reply.go, table.go                 the nouns, the header of every answer, JSON; columns of text
//	ports.go, pfc.go, buffer.go, …     one noun each; change.go also has apply and clear, events.go the event stream
//	recent.go, history.go              rates of the last seconds, and what the last five minutes were like
//	filter.go, views.go                a selection of ports; tables in SONiC's words
//	explain.go, explain_steps.go       what becomes of a frame, in sentences
//	linkcheck.go, linkcheck_headroom.go, doctor.go, capture.go  the answers of these commands
//	server.go, client.go, socket.go    both ends of the socket, and where it is
//
// # JSON
//
// README.md has the rules of all answers. Numbers are in the unit that ends the key's name; shares are from 0 to 1.
package api
