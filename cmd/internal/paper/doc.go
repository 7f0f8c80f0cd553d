// Package paper does again in virtual time what others have published, and sets its figures beside theirs.
//
//	paper.go        the studies, and what each of them gives: one table, one picture
//	dt.go           where Dynamic Threshold leaves its queues
//	dsh.go          the burst that is absorbed before PFC, with shared and with static headroom
//	software.go     the same, where peers are software and react late
//	measured.go     headroom that is measured, beside what is calculated, over random links
//	deadlock.go     the load above which circles of switches lock up
//	counters.go     the counters of the deadlock watchdog over time
//	spreading.go    whom a receiver that stops holds, with and without a watchdog
//	hdrm.go         calculated headroom beside what comes after XOFF
//	headroomuse.go  how much of the headroom is ever used
//	dcqcn.go        four senders, with and without PFC and DCQCN
//	trtcm.go        what the meters of a trunk let pass
package paper
