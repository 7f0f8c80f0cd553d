package top

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pfcswitch/cmd/internal/api"
)

// A style is how a line answers.
type style int

const (
	plain style = iota
	head
	chosen
	alarm
	caution // less than alarm
	good
	old
)

// A row is one line of the screen.
type row struct {
	text  string
	style style
}

// view returns the lines of a screen of width columns and height rows, never more.
func (m *model) view(width, height int, now time.Time) []row {
	v := view{model: m, now: now, height: height}
	v.headline(width)
	switch {
	case m.help:
		v.help()
	case m.state == nil:
		if m.fault == "" {
			v.add(plain, "asking %s …", m.path)
		}
	case m.only:
		v.detail()
	default:
		v.overview()
	}
	for len(v.rows) < height-1 {
		v.add(plain, "")
	}
	if len(v.rows) >= height {
		v.rows = v.rows[:max(0, height-1)]
	}
	v.add(old, "s sort: %s   up/down choose   Enter one port   h help   q quit", orders[m.order].name)
	rows := v.rows[:min(len(v.rows), height)]
	for i := range rows {
		if r := []rune(rows[i].text); len(r) > width {
			rows[i].text = string(r[:max(0, width)])
		} else if rows[i].style == chosen {
			rows[i].text += strings.Repeat(" ", width-len(r))
		}
	}
	return rows
}

// A view is a screen that grows.
type view struct {
	*model
	now    time.Time
	height int
	rows   []row
}

func (v *view) add(s style, format string, args ...any) {
	v.rows = append(v.rows, row{strings.TrimRight(fmt.Sprintf(format, args...), " "), s})
}

// headline shows the switch, its lossless drops, which must stay 0, what was discarded beside them, and whether the
// answer is current.
func (v *view) headline(width int) {
	left, right, s := "pfcswitch top", "", head
	if v.state != nil {
		left = fmt.Sprintf("%s  up %v  every %v", v.state.Switch, time.Duration(v.state.ElapsedNs).Round(time.Second),
			v.delay)
		right = fmt.Sprintf("lossless drops: %d  discarded: %d", v.state.LosslessDropsSinceStart,
			v.state.LosslessDiscardedSinceStart)
		s = lossStyle(v.state.LosslessDropsSinceStart, v.state.LosslessDiscardedSinceStart, head)
	}
	v.add(s, "%s%s%s", left, strings.Repeat(" ", max(2, width-len(left)-len(right))), right)
	switch {
	case v.fault != "":
		v.add(alarm, "NO SWITCH for %v, trying again: %s", v.now.Sub(v.dead).Round(time.Second), v.fault)
	case !v.restarted.IsZero() && v.now.Sub(v.restarted) < 10*time.Second:
		v.add(alarm, "the switch was started again %v ago: it counts from 0", v.now.Sub(v.restarted).Round(time.Second))
	default:
		v.add(plain, "")
	}
}

// lossStyle is the style of a line about lost and discarded frames of lossless priorities; none is that without any.
func lossStyle(lost, discarded uint64, none style) style {
	switch {
	case lost > 0:
		return alarm
	case discarded > 0:
		return caution
	}
	return none
}

// otherRows is the number of overview lines that are neither ports nor events.
const otherRows = 11

func (v *view) overview() {
	ports := v.sorted()
	n := max(1, min(len(ports), (v.height-otherRows-len(v.state.Trunks)-3)/2))
	first := max(0, min(v.position()-n/2, len(ports)-n))
	seen := ports[first:min(first+n, len(ports))]
	v.ports(seen, len(ports))
	v.matrix(seen)
	v.pools()
	v.trunks()
	v.storms()
	v.eventLines()
}

func (v *view) ports(ports []*api.Port, all int) {
	v.add(head, "%-10s %-5s %6s %9s %-8s %9s %-8s %8s %7s %9s", "PORT", "STATE", "SPEED", "RX bit/s", "OF SPEED",
		"TX bit/s", "OF SPEED", "DROPS/s", "LOST", "DISCARDED")
	for _, p := range ports {
		state, speed := "down", "none"
		if p.Up {
			state = "up"
		}
		if p.SpeedBitsPerSecond != nil {
			speed = api.Rate(*p.SpeedBitsPerSecond)
		}
		rx, tx, drops := "-", "-", "-"
		if r := p.Recent; r != nil {
			rx, tx, drops = api.Scaled(r.ReceiveBits), api.Scaled(r.TransmitBits), api.Tenths(r.DroppedFrames)
		}
		in, out, _ := p.Utilization()
		v.add(v.styleOf(p), "%-10.10s %-5s %6s %9s %s %9s %s %8s %7d %9d", p.Port, state, speed, rx, bar(in), tx,
			bar(out), drops, p.LosslessDrops, p.LosslessDiscarded)
	}
	if hidden := all - len(ports); hidden > 0 {
		v.add(old, "… %d ports more: up/down goes through them", hidden)
	}
}

// barWidth is the length of a whole bar in columns.
const barWidth = 8

// bar draws a share, in eighths of a column; whatever is not 0 is seen.
func bar(share float64) string {
	eighths := int(math.Round(min(1, share) * 8 * barWidth))
	if share > 0 {
		eighths = max(1, eighths)
	}
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return fmt.Sprintf("%-*s", barWidth, text)
}

func (v *view) styleOf(p *api.Port) style {
	switch {
	case p.Port == v.chosen && !v.only:
		return chosen
	case v.fault != "" || !p.Up:
		return old
	}
	return lossStyle(p.LosslessDrops, p.LosslessDiscarded, plain)
}

// matrix shows the share of time that each priority was paused, and by whom.
func (v *view) matrix(ports []*api.Port) {
	v.add(head, "%-10s %-32s  %s", "PAUSED %", "held by the peer, priority", "holding the peer, priority")
	digits := "   0   1   2   3   4   5   6   7"
	v.add(head, "%-10s %s  %s", "", digits, digits)
	for _, p := range ports {
		var received, sent string
		for prio := range api.Priority(8) {
			in, out := "-", "-"
			if q := v.priority(p.Port, prio); q != nil && q.Recent != nil {
				in, out = percent(q.Recent.ReceivedPausedShare), percent(q.Recent.SentPausedShare)
			}
			received += fmt.Sprintf("%4s", in)
			sent += fmt.Sprintf("%4s", out)
		}
		v.add(v.styleOf(p), "%-10.10s %s  %s", p.Port, received, sent)
	}
}

// priority returns a lossless priority of a port. The one priority of a PAUSE port stands for all.
func (v *view) priority(port string, prio api.Priority) *api.PFCPriority {
	p := v.pfc(port)
	if p == nil {
		return nil
	}
	for i := range p.Priorities {
		if q := &p.Priorities[i]; q.Lossless && (q.Priority == prio || q.Priority == api.All) {
			return q
		}
	}
	return nil
}

// percent writes a share. A small share is not written as 0, and a large one not as 100.
func percent(share float64) string {
	switch {
	case share == 0:
		return "0"
	case share < 0.01:
		return "<1"
	case share < 1: // nor is most all
		return fmt.Sprintf("%.0f", min(99, 100*share))
	}
	return "100"
}

func (v *view) pools() {
	for _, p := range v.state.Pools {
		text := fmt.Sprintf("%-9s %s:", p.Pool, api.Bytes(p.SizeBytes))
		for name, s := range p.Segments.All() {
			text += fmt.Sprintf("  %s %s (most %s)", name, api.Bytes(s.UsedBytes), api.Bytes(s.MaxStartBytes))
		}
		v.add(plain, "%s", text)
	}
}

// trunks shows the backlog of each trunk, its pauses, and the results of meters and RED.
func (v *view) trunks() {
	for i := range v.state.Trunks {
		t := &v.state.Trunks[i]
		var paused, held []string
		note := func(port string, pausedByPeer, heldHere bool) {
			if pausedByPeer {
				paused = append(paused, port)
			}
			if heldHere {
				held = append(held, port)
			}
		}
		note(t.Uplink.Port, t.Uplink.PausedByPeer, t.Uplink.Held)
		var down int64
		for j := range t.Members {
			m := &t.Members[j]
			note(m.Port, m.PausedByPeer, m.Held)
			down += m.AreaBytes
		}
		text := fmt.Sprintf("trunk %s  up %s, down %s", t.Trunk, api.Bytes(t.Uplink.Bytes), api.Bytes(down))
		if t.Metered {
			green, yellow, red, dropped := colours(t)
			text += fmt.Sprintf("  green %d yellow %d red %d, dropped %d", green, yellow, red, dropped)
		}
		v.add(plain, "%s%s%s", text, listed("  paused by its peer: ", paused), listed("  holding the peer: ", held))
	}
}

// colours counts the received frames of members by colour, and the dropped frames.
func colours(t *api.Trunk) (green, yellow, red, dropped uint64) {
	dropped = t.Total.REDDropped.Frames
	for i := range t.Priorities {
		p := &t.Priorities[i]
		green, yellow, red = green+p.Green.Frames, yellow+p.Yellow.Frames, red+p.Red.Frames
		dropped += p.MeterDropped.Frames + p.REDDropped.Frames
	}
	return green, yellow, red, dropped
}

func listed(what string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return what + strings.Join(names, " ")
}

// storms shows the state of the watchdog.
func (v *view) storms() {
	var stormed []string
	watched, detected := 0, uint64(0)
	for _, q := range v.state.Watchdog {
		detected += q.Detected
		if q.State != "off" {
			watched++
		}
		if q.Since != nil {
			stormed = append(stormed, q.Port+"/"+q.Priority.String())
		}
	}
	if len(stormed) > 0 {
		v.add(alarm, "watchdog  STORM at %s (port/priority); %d storms since the start", strings.Join(stormed, " "),
			detected)
		return
	}
	v.add(plain, "watchdog  %d queues watched, no storm now, %d since the start", watched, detected)
}

// eventLines shows the newest events as far as there is room.
func (v *view) eventLines() {
	room := max(0, v.height-len(v.rows)-2)
	v.add(head, "EVENTS")
	if len(v.events) == 0 {
		v.add(old, "none yet")
	}
	lines := grouped(v.events)
	for _, e := range lines[max(0, len(lines)-room):] {
		where, times := listed(" ", e.places), ""
		if e.Count > 1 {
			times = fmt.Sprintf(" (%d times)", e.Count)
		}
		s := plain
		if slices.Contains([]string{"lossless-drop", "deadlock", "deadlock-recurring"}, e.Kind) {
			s = alarm
		}
		v.add(s, "%s %s%s%s %s", v.wall(e.Time), e.Kind, where, times, e.Text)
	}
}

// An eventLine stands for all events that say the same, of whatever ports: the newest of them, with the sum of counts.
type eventLine struct {
	api.Event
	places []string // ports with priorities, the newest last
}

// grouped makes one line of events that say the same, in the order of the newest of each.
func grouped(events []api.Event) (lines []eventLine) {
	type saying struct{ kind, text string }
	found := map[saying]int{}
	for _, e := range slices.Backward(events) {
		key := saying{e.Kind, e.Text}
		i, seen := found[key]
		if !seen {
			i = len(lines)
			found[key], lines = i, append(lines, eventLine{Event: e})
		} else {
			lines[i].Count += e.Count
		}
		if place := placeOf(&e); place != "" && !slices.Contains(lines[i].places, place) {
			lines[i].places = append(lines[i].places, place)
		}
	}
	for i := range lines {
		slices.Reverse(lines[i].places)
	}
	slices.Reverse(lines)
	return lines
}

// placeOf is the port of an event, with the priority.
func placeOf(e *api.Event) (place string) {
	if e.Port != nil {
		place = *e.Port
	}
	if e.Priority != nil {
		place += "/" + e.Priority.String()
	}
	return place
}

// wall writes a time, with the date if it is not today.
func (v *view) wall(at time.Time) string {
	at = at.Local()
	if at.Format(time.DateOnly) == v.now.Local().Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}

// detail shows the chosen port alone, with its total pauses.
func (v *view) detail() {
	i := v.position()
	if i < 0 {
		v.add(plain, "there is no port %s any more: Enter goes back", v.chosen)
		return
	}
	p := v.sorted()[i]
	v.ports([]*api.Port{p}, 1)
	if p.Reason != nil {
		v.add(alarm, "%s", *p.Reason)
	}
	v.add(plain, "received %d frames, sent %d, dropped %d", p.ReceiveFrames, p.TransmitFrames, p.DroppedFrames)
	if p.LosslessDiscarded > 0 {
		v.add(caution, "of lossless priorities discarded on purpose: %s", api.DiscardedText(p.LosslessDiscardedBy))
	}
	v.add(head, "%-8s %9s %12s %6s  %9s %12s %6s  %s", "PRIORITY", "HELD FOR", "OF ALL TIME", "NOW", "HOLDING",
		"OF ALL TIME", "NOW", "STATE")
	if f := v.pfc(p.Port); f != nil {
		for _, q := range f.Priorities {
			in, out := "-", "-"
			if q.Recent != nil {
				in, out = percent(q.Recent.ReceivedPausedShare)+" %", percent(q.Recent.SentPausedShare)+" %"
			}
			v.add(plain, "%-8s %9s %10.1f %% %6s  %9s %10.1f %% %6s  %s", q.Priority, durationText(q.ReceivedPausedNs),
				100*q.ReceivedPausedShare, in, durationText(q.SentPausedNs), 100*q.SentPausedShare, out, q.State)
		}
	}
	v.pools()
	v.storms()
	v.eventLines()
}

func durationText(ns int64) string { return time.Duration(ns).Round(time.Millisecond).String() }

func (v *view) help() {
	for _, line := range []string{
		"Rates and shares are those between the last two answers.",
		"LOST: lossless frames, since the start. It has to be 0.",
		"DISCARDED: other frames of lossless priorities, dropped on purpose. Enter says why.",
		"held by the peer: it has sent XOFF, and this port waits.",
		"holding the peer: this port has sent XOFF, and the peer waits.",
		"Bytes of pools are those in use now, and most since the start.",
		"OF SPEED: the part of the port's speed that frames take, with FCS, preamble and gap.",
		"",
		"s        sort by the next: configuration, received, sent, held, holding, drops",
		"up, down choose a port (k, j too)",
		"Enter    that port alone, with totals; again, or Escape: all ports",
		"h, ?     this page",
		"q        quit (Ctrl-C too)",
	} {
		v.add(plain, "%s", line)
	}
}
