//go:build ignore

// SPDX-License-Identifier: Apache-2.0
//
// What helps from inside the kernel. Two programs for each port of a switch:
//
//	steer    the filter of the port's packet sockets: may the frame take the fast path, or does a receive ring get it?
//	ingress  at tcx ingress, right behind the packet sockets, on the same CPU: carries out what steer has decided,
//	         closes gates for MAC Control frames, and holds the peer while the switch does not look at its rings
//
// The switch reads and writes the maps `ports`, `counts` and `decisions` as plain memory. See assist.go for its side.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define TCX_NEXT -1              // linux/bpf.h has it since Linux 6.6
#define MAX_PORTS 256
#define PRIORITIES 8
#define ALL_OCTETS 0xffffffff    // what a socket filter returns that lets a whole frame through
#define UNTAGGED 0xffff          // a TCI that no frame may have: its VID is 4095
#define NO_DSCP 0xff             // of a frame that is not IP
#define XOFF_PERIOD 200000       // ns between two XOFF of a port
#define SECOND 1000000000
#define MAC_CONTROL 0x8808
#define LLDP 0x88cc
#define OPCODE_PAUSE 0x0001
#define OPCODE_PFC 0x0101
#define HEAD_OCTETS 20           // what steer reads of a frame
#define CONTROL_OCTETS 128       // longest that the switch's control ring takes

enum trust { TRUST_PCP, TRUST_DSCP, TRUST_PORT };

// A cache line each: what the programs write for lossless frames, what decides about the frames that come by the port,
// what decides about those that leave by it, and the switch's settings.
struct port {
	// when the oldest lossless frame arrived that the switch has not looked for; 0: none. The switch clears it.
	__u64 since;
	__u64 begun;     // counts before each XOFF, sent or not
	__u64 done;      // counts after it
	__u64 xoffs;     // XOFF frames sent
	__u64 last_xoff; // when
	__u32 unread[2]; // lossless frames since then, the oldest included: those above small octets, and others
	__u64 pad0[2];

	__u64 arrived;   // frames that took the slow way
	__u64 missed;    // frames that ingress did not see: it is detached, or another program took them
	__u64 seen;      // value of arrived when the switch last had no frame of the port in its rings
	__u64 lost[2];   // frames, lossy and lossless, that were to take the fast path and that another program took
	__u32 ends[2];   // a setting: how frames begin, behind addresses and tag, that end at the switch: seven octets
	__u64 pad1[2];

	__u64 pauses;    // MAC Control frames that closed a gate
	__u32 gates[PRIORITIES]; // of the egress queues: 1 open, 0 closed
	__u64 pad2[3];

	__u64 freeze;    // ns after which an unread lossless frame makes the program hold the peer; 0: never
	__u64 hold;      // ns after which it stops doing so
	__u64 lossless_dscp;    // bit n: DSCP n is lossless
	__u8 lossless_pcp;      // bit n: PCP n is lossless
	__u8 lossless_default;  // 1: frames without the trusted field are lossless
	__u8 trust;             // enum trust
	__u8 pause;             // 1: flow control by PAUSE, which concerns all priorities
	__u8 lossless;          // bit n: priority n is lossless
	__u8 obeyed;            // bit n: PFC of priority n is obeyed
	__u8 pad3[2];
	__u32 small;            // octets without tag: longer frames are in another ring
	__u32 most[2];          // unread frames that make the program hold the peer, as in unread; 0: no number does
	__u8 pad4[20];
	__u8 xoff[CONTROL_OCTETS]; // XOFF for all that is lossless, padded with zeros
};

// What steer looks up. All that decides about a frame's port, VLAN and priority is part of the key.
struct flow_key {
	__u8 dst[ETH_ALEN];
	__u8 src[ETH_ALEN];
	__u16 tci;       // in host order; UNTAGGED
	__u8 dscp;
	__u8 in;         // number of the ingress port
} __attribute__((aligned(8)));

struct flow {
	__u64 until;     // when the station behind `out` is forgotten, ns of CLOCK_MONOTONIC
	__u64 last;      // when the last frame came, to the second
	__u32 generation; // of the switch's decision: valid while it is the one in force
	__u32 ifindex;   // of the egress port's interface
	__u32 limit;     // longest frame that is no GSO frame, octets without tag and FCS
	__u32 gso_limit; // longest GSO frame
	__u32 out;       // number of the egress port
	__u8 priority;   // of the frame, which is also its egress queue
	__u8 pad[3];
};

struct tally {
	__u64 rx_frames, rx_octets; // of frames that came by the port and took the fast path
	__u64 tx_frames, tx_octets; // of frames that left by it
};

struct port_counts {
	struct tally priority[PRIORITIES];
};

struct cpu_counts {
	struct port_counts port[MAX_PORTS];
};

// What steer tells ingress about the frame, and the switch tells steer. A cache line.
struct decision {
	__u32 ifindex;   // 0: the slow way
	__u32 octets;
	__u16 dst[4];    // destination address, and two octets of the source address
	__u64 barriers;
	__u8 in, out, priority;
	__u8 steered;    // 1: steer has seen the frame, so the switch has sockets; ingress clears it
	__u32 generation; // of all flows in force; 0: none is
	__u64 pad[4];
};

// What is known of the frame at hand, and the flow of the last frame of a CPU, so that of frames in a row only the
// first one is looked up, and one at each tick of the clock. A cache line each. They stay off the stack: without
// CAP_PERFMON the kernel puts a fence, some 10 ns, behind the first write to each place of the stack.
struct recent {
	__u32 port;      // the number of the port that this copy of the programs serves; also in both keys
	__u32 pad0;
	__u8 head[24];   // the frame's addresses, and what follows its MAC header
	struct flow_key next; // of the frame, where its flow is looked up
	__u64 pad1[2];

	struct flow_key key;
	struct flow flow;
	__u64 tick;      // when the flow was in force, in jiffies; 0: look it up
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_PORTS);
	__type(key, __u32);
	__type(value, struct port);
} ports SEC(".maps");

// The following maps have an entry for each CPU. Arrays that can be mapped begin at a page, so that entries of whole
// cache lines (64 octets) have these to themselves, and the address of an entry needs no other load, unlike that of
// BPF_MAP_TYPE_PERCPU_ARRAY.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); // set by the loader
	__type(key, __u32);
	__type(value, struct cpu_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); // set by the loader
	__type(key, __u32);
	__type(value, struct decision);
} decisions SEC(".maps");

// Unlike the other maps, each port has its own.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); // set by the loader
	__type(key, __u32);
	__type(value, struct recent);
} recents SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); // set by the loader
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

volatile const __u8 weak;    // 1: this processor changes the order of loads (not x86)

// count adds one, before all that follows and after all that came before: with its result used, the addition is a full
// memory barrier.
#define count(n) ({ __typeof__(*(n)) was = __sync_fetch_and_add(n, 1); asm volatile("" : : "r"(was)); })

// forget returns n, without what the verifier and the compiler know of it. A branch for each of eight bits makes the
// verifier follow 256 ways, unless they are alike.
#define forget(n) ({ __u32 was = (n); asm volatile("" : "+r"(was)); was; })

static __always_inline struct port *port_of(__u32 i) { return bpf_map_lookup_elem(&ports, &i); }

// own_port is port_of for the port that the programs serve.
static __always_inline struct port *own_port(struct recent *r) { return bpf_map_lookup_elem(&ports, &r->port); }

// dscp_in returns the DSCP of a frame that is IP, else NO_DSCP. b is what follows the MAC header.
static __always_inline __u8 dscp_in(struct __sk_buff *skb, const __u8 b[2])
{
	if (skb->protocol == bpf_htons(ETH_P_IP))
		return b[1] >> 2;
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		return (b[0] & 0xf) << 2 | b[1] >> 6;
	return NO_DSCP;
}

// same reports whether the frame at hand is of the flow of the last one. It compares words, as the kernel has written
// them: the processor waits where it loads what two stores have left.
static __always_inline int same(const struct recent *r, __u16 tci, __u8 dscp)
{
	return *(__u64 *)r->head == *(__u64 *)r->key.dst && *(__u32 *)(r->head + 8) == *(__u32 *)(r->key.src + 2) &&
	       r->key.tci == tci && r->key.dscp == dscp;
}

// look_up finds the flow of the frame at hand, and reports whether it is in force.
static __noinline int look_up(struct recent *r, struct decision *d, __u64 tick, __u32 tag_and_dscp)
{
	struct flow *known;
	__u64 now;

	*(__u64 *)r->next.dst = *(__u64 *)r->head;
	*(__u32 *)(r->next.src + 2) = *(__u32 *)(r->head + 8);
	r->next.tci = tag_and_dscp >> 8;
	r->next.dscp = tag_and_dscp;
	known = bpf_map_lookup_elem(&flows, &r->next);
	now = bpf_ktime_get_coarse_ns();
	if (!known || known->generation != d->generation || now >= known->until)
		return 0;
	if (now - known->last > SECOND)
		known->last = now;
	r->key = r->next;
	r->flow = *known;
	r->tick = tick;
	return 1;
}

// limit_of returns how long a frame may be. Without CAP_PERFMON, the verifier refuses an address that is chosen instead
// of the value.
static __always_inline __u32 limit_of(struct __sk_buff *skb, struct flow *f)
{
	__u32 limit = *(volatile __u32 *)&f->limit, gso = *(volatile __u32 *)&f->gso_limit;

	return skb->gso_size ? gso : limit;
}

// lose counts a frame that steer has let take the fast path, and that ingress did not see: a program that was attached
// before ingress took it. Its port takes no fast path any more.
static __noinline void lose(struct decision *d)
{
	struct port *p = port_of(d->in);

	if (p)
		count(&p->lost[p->lossless >> (d->priority % PRIORITIES) & 1]);
}

// left_over counts the frame before this one, which steer has seen and ingress has not.
static __noinline void left_over(struct decision *d)
{
	struct port *p = port_of(d->in);

	if (d->ifindex)
		lose(d);
	if (d->steered && p)
		count(&p->missed);
}

// steer is the filter of the sockets of the data rings. It returns how many octets of a frame the ring gets: all, or
// none where ingress hands the frame to the far end of another port. A frame overtakes none: it takes the fast path
// only where no frame of its ingress port is in a ring, and none in the egress queue or on the way out (the gate).
SEC("socket")
int steer(struct __sk_buff *skb)
{
	__u32 cpu = bpf_get_smp_processor_id(), begin;
	__u16 tci = UNTAGGED;
	struct port *p, *out;
	struct decision *d;
	struct recent *r;
	__u64 tick;
	__u8 dscp;

	d = bpf_map_lookup_elem(&decisions, &cpu);
	r = bpf_map_lookup_elem(&recents, &cpu);
	if (!d || !r)
		goto ring;
	p = own_port(r);
	if (!p)
		goto ring;
	if (d->ifindex || d->steered)
		left_over(d);
	d->ifindex = 0;
	d->in = r->port;
	d->steered = 1;
	if (p->lost[0] || p->lost[1] || p->seen != p->arrived || bpf_skb_load_bytes(skb, 0, r->head, HEAD_OCTETS))
		goto ring;
	tick = bpf_jiffies64();
	begin = *(__u32 *)(r->head + 12);
	if (begin == p->ends[0] && !((*(__u32 *)(r->head + 16) ^ p->ends[1]) & bpf_htonl(0xffffff00)))
		goto ring;
	if (skb->vlan_present) {
		if (skb->vlan_proto != bpf_htons(ETH_P_8021Q))
			goto ring;
		tci = skb->vlan_tci;
		// Receivers skip a priority tag, so the switch has to see what is behind it.
		if (!(tci & 0xfff) && skb->protocol == bpf_htons(ETH_P_8021Q))
			goto ring;
	}
	dscp = dscp_in(skb, r->head + ETH_HLEN);
	if ((tick != r->tick || !same(r, tci, dscp) || r->flow.generation != d->generation) &&
	    !look_up(r, d, tick, (__u32)tci << 8 | dscp))
		goto ring;
	if (skb->len > limit_of(skb, &r->flow))
		goto ring;
	out = bpf_map_lookup_elem(&ports, &r->flow.out);
	if (weak)
		count(&d->barriers); // the gate is read after seen: what was seen may have closed it
	if (!out || out->gates[r->flow.priority % PRIORITIES] != 1)
		goto ring;
	*(__u64 *)d->dst = *(__u64 *)r->head;
	d->octets = skb->len + (tci == UNTAGGED ? 0 : 4);
	d->out = r->flow.out;
	d->priority = r->flow.priority;
	d->ifindex = r->flow.ifindex;
	return 0;
ring:
	return forget(ALL_OCTETS); // as a constant it would keep a register, and skb's copy would go to the stack
}

// count_forwarded counts a frame that takes the fast path.
static __always_inline void count_forwarded(struct decision *d, __u32 *cpu)
{
	struct cpu_counts *c = bpf_map_lookup_elem(&counts, cpu);
	struct tally *rx, *tx;

	if (!c)
		return;
	rx = &c->port[d->in].priority[d->priority % PRIORITIES];
	tx = &c->port[d->out].priority[d->priority % PRIORITIES];
	rx->rx_frames++;
	rx->rx_octets += d->octets;
	tx->tx_frames++;
	tx->tx_octets += d->octets;
}

// decided reports whether steer's decision is about this frame, and not about one of before, which another program
// took, while this is one that no packet socket gets, because memory is short.
static __always_inline int decided(struct __sk_buff *skb, struct decision *d, __u8 in)
{
	__u16 *b = (void *)(long)skb->data;

	return d->in == in && b + ETH_ALEN / 2 <= (__u16 *)(long)skb->data_end && b[0] == d->dst[0] &&
	       b[1] == d->dst[1] && b[2] == d->dst[2];
}

// close_gates closes the gates of the priorities in a vector. The switch, which opens them, reads `pauses` before it
// looks for MAC Control frames and again after it has opened a gate.
static __always_inline void close_gates(struct port *p, __u8 vector)
{
	if (!vector)
		return;
	count(&p->pauses);
	for (int q = 0; q < PRIORITIES; q++) {
		__u32 bit = forget(vector >> q & 1);

		if (bit)
			p->gates[q] = 0;
	}
}

// obey closes the gates that a PAUSE or PFC frame pauses (802.3 clause 31B, 802.1Q clause 36). What makes such a frame
// valid is the switch's to judge; this errs on the side of a closed gate.
static __always_inline void obey(struct __sk_buff *skb, struct port *p)
{
	struct {
		__be16 opcode, vector, times[PRIORITIES];
	} c;
	__u8 vector = 0;

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &c, 4))
		return;
	if (c.opcode == bpf_htons(OPCODE_PAUSE) && p->pause && c.vector) // in a PAUSE frame this is the time
		close_gates(p, 0xff);
	if (c.opcode != bpf_htons(OPCODE_PFC) || bpf_skb_load_bytes(skb, ETH_HLEN, &c, sizeof(c)))
		return;
	for (int q = 0; q < PRIORITIES; q++)
		vector |= forget(-(__u32)c.times[q]) >> 31 << q; // bit 31: the time is not 0
	close_gates(p, vector & bpf_ntohs(c.vector) & p->obeyed);
}

// lossless reports whether a frame's priority is a lossless one. Steering into the rings follows the same rules.
static __always_inline int lossless(struct __sk_buff *skb, struct port *p)
{
	__u8 dscp, b[2];

	if (p->trust == TRUST_PCP && skb->vlan_present && skb->vlan_proto == bpf_htons(ETH_P_8021Q))
		return p->lossless_pcp >> (skb->vlan_tci >> 13) & 1;
	if (p->trust == TRUST_DSCP && !bpf_skb_load_bytes(skb, ETH_HLEN, b, sizeof(b))) {
		dscp = dscp_in(skb, b);
		if (dscp != NO_DSCP)
			return p->lossless_dscp >> (dscp & 63) & 1;
	}
	return p->lossless_default;
}

// reached counts an unread frame, and reports whether there are so many that a ring fills up. n is the number of the
// ring, a constant: without CAP_PERFMON, the verifier refuses an address that is chosen, as the compiler would do for
// two calls that it can join.
static __always_inline int reached(struct port *p, const int n)
{
	__u32 was = __sync_fetch_and_add(&p->unread[n], 1), most = *(volatile __u32 *)&p->most[n];

	asm volatile("" : : "i"(n));
	return was + 1 >= most && most;
}

// frozen reports whether a lossless frame that arrives now makes the program hold the peer: the oldest one waits for
// too long, too many wait, or the switch has died, and no XOFF has left lately. *since is when the oldest frame came.
static __always_inline int frozen(struct __sk_buff *skb, struct port *p, int steered, __u64 *since)
{
	__u64 now, last = p->last_xoff;
	int many;

	if (!p->freeze)
		return 0;
	now = bpf_ktime_get_ns();
	*since = *(volatile __u64 *)&p->since;
	if (!*since) {
		p->unread[0] = 0;
		p->unread[1] = 0;
		__sync_val_compare_and_swap(&p->since, 0, now);
		*since = now;
	}
	if (skb->len > p->small)
		many = reached(p, 0);
	else
		many = reached(p, 1);
	return (now - *since >= p->freeze || many || !steered) && now - *since <= p->hold && now - last >= XOFF_PERIOD &&
	       __sync_val_compare_and_swap(&p->last_xoff, last, now) == last;
}

// answer makes XOFF of a frame, of which the ring has a copy, and sends it back to the peer.
static __always_inline int answer(struct __sk_buff *skb, struct port *p)
{
	if (bpf_skb_vlan_pop(skb))
		return TCX_NEXT;
	// The kernel lets no frame become shorter than the place of its unfinished checksum.
	if (bpf_skb_change_tail(skb, ETH_ZLEN, 0)) {
		if (bpf_skb_change_tail(skb, CONTROL_OCTETS, 0) ||
		    bpf_skb_store_bytes(skb, 0, p->xoff, CONTROL_OCTETS, 0))
			return TCX_NEXT;
	} else if (bpf_skb_store_bytes(skb, 0, p->xoff, ETH_ZLEN, 0)) {
		return TCX_NEXT;
	}
	count(&p->xoffs);
	return bpf_redirect(skb->ifindex, 0);
}

// hold answers a lossless frame with XOFF if the switch has not looked meanwhile. The switch clears since, and then
// reads begun: so either this sees that it looked, or it sees that this has begun.
static __always_inline int hold(struct __sk_buff *skb, struct port *p, __u64 since)
{
	int verdict = TCX_NEXT;

	count(&p->begun);
	if (*(volatile __u64 *)&p->since == since)
		verdict = answer(skb, p);
	count(&p->done);
	return verdict;
}

// slow_way is for a frame that comes to the switch. steered says that a socket's filter has seen it.
static __noinline int slow_way(struct __sk_buff *skb, struct recent *r, int steered)
{
	struct port *p = own_port(r);
	__u64 since;

	if (!p)
		return TCX_NEXT;
	if (skb->protocol == bpf_htons(MAC_CONTROL)) {
		obey(skb, p);
		return TCX_NEXT;
	}
	if (skb->protocol == bpf_htons(LLDP)) // the control ring has it too
		return TCX_NEXT;
	count(&p->arrived);
	return lossless(skb, p) && frozen(skb, p, steered, &since) ? hold(skb, p, since) : TCX_NEXT;
}

SEC("tcx/ingress")
int ingress(struct __sk_buff *skb)
{
	__u32 cpu = bpf_get_smp_processor_id(), to;
	struct decision *d;
	struct recent *r;
	int steered;

	d = bpf_map_lookup_elem(&decisions, &cpu);
	r = bpf_map_lookup_elem(&recents, &cpu);
	if (!d || !r)
		return TCX_NEXT;
	steered = d->steered && d->in == r->port;
	d->steered = 0;
	to = d->ifindex;
	if (to) {
		d->ifindex = 0;
		if (decided(skb, d, r->port)) {
			count_forwarded(d, &cpu);
			return bpf_redirect_peer(to, 0);
		}
		lose(d);
	}
	return slow_way(skb, r, steered);
}

char _license[] SEC("license") = "Apache-2.0";
