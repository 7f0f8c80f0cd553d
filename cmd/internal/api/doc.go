// Package api is the control socket of a switch: the answers of the read commands, and the way of apply and clear to
// the daemon.
//
//	Source → moment → Ports, PFC, … (one type for each noun) → JSON → unix socket → Client → JSON or Text
//
// Text is made from the JSON that -j prints, so a table never knows more than a script.
//
//	source.go     what the daemon provides
//	reply.go      the nouns; Header, which begins every answer of a switch; JSON; priorities
//	moment.go     one snapshot as this user sees it
//	baseline.go   counters since the user's last clear
//	ports.go      show ports          buffer.go   show buffer       events.go    show events, and the event stream
//	pfc.go        show pfc            queues.go   show queues       change.go    apply, clear, show config
//	fdb.go        show fdb            health.go   health, version   watchdog.go  show watchdog
//	headroom.go, headroom_text.go  show headroom                    lldp.go      show lldp
//	trunk.go      show trunk
//	recent.go     rates and shares of the last seconds, or of the time between two answers
//	views.go      tables in SONiC's words    filter.go   a selection of ports and priorities
//	table.go      columns of text, and numbers for people
//	state.go      the whole state, for the page and top
//	server.go     HTTP over the socket, its deadlines and errors
//	explain.go    explain: what becomes of a frame; explain_steps.go: its sentences
//	linkcheck.go, linkcheck_headroom.go, doctor.go  the answers of these commands
//	capture.go    capture: frames as a pcapng file
//	client.go     the command's end of the socket
//	socket.go     where the socket is, and who listens
//
// # JSON
//
// Every answer has "schema": 1. Keys may be added; no key is removed, renamed or given another type. Arrays are always
// arrays, never null. Numbers are in the unit that ends the key's name (_bytes, _ns, _bits_per_second); shares are from
// 0 to 1. Missing values are null. A priority is a number from 0 to 7. "all" stands for every priority of a port with
// 802.3x PAUSE, and "unknown" for frames that were lost before their headers were read.
package api
