// Package labrun runs the traffic of a lab on real links, and judges it as package simulation does in virtual time.
//
//	run.go        Run: the lab, its endpoints, what the switches say before and after
//	calibrate.go  what the machine carries, and what the traffic asks for
//	endpoints.go  senders and sinks inside the hosts
//	faults.go     hosts that hold their peers, links that flap
//	report.go     the report of both
package labrun
