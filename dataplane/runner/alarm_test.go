package runner

import (
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// newAlarm returns an Alarm, and when it has rung.
func newAlarm(t *testing.T) (a *Alarm, rung chan int64) {
	t.Helper()
	rung = make(chan int64, 10)
	a = assert.Got(NewAlarm(func() { rung <- Now() })).Must(t)
	t.Cleanup(func() { assert.NoError(t, a.Close(), "close an alarm") })
	return a, rung
}

func ms(n int64) int64 { return n * int64(time.Millisecond) }

// An Alarm rings once, at its time or after, whatever other Alarms are set to, and a new time replaces the old one.
func TestAlarmsRing(t *testing.T) {
	now := Now()
	late, lateRung := newAlarm(t)
	soon, soonRung := newAlarm(t)
	moved, movedRung := newAlarm(t)
	off, offRung := newAlarm(t)
	past, pastRung := newAlarm(t)
	late.Set(now + ms(60))
	soon.Set(now + ms(20))
	moved.Set(now + ms(100_000))
	moved.Set(now + ms(40))
	off.Set(now + ms(100_000))
	off.Set(noDeadline)
	past.Set(now - 1)
	for _, tt := range []struct {
		name string
		rung chan int64
		at   int64
	}{{"past", pastRung, 0}, {"soon", soonRung, 20}, {"moved", movedRung, 40}, {"late", lateRung, 60}} {
		at := <-tt.rung
		assert.True(t, at >= now+ms(tt.at), "%s rang %d ns after the start, want %d ms or more", tt.name, at-now, tt.at)
	}
	for name, rung := range map[string]chan int64{"past": pastRung, "soon": soonRung, "moved": movedRung,
		"late": lateRung, "off": offRung} {
		assert.Equal(t, len(rung), 0, "%s: rings too many", name)
	}
	assert.Equal(t, len(dueAlarms(alarmTimer(), now+ms(200_000))), 0, "alarms that are set still")
}

func alarmTimer() *port.Timer {
	alarms.Lock()
	defer alarms.Unlock()
	return alarms.timer
}

// What is due at the same time rings in one turn: the timer ends once.
func TestAlarmsRingTogether(t *testing.T) {
	at := Now() + ms(100_000)
	a, rung := newAlarm(t)
	b, other := newAlarm(t)
	a.Set(at)
	b.Set(at)
	timer := alarmTimer()
	due := dueAlarms(timer, at)
	assert.True(t, len(due) == 2 && due[0] == a && due[1] == b, "%d of 2 alarms are due at their time", len(due))
	assert.Equal(t, len(dueAlarms(timer, at)), 0, "alarms that are due again")
	a.Set(Now())
	<-rung
	assert.Equal(t, len(other), 0, "an alarm rings that is not set any more")
}

// A closed Alarm does not ring, and the last one to close ends the timer.
func TestAlarmsClose(t *testing.T) {
	a, _ := newAlarm(t)
	b, _ := newAlarm(t)
	at := Now() + ms(100_000)
	a.Set(at)
	b.Set(at)
	assert.NoError(t, a.Close(), "close an alarm")
	due := dueAlarms(alarmTimer(), at)
	assert.True(t, len(due) == 1 && due[0] == b, "%d alarms are due, want the one that is not closed", len(due))
	assert.NoError(t, b.Close(), "close the last alarm")
	assert.True(t, alarmTimer() == nil, "the timer goes on without alarms")
}
