// Package dcqcn is DCQCN, the congestion control of RoCEv2 (Zhu et al., Congestion Control for Large-Scale RDMA
// Deployments, SIGCOMM 2015), as state machines that take time as an argument.
//
//	params.go        the published values, for a link of any speed
//	notification.go  NotificationPoint: when a receiver sends a congestion notification packet (CNP)
//	reaction.go      ReactionPoint: at which rate a sender sends
//
// The third part, the congestion point, is the switch, which marks frames (ECN).
package dcqcn
