package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane"
)

// What a round of an incast is. Two CPUs carry its links beside other work.
const (
	incastSpeed    = "20M"
	incastPriority = 3
	incastMore     = 5 * time.Second // that the incast lasts longer than TCP, which begins later and ends before
	incastPatience = time.Minute     // until the incast begins
	programsTime   = 5 * time.Minute // until all switches have their programs: lab run is less patient
	// tcpWindow fits into a lossy queue at this speed, which has 86 KB: with a longer one TCP sends until one overflows
	tcpWindow = "32K"
)

// incast runs iperf3 in one pod of a fat tree beside an incast in another one. Neither may lose a frame.
func (b *bench) incast() error {
	if b.peers.iperf3 == "" {
		return nil // findPeers has printed so
	}
	k := 8
	if b.opt.smoke {
		k = 4
	}
	return b.inLab(incastFabric(k, b.opt.tcpSeconds()+incastMore), func(l *upLab) error {
		return (&incastLab{l, k}).rounds()
	})
}

// tcpSeconds is how long TCP is measured: iperf3 takes whole seconds.
func (o *options) tcpSeconds() time.Duration {
	return max(time.Second, o.seconds.Truncate(time.Second))
}

// incastFabric is a fat tree with the incast as its traffic: half of the last pod's hosts send to the last of them. The
// first and the last host of the first pod have addresses for TCP.
func incastFabric(k int, lasts time.Duration) fabric {
	pod := podHosts(k)
	var from []string
	for i := range pod / 2 {
		from = append(from, fmt.Sprintf("h%d", (k-1)*pod+1+i))
	}
	hosts := fmt.Sprintf("hosts: {h1: {addresses: [%s/24]}, h%d: {addresses: [%s/24]}}\n", tcpAddress(1), pod,
		tcpAddress(pod))
	load := fmt.Sprintf("traffic: {incast: {from: [%s], to: h%d, priority: %d, duration: %v}}\n",
		strings.Join(from, ", "), k*pod, incastPriority, lasts)
	return fabric{fmt.Sprintf("incast%d", k), fatTreeYAML(k, incastSpeed) + hosts + load, fatTreePorts(k)}
}

// podHosts is how many hosts a pod of a fat tree has.
func podHosts(k int) int { return k * k / 4 }

// An incastLab is the lab of an incast, while it is up.
type incastLab struct {
	*upLab
	k int
}

// rounds makes the hosts of TCP ready, and ends iperf3's server after all rounds.
func (l *incastLab) rounds() error {
	from, to := 1, podHosts(l.k)
	if err := errors.Join(l.addNeighbour(from, to), l.addNeighbour(to, from)); err != nil {
		return err
	}
	if err := l.eventually("the switches attach their programs", programsTime, l.started); err != nil {
		return err
	}
	ctx, end := context.WithCancel(l.ctx)
	log := filepath.Join(l.work, "iperf3.log")
	server := startJob(ctx, l.at(to, l.peers.iperf3, "-s", "--logfile", log, "--forceflush")...)
	defer func() {
		end()
		<-server.ended // how it ends does not matter
	}()
	err := l.eventually("iperf3 listens", patience, func() (bool, error) {
		return server.hasEnded() || strings.Contains(line(log), "listening"), server.failed()
	})
	if err != nil {
		return err
	}
	return l.eachRound(l.round)
}

// started tells whether all switches have their programs in the kernel.
func (l *incastLab) started() (bool, error) {
	sockets, err := l.sockets()
	if err != nil {
		return false, err
	}
	for _, socket := range sockets {
		if r, err := ask[*api.Ports](l.ctx, socket, "ports"); err != nil || r.Starting() {
			return false, err
		}
	}
	return true, nil
}

// at is the command that runs a program at a host.
func (l *incastLab) at(host int, program ...string) []string {
	return append([]string{l.program, "lab", "exec", l.file, fmt.Sprintf("h%d", host)}, program...)
}

// addNeighbour tells a host of another one: broadcasts reach the hosts of the same switch alone.
func (l *incastLab) addNeighbour(host, other int) error {
	_, err := l.local(patience, nil, l.at(host, "ip", "neigh", "add", tcpAddress(other), "lladdr", mac(other), "dev",
		"eth0", "nud", "permanent")...)
	return err
}

// An incastRound is what a round gave.
type incastRound struct {
	report  simulation.Report // of the incast
	tcp     traffic.IperfReport
	dropped uint64 // frames, by all switches
}

func (l *incastLab) round(number int) error {
	before, err := l.dropped()
	if err != nil {
		return err
	}
	r, err := l.send()
	if err != nil {
		return err
	}
	after, err := l.dropped()
	if err != nil {
		return err
	}
	r.dropped = after - before
	l.record("incast", fmt.Sprintf("fabric=fat_tree%d speed=%s senders=%d", l.k, incastSpeed, len(r.report.Flows)),
		dutPFC, number, r.values()...)
	return r.judge()
}

// send sends the incast, and TCP while it lasts.
func (l *incastLab) send() (r incastRound, err error) {
	before, err := l.arrived()
	if err != nil {
		return r, err
	}
	ctx, end := context.WithTimeout(l.ctx, 2*incastPatience+l.opt.seconds)
	defer end()
	incast := startJob(ctx, l.program, "lab", "run", "--json", l.file)
	err = l.eventually("the incast begins", incastPatience, func() (bool, error) {
		now, err := l.arrived()
		return now > before || incast.hasEnded(), cmp.Or(err, incast.failed())
	})
	if err == nil {
		r.tcp, err = l.iperf()
	}
	if err != nil {
		end()
	} else if incast.hasEnded() {
		l.note("incast: TCP went on for longer than the incast, on a machine that is slow or has other work")
	}
	<-incast.ended
	if err != nil {
		return r, errors.Join(err, incast.err)
	}
	if err := json.Unmarshal(incast.out, &r.report); err != nil {
		return r, errors.Join(err, incast.err) // else the report says why lab run failed
	}
	return r, nil
}

// arrived returns how many frames of the incast have left for its receiver.
func (l *incastLab) arrived() (frames uint64, err error) {
	edge := fmt.Sprintf("p%de%d", l.k, l.k/2)
	r, err := ask[*api.Queues](l.ctx, config.LabSocket(l.name, edge), "queues")
	if err != nil {
		return 0, err
	}
	for _, p := range r.Ports {
		if p.Port == fmt.Sprintf("down%d", l.k/2) {
			frames = p.Queues[incastPriority].Transmitted
		}
	}
	return frames, nil
}

// iperf runs the client.
func (l *incastLab) iperf() (r traffic.IperfReport, err error) {
	out, ended := l.local(l.opt.seconds+patience, nil, l.at(1, l.peers.iperf3, "-c", tcpAddress(podHosts(l.k)), "-J",
		"--connect-timeout", "2000", "-w", tcpWindow, "-t", fmt.Sprint(l.opt.tcpSeconds().Seconds()))...)
	if r, err = traffic.ParseIperf(out); err != nil {
		return r, errors.Join(err, ended) // iperf3 reports what went wrong
	}
	return r, ended
}

// dropped returns how many frames all switches have dropped.
func (l *incastLab) dropped() (sum uint64, err error) {
	sockets, err := l.sockets()
	if err != nil {
		return 0, err
	}
	for _, socket := range sockets {
		r, err := ask[*api.Queues](l.ctx, socket, "queues")
		if err != nil {
			return 0, err
		}
		for _, p := range r.Ports {
			sum += missed(p.Drops)
		}
	}
	return sum, nil
}

// missed counts the frames that a receiver has missed: others had none.
func missed(drops []api.Drop) (sum uint64) {
	none := []string{dataplane.DropFiltered.String(), dataplane.DropSamePort.String()}
	for _, d := range drops {
		if !slices.Contains(none, d.Reason) {
			sum += d.Frames
		}
	}
	return sum
}

// values are those of the table. Shares of time are of that in which the senders were to send.
func (r *incastRound) values() []value {
	var received, missing uint64
	for _, f := range r.report.Flows {
		received, missing = received+f.Received, missing+f.Lost
	}
	var sum, most float64
	for _, h := range r.report.Hosts {
		share := float64(h.PausedNs[incastPriority]) / 1e9 / r.report.Seconds
		sum, most = sum+share, max(most, share)
	}
	paused := map[string]bool{}
	for _, p := range r.report.Ports {
		if p.PausedNs > 0 {
			paused[p.Switch] = true
		}
	}
	return []value{{tcpRate, r.tcp.Rate / 1e6}, {resent, float64(r.tcp.Retransmitted)},
		{framesArrived, float64(received)}, {lost, float64(missing)}, {framesDropped, float64(r.dropped)},
		{heldShare, 100 * sum / float64(len(r.report.Hosts))}, {heldMost, 100 * most},
		{switchesHeld, float64(len(paused))}}
}

// judge returns an error where the incast failed, or a switch dropped a frame. TCP may send a segment again of which
// none was dropped, where its answer came late.
func (r *incastRound) judge() error {
	var errs []error
	for _, c := range r.report.Checks {
		if c.Judged && !c.Pass {
			errs = append(errs, fmt.Errorf("lab run: %s: %s, want %s", c.Name, c.Got, c.Want))
		}
	}
	if !r.report.Pass && len(errs) == 0 {
		errs = append(errs, errors.New("lab run did not pass"))
	}
	if r.dropped > 0 {
		errs = append(errs, fmt.Errorf("the switches dropped %d frames; TCP sent %d segments again", r.dropped,
			r.tcp.Retransmitted))
	}
	return errors.Join(errs...)
}
