// Package api is the control socket of a switch: what the read commands show, and how apply and clear reach the daemon.
//
//	Source → moment → Ports, PFC, … (one type for each noun) → JSON → unix socket → Client → JSON or Text
//
// Text is made from the same JSON that -j prints, so that a table never knows more than a script.
//
//	source.go     what the daemon provides
//	reply.go      the nouns; Header, which every answer about the switch begins with
//	moment.go     one snapshot as this user sees it
//	baseline.go   counters since the user's last clear
//	ports.go      show ports          buffer.go   show buffer       events.go    show events
//	pfc.go        show pfc            queues.go   show queues       config.go    show config
//	fdb.go        show fdb            health.go   health            version.go   version
//	headroom.go   show headroom       lldp.go     show lldp         watchdog.go  show watchdog
//	trunk.go      show trunk
//	recent.go     rates and shares of the last seconds; watch.go: of the time between two answers
//	views.go      tables in SONiC's words    filter.go   some ports and priorities only
//	follow.go     the stream of events
//	encode.go     JSON without a null array
//	priority.go   a priority, "all" or "unknown"
//	table.go      columns of text     format.go   numbers for people
//	state.go      all that a page, and top, show
//	server.go     HTTP over the socket
//	deadline.go   how long a client may take
//	change.go     apply and clear
//	explain.go    explain: what would become of a frame; explain_steps.go: its sentences
//	linkcheck.go, linkcheck_headroom.go, doctor.go  what these commands print
//	peer.go       which process listens
//	capture.go    capture: frames as a pcapng file; captured.go: the command's end of it
//	fault.go      errors, as the server sends and the client returns them
//	listen.go     the daemon's end of the socket
//	find.go       which socket a command talks to
//	client.go     the command's end
//
// # JSON
//
// Every answer has "schema": 1. Keys may be added to it; none is removed, renamed or given another type. Arrays are always
// arrays, never null. Numbers are numbers, in the unit that ends the key's name (_bytes, _ns, _bits_per_second); shares are
// from 0 to 1. What does not exist is null. A priority is a number from 0 to 7, or "all" on a port with 802.3x PAUSE,
// which does not tell priorities apart, or "unknown" for frames that were lost before anybody read them.
package api
